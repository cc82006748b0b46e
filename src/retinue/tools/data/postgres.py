"""Reads a table of a PostgreSQL database, in a transaction that only reads, into a file that DuckDB takes.

DuckDB's own reader is an extension that must be downloaded, so psycopg reads here, and is imported when it is needed.
"""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that are quoted and values that `literal` quotes

from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.errors import AccessDenied, BudgetExceeded, MissingFile, NetworkError, NotInstalled, Unavailable
from retinue.tools.data.connection import DuckdbConnection, literal

if TYPE_CHECKING:
    import psycopg

_CONNECT_S: Final = 10
_SETTINGS: Final = {"lock_timeout": "5s", "statement_timeout": "300s", "DateStyle": "ISO, YMD", "TimeZone": "UTC"}
_TYPES: Final = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ",
}  # fmt: skip
"""What DuckDB calls PostgreSQL's types; `numeric` has its own precision, and all others are read as text."""


def load_table(
    connection: DuckdbConnection, address: str, source: str, table: str, *, copy: Path, max_bytes: int
) -> int:
    """Make the table `table` (quoted) of `source` (`name` or `schema.name`), and give how many bytes were read.

    Args:
        connection: Where the table is made.
        address: The database, as `postgresql://…` or as `key=value` words. It stands in no message: it may hold a
            password.
        source: The table or view there, as its letters are; no SQL.
        table: What it is called here.
        copy: A file that may be written.
        max_bytes: How much is read at most.
    """
    columns, size = _copy_to_file(connection, address, source, copy=copy, max_bytes=max_bytes)
    typed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns)
    connection.run(
        f"CREATE TABLE {table} AS SELECT * FROM read_csv({literal(str(copy))}, header=false, auto_detect=false,"
        f" delim=',', quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, columns={{{typed}}},"
        f" max_line_size={64 << 20})"
    )
    return size


def _copy_to_file(
    connection: DuckdbConnection, address: str, source: str, *, copy: Path, max_bytes: int
) -> tuple[list[tuple[str, str]], int]:
    try:
        import psycopg.sql  # noqa: PLC0415 - optional
    except ImportError as error:
        raise NotInstalled(
            "The package `psycopg` is not installed, and PostgreSQL is read by it.", hint="install `retinue[postgres]`"
        ) from error
    try:
        database = psycopg.connect(address, connect_timeout=_CONNECT_S, autocommit=False)
    except psycopg.Error:  # whose words may quote the address
        raise NetworkError(
            "The PostgreSQL database cannot be reached.", hint="check its address, and that it accepts you"
        ) from None
    sql, size = psycopg.sql, 0
    name = sql.Identifier(*source.split("."))
    try:
        with database, database.cursor() as cursor:
            database.read_only = True
            for setting, value in _SETTINGS.items():
                cursor.execute("SELECT set_config(%s, %s, true)", (setting, value))
            cursor.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name))
            columns = [(column.name, _type_of(database, column)) for column in cursor.description or ()]
            with (
                copy.open("wb") as file,
                cursor.copy(
                    # Quoted, so that an empty text is told from no value.
                    sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)").format(name)
                ) as pieces,
            ):
                for piece in pieces:
                    connection.check()
                    size += len(piece)
                    if size > max_bytes:
                        raise BudgetExceeded(
                            f"{source!r} holds more than the {max_bytes >> 20} MiB that may be read into memory.",
                            hint="name a view with fewer rows or columns, or grant more memory",
                            detail={"max_bytes": max_bytes},
                        )
                    file.write(piece)
    except (psycopg.errors.UndefinedTable, psycopg.errors.FeatureNotSupported):  # the latter: one of another database
        raise MissingFile(
            f"The database has no table {source!r}.", hint="name a table or view as `schema.table`"
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        raise AccessDenied(
            f"The table {source!r} may not be read.", hint="let the user of the address read it"
        ) from None
    except psycopg.Error as error:
        message = error.diag.message_primary or type(error).__name__
        raise Unavailable(f"The database ended the reading of {source!r}: {message[:300]}", hint="try again") from None
    finally:
        database.close()
    return columns, size


def _type_of(database: "psycopg.Connection", column: "psycopg.Column") -> str:
    type_info = database.adapters.types.get(column.type_code)
    kind = "" if type_info is None or column.type_code == type_info.array_oid else type_info.name
    if kind == "numeric":
        # Without a precision of its own, nine places on either side of what money needs.
        if column.precision is None or column.precision > 38:
            return "DECIMAL(38, 9)"
        return f"DECIMAL({column.precision}, {max(0, column.scale or 0)})"
    return _TYPES.get(kind, "VARCHAR")
