"""The thread that writes a journal: entries in, transactions out.

A failure to write never reaches a run as an exception: it is kept in `Writer.failure` and told to the listener, and
from then on entries are dropped. A database that is only away for a while is no failure: entries wait for it.
"""

import atexit
import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from time import monotonic
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from retinue.contract.event import (
    KINDS,
    DelegationFinished,
    Event,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
)
from retinue.engine.event_codec import encode
from retinue.engine.journal_reader import storable
from retinue.engine.statistics import facts_row
from retinue.engine.store import Connection, RunTakenOver, Store, StoreLost, insert_rows
from retinue.errors import InternalError, RetinueError, Unavailable

T = TypeVar("T")

Then: TypeAlias = Callable[[RetinueError | None], None]
"""Called when something is committed, in the writer's thread; with an error when it never will be."""

Later: TypeAlias = Callable[[Callable[[], None]], object]
"""Calls what it is given, now or later."""


Statement: TypeAlias = tuple[str, Sequence[object]]
"""SQL and its values."""

NewRow: TypeAlias = tuple[str, Sequence[object]]
"""A table, and what is inserted into it."""

Claim: TypeAlias = tuple[str, int]
"""A top-level run, and the epoch at which this process works on it."""


END_RUN: Final = "UPDATE runs SET status = 'ended' WHERE run = ?"


def rows_of(event: Event) -> tuple[list[NewRow], list[Statement]]:
    """What is inserted for an event, its own row first, and what else changes with it."""
    body, run, kind = event.body, event.run, KINDS[type(event.body)]
    row = (run, event.sequence, event.node, event.attempt, kind, event.at_ns, encode(body))
    rows: list[NewRow] = [("events", row)]
    changes: list[Statement] = []
    if isinstance(body, NodeStarted) and body.agent:
        rows.append(("tags", (run, "agent", storable(body.agent))))
    elif isinstance(body, QuestionAsked | QuestionAnswered):  # what was said to another of that id is no answer to it
        name = body.question.id if isinstance(body, QuestionAsked) else body.answer.question_id
        changes.append(("DELETE FROM inbox WHERE run = ? AND kind = 'answer' AND question = ?", (run, storable(name))))
    elif isinstance(body, NodeFinished | DelegationFinished):
        rows.append(("facts", facts_row(run, event.sequence, event.node, kind, body.result)))
        if isinstance(body, NodeFinished) and not event.node:
            changes += [(END_RUN, (run,)), ("DELETE FROM inbox WHERE run = ?", (run,))]
    return rows, changes


class Entry(NamedTuple):
    """What is written together or not at all.

    Attributes:
        run: The top-level run that it belongs to.
        epoch: The epoch at which this process works on that run.
        rows: What is inserted; rows of runs before all others.
        statements: What else is to be done, in this order, when all rows of the transaction are there.
        then: Called when it is committed; somebody waits for that, so it is written at once.
    """

    run: str
    epoch: int
    rows: Sequence[NewRow] = ()
    statements: Sequence[Statement] = ()
    then: Then | None = None


_DELAY_S: Final = 0.02
_BATCH: Final = 500
_PATIENCE_S: Final = 10.0
"""How long a caller, and the end of this process, wait for a database that is away."""


class Writer:
    """Entries in, transactions out: at once when somebody waits, else at most 20 ms or 500 entries later.

    Args:
        store: Where they go.
        on_failure: Called, in the writer's thread, with each failure, and with `RunTakenOver` for each run that another
            process has taken over.
        on_change: Called there too, before who watches, when another process may have written.
        later: Calls what writes, in place of a thread.

    Attributes:
        failure: Why nothing is written any more, if so.
    """

    def __init__(
        self,
        store: Store,
        on_failure: Callable[[RetinueError], None],
        on_change: Callable[[], None],
        later: Later | None = None,
    ) -> None:
        self.failure: RetinueError | None = None
        self._store = store
        self._later = later
        self._on_failure, self._on_change = on_failure, on_change
        self._watchers: set[Callable[[], None]] = set()
        self._looked_s = 0.0
        self._loss: StoreLost | None = None
        self._pending: deque[Entry | _Job[object] | Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False

    def append(self, entry: Entry) -> None:
        """Write `entry` soon. Never waits."""
        if self.failure is not None:
            if entry.then is not None:
                entry.then(self.failure)
            return
        self._pending.append(entry)
        if self._later is not None:
            self._later(self._drain)
            return
        if not self._wake.is_set():
            self._wake.set()
        if entry.then is not None or len(self._pending) >= _BATCH:
            self._hurry.set()
        if self._thread is None:
            self._start()

    def watch(self, on_change: Callable[[], None]) -> None:
        """Call `on_change`, in the writer's thread, whenever another process may have written."""
        if on_change not in self._watchers:
            self._watchers = {*self._watchers, on_change}
            self._wake.set()  # so that it no longer waits for entries alone
            if self._thread is None and self._later is None:
                self._start()

    def unwatch(self, on_change: Callable[[], None]) -> None:
        """End that."""
        self._watchers = self._watchers - {on_change}

    def call(self, work: Callable[[Connection], T], *, claims: str = "") -> T:
        """Do `work` in one transaction after everything appended so far, and wait for what it gives.

        With `claims`, the only run that it locks, it may share the transaction with others.

        Raises:
            StoreLost: The database is away, and has been for ten seconds.
            RetinueError: The store cannot be written; or `work` raised it.
        """
        if self.failure is not None:
            raise self.failure
        job = _Job(work, claims)
        self._submit(cast("_Job[object]", job))
        if self.failure is not None:  # no thread, so it would never be done
            raise self.failure
        loss = self._wait(job.done)
        if loss is not None and job.taken.acquire(blocking=False):
            raise loss
        return job.outcome()

    def flush(self) -> None:
        """Wait until everything appended so far is written, or never will be, as `failure` tells.

        A database that is away is not waited for longer than ten seconds.
        """
        if self._later is not None:
            self._drain()
        elif self._thread is not None and self.failure is None:
            is_written = threading.Event()
            self._submit(is_written.set)
            self._wait(is_written)

    def close(self) -> None:
        """Write what is left and end the thread. A later entry starts it again."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._closing = True
            if thread is not None:
                self._wake.set()
                self._hurry.set()
                thread.join()
                atexit.unregister(self.close)
            self._drain()  # what came between the thread's last look and its end

    def _wait(self, done: threading.Event) -> StoreLost | None:
        """Wait for `done`; gives why it is not done when the database has been away for too long."""
        end_s = monotonic() + _PATIENCE_S
        while not done.wait(1):
            if self._loss is not None and monotonic() > end_s:
                return self._loss
        return None

    def _submit(self, item: "_Job[object] | Callable[[], None]") -> None:
        self._pending.append(item)
        self._wake.set()
        self._hurry.set()
        if self._thread is None and self._later is None:
            self._start()
        if self._thread is None:  # there is none, or none can be started
            self._drain()

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
            if self._wake.wait(self._store.watch_s if self._watchers else None):
                if not self._closing:
                    self._hurry.wait(_DELAY_S)
                self._hurry.clear()
                if not self._pending:  # while entries keep coming, no entry has to wake the thread
                    self._wake.clear()
                self._drain()
            if self._closing:
                return
            self._look()

    def _look(self) -> None:
        now_s = monotonic()
        if not self._watchers or now_s - self._looked_s < self._store.watch_s or self.failure is not None:
            return
        self._looked_s = now_s
        try:
            if not self._store.has_changed():
                return
            self._on_change()
        except RetinueError:  # the next entry that is to be written tells
            return
        for on_change in self._watchers:
            on_change()

    def _drain(self) -> None:
        while self._pending:
            items = [self._pending.popleft() for _ in range(len(self._pending))]
            entries = [item for item in items if isinstance(item, Entry)]
            jobs = [cast("_Job[object]", item) for item in items if isinstance(item, _Job)]
            if self._write_together(entries, [job for job in jobs if job.claims]):
                jobs = [job for job in jobs if not job.claims]
            else:
                self._write(entries)
            for job in jobs:
                if not job.taken.acquire(blocking=False):  # nobody waits for it any more
                    continue
                value, failure = None, self.failure
                try:
                    value = self._store.transact(job.work) if failure is None else None
                except RetinueError as error:
                    failure = error
                except Exception as error:  # noqa: BLE001 - the caller waits and must be told; the thread must go on
                    failure = InternalError(f"The history could not be changed: `{type(error).__name__}`: {error}")
                job.settle(value, failure)
            for item in items:
                if not isinstance(item, Entry | _Job):
                    item()

    def _write_together(self, entries: list[Entry], jobs: "list[_Job[object]]") -> bool:
        """Write and do all in one transaction, entries first; False when something is in the way, so that none is done.

        An entry that came after a job comes before it: who waits for the job has appended nothing since.
        """
        if not jobs or len(entries) + len(jobs) == 1 or self.failure is not None:
            return False
        waiting_jobs = [job for job in jobs if job.taken.acquire(blocking=False)]
        waiting_jobs.sort(key=lambda job: job.claims)  # who locks in one order never waits for each other
        try:
            losses, values = self._store.transact(
                lambda connection: (
                    _write_entries(connection, self._store, entries),
                    [job.work(connection) for job in waiting_jobs],
                )
            )
        except Exception:  # noqa: BLE001 - whose it is, is found by doing each by itself
            for job in waiting_jobs:
                job.taken.release()
            return False
        self._report(entries, losses)
        for job, value in zip(waiting_jobs, values, strict=True):
            job.settle(value)
        return True

    def _write(self, entries: list[Entry]) -> None:
        if not entries:
            return
        losses: dict[Claim, RunTakenOver] = {}
        while self.failure is None:
            try:
                losses = self._store.transact(lambda connection: _write_entries(connection, self._store, entries))
                self._loss = None
                break
            except StoreLost as error:
                self._loss = error
                if self._closing:
                    self._give_up(error)
            except RetinueError as error:
                self._give_up(error)
            except Exception as error:  # noqa: BLE001 - say a name that is no Unicode; whatever it is, the thread must go on
                self._give_up(InternalError(f"An event cannot be recorded: `{type(error).__name__}`: {error}"))
        self._report(entries, losses)

    def _report(self, entries: list[Entry], losses: dict[Claim, RunTakenOver]) -> None:
        for loss in losses.values():
            self._on_failure(loss)
        for entry in entries:
            if entry.then is not None:
                entry.then(losses.get((entry.run, entry.epoch), self.failure))

    def _give_up(self, failure: RetinueError) -> None:
        self._on_failure(failure)  # first, so that nobody is told that something is recorded before
        self.failure = failure


def _write_entries(connection: Connection, store: Store, entries: Sequence[Entry]) -> dict[Claim, RunTakenOver]:
    """Write what may be written; gives the runs of which nothing may be, since another process has taken them over."""
    insert_rows(connection, "runs", [row for entry in entries for table, row in entry.rows if table == "runs"])
    losses = losses_of(connection, {(entry.run, entry.epoch) for entry in entries}, store.in_list, store.locks_row)
    own_entries = [entry for entry in entries if (entry.run, entry.epoch) not in losses]
    rows: dict[str, list[Sequence[object]]] = defaultdict(list)
    for entry in own_entries:
        for table, row in entry.rows:
            if table != "runs":
                rows[table].append(row)
    for table, rows_of_all in rows.items():
        insert_rows(connection, table, rows_of_all)
    for entry in own_entries:
        for statement, values in entry.statements:
            connection.execute(statement, values)
    return losses


def losses_of(
    connection: Connection, claims: Collection[Claim], in_list: str, locks_row: str = ""
) -> dict[Claim, RunTakenOver]:
    """Those of `claims` that another process has taken over, with what to say of each."""
    if not claims:
        return {}
    query = f"SELECT run, epoch, owner FROM runs WHERE run {in_list} ORDER BY run{locks_row}"  # noqa: S608 - ours
    runs = json.dumps(sorted({run for run, _ in claims}))
    now = {run: (epoch, owner) for run, epoch, owner in connection.execute(query, (runs,))}
    losses: dict[Claim, RunTakenOver] = {}
    for run, epoch in claims:
        present_epoch, owner = now.get(run, (None, ""))
        if present_epoch is None:
            message = f"Run `{run}` is no longer in the history."
            losses[run, epoch] = RunTakenOver(message, detail={"run": run, "epoch": epoch})
        elif present_epoch != epoch:
            losses[run, epoch] = RunTakenOver(
                f"Run `{run}` was taken over by another process ({owner or 'without a name'}).",
                hint=f"Follow it there: retinue runs follow {run}",
                detail={"run": run, "epoch": epoch, "owner": owner},
            )
    return losses


class _Job(Generic[T]):
    __slots__ = ("_failure", "_value", "claims", "done", "taken", "work")

    def __init__(self, work: Callable[[Connection], T], claims: str) -> None:
        self.work, self.claims = work, claims
        self.done = threading.Event()
        self.taken = threading.Lock()  # by who does it, or by who no longer waits for it
        self._value: T | None = None
        self._failure: RetinueError | None = None

    def settle(self, value: T | None, failure: RetinueError | None = None) -> None:
        self._value, self._failure = value, failure
        self.done.set()

    def outcome(self) -> T:
        self.done.wait()
        if self._failure is not None:
            raise self._failure
        return cast("T", self._value)
