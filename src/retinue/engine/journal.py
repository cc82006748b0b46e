"""The history of runs in one database: what happened, for people, and what is finished, for going on.

One table of events. Values are JSON of our own contract types, never pickle. Writing never blocks a run and never
fails one (`writer.Writer`); reading is synchronous, and says exactly which run cannot be read.
"""

import json
import threading
from collections.abc import Callable, Collection, Sequence
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final, Self, TypeAlias, TypeVar

from retinue.contract.event import KINDS, Body, Event, NodeFinished, QuestionAnswered
from retinue.contract.result import Result
from retinue.contract.task import Answer
from retinue.engine.base import EVERY_RUN, PendingQuestion, RunFilter, RunRecord
from retinue.engine.event_codec import encode, encode_data
from retinue.engine.ids import CHILD, unknown_run
from retinue.engine.journal_reader import AFTER_CHILD, UNSENT, JournalReader, Mail, storable
from retinue.engine.run_history import Note, RunHistory, check_answer, unknown_question
from retinue.engine.statistics import JournalFacts, Rating, read_facts, read_ratings, write_rating
from retinue.engine.store import RUN_FORMAT, Connection, RunTakenOver, Store, StoreLost, insert_rows
from retinue.engine.stores import store_at
from retinue.engine.writer import END_RUN, Claim, Entry, Later, NewRow, Statement, Then, Writer, losses_of, rows_of
from retinue.errors import InvalidInput, RetinueError

T = TypeVar("T")

ANSWER_S: Final = 1.0
"""How long a process has to say that it still works on a run."""

_PAGE: Final = 500


class Journal:
    """The history in one file or database. Safe to use from several threads, objects and processes at once.

    Close it, or leave it as a context, to be sure that everything is written.

    Args:
        place: A file of SQLite, or the URL of a PostgreSQL database (`postgresql://…`). A file is made, readable by its
            owner only, by the first run that is recorded. Or a store of your own.
        later: Calls what writes, in place of a thread: for a test that orders everything itself.

    Attributes:
        place: Where the history is, without a password.
        host: The name of this machine, where several may share the history; otherwise "".
        listeners: Called in the writer's thread when something cannot be written, and with `RunTakenOver` when another
            process has taken over a run.
    """

    def __init__(self, place: Path | str | Store, *, later: Later | None = None) -> None:
        self._store = store_at(place) if isinstance(place, Path | str) else place
        self.place, self.host = self._store.place, self._store.host
        self.listeners: list[Callable[[RetinueError], None]] = []

        def notify(failure: RetinueError) -> None:
            for listener in tuple(self.listeners):
                listener(failure)

        self._writer = Writer(self._store, notify, self._answer_calls, later)
        self._lock = threading.Lock()
        self._calls: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def failure(self) -> RetinueError | None:
        """Why nothing is recorded any more, if so."""
        return self._writer.failure

    def close(self) -> None:
        """Write what is left, and stop being the owner of runs. Using it again opens it again."""
        self._writer.close()
        with self._lock:
            self._store.close()

    def flush(self) -> None:
        """Wait until everything recorded so far is on the disk, or never will be."""
        self._writer.flush()

    def watch(self, on_change: Callable[[], None]) -> None:
        """Call `on_change`, in the writer's thread, whenever another process may have written, until `unwatch`."""
        self._writer.watch(on_change)

    def unwatch(self, on_change: Callable[[], None]) -> None:
        """End that."""
        self._writer.unwatch(on_change)

    # Recording. What takes a `then` calls it in the writer's thread when it is on the disk; with an error, when it
    # never will be.

    def begin(self, history: RunHistory, then: Then | None = None) -> None:
        """Record that a run begins here, and what is already in its history.

        Raises:
            InvalidInput: Its payload is not JSON data.
        """
        self._writer.append(self._first_entry(history, then))

    def begin_once(self, history: RunHistory, *, queued: bool = False) -> bool:
        """The same for a run whose id a caller chose; False when there is such a run already. Waits for the disk.

        With `queued` nobody works on it yet: a worker of its place takes it.

        Raises:
            InvalidInput: Its payload is not JSON data.
            RetinueError: The store cannot be written.
        """
        entry = self._first_entry(history, queued=queued)

        def insert(connection: Connection, before: object) -> bool:
            (table, start), *rows = entry.rows
            if not insert_rows(connection, table, [start]):
                query = "SELECT started_ns FROM runs WHERE run = ?"
                return bool(before) and connection.execute(query, (history.run,)).fetchone() == (history.started_ns,)
            for table, row in rows:
                insert_rows(connection, table, [row])
            for statement, values in entry.statements:
                connection.execute(statement, values)
            return True

        return self._claim(history.run, insert)

    def take_over(
        self, run: str, check: Callable[[str], object] = lambda _: None, *, unless_ended: bool = False
    ) -> "_Takeover":
        """Record that this process continues a top-level run; gives its history and its mail. Waits for the disk.

        First `check` is told the name of its workflow, in the writer's thread; what it raises is raised here.

        Raises:
            InvalidInput: Another process still works on it; or it has ended, with success or, if that is asked, at all.
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The store cannot be written.
        """
        owner = self._store.owner()

        def change_owner(connection: Connection, before: _Takeover | None) -> _Takeover:
            query = f"SELECT status, owner, epoch, resumed_after FROM runs WHERE run = ?{self._store.locks_row}"  # noqa: S608 - ours
            if (row := connection.execute(query, (run,)).fetchone()) is None:
                raise unknown_run(run, [])
            status, worker, epoch, resumed_after = row
            if before is not None and (worker, epoch) == (owner, before[0].epoch):  # it is done already
                return before
            history = (reader := self._reader(connection)).history(run)
            ends = (event.body for event in history.events[resumed_after:] if not event.node)
            result = next((body.result for body in ends if isinstance(body, NodeFinished)), None)
            is_worked_on = status == "working" and result is None and self._store.is_alive(worker, connection)
            if is_worked_on and not self._is_asleep(connection, run):
                hint, pid = "Wait for it, or end the process that runs it.", self._store.stopped_pid(worker)
                hint = hint if pid is None else f"Its process is stopped. Let it go on: kill -CONT {pid}"
                raise InvalidInput(f"Run `{run}` is still running.", hint=hint)
            if result is not None and (unless_ended or result.outcome == "success"):  # perhaps just now
                raise InvalidInput(f"Run `{run}` has ended.", hint=f"See what it came to: retinue runs show {run}")
            check(history.workflow)
            mails = reader.mail({run})
            history.epoch, history.attempts = epoch + 1, history.attempts + 1
            if status == "working":
                connection.execute("DELETE FROM inbox WHERE run = ? AND kind = 'call'", (run,))
            connection.execute(_TAKE, (owner, history.epoch, history.attempts, len(history.events), run))
            return history, mails

        return self._claim(run, change_owner)

    def release(self, run: str, epoch: int, then: Then, *, parked: bool = False) -> None:
        """Record that this process works on `run` no more: a worker of its place goes on with it.

        With `parked` that is when one of its questions is answered, which may have been just now.
        """
        status, values = "'queued'", ()
        if parked:
            is_answered = "EXISTS (SELECT 1 FROM inbox WHERE kind <> 'call' AND (run = ? OR (run > ? AND run < ?)))"
            status = f"CASE WHEN {is_answered} THEN 'queued' ELSE 'input_required' END"
            values = (run, run + CHILD, run + AFTER_CHILD)
        statement = f"UPDATE runs SET status = {status}, owner = '', attempts = 0, sent_ns = 0 WHERE run = ?"  # noqa: S608 - ours
        self._writer.append(Entry(run, epoch, (), [(statement, (*values, run))], then))

    def go_on(self, run: str, epoch: int, after: int) -> None:
        """Record that this process continues, behind event `after`, a child run of a run that it has at `epoch`."""
        # What follows may be recorded in the same transaction, and before this: so `after` is not asked for there.
        statement = "UPDATE runs SET owner = ?, status = 'working', resumed_after = ? WHERE run = ?"
        self._writer.append(Entry(_root(run), epoch, (), [(statement, (self._store.owner(), after, run))]))

    def record(self, event: Event, epoch: int = 1, then: Then | None = None) -> None:
        """Record an event of a run that this process works on at `epoch`.

        Raises:
            InvalidInput: It holds something that is not JSON data.
        """
        rows, statements = rows_of(event)
        self._writer.append(Entry(_root(event.run), epoch, rows, statements, then))

    def add_event(self, run: str, body: Body, at_ns: int) -> None:
        """Record an event behind the last one of a run that no process works on. Waits for the disk.

        Raises:
            InvalidInput: It holds something that is not JSON data.
            RetinueError: The store cannot be written.
        """
        values = (run, KINDS[type(body)], at_ns, text := encode(body), run, at_ns, text)
        query = (
            "INSERT INTO events SELECT ?, coalesce(max(sequence), 0) + 1, '', 0, ?, ?, ? FROM events WHERE run = ?"
            " AND sequence > 0 HAVING count(CASE WHEN at_ns = ? AND body = ? THEN 1 END) = 0"  # it may be done again
        )

        def insert(connection: Connection) -> None:
            self._lock_run(connection, run)
            connection.execute(query, values)

        self._writer.call(insert)

    def commit(self, run: str, epoch: int, then: Then) -> None:
        """Only call `then`, when everything recorded so far is on the disk, or never will be."""
        self._writer.append(Entry(_root(run), epoch, (), then=then))

    def note(self, run: str, number: int, note: Note, at_ns: int, epoch: int = 1) -> None:
        """Record a value that a workflow was given; `number` counts them from 1."""
        kind, value = note
        row = (run, -number, "", 0, kind, at_ns, encode_data(value))
        self._writer.append(Entry(_root(run), epoch, [("events", row)]))

    def change_rate(self, name: str, change: Callable[[int, int], tuple[int, T]]) -> T:
        """Let `change` replace the number that all processes keep for the rate limit `name`. Waits for the disk.

        Args:
            name: Which limit.
            change: Called with that number, at first 0, and the store's time in nanoseconds since 1970; gives the new
                number, and what is returned here.

        Raises:
            RetinueError: The store cannot be written.
        """
        query = f"SELECT used_until_ns, {self._store.clock} FROM rates WHERE name = ?{self._store.locks_row}"  # noqa: S608 - ours

        def replace(connection: Connection) -> T:
            connection.execute("INSERT INTO rates VALUES (?, 0) ON CONFLICT DO NOTHING", (name,))
            used_until_ns, value = change(*connection.execute(query, (name,)).fetchone())
            connection.execute("UPDATE rates SET used_until_ns = ? WHERE name = ?", (used_until_ns, name))
            return value

        return self._writer.call(replace)

    # The inbox: what other processes have to say to whoever works on a run

    def answer(self, run: str, answer: Answer) -> None:
        """Leave an answer for whoever works on `run`, now or later. Waits for the disk. The same twice is one.

        Raises:
            UnknownName: There is no such run, or no such pending question; the pending ones are listed.
            InvalidInput: It does not fit its question, or the question has another answer already.
            RetinueError: The store cannot be written.
        """
        text, question = encode(QuestionAnswered(answer)), storable(answer.question_id)

        def post(connection: Connection) -> None:
            self._lock_run(connection, run)
            reader = self._reader(connection)
            record = reader.record(run)
            pending = {} if record.ended_ns is not None else reader.pending(run)
            if answer.question_id not in pending:
                if text in reader.answers(run):
                    return
                raise unknown_question(run, answer.question_id, tuple(pending))
            check_answer(pending[answer.question_id], answer)
            values = (run, "answer", question, text)
            connection.execute(_WAKE, (_root(run),))
            if connection.execute(_POST, values).rowcount < 1:
                query = "SELECT body FROM inbox WHERE run = ? AND kind = ? AND question = ?"
                if connection.execute(query, values[:3]).fetchone() != (text,):
                    raise InvalidInput(
                        f"Question {answer.question_id[:80]!r} of run `{run}` has been answered already.",
                        path="/question_id",
                    )

        self._writer.call(post)

    def cancel(self, run: str, reason: str) -> None:
        """Tell whoever works on `run` to stop it. Waits for the disk.

        Raises:
            RetinueError: The store cannot be written.
        """
        values = (run, "cancel", "", encode_data({"reason": reason}))
        self._writer.call(lambda connection: connection.execute(_POST, values) and None)

    def mail(self, runs: Sequence[str]) -> Sequence[Mail]:
        """What was left for `runs` and their child runs, and is not done yet.

        Raises:
            RetinueError: The store cannot be read.
        """
        return self._read(lambda reader: reader.mail(set(runs)), ())

    def losses(self, claims: Collection[Claim]) -> Collection[RunTakenOver]:
        """Which of these runs another process has taken over, though nothing was recorded of them since.

        Raises:
            RetinueError: The store cannot be read.
        """
        return self._read(lambda reader: losses_of(reader.connection, claims, self._store.in_list).values(), ())

    # The queue

    def to_do(self, places: Sequence[str], limit: int, *, on_any_host: bool = False) -> Sequence[str]:
        """The runs that a worker of `places` can go on with, the oldest first: from the queue, and those of the dead.

        A place is a folder of the machine where its run was started, unless all machines share it: `on_any_host`.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.to_do(places, limit, on_any_host=on_any_host), ())

    def to_send(self, place: str, *, again_after_ns: int | None = None, on_any_host: bool = False) -> Sequence[str]:
        """Those of them that a broker is to be told of, which is recorded at once: at most 500.

        Args:
            place: Where they are to run.
            on_any_host: As above.
            again_after_ns: Also those of which it was told so long ago, by the store's clock.

        Raises:
            RetinueError: The store cannot be read or written.
        """
        unsent_ns = 2**62 if again_after_ns is None else again_after_ns
        runs = self._read(lambda reader: reader.to_do((place,), _PAGE, unsent_ns, on_any_host=on_any_host), ())
        statement = _MARK_SENT.format(self._store.clock)

        def mark(connection: Connection) -> Sequence[str]:  # what another process marks just now is its to send
            return [run for run in sorted(runs) if connection.execute(statement, (run, unsent_ns)).rowcount]

        return self._writer.call(mark) if runs else []

    def call_owner(self, run: str) -> None:
        """Ask the process that works on `run` whether it does. One that does not say so within a second is asleep.

        Then `take_over` takes its run. Waits for the disk.

        Raises:
            RetinueError: The store cannot be written.
        """
        values = (run, "call", self._store.owner(), "")
        self._writer.call(lambda connection: connection.execute(_POST, values) and None)
        self._calls[run] = monotonic()

    def _is_asleep(self, connection: Connection, run: str) -> bool:
        if monotonic() - self._calls.get(run, inf) < ANSWER_S:
            return False
        query = "SELECT 1 FROM inbox WHERE run = ? AND kind = 'call' AND question = ?"
        return connection.execute(query, (run, self._store.owner())).fetchone() is not None

    def _answer_calls(self) -> None:
        """Say in the writer's thread that this process works on its runs: an agent may hold the event loop for long."""
        values = (self._store.owner(),)
        with self._lock:
            calls = self._store.read(lambda connection: connection.execute(f"SELECT 1 {_CALLS}", values).fetchone())
        if calls is not None:
            self._store.transact(lambda connection: connection.execute(f"DELETE {_CALLS}", values) and None)

    # Reading

    def list(self, limit: int = 50, where: RunFilter = EVERY_RUN) -> Sequence[RunRecord]:
        """The newest runs first, without child runs. One that cannot be read is there too, with its `damage`.

        Raises:
            InvalidInput: `where.after` is not a cursor.
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.newest(limit, where), ())

    def count(self, where: RunFilter) -> int:
        """How many runs there are without child runs. Only owner, labels and agent of `where` are looked at.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.count(where), 0)

    def questions(self, run: str) -> Sequence[PendingQuestion]:
        """What a run and its child runs have asked, and what nobody has answered.

        Raises:
            UnknownName: There is no such run.
            ParseError: One of its events cannot be read.
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.questions(run), ())

    def get(self, run: str, *, owner: str | None = None) -> RunRecord:
        """One run's record.

        Args:
            run: Its id.
            owner: For whom it must have been started.

        Raises:
            UnknownName: There is no such run; near names are suggested, unless an owner is given.
            ParseError: Its record cannot be read.
            RetinueError: The store itself cannot be read.
        """
        record = self._read(lambda reader: reader.record(run, owner), None)
        if record is None:
            raise unknown_run(run, [])
        return record

    def find(self, part: str, *, limit: int) -> tuple[str, ...]:
        """Ids of runs that begin with `part`, or else of those that end with it; the newest first.

        The run of that id is first, and at most `limit` others are given: those with the last ids.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.find(part, limit), ())

    def history(self, run: str) -> RunHistory:
        """Everything about one run.

        Raises:
            UnknownName: There is no such run.
            ParseError: Something in it cannot be read.
            RetinueError: The store itself cannot be read.
        """
        history = self._read(lambda reader: reader.history(run), None)
        if history is None:
            raise unknown_run(run, [])
        return history

    def events(self, run: str, *, after: int = 0, limit: int = _PAGE) -> Sequence[Event]:
        """At most `limit` events of a run with a sequence above `after`, in order.

        Raises:
            ParseError: One of them cannot be read.
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: reader.events(run, after, limit), ())

    def result(self, run: str) -> Result | None:
        """What a run came to; None when it has not ended.

        Raises:
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The store itself cannot be read.
        """
        if self.get(run).ended_ns is None:
            return None
        return self._read(lambda reader: reader.result(run), None)

    def facts(self, *, since_ns: int | None = None, newest: int | None = None, run: str | None = None) -> JournalFacts:
        """What all ended runs and their calls took and came to.

        Args:
            since_ns: Only runs that were started then or later, nanoseconds since 1970 UTC.
            newest: Only so many runs.
            run: Only this run.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(
            lambda reader: read_facts(reader.connection, since_ns=since_ns, newest=newest, run=run), JournalFacts()
        )

    # Ratings

    def rate(self, run: str, rating: Rating) -> None:
        """Keep what a person thought of a run's answer, in place of an earlier rating (P21). Waits for the disk.

        Raises:
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The store cannot be written.
        """
        self.get(run)
        self._writer.call(lambda connection: write_rating(connection, run, rating))

    def rating(self, run: str) -> Rating | None:
        """What a person thought of a run's answer; None when it was not rated.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(lambda reader: read_ratings(reader.connection), dict[str, Rating]()).get(run)

    # What is kept beside runs

    def keep_text(self, run: str, name: str, text: str | None) -> None:
        """Keep a text beside a run, in place of the one of that name; None deletes it. Waits for the disk.

        It may be secret: it is in no event, and nothing that shows runs shows it.

        Raises:
            RetinueError: The store cannot be written.
        """

        def write(connection: Connection) -> None:
            connection.execute("DELETE FROM texts WHERE run = ? AND name = ?", (run, name))
            if text is not None:
                connection.execute("INSERT INTO texts VALUES (?, ?, ?)", (run, name, text))

        self._writer.call(write)

    def texts(self) -> Sequence[tuple[str, str, str]]:
        """All of these texts: run, name, text.

        Raises:
            RetinueError: The store cannot be read.
        """
        return self._read(lambda reader: reader.connection.execute("SELECT run, name, text FROM texts").fetchall(), [])

    # The store itself

    def migrate(self) -> tuple[int, int]:
        """Bring the tables to the present format, and give the one they had, 0 for none, and the one they have now.

        Raises:
            RetinueError: The store cannot be read or written, or is of a newer format.
        """
        before = self._store.format()
        if before:
            self._writer.call(lambda _: None)
        return before, self._store.format()

    def check(self) -> Sequence[tuple[str, str]]:
        """Everything that is wrong with the store: the run, or "" for the database itself, and what it is.

        Raises:
            RetinueError: The store itself cannot be read.
        """
        return self._read(
            lambda reader: [*(("", text) for text in self._store.damage(reader.connection)), *reader.damage()], []
        )

    # Forgetting

    def prune(self, *, older_than_ns: int | None = None, keep: int | None = None) -> int:
        """Delete runs with their child runs, and give how many; those that a process works on stay.

        Args:
            older_than_ns: Only runs that were started before, nanoseconds since 1970 UTC.
            keep: The newest runs to spare.

        Raises:
            InvalidInput: Neither is given: that would delete everything.
            RetinueError: The store cannot be written.
        """
        if older_than_ns is None and keep is None:
            raise InvalidInput("Nothing says which runs to delete.", hint="Give an age, or how many runs to keep.")
        self.flush()
        if not self._store.exists():
            return 0

        def delete(connection: Connection) -> int:
            condition, values = "parent IS NULL", list[object]()
            if keep:
                if (newest := connection.execute(_NEWEST, (keep - 1,)).fetchone()) is None:
                    return 0
                condition += " AND (started_ns, run) < (?, ?)"
                values += newest
            if older_than_ns is not None:
                condition += " AND started_ns < ?"
                values.append(older_than_ns)
            # What has ended goes as a set. Whether others may go is looked up for each; there are few.
            query = f"SELECT run FROM runs WHERE {condition} AND status <> 'ended'"  # noqa: S608 - ours
            idle = self._reader(connection).idle([run for (run,) in connection.execute(query, values)])
            for run in idle:
                connection.execute(END_RUN, (run,))
            # Held to the end, so that nobody takes over a run of which half is gone.
            query = f"SELECT run FROM runs WHERE {condition} AND status = 'ended'{self._store.locks_row}"  # noqa: S608
            family = old = [run for (run,) in connection.execute(query, values)]
            query = f"SELECT run FROM runs WHERE parent {self._store.in_list}"  # noqa: S608 - ours
            while family := [run for (run,) in connection.execute(query, (json.dumps(family),))]:
                old = [*old, *family]
            for table in ("events", "facts", "tags", "inbox", "texts", "ratings", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE run {self._store.in_list}", (json.dumps(old),))  # noqa: S608
            self._store.shrink(connection)
            return sum(CHILD not in run for run in old)

        return self._writer.call(delete)

    # Within

    def _first_entry(self, history: RunHistory, then: Then | None = None, *, queued: bool = False) -> Entry:
        run, at_ns = history.run, history.started_ns
        facts = {
            "workflow": history.workflow,
            "label": history.label,
            "parent": history.parent,
            **({"for": history.owner} if history.owner else {}),
            **({"labels": dict(history.labels)} if history.labels else {}),
        }
        status, worker = ("queued", "") if queued else ("working", self._store.owner())
        start = (run, run[::-1], history.parent, at_ns, storable(history.owner), status, storable(history.place), 0)
        start += (worker, history.epoch, 0 if queued else 1, RUN_FORMAT, 0, encode_data(facts))
        start += (encode_data(history.payload),)
        tags = [(f"label:{storable(name)}", storable(value)) for name, value in history.labels.items()]
        tags += [("host", self.host)] if history.place and self.host else []
        rows: list[NewRow] = [("runs", start), *(("tags", (run, *tag)) for tag in tags)]
        statements: list[Statement] = []
        for event in history.events:
            own_rows, changes = rows_of(event)
            is_own = event.at_ns >= at_ns  # a fork has others from before
            rows += own_rows if is_own else own_rows[:1]
            statements += changes if is_own else ()
        for number, (kind, value) in enumerate(history.notes, 1):
            rows.append(("events", (run, -number, "", 0, kind, at_ns, encode_data(value))))
        return Entry(_root(run), history.epoch, rows, statements, then)

    def _claim(self, run: str, work: Callable[[Connection, T | None], T]) -> T:
        """Do `work`, which makes a run ours and must not do so unheard: a database that may have done it is waited for.

        `work` is told what it gave before, if it may have been done already. It raises only before it has written.
        """
        before: T | None = None

        def claim(connection: Connection) -> T | RetinueError:
            nonlocal before
            try:
                before = work(connection, before)
            except RetinueError as refusal:  # what is done in the same transaction stays done
                return refusal
            return before

        outcome: T | RetinueError | None = None
        while outcome is None:
            try:
                outcome = self._writer.call(claim, claims=run)
            except StoreLost:
                if before is None:
                    raise
        if isinstance(outcome, RetinueError):
            raise outcome
        return outcome

    def _lock_run(self, connection: Connection, run: str) -> None:
        """Keep whoever works on `run` from writing until the end of the transaction."""
        connection.execute(f"SELECT run FROM runs WHERE run = ?{self._store.locks_row}", (_root(run),))  # noqa: S608

    def _reader(self, connection: Connection) -> JournalReader:
        return JournalReader(connection, self._store)

    def _read(self, query: Callable[[JournalReader], T], default: T) -> T:
        self.flush()
        with self._lock:
            if not self._store.exists():
                return default
            return self._store.read(lambda connection: query(self._reader(connection)))


_Takeover: TypeAlias = tuple[RunHistory, list[Mail]]
_POST: Final = "INSERT INTO inbox VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_WAKE: Final = "UPDATE runs SET status = 'queued', sent_ns = 0 WHERE run = ? AND status = 'input_required'"
_MARK_SENT: Final = f"UPDATE runs SET sent_ns = {{0}} WHERE run = ? AND {UNSENT}"  # noqa: S608 - ours
_CALLS: Final = "FROM inbox WHERE kind = 'call' AND run IN (SELECT run FROM runs WHERE owner = ?)"
_TAKE: Final = "UPDATE runs SET owner = ?, epoch = ?, attempts = ?, resumed_after = ?, status = 'working' WHERE run = ?"

_NEWEST: Final = (
    "SELECT started_ns, run FROM runs WHERE parent IS NULL ORDER BY started_ns DESC, run DESC LIMIT 1 OFFSET ?"
)


def _root(run: str) -> str:
    return run.partition(CHILD)[0]
