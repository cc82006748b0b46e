"""The files of a journal: one of SQLite, the thread that writes it, and the locks that tell which owners are alive.

The table of events is made when first needed. What the rows mean is the business of `journal`. A failure to write never
reaches a run as an exception: it is kept in `Writer.failure` and told to the listeners, and from then on rows are
dropped.

Each owner of runs holds a lock on a file of its own; the system releases it when the process dies, however it dies.
Process ids would not do: they are reused, and mean nothing in another container.
"""

import atexit
import fcntl
import os
import re
import secrets
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, Generic, TypeAlias, TypeVar, cast

from retinue.engine.base import RunFilter
from retinue.engine.ids import CHILD
from retinue.errors import InternalError, RetinueError, Unavailable
from retinue.sqlite_file import BUSY_S, create_private_file, database_error, format_of, use_wal

Row: TypeAlias = tuple[str, int, str, int, str, int, str]
"""Run, sequence, node, attempt, kind, nanoseconds since 1970, body as JSON text.

Events of a run count from 1. Sequence 0 says how the run was started. From -1 down stands who took it over; at
`FIRST_NOTE` its payload, and from there down the values that were given to its workflow.
"""

FIRST_NOTE: Final = -1_000_000

MOST: Final = 2**63 - 1
"""The largest number that SQLite has."""

INSERT: Final = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"

_FORMAT: Final = 1
STARTED_FOR: Final = "CASE WHEN json_valid(body) THEN json_extract(body, '$.for') END"
"""In the row with sequence 0: for whom a run was started. A row that somebody spoilt is of nobody."""

_SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS events (
    run TEXT NOT NULL, sequence INTEGER NOT NULL, node TEXT NOT NULL, attempt INTEGER NOT NULL,
    kind TEXT NOT NULL, at_ns INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run, sequence)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS starts ON events (at_ns) WHERE sequence = 0;
PRAGMA user_version = {_FORMAT};
COMMIT;
"""


def label_of(name: str) -> str:
    """In the row with sequence 0: the label of that name, which is letters and `_`."""
    return f"CASE WHEN json_valid(body) THEN json_extract(body, '$.labels.{name}') END"


_LABEL: Final = re.compile("[a-z][a-z_]{0,40}")


def condition_of(where: RunFilter) -> tuple[str, list[object]]:
    """Which rows say how the runs were started that are meant, by owner, labels and agent: SQL, and its values."""
    conditions, values = ["sequence = 0", "instr(run, ?) = 0"], list[object]([CHILD])
    if where.owner is not None:
        conditions.append(f"{STARTED_FOR} = ?")
        values.append(where.owner)
    for name, value in where.labels.items():
        if _LABEL.fullmatch(name):  # any other is looked for in what the query gives
            conditions.append(f"{label_of(name)} = ?")
            values.append(value)
    if where.agent is not None:
        # Some other row of the run says that the agent was called.
        conditions.append(
            "EXISTS (SELECT 1 FROM events AS call WHERE call.run = events.run AND call.kind = 'started'"
            " AND CASE WHEN json_valid(call.body) THEN json_extract(call.body, '$.agent') END = ?)"
        )
        values.append(where.agent)
    return " AND ".join(conditions), values


_ADDITIONS: Final = (
    "CREATE TABLE IF NOT EXISTS texts (run TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID",
    f"CREATE INDEX IF NOT EXISTS owners ON events ({STARTED_FOR}, at_ns) WHERE sequence = 0",
    f"CREATE INDEX IF NOT EXISTS contexts ON events ({label_of('context')}, at_ns) WHERE sequence = 0",
)
"""Files of before have none; they change nothing for a version that does not know them."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the file at `path`, making it and its folder, readable by its owner only.

    Raises:
        OSError: The system refuses.
        sqlite3.Error: It is no database, or cannot be written.
        Unavailable: A newer version of this program wrote it.
    """
    create_private_file(path)
    connection = _connect(path, "rw")
    try:
        use_wal(connection)
        # Not synced at each commit: a killed process loses nothing, a power cut at most the last moments.
        connection.execute("PRAGMA synchronous = NORMAL")
        if format_of(connection, path, newest=_FORMAT, content="history") < _FORMAT:
            connection.executescript(_SCHEMA)
        for addition in _ADDITIONS:
            connection.execute(addition)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection | None:
    """Open the file at `path` to read from it; None when there is nothing yet.

    Raises:
        sqlite3.Error: It is no database, or cannot be read.
        Unavailable: A newer version of this program wrote it.
    """
    if not path.exists():
        return None
    connection = _connect(path, "rw" if os.access(path, os.W_OK) else "ro")
    try:
        if format_of(connection, path, newest=_FORMAT, content="history") == _FORMAT:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def store_error(path: Path, error: sqlite3.Error | OSError) -> RetinueError:
    """What `error`, met with the file at `path`, means for a person."""
    return database_error(path, error, content="history", repair=_REPAIR)


_REPAIR: Final = "Move the file away (and those beside it with `-wal` and `-shm`); a new one is created."


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    # What another program wrote into a row may not be UTF-8: it must fail as a row, not as the whole query.
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


class Owner:
    """A name that is alive as long as this object is, or until `release`.

    Args:
        folder: Where the lock files lie; made when missing.

    Raises:
        OSError: The file cannot be made or locked.
    """

    __slots__ = ("_file", "_path", "name")

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._path = folder / self.name
        # Locked under another name first, so that no process ever sees it free.
        making = folder / f".{self.name}"
        self._file: IO[bytes] = os.fdopen(os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        making.rename(self._path)
        for path in folder.iterdir():
            is_alive(folder, path.name)  # sweeps away what dead ones have left

    def release(self) -> None:
        """Be dead from now on."""
        self._path.unlink(missing_ok=True)
        self._file.close()


def is_alive(folder: Path, name: str) -> bool:
    """Whether the owner called `name` still lives. The lock file of a dead one is removed."""
    if not name or "/" in name or name.startswith("."):
        return False
    path = folder / name
    try:
        file = path.open("rb")
    except OSError:
        return False
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        with suppress(OSError):
            path.unlink()
        return False


T = TypeVar("T")

_DELAY_S: Final = 0.02
_BATCH: Final = 500


class Writer:
    """Rows in, transactions out: at most 20 ms or 500 rows later.

    Args:
        path: The file; made by the first row.
        on_failure: Called, in the writer's thread, with each failure.

    Attributes:
        failure: Why rows are no longer written, if so.
    """

    def __init__(self, path: Path, on_failure: Callable[[RetinueError], None]) -> None:
        self.failure: RetinueError | None = None
        self._path = path
        self._on_failure = on_failure
        self._pending: deque[Row | _Job[object] | Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._closing = False

    def append(self, row: Row) -> None:
        """Write `row` soon. Never waits."""
        if self.failure is not None:
            return
        self._pending.append(row)
        if not self._wake.is_set():
            self._wake.set()
        if len(self._pending) >= _BATCH:
            self._hurry.set()
        if self._thread is None:
            self._start()

    def notify(self, on_written: Callable[[], None]) -> None:
        """Call `on_written` in the writer's thread, soon: when all rows so far are in the file, or never will be."""
        self._submit(on_written)
        if self._thread is None:  # none can be started
            self._drain()

    def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in one transaction after everything appended so far, and wait for what it gives.

        Raises:
            RetinueError: The file cannot be written; or `work` raised it.
        """
        if self.failure is not None:
            raise self.failure
        job = _Job(work)
        self._submit(cast("_Job[object]", job))
        if self.failure is not None:  # no thread, so it would never be done
            raise self.failure
        return job.outcome()

    def _submit(self, item: "_Job[object] | Callable[[], None]") -> None:
        self._pending.append(item)
        self._wake.set()
        self._hurry.set()
        if self._thread is None:
            self._start()

    def flush(self) -> None:
        """Wait until everything appended so far is written. Says nothing of a failure: `failure` does."""
        if self._thread is not None and self.failure is None:
            with suppress(RetinueError):
                self.call(lambda _: None)

    def close(self) -> None:
        """Write what is left and end the thread. A later row starts it again."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._closing = True
            if thread is not None:
                self._wake.set()
                self._hurry.set()
                thread.join()
                atexit.unregister(self.close)
            self._drain()  # what came between the thread's last look and its end
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._closing = False
                if not threading.main_thread().is_alive():  # a thread that is started now may never run, nor return
                    self._give_up(Unavailable("Nothing more is recorded: this process is ending."))
                    return
                thread = threading.Thread(target=self._work, name="retinue-journal", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    self._give_up(Unavailable(f"Nothing is recorded: no thread can be started ({error})."))
                    return
                self._thread = thread
                atexit.register(self.close)  # a daemon thread ends without a word, and rows with it

    def _work(self) -> None:
        while True:
            self._wake.wait()
            if not self._closing:
                self._hurry.wait(_DELAY_S)
            self._hurry.clear()
            if not self._pending:  # while rows keep coming, no row has to wake the thread
                self._wake.clear()
            self._drain()
            if self._closing:
                return

    def _drain(self) -> None:
        rows: list[Row] = []
        while self._pending:
            item = self._pending.popleft()
            if isinstance(item, _Job):
                self._write(rows)
                rows = []
                job, failure = cast("_Job[object]", item), self.failure
                value: object = None
                try:
                    value = self._transact(job.work) if failure is None else None
                except RetinueError as error:
                    failure = error
                except Exception as error:  # noqa: BLE001 - the caller waits and must be told; the thread must go on
                    failure = InternalError(f"The history could not be changed: `{type(error).__name__}`: {error}")
                job.settle(value, failure)
            elif callable(item):
                self._write(rows)
                rows = []
                item()
            else:
                rows.append(item)
        self._write(rows)

    def _write(self, rows: list[Row]) -> None:
        if not rows or self.failure is not None:
            return
        try:
            row_count = self._transact(lambda connection: connection.executemany(INSERT, rows).rowcount)
        except RetinueError as error:
            self._give_up(error)
            return
        except Exception as error:  # noqa: BLE001 - say a name that is no Unicode; whatever it is, the thread must go on
            self._give_up(InternalError(f"An event cannot be recorded: `{type(error).__name__}`: {error}"))
            return
        if row_count < len(rows):
            runs = ", ".join(f"`{run}`" for run in sorted({row[0] for row in rows})[:3])
            self._on_failure(
                InternalError(f"{len(rows) - row_count} events of {runs} were recorded by another process.")
            )

    def _give_up(self, failure: RetinueError) -> None:
        self.failure = failure
        self._on_failure(failure)

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._connection is None:
                self._connection = open_to_write(self._path)
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                value = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, OSError) as error:
            raise store_error(self._path, error) from error
        return value


class _Job(Generic[T]):
    __slots__ = ("_done", "_failure", "_value", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.work = work
        self._done = threading.Event()
        self._value: T | None = None
        self._failure: RetinueError | None = None

    def settle(self, value: T | None, failure: RetinueError | None = None) -> None:
        self._value, self._failure = value, failure
        self._done.set()

    def outcome(self) -> T:
        self._done.wait()
        if self._failure is not None:
            raise self._failure
        return cast("T", self._value)
