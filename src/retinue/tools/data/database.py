"""The files of a workspace, and tables of PostgreSQL, as tables that can be asked in SQL."""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, assert_never

from retinue.contract.table import Cell
from retinue.errors import InvalidInput, ParseError
from retinue.tools.data import csv
from retinue.tools.data.connection import DuckdbConnection
from retinue.tools.data.query_rows import fetch_rows, field_type
from retinue.tools.data.snapshot import Snapshot, take_snapshot
from retinue.tools.data.snapshot_text import LoadResult, SnapshotText
from retinue.tools.data.sources import (
    DATA_SUFFIXES,
    DataField,
    DataSource,
    Kind,
    QueryRows,
    identifier,
    is_packed,
    kind_of,
    table_name,
)
from retinue.tools.workspace import Workspace


class Data:
    """A database in memory, closed to everything but the files that `open` puts into it.

    Nothing is written but copies of the opened files, to a folder of its own that is gone after `close`. Use it from
    one thread, as a context manager.

    Args:
        workspace: Whose files may be opened.
        check: Asked every few milliseconds while something runs, also from another thread; what it raises ends the
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all tables, and of the folder."""
        self._connection.close()
        self._scratch.cleanup()

    def open(self, path: str) -> DataSource:
        """Make a data file of the workspace a table, as it stands now. A file that is opened already is not read again.

        Raises:
            InvalidInput: The name is no data file's, or the content is none of that kind.
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
        table = table_name(path, used_names=[one.table for one in self._sources.values()])
        copy, spare = self._folder / "copy", self._folder / "spare"
        try:
            with self._connection.guard(f"{path!r} as {kind}"):
                snapshot = take_snapshot(
                    self._workspace,
                    path,
                    copy,
                    packing="gzip" if is_packed(path) else "none",
                    max_bytes=self._max_bytes,
                    check=self._connection.check,
                )
                source = self._describe(
                    path, table, kind, snapshot.size, self._load_table(kind, snapshot, table, spare)
                )
        except BaseException:
            self._connection.clear(keep=[one.table for one in self._sources.values()])
            raise
        finally:
            copy.unlink(missing_ok=True)
            spare.unlink(missing_ok=True)
        self._sources[place] = source
        return source

    def open_table(self, address: str, name: str) -> DataSource:
        """Make a table of a PostgreSQL database a table here, as it stands now.

        Args:
            address: The database, as `postgresql://…`. Nobody but the user may say it.
            name: The table or view, as `name` or `schema.name`.

        Raises:
            NotInstalled: psycopg is not installed.
            NetworkError: The database does not answer.
            MissingFile: There is no such table.
            AccessDenied: It may not be read.
            BudgetExceeded: It does not fit into the memory granted.
            InvalidInput: A value of it is none that DuckDB knows.
            Unavailable: The database ended the reading.
        """
        from retinue.tools.data import postgres  # noqa: PLC0415 - each kind is loaded with its first file; so below

        used_names = [one.table for one in self._sources.values()]
        table = table_name(name.rpartition(".")[2], used_names=used_names)
        copy = self._folder / "copy"
        try:
            with self._connection.guard(f"The table {name!r}"):
                size = postgres.load_table(
                    self._connection, address, name, identifier(table), copy=copy, max_bytes=self._max_bytes
                )
                source = self._describe(name, table, "table", size, LoadResult(""))
        except BaseException:
            self._connection.clear(keep=used_names)
            raise
        finally:
            copy.unlink(missing_ok=True)
        self._sources[f"table {name}"] = source
        return source

    def query(self, sql: str, parameters: Sequence[Cell] = (), *, limit: int = 10_000) -> QueryRows:
        """The rows of one SELECT over the tables that were opened.

        Args:
            sql: The statement; `?` stands for a parameter.
            parameters: The values of the parameters, in order.
            limit: How many rows are given at most.

        Raises:
            InvalidInput: It is not one SELECT, or DuckDB refuses it; `suggestions` has similar names.
            AccessDenied: It would read a file or address.
            BudgetExceeded: It needs more memory than was granted.
        """
        if limit < 0:
            raise InvalidInput(f"A limit of {limit} rows is none.", hint="give 0 or more")
        with self._connection.guard("The query"), self._connection.select(sql, parameters) as relation:
            return fetch_rows(relation, limit=limit, sql=sql)

    def _load_table(self, kind: Kind, snapshot: Snapshot, table: str, spare: Path) -> LoadResult:
        connection, name = self._connection, identifier(table)
        if kind == "parquet":
            from retinue.tools.data import parquet  # noqa: PLC0415

            return parquet.load(connection, snapshot, name)
        text = SnapshotText(snapshot, check=connection.check)
        try:
            match kind:
                case "csv":
                    return csv.load(connection, text, name, spare=spare)
                case "json" | "jsonl":
                    from retinue.tools.data import json  # noqa: PLC0415

                    load = json.load if kind == "json" else json.load_lines
                    return load(connection, text, name)
                case "log":
                    from retinue.tools.data import logs  # noqa: PLC0415

                    return logs.load(connection, text, name, changed=snapshot.changed)
                case _:
                    assert_never(kind)
        except (InvalidInput, ParseError) as error:  # the readers know a text, and not whose
            message = f"{snapshot.name!r} cannot be read: {error.message}"
            raise type(error)(message, hint=error.hint, path=snapshot.name, detail=error.detail) from error

    def _describe(
        self, path: str, table: str, kind: Kind | Literal["table"], size: int, load_result: LoadResult
    ) -> DataSource:
        (rows,) = self._connection.fetch_one(f"SELECT count(*) FROM {identifier(table)}")
        columns = self._connection.run(f"DESCRIBE {identifier(table)}")
        return DataSource(
            path=path,
            table=table,
            kind=kind,
            fields=tuple(DataField(name, field_type(sql_type), sql_type) for name, sql_type, *_ in columns),
            rows=rows,
            bytes=size,
            encoding=load_result.encoding,
            skipped=load_result.skipped,
            skipped_total=load_result.skipped_total,
            notes=load_result.notes,
        )
