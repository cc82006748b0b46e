"""The one thread that writes a journal, in batches, so that nobody waits for the disk.

A failure to write never reaches a run as an exception: it is kept in `failure` and told to whoever listens, and from
then on rows are dropped.
"""

import atexit
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Generic, TypeVar, cast

from retinue.engine.journal_store import INSERT, Row, open_to_write, store_error
from retinue.errors import InternalError, RetinueError, Unavailable

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
        self._pending.append(on_written)
        self._wake.set()
        self._hurry.set()
        if self._thread is None:
            self._start()
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
        self._pending.append(cast("_Job[object]", job))
        self._wake.set()
        self._hurry.set()
        if self._thread is None:
            self._start()
        if self.failure is not None:  # no thread, so nobody would ever do it
            raise self.failure
        return job.outcome()

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
            self._finish()  # what came between the thread's last look and its end

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
            self._wake.clear()
            self._hurry.clear()
            self._drain()
            if self._closing:
                return

    def _finish(self) -> None:
        self._drain()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _drain(self) -> None:
        rows: list[Row] = []
        while self._pending:
            item = self._pending.popleft()
            if isinstance(item, _Job):
                self._write(rows)
                rows = []
                self._run_job(cast("_Job[object]", item))
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
            self._on_failure(InternalError(f"{len(rows) - row_count} events of {runs} were recorded by somebody else."))

    def _give_up(self, failure: RetinueError) -> None:
        self.failure = failure
        self._on_failure(failure)

    def _run_job(self, job: "_Job[object]") -> None:
        if self.failure is not None:
            job.fail(self.failure)
            return
        try:
            job.succeed(self._transact(job.work))
        except RetinueError as error:
            job.fail(error)
        except Exception as error:  # noqa: BLE001 - the caller waits and must be told; the thread must go on
            job.fail(InternalError(f"The history could not be changed: `{type(error).__name__}`: {error}"))

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

    def succeed(self, value: T) -> None:
        self._value = value
        self._done.set()

    def fail(self, failure: RetinueError) -> None:
        self._failure = failure
        self._done.set()

    def outcome(self) -> T:
        self._done.wait()
        if self._failure is not None:
            raise self._failure
        return cast("T", self._value)
