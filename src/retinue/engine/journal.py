"""The history of runs in one SQLite file: what happened, for people, and what is finished, for going on.

One table of events. Values are JSON of our own contract types, never pickle. Writing never blocks a run and never
fails one (`journal_store.Writer`); reading is synchronous, and says exactly which run cannot be read.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self, TypeVar, cast

from retinue.contract.event import KINDS, Body, Event, NodeFinished
from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.engine.base import EVERY_RUN, PendingQuestion, RunFilter, RunRecord
from retinue.engine.event_codec import decode, encode, encode_data, head_of, read_data, read_object
from retinue.engine.ids import CHILD, unknown_run
from retinue.engine.journal_store import (
    FIRST_NOTE,
    INSERT,
    STARTED_FOR,
    Owner,
    Row,
    Writer,
    condition_of,
    is_alive,
    open_to_read,
    store_error,
)
from retinue.engine.run_history import Note, RunHistory, Value, pending_questions
from retinue.engine.statistics import JournalFacts, Rating, forget_rating, read_facts, read_ratings, write_rating
from retinue.errors import InvalidInput, ParseError, RetinueError

T = TypeVar("T")

_PAGE: Final = 500
AFTER_CHILD: Final = chr(ord(CHILD) + 1)

_HEAD: Final = 80
"""Characters of a body that hold outcome and lifecycle; see `record.head_of`."""


class JournalReader:
    """What the rows of a journal say. Not for several threads at once.

    Everything in a row is checked, because it may have been edited: nonsense is an error that names its run, and
    never keeps other runs from being read.

    Args:
        connection: To a file with the table of events.
        owners: The folder of the lock files.
        path: The file, to name it in an error.

    Attributes:
        connection: As given, for other questions to the same file.
    """

    def __init__(self, connection: sqlite3.Connection, owners: Path, path: Path) -> None:
        self.connection = connection
        self._owners = owners
        self._path = path
        self._alive: dict[str, bool] = {}

    def count(self, where: RunFilter) -> int:
        """How many runs there are without child runs, by owner, labels and agent."""
        condition, values = condition_of(where)
        return int(self._rows(f"SELECT count(*) FROM events WHERE {condition}", *values)[0][0])  # noqa: S608 - ours

    def newest(self, limit: int, where: RunFilter = EVERY_RUN) -> Sequence[RunRecord]:
        """The newest runs first, without child runs; all of them with a negative `limit`."""
        condition, values = condition_of(where)
        if (position := where.position) is not None:
            condition += " AND (at_ns, run) < (?, ?)"
            values += position
        query = f"SELECT run, at_ns, body FROM events WHERE {condition}"  # noqa: S608 - all of it ours
        records: list[RunRecord] = []
        for run, started_ns, body in self._execute(f"{query} ORDER BY at_ns DESC, run DESC", *values):
            if len(records) == limit:
                break
            try:
                record = self._record(_text(run), started_ns, body)
            except ParseError as error:
                start = started_ns if isinstance(started_ns, int) else 0
                record = RunRecord(str(run), "", "ended", None, "", start, damage=error.message)
            if where.matches(record):
                records.append(record)
        return records

    def questions(self, run: str) -> Sequence[PendingQuestion]:
        """What a run and its child runs have asked, and what nobody has answered."""
        self._start(run)
        rows = self._rows(
            "SELECT run, sequence, node, attempt, kind, at_ns, body FROM events WHERE sequence > 0 AND"
            " (run = ? OR (run > ? AND run < ?)) AND kind IN ('asked', 'answered', 'finished') ORDER BY run, sequence",
            run,
            run + CHILD,
            run + AFTER_CHILD,
        )
        events: dict[str, list[Event]] = {}
        for name, sequence, node, attempt, kind, at_ns, body in rows:
            event = Event(name, _text(node), attempt, sequence, at_ns, decode(_text(kind), _text(body)))
            events.setdefault(name, []).append(event)
        return [
            PendingQuestion(name, question) for name in events for question in pending_questions(events[name]).values()
        ]

    def record(self, run: str, owner: str | None = None) -> RunRecord:
        """One run's record; another owner's run is none."""
        try:
            if owner is None:
                return self._record(run, *self._start(run))
            # Asked for in the query: to read another's row takes longer than to find none.
            query = f"SELECT at_ns, body FROM events WHERE run = ? AND sequence = 0 AND coalesce({STARTED_FOR}, '') = ?"  # noqa: S608 - ours
            rows = self._rows(query, run, owner)
            if not rows:
                raise unknown_run(run, [])
            return self._record(run, *rows[0])
        except ParseError as error:
            raise self._damaged(run, error) from error

    def result(self, run: str) -> Result | None:
        """What the run came to when it ended last."""
        rows = self._rows(
            "SELECT body FROM events WHERE run = ? AND sequence > 0 AND kind = 'finished' AND node = ''"
            " ORDER BY sequence DESC LIMIT 1",
            run,
        )
        try:
            body = decode("finished", _text(rows[0][0])) if rows else None
        except ParseError as error:
            raise self._damaged(run, error) from error
        return body.result if isinstance(body, NodeFinished) else None

    def find(self, part: str) -> tuple[str, ...]:
        """Ids that begin with `part`, or else those that end with it; the newest first."""
        where = "SELECT run FROM events WHERE sequence = 0 AND substr(run, {}) = ? ORDER BY at_ns DESC, run DESC"
        size = len(part)
        rows = self._rows(where.format("1, ?"), size, part) or self._rows(where.format("-max(1, ?)"), size, part)
        return tuple(run for (run,) in rows)

    def events(self, run: str, after: int, limit: int) -> Sequence[Event]:
        """At most `limit` events with a sequence above `after`."""
        rows = self._rows(
            "SELECT sequence, node, attempt, kind, at_ns, body FROM events WHERE run = ? AND sequence > ?"
            " ORDER BY sequence LIMIT ?",
            run,
            max(after, 0),
            limit,
        )
        try:
            events: list[Event] = []
            for sequence, node, attempt, kind, at_ns, text in rows:
                body = decode(_text(kind), _text(text))
                events.append(Event(run, _text(node), _integer(attempt), _integer(sequence), _integer(at_ns), body))
        except ParseError as error:
            raise self._damaged(run, error) from error
        return events

    def history(self, run: str) -> RunHistory:
        """Everything about one run."""
        started_ns, body = self._start(run)
        try:
            start = read_object(_text(body))
            payload = self._rows("SELECT body FROM events WHERE run = ? AND sequence = ?", run, FIRST_NOTE)
            if not payload:
                raise ParseError("what it was started with is missing")
            events = list(self.events(run, 0, -1))
            for place, event in enumerate(events, 1):
                if event.sequence != place:
                    raise ParseError(f"event {place} is missing.")
            notes = self._rows(
                "SELECT kind, body FROM events WHERE run = ? AND sequence < ? ORDER BY sequence DESC", run, FIRST_NOTE
            )
            return RunHistory(
                run=run,
                workflow=_text(start.get("workflow")),
                payload=read_object(_text(payload[0][0])),
                label=_text(start.get("label")),
                started_ns=_integer(started_ns),
                parent=_text_or_none(start.get("parent")),
                owner=_text(start.get("for", "")),
                labels=_labels(start),
                events=events,
                notes=[_note(_text(kind), _text(note)) for kind, note in notes],
            )
        except ParseError as error:
            raise self._damaged(run, error) from error

    def _record(self, run: str, started_ns: object, body: object) -> RunRecord:
        start = read_object(_text(body))
        owner, after = self._owner(run, start)
        outcome: Outcome | None = None
        lifecycle: Lifecycle = "working"
        ended_ns: int | None = None
        steps: dict[str, None] = {}
        for sequence, node, at_ns, head in self._rows(
            "SELECT sequence, node, at_ns, substr(body, 1, ?) FROM events"
            " WHERE run = ? AND sequence > 0 AND kind = 'finished' ORDER BY sequence",
            _HEAD,
            run,
        ):
            step_outcome, state = self._head(run, sequence, head)
            if node:
                steps.pop(node, None)
                if step_outcome in {"success", "partial"}:
                    steps[node] = None
            elif sequence > after:
                ended_ns, outcome = _integer(at_ns), step_outcome
                lifecycle = "input_required" if state == "input_required" else "ended"
        alive = True
        if ended_ns is None:
            if owner not in self._alive:
                self._alive[owner] = is_alive(self._owners, owner)
            alive = self._alive[owner]
        if ended_ns is None and alive:
            query = "SELECT node, kind FROM events WHERE run = ? AND sequence > ? AND kind IN ('asked', 'answered')"
            rows = self._rows(query, run, after)
            nodes_with_questions = {node for node, kind in rows if kind == "asked"}
            if nodes_with_questions - {node for node, kind in rows if kind != "asked"}:
                lifecycle = "input_required"
        return RunRecord(
            run=run,
            workflow=_text(start.get("workflow")),
            lifecycle=lifecycle,
            outcome=outcome,
            label=_text(start.get("label")),
            started_ns=_integer(started_ns),
            ended_ns=ended_ns,
            stalled=not alive,
            parent=_text_or_none(start.get("parent")),
            finished_steps=tuple(steps),
            owner=_text(start.get("for", "")),
            labels=_labels(start),
        )

    def _start(self, run: str) -> tuple[object, object]:
        rows = self._rows("SELECT at_ns, body FROM events WHERE run = ? AND sequence = 0", run)
        if not rows:
            recent_runs = self._rows("SELECT run FROM events WHERE sequence = 0 ORDER BY at_ns DESC LIMIT 1000")
            raise unknown_run(run, [name for (name,) in recent_runs])
        return rows[0]

    def _owner(self, run: str, start: JsonMapping) -> tuple[str, int]:
        """Who worked on the run last, and the last event that was there before."""
        rows = self._rows(
            "SELECT body FROM events WHERE run = ? AND sequence BETWEEN ? AND -1 AND kind = 'owner'"
            " ORDER BY sequence LIMIT 1",
            run,
            FIRST_NOTE + 1,
        )
        if not rows:
            return _text(start.get("owner")), 0
        note = read_object(_text(rows[0][0]))
        return _text(note.get("owner")), _integer(note.get("after"))

    def _head(self, run: str, sequence: int, head: object) -> tuple[Outcome | None, Lifecycle]:
        try:
            return head_of(_text(head))
        except ParseError:  # it is not as we write it; perhaps it still says the same
            rows = self._rows("SELECT body FROM events WHERE run = ? AND sequence = ?", run, sequence)
            return head_of(_text(rows[0][0]))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._execute(query, *values).fetchall()

    def _execute(self, query: str, *values: object) -> sqlite3.Cursor:
        # A name from a command line may hold halves of surrogate pairs, which no run has and SQLite does not take.
        bound = [value.encode(errors="replace").decode() if isinstance(value, str) else value for value in values]
        return self.connection.execute(query, bound)

    def _damaged(self, run: str, error: ParseError) -> ParseError:
        return ParseError(
            f"The history of run `{run}` cannot be read: {error.message}",
            hint="The history was changed by another program; remove this run from it.",
            path=str(self._path),
            detail={"run": run},
        )


def _note(kind: str, body: str) -> Note:
    value = read_data(body)
    if kind in {"now", "random", "sleep"} and isinstance(value, int | float) and not isinstance(value, bool):
        return (cast("Value", kind), value)
    if kind == "renewed" and isinstance(value, dict):
        counts = cast("JsonMapping", value)
        return ("renewed", {name: _integer(counts.get(name)) for name in ("now", "random", "sleep")})
    raise ParseError(f"the note {kind[:40]!r} is not of a known kind.")


def _labels(start: JsonMapping) -> dict[str, str]:
    labels: object = start.get("labels", {})
    if not isinstance(labels, dict):
        raise ParseError(f"{str(labels)[:40]!r} stands where labels belong.")
    return {name: _text(value) for name, value in cast("JsonMapping", labels).items()}


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{str(value)[:40]!r} stands where a text belongs.")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParseError(f"{str(value)[:40]!r} stands where a whole number belongs.")
    return value


class Journal:
    """The history in the file at `path`. Safe to use from several threads, objects and processes at once.

    Close it, or leave it as a context, to be sure that everything is written.

    Attributes:
        path: The file. It is made, readable by its owner only, by the first run that is recorded.
        listeners: Called in the writer's thread when something cannot be written.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.listeners: list[Callable[[RetinueError], None]] = []

        def notify(failure: RetinueError) -> None:
            for listener in tuple(self.listeners):
                listener(failure)

        self._writer = Writer(self.path, notify)
        self._lock = threading.Lock()
        self._read_connection: sqlite3.Connection | None = None
        self._owner: Owner | None = None

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
            if self._read_connection is not None:
                self._read_connection.close()
                self._read_connection = None
            if self._owner is not None:
                self._owner.release()
                self._owner = None

    def flush(self) -> None:
        """Wait until everything recorded so far is in the file."""
        self._writer.flush()

    def notify(self, on_written: Callable[[], None]) -> None:
        """Call `on_written`, in another thread, when everything recorded so far is in the file, or never will be."""
        self._writer.notify(on_written)

    # Recording

    def begin(self, history: RunHistory) -> None:
        """Record that a run begins, and what is already in its history.

        Raises:
            InvalidInput: Its payload is not JSON data.
        """
        for row in self._first_rows(history):
            self._writer.append(row)

    def begin_once(self, history: RunHistory) -> bool:
        """The same for a run whose id a caller chose; False when there is such a run already. Waits for the disk.

        Raises:
            InvalidInput: Its payload is not JSON data.
            RetinueError: The file cannot be written.
        """
        rows = self._first_rows(history)

        def insert(connection: sqlite3.Connection) -> bool:
            if connection.execute("SELECT 1 FROM events WHERE run = ? AND sequence = 0", (history.run,)).fetchone():
                return False
            connection.executemany(INSERT, rows)
            return True

        return self._writer.call(insert)

    def take_over(self, run: str, at_ns: int) -> None:
        """Record that this process continues a run. Waits for the disk.

        Raises:
            InvalidInput: Another process still works on it.
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The file cannot be written.
        """
        owner = self._ensure_owner()

        def insert_owner(connection: sqlite3.Connection) -> None:
            record = self._reader(connection).record(run)
            if record.ended_ns is None and not record.stalled:
                raise InvalidInput(
                    f"Run `{run}` is still running.", hint="Wait for it, or end the process that runs it."
                )
            low, high = connection.execute(
                "SELECT min(sequence), max(sequence) FROM events WHERE run = ? AND sequence > ?", (run, FIRST_NOTE)
            ).fetchone()
            body = encode_data({"owner": owner, "after": high})
            connection.execute(INSERT, (run, low - 1, "", 0, "owner", at_ns, body))

        self._writer.call(insert_owner)

    def record(self, event: Event) -> None:
        """Record an event.

        Raises:
            InvalidInput: It holds something that is not JSON data.
        """
        self._writer.append(_event_row(event))

    def add_event(self, run: str, body: Body, at_ns: int) -> None:
        """Record an event behind the last one of a run that no process works on. Waits for the disk.

        Raises:
            InvalidInput: It holds something that is not JSON data.
            RetinueError: The file cannot be written.
        """
        values = (KINDS[type(body)], at_ns, encode(body), run)
        query = "INSERT INTO events SELECT run, max(sequence) + 1, '', 0, ?, ?, ? FROM events WHERE run = ?"
        self._writer.call(lambda connection: connection.execute(query, values))

    def note(self, run: str, number: int, note: Note, at_ns: int) -> None:
        """Record a value that a workflow was given; `number` counts them from 1."""
        kind, value = note
        self._writer.append((run, FIRST_NOTE - number, "", 0, kind, at_ns, encode_data(value)))

    # Reading

    def list(self, limit: int = 50, where: RunFilter = EVERY_RUN) -> Sequence[RunRecord]:
        """The newest runs first, without child runs. One that cannot be read is there too, with its `damage`.

        Raises:
            InvalidInput: `where.after` is not a cursor.
            RetinueError: The file itself cannot be read.
        """
        return self._read(lambda reader: reader.newest(limit, where), ())

    def count(self, where: RunFilter) -> int:
        """How many runs there are without child runs. Only owner, labels and agent of `where` are looked at.

        Raises:
            RetinueError: The file itself cannot be read.
        """
        return self._read(lambda reader: reader.count(where), 0)

    def questions(self, run: str) -> Sequence[PendingQuestion]:
        """What a run and its child runs have asked, and what nobody has answered.

        Raises:
            UnknownName: There is no such run.
            ParseError: One of its events cannot be read.
            RetinueError: The file itself cannot be read.
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
            RetinueError: The file itself cannot be read.
        """
        record = self._read(lambda reader: reader.record(run, owner), None)
        if record is None:
            raise unknown_run(run, [])
        return record

    def find(self, part: str) -> tuple[str, ...]:
        """Ids of the runs that begin with `part`, or else of those that end with it; the newest first.

        Raises:
            RetinueError: The file itself cannot be read.
        """
        return self._read(lambda reader: reader.find(part), ())

    def history(self, run: str) -> RunHistory:
        """Everything about one run.

        Raises:
            UnknownName: There is no such run.
            ParseError: Something in it cannot be read.
            RetinueError: The file itself cannot be read.
        """
        history = self._read(lambda reader: reader.history(run), None)
        if history is None:
            raise unknown_run(run, [])
        return history

    def events(self, run: str, *, after: int = 0, limit: int = _PAGE) -> Sequence[Event]:
        """At most `limit` events of a run with a sequence above `after`, in order.

        Raises:
            ParseError: One of them cannot be read.
            RetinueError: The file itself cannot be read.
        """
        return self._read(lambda reader: reader.events(run, after, limit), ())

    def result(self, run: str) -> Result | None:
        """What a run came to; None when it has not ended.

        Raises:
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The file itself cannot be read.
        """
        if self.get(run).ended_ns is None:
            return None
        return self._read(lambda reader: reader.result(run), None)

    def facts(self, *, since_ns: int | None = None, newest: int | None = None) -> JournalFacts:
        """What all ended runs and their calls took and came to.

        Args:
            since_ns: Only runs that were started then or later, nanoseconds since 1970 UTC.
            newest: Only so many runs, child runs counted.

        Raises:
            RetinueError: The file itself cannot be read.
        """
        return self._read(
            lambda reader: read_facts(reader.connection, since_ns=since_ns, newest=newest), JournalFacts()
        )

    # Ratings

    def rate(self, run: str, rating: Rating) -> None:
        """Keep what a person thought of a run's answer, in place of an earlier rating (P21). Waits for the disk.

        Raises:
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
            RetinueError: The file cannot be written.
        """
        self.get(run)
        self._writer.call(lambda connection: write_rating(connection, run, rating))

    def rating(self, run: str) -> Rating | None:
        """What a person thought of a run's answer; None when it was not rated.

        Raises:
            RetinueError: The file itself cannot be read.
        """
        return self._read(lambda reader: read_ratings(reader.connection), dict[str, Rating]()).get(run)

    # What is kept beside runs

    def keep_text(self, run: str, name: str, text: str | None) -> None:
        """Keep a text beside a run, in place of the one of that name; None deletes it. Waits for the disk.

        It may be secret: it is in no event, and nothing that shows runs shows it.

        Raises:
            RetinueError: The file cannot be written.
        """

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM texts WHERE run = ? AND name = ?", (run, name))
            if text is not None:
                connection.execute("INSERT INTO texts VALUES (?, ?, ?)", (run, name, text))

        self._writer.call(write)

    def texts(self) -> Sequence[tuple[str, str, str]]:
        """All of these texts: run, name, text.

        Raises:
            RetinueError: The file cannot be read.
        """
        if not self.path.exists():
            return []

        def read(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
            return connection.execute("SELECT run, name, text FROM texts").fetchall()

        return self._writer.call(read)

    # Forgetting

    def prune(self, *, older_than_ns: int | None = None, keep: int | None = None) -> int:
        """Delete runs with their child runs, and give how many; those that a process works on stay.

        Args:
            older_than_ns: Only runs that were started before, nanoseconds since 1970 UTC.
            keep: The newest runs to spare.

        Raises:
            InvalidInput: Neither is given: that would delete everything.
            RetinueError: The file cannot be written.
        """
        if older_than_ns is None and keep is None:
            raise InvalidInput("Nothing says which runs to delete.", hint="Give an age, or how many runs to keep.")
        self.flush()
        if not self.path.exists():
            return 0

        def delete(connection: sqlite3.Connection) -> int:
            reader = self._reader(connection)
            old = [
                record.run
                for record in reader.newest(-1)[keep or 0 :]
                if (older_than_ns is None or record.started_ns < older_than_ns)
                and (record.ended_ns is not None or record.stalled or record.damage)
            ]
            for run in old:
                connection.execute(
                    "DELETE FROM events WHERE run = ? OR (run > ? AND run < ?)", (run, run + CHILD, run + AFTER_CHILD)
                )
                connection.execute("DELETE FROM texts WHERE run = ?", (run,))
                forget_rating(connection, run)
            return len(old)

        return self._writer.call(delete)

    # Within

    @property
    def _folder(self) -> Path:
        return self.path.with_name(self.path.name + ".owners")

    def _ensure_owner(self) -> str:
        with self._lock:
            if self._owner is None:
                # Without a lock file the run counts as stalled, which is the truth once the file system fails.
                with suppress(OSError):
                    self._owner = Owner(self._folder)
            return self._owner.name if self._owner else ""

    def _first_rows(self, history: RunHistory) -> Sequence[Row]:
        start = {
            "workflow": history.workflow,
            "label": history.label,
            "parent": history.parent,
            "owner": self._ensure_owner(),
            **({"for": history.owner} if history.owner else {}),
            **({"labels": dict(history.labels)} if history.labels else {}),
        }
        at_ns = history.started_ns
        rows: Sequence[Row] = [
            (history.run, 0, "", 0, "run", at_ns, encode_data(start)),
            (history.run, FIRST_NOTE, "", 0, "payload", at_ns, encode_data(history.payload)),
        ]
        rows += [_event_row(event) for event in history.events]
        for number, (kind, value) in enumerate(history.notes, 1):
            rows.append((history.run, FIRST_NOTE - number, "", 0, kind, at_ns, encode_data(value)))
        return rows

    def _reader(self, connection: sqlite3.Connection) -> JournalReader:
        return JournalReader(connection, self._folder, self.path)

    def _read(self, query: Callable[[JournalReader], T], default: T) -> T:
        self.flush()
        with self._lock:
            try:
                if self._read_connection is None:
                    self._read_connection = open_to_read(self.path)
                if self._read_connection is None:
                    return default
                return query(self._reader(self._read_connection))
            except (sqlite3.Error, OSError) as error:
                raise store_error(self.path, error) from error


def _event_row(event: Event) -> Row:
    body = event.body
    return (event.run, event.sequence, event.node, event.attempt, KINDS[type(body)], event.at_ns, encode(body))
