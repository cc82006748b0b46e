"""The one door to DuckDB: a database in memory that can reach nothing, stopped when its caller's time is up.

It knows SQL and errors, and nothing of files or workspaces. DuckDB is imported when a connection is made, not before.
"""

import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from retinue.contract.table import Cell
from retinue.errors import AccessDenied, BudgetExceeded, Canceled, InvalidInput, NotInstalled, Unavailable
from retinue.tools.data.sources import identifier

if TYPE_CHECKING:
    import duckdb

_CLOSED: Final = (
    ("temp_directory", "''"),
    ("max_temp_directory_size", "'0B'"),
    ("autoinstall_known_extensions", "false"),
    ("autoload_known_extensions", "false"),
    ("allow_community_extensions", "false"),
    ("allow_persistent_secrets", "false"),
    ("python_enable_replacements", "false"),
    ("enable_external_file_cache", "false"),
    ("preserve_insertion_order", "true"),
    ("TimeZone", "'UTC'"),
    ("enable_external_access", "false"),
    ("lock_configuration", "true"),
)
_CHECK_INTERVAL_S: Final = 0.02
_INTERRUPT_INTERVAL_S: Final = 0.005


def literal(value: Cell) -> str:
    """`value` as it stands in SQL.

    Raises:
        InvalidInput: It is a text that holds a NUL.
    """
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int | float):
        return repr(value)
    if "\0" in value:
        raise InvalidInput("A value holds a NUL character.", hint="Name a value without control characters.")
    return "'" + value.replace("'", "''") + "'"


class DuckdbConnection:
    """A database in memory that may read one folder and write nothing.

    Raises:
        NotInstalled: DuckDB is not installed.
    """

    def __init__(self, folder: str, *, check: Callable[[], None] | None, memory_mb: int, threads: int) -> None:
        try:
            import duckdb  # noqa: PLC0415 - optional, and 30 ms
        except ImportError as error:
            raise NotInstalled(
                "The package `duckdb` is not installed, and data files are read by it.", hint="install `retinue[data]`"
            ) from error
        self._duckdb = duckdb
        self._folder = folder
        self._check = check
        self._memory_mb = memory_mb
        self._inner = duckdb.connect(":memory:", config={"threads": threads, "memory_limit": f"{memory_mb}MiB"})
        # In this order: once the configuration is locked, nothing can be set.
        for name, value in (("allowed_directories", f"[{literal(folder)}]"), *_CLOSED):
            self._inner.execute(f"SET {name} = {value}")

    def close(self) -> None:
        """Close the database and everything in it."""
        self._inner.close()

    def check(self) -> None:
        """Raise what the caller's check raises, if it does."""
        if self._check is not None:
            self._check()

    def clear(self, *, keep: Sequence[str]) -> None:
        """Drop every table but those named in `keep` (unquoted): what a reading that failed has left."""
        with suppress(self._duckdb.Error):  # the caller must get the failure that led here
            for (name,) in self.run("SELECT table_name FROM duckdb_tables()"):
                if name not in keep:
                    self.run(f"DROP TABLE IF EXISTS {identifier(name)}")

    def run(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a statement of ours. Call it within `guard`."""
        return self._inner.execute(sql, list(parameters) or None).fetchall()

    def fetch_one(self, sql: str, parameters: Sequence[object] = ()) -> tuple[Any, ...]:
        """The single row of a statement of ours."""
        return self.run(sql, parameters)[0]

    def try_run(self, sql: str) -> bool:
        """Run a statement of ours, which fails when a value does not fit the type it was taken for."""
        try:
            self._inner.execute(sql)
        except (self._duckdb.ConversionException, self._duckdb.InvalidInputException, self._duckdb.OutOfRangeException):
            return False
        return True

    @contextmanager
    def select(self, sql: str, parameters: Sequence[object]) -> Generator["duckdb.DuckDBPyRelation"]:
        """What a caller's SELECT would give, in a transaction that cannot write.

        Raises:
            InvalidInput: It is not one statement, or not a SELECT, or DuckDB refuses it.
        """
        if "\0" in sql:
            raise InvalidInput("The query holds a NUL character.", hint="leave it out")
        # Parsed by DuckDB itself: what a text of ours took for one statement could be two to it.
        statements = self._inner.extract_statements(sql.strip().rstrip(";"))
        if len(statements) != 1:
            raise InvalidInput(
                f"The query holds {len(statements)} statements, and exactly one is run.", hint="give one SELECT"
            )
        if statements[0].type != self._duckdb.StatementType.SELECT:
            raise InvalidInput(
                f"A statement of the kind {statements[0].type.name} is not run.",
                hint="give one SELECT; data is only read",
            )
        statement = statements[0]
        # A SELECT can call functions that write; here they fail.
        self._inner.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield self._inner.sql(statement, params=list(parameters) or None)
        finally:
            self._inner.execute("ROLLBACK")

    @contextmanager
    def guard(self, subject: str) -> Generator[None]:
        """Stop what runs in here when the caller's check raises, and turn DuckDB's errors into ours.

        Raises:
            InvalidInput: DuckDB refuses; `subject` begins the sentence that says so.
            BudgetExceeded: The memory granted does not do.
            AccessDenied: It would have looked outside.
            RetinueError: Whatever the check raised.
        """
        failures: list[BaseException] = []
        try:
            with self._interrupt_on_check(failures):
                yield
        except self._duckdb.Error as error:
            if failures:
                raise failures[0] from None
            if isinstance(error, self._duckdb.OutOfMemoryException):
                raise self._memory_error(subject) from error
            if isinstance(error, self._duckdb.InterruptException):
                raise Canceled(f"{subject} was interrupted.") from error
            # The first line of DuckDB's message, without its kind; it may quote the file, so it is clipped.
            line = str(error).replace(self._folder, "…").partition("\n")[0]
            kind, _, rest = line.partition(" Error: ")
            message = (rest if rest and len(kind) < 40 else line)[:300]
            if isinstance(error, self._duckdb.FatalException | self._duckdb.InternalException):
                hint = "leave that file out, and start again"
                raise Unavailable(f"{subject} broke the database: {message}", hint=hint) from error
            if isinstance(error, self._duckdb.PermissionException):
                hint = "ask only for the tables that were opened"
                raise AccessDenied(f"{subject} reaches outside: {message}", hint=hint) from error
            near = re.search(r"(?:Did you mean|Candidate bindings:) (.*)", str(error))
            names = tuple(filter(None, near[1].split('"')[1::2]))[:5] if near else ()
            hint = f"there is {', '.join(repr(name) for name in names)}" if names else "correct what the message names"
            raise InvalidInput(f"{subject} is refused: {message}", hint=hint, suggestions=names) from error
        except MemoryError as error:
            raise self._memory_error(subject) from error
        if failures:
            raise failures[0]

    @contextmanager
    def _interrupt_on_check(self, failures: list[BaseException]) -> Generator[None]:
        check = self._check
        if check is None:
            yield
            return
        check()
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(_CHECK_INTERVAL_S):
                try:
                    check()
                except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
                    failures.append(error)
                    break
            # An interrupt between two statements is lost, so it is repeated until the work has ended.
            while not stop.wait(_INTERRUPT_INTERVAL_S):
                self._inner.interrupt()

        watcher = threading.Thread(target=watch, name="retinue-data-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()

    def _memory_error(self, subject: str) -> BudgetExceeded:
        return BudgetExceeded(
            f"{subject} needs more than the {self._memory_mb} MiB of memory that are granted.",
            hint="ask for fewer columns or rows, or grant more memory",
            detail={"memory_mb": self._memory_mb},
        )
