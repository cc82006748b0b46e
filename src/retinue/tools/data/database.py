"""The files of a workspace, and tables of PostgreSQL, as tables that can be asked in SQL."""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import math
import tempfile
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, assert_never

from retinue.contract.table import Cell
from retinue.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidInput,
    MissingFile,
    NetworkError,
    NotInstalled,
    ParseError,
    Unavailable,
)
from retinue.tools.data import csv, json, logs
from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.snapshot import LoadResult, Snapshot, SnapshotText, take_snapshot
from retinue.tools.data.sources import (
    DATA_SUFFIXES,
    DataField,
    DataSource,
    FieldType,
    Kind,
    QueryRows,
    identifier,
    is_packed,
    kind_of,
    table_name,
)
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    import duckdb
    import psycopg

_PARQUET_MAGIC: Final = b"PAR1"
_INTEGERS: Final = frozenset(
    f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
_TYPES: Final[dict[str, FieldType]] = {
    "VARCHAR": "text", "UUID": "text", "BOOLEAN": "boolean", "FLOAT": "number", "DOUBLE": "number", "DATE": "date",
    "TIME": "time", "TIME_NS": "time", "TIME WITH TIME ZONE": "time",
}  # fmt: skip


class Data:
    """A database in memory, closed to everything but the files that `open` puts into it.

    Nothing is written but copies of the opened files, to a folder of its own that is gone after `close`. Use it from
    one thread, as a context manager.

    Args:
        workspace: Whose files may be opened.
        check: Called every few milliseconds while something runs, also from another thread; what it raises ends the
            work, and is raised.
        memory_mb: How many MiB the tables and queries may take, and how much of a file is read at most.
        threads: How many threads DuckDB works with.

    Raises:
        NotInstalled: DuckDB is not installed.
    """

    def __init__(
        self, workspace: Workspace, *, check: Callable[[], None] | None = None, memory_mb: int = 1024, threads: int = 2
    ) -> None:
        self._workspace = workspace
        self._max_bytes = memory_mb << 20
        self._sources: dict[str, DataSource] = {}
        self._scratch = tempfile.TemporaryDirectory(prefix="retinue-data-")
        self._folder = Path(self._scratch.name)
        try:
            self._connection = DuckdbConnection(str(self._folder), check=check, memory_mb=memory_mb, threads=threads)
        except BaseException:
            self._scratch.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop all tables, and the folder."""
        self._connection.close()
        self._scratch.cleanup()

    def open(self, path: str) -> DataSource:
        """Make a data file of the workspace a table, as it stands now. A file that is already open is not read again.

        Raises:
            InvalidInput: The name is not a data file's, or the content is not of that kind.
            ParseError: A JSON document cannot be read; `detail` has the line and column.
            MissingFile: It is not there; `suggestions` has similar names.
            AccessDenied: It may not be read.
            BudgetExceeded: It does not fit into the memory granted.
            Unavailable: It was changed while it was read.
        """
        kind = kind_of(path)
        if kind is None:
            raise InvalidInput(
                f"{path!r} is not a data file by its name.", hint=f"name a file that ends in {', '.join(DATA_SUFFIXES)}"
            )
        place = self._workspace.relative(path)
        if place in self._sources:
            return self._sources[place]

        def load(table: str, copy: Path) -> tuple[int, LoadResult]:
            snapshot = take_snapshot(
                self._workspace,
                path,
                copy,
                packing="gzip" if is_packed(path) else "none",
                max_bytes=self._max_bytes,
                check=self._connection.check,
            )
            return snapshot.size, self._load_snapshot(kind, snapshot, table)

        return self._add(place, path, kind, load, subject=f"{path!r} as {kind}", table=self._table_name(path))

    def open_table(self, address: str, name: str) -> DataSource:
        """Make a table of a PostgreSQL database a table here, as it stands now.

        Args:
            address: The database, as `postgresql://…`. Only the user may give it.
            name: The table or view, as `name` or `schema.name`.

        Raises:
            NotInstalled: psycopg is not installed.
            NetworkError: The database does not answer.
            MissingFile: There is no such table.
            AccessDenied: It may not be read.
            BudgetExceeded: It does not fit into the memory granted.
            InvalidInput: DuckDB cannot read one of its values.
            Unavailable: The database ended the reading.
        """

        def load(table: str, copy: Path) -> tuple[int, LoadResult]:
            size = _load_postgres_table(self._connection, address, name, table, copy=copy, max_bytes=self._max_bytes)
            return size, LoadResult("")

        table = self._table_name(name.rpartition(".")[2])
        return self._add(f"table {name}", name, "table", load, subject=f"The table {name!r}", table=table)

    def query(self, sql: str, parameters: Sequence[Cell] = (), *, limit: int = 10_000) -> QueryRows:
        """The rows of one SELECT over the tables that were opened.

        Args:
            sql: The statement; `?` stands for a parameter.
            parameters: The values of the parameters, in order.
            limit: The most rows to give.

        Raises:
            InvalidInput: It is not one SELECT, or DuckDB refuses it; `suggestions` has similar names.
            AccessDenied: It would read a file or address.
            BudgetExceeded: It needs more memory than was granted.
        """
        if limit < 0:
            raise InvalidInput(f"A limit of {limit} rows is not valid.", hint="give 0 or more")
        with self._connection.guard("The query"), self._connection.select(sql, parameters) as relation:
            return fetch_rows(relation, limit=limit, sql=sql)

    def _table_name(self, path: str) -> str:
        return table_name(path, used_names=[one.table for one in self._sources.values()])

    def _add(
        self,
        place: str,
        path: str,
        kind: Kind | Literal["table"],
        load: Callable[[str, Path], tuple[int, LoadResult]],
        *,
        subject: str,
        table: str,
    ) -> DataSource:
        # Each file is copied to the same place, the only folder that DuckDB may read, and is gone afterwards.
        copy, name = self._folder / "copy", identifier(table)
        try:
            with self._connection.guard(subject):
                size, loaded = load(name, copy)
                (rows,) = self._connection.fetch_one(f"SELECT count(*) FROM {name}")
                columns = self._connection.run(f"DESCRIBE {name}")
        except BaseException:
            self._connection.clear(keep=[one.table for one in self._sources.values()])
            raise
        finally:
            copy.unlink(missing_ok=True)
            (self._folder / "spare").unlink(missing_ok=True)
        # Read back from DuckDB, not from the guesses: what it made is what can be asked.
        fields = tuple(DataField(column, field_type(sql_type), sql_type) for column, sql_type, *_ in columns)
        self._sources[place] = DataSource(
            path, table, kind, fields, rows, size, loaded.encoding, loaded.skipped, loaded.skipped_total, loaded.notes
        )
        return self._sources[place]

    def _load_snapshot(self, kind: Kind, snapshot: Snapshot, table: str) -> LoadResult:
        connection = self._connection
        if kind == "parquet":
            with snapshot.path.open("rb") as file:
                if file.read(len(_PARQUET_MAGIC)) != _PARQUET_MAGIC:
                    raise InvalidInput(f"{snapshot.name!r} is not a Parquet file.", hint="name it after what it holds")
            connection.run(f"CREATE TABLE {table} AS SELECT * FROM read_parquet({literal(str(snapshot.path))})")
            return LoadResult("")
        text = SnapshotText(snapshot, check=connection.check)
        try:
            match kind:
                case "csv":
                    return csv.load(connection, text, table, spare=self._folder / "spare")
                case "json" | "jsonl":
                    return (json.load if kind == "json" else json.load_lines)(connection, text, table)
                case "log":
                    return logs.load(connection, text, table, changed=snapshot.changed)
                case _:
                    assert_never(kind)
        except (InvalidInput, ParseError) as error:  # the readers know a text, but not which file it is from
            message = f"{snapshot.name!r} cannot be read: {error.message}"
            raise type(error)(message, hint=error.hint, path=snapshot.name, detail=error.detail) from error


def field_type(sql_type: str) -> FieldType:
    """What can be done with the values of one of DuckDB's types."""
    if sql_type.endswith("]"):
        return "list"
    if sql_type.startswith("TIMESTAMP"):
        return "timestamp"
    if sql_type.startswith("DECIMAL"):
        return "number"
    if sql_type in _INTEGERS:
        return "integer"
    return "text" if sql_type.startswith("ENUM") else _TYPES.get(sql_type, "other")


def fetch_rows(relation: "duckdb.DuckDBPyRelation", *, limit: int, sql: str) -> QueryRows:
    """The first `limit` rows of `relation`, as values that JSON has."""
    types = [str(one) for one in relation.types]
    expressions: list[str] = []
    for place, one in enumerate(relation.types, start=1):  # by their places: names may repeat
        expression = f"#{place}"
        if one.id in ("list", "struct", "map", "array", "union", "variant"):
            expression = f"CAST(to_json({expression}) AS VARCHAR)"
        elif field_type(str(one)) not in ("text", "integer", "number", "boolean") or one.id == "uuid":
            expression = f"CAST({expression} AS VARCHAR)"
        if str(one).startswith("TIMESTAMP"):  # `2024-03-01 10:00:00+00` as ISO 8601 has it
            expression = rf"regexp_replace(regexp_replace({expression}, ' ', 'T'), '(T.*[+-]\d\d)$', '\1:00')"
        expressions.append(expression)
    rows: list[tuple[Cell, ...]] = relation.limit(limit + 1).project(", ".join(expressions)).fetchall()
    notes: dict[str, None] = {}

    def convert(place: int, value: float | Decimal) -> Cell:
        if isinstance(value, Decimal):
            return int(value) if value == value.to_integral_value() else float(value)
        if math.isfinite(value):
            return value
        notes[f"Column {relation.columns[place]!r} has values that are not a finite number; they are left out."] = None
        return None

    places = {place for place, one in enumerate(types) if one in ("FLOAT", "DOUBLE") or one.startswith("DECIMAL")}
    truncated, rows = len(rows) > limit, rows[:limit]
    if places:
        rows = [
            tuple(
                convert(place, value) if place in places and isinstance(value, float | Decimal) else value
                for place, value in enumerate(row)
            )
            for row in rows
        ]
    return QueryRows(tuple(relation.columns), rows, truncated, sql, tuple(notes))


_CONNECT_S: Final = 10
_SETTINGS: Final = {"lock_timeout": "5s", "statement_timeout": "300s", "DateStyle": "ISO, YMD", "TimeZone": "UTC"}
_DUCKDB_TYPES: Final = {
    "bool": "BOOLEAN", "int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT", "float4": "FLOAT", "float8": "DOUBLE",
    "date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ",
}  # fmt: skip
"""What DuckDB calls PostgreSQL's types; `numeric` has its own precision, and all others are read as text."""


def _load_postgres_table(
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
    relation = sql.Identifier(*source.split("."))
    try:
        with database, database.cursor() as cursor:
            # Whatever the table is: a view may call functions that write.
            database.read_only = True
            for setting, value in _SETTINGS.items():
                cursor.execute("SELECT set_config(%s, %s, true)", (setting, value))
            cursor.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(relation))
            columns = [(column.name, _type_of(database, column)) for column in cursor.description or ()]
            with (
                copy.open("wb") as file,
                cursor.copy(
                    # Quoted, so that an empty text is told from no value.
                    sql.SQL("COPY (SELECT * FROM {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)").format(relation)
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
    typed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns)
    connection.run(
        f"CREATE TABLE {table} AS SELECT * FROM read_csv({literal(str(copy))}, header=false, auto_detect=false,"
        f" delim=',', quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, columns={{{typed}}},"
        f" max_line_size={64 << 20})"
    )
    return size


def _type_of(database: "psycopg.Connection", column: "psycopg.Column") -> str:
    type_info = database.adapters.types.get(column.type_code)
    kind = "" if type_info is None or column.type_code == type_info.array_oid else type_info.name
    if kind == "numeric":
        # Without a precision of its own, nine places on either side of what money needs.
        if column.precision is None or column.precision > 38:
            return "DECIMAL(38, 9)"
        return f"DECIMAL({column.precision}, {max(0, column.scale or 0)})"
    return _DUCKDB_TYPES.get(kind, "VARCHAR")
