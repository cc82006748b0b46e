"""What the rows of a journal say about runs.

Everything in a row is checked, because it may have been edited: nonsense is an error that names its run, and never
keeps other runs from being read.
"""

from collections.abc import Iterator, Sequence, Set as AbstractSet
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from retinue.contract.event import Event, NodeFinished, QuestionAnswered
from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import EVERY_RUN, PendingQuestion, RunFilter, RunRecord
from retinue.engine.event_codec import decode, head_of, read_data, read_object
from retinue.engine.ids import CHILD, unknown_run
from retinue.engine.run_history import Note, RunHistory, Value, pending_questions
from retinue.engine.store import RUN_FORMAT, Connection, Store
from retinue.errors import ParseError

AFTER_CHILD: Final = chr(ord(CHILD) + 1)

UNSENT: Final = "(sent_ns = 0 OR sent_ns <= {0} - ?)"
"""Of which no broker was told, or, by the clock of the store, not for so many nanoseconds."""

_HEAD: Final = 80
"""Characters of a body that hold outcome and lifecycle; see `event_codec.head_of`."""

_PAGE: Final = 200
_LAST: Final = chr(0x10FFFF)
"""Sorts behind every other character."""

_MOST: Final = 2**63 - 1
"""The largest number that a database has."""

_EVENTS: Final = (
    "SELECT sequence, node, attempt, kind, at_ns, body FROM events WHERE run = ? AND sequence > ? ORDER BY sequence"
)
_RECORD: Final = "started_ns, body, status, owner, resumed_after, format"
"""Of a run's row, what its record is made of."""


class Mail(NamedTuple):
    """What another process has left for whoever works on a run: an answer; without one the run is to stop.

    Attributes:
        run: The run or child run.
        answer: To one of its questions.
        reason: Why it is to stop.
    """

    run: str
    answer: Answer | None
    reason: str = ""


class JournalReader:
    """What the rows of a journal say. Not for several threads at once.

    Args:
        connection: To the tables.
        store: Where they are.

    Attributes:
        connection: As given, for other questions to the same tables.
    """

    def __init__(self, connection: Connection, store: Store) -> None:
        self.connection = connection
        self._store = store
        self._owners: dict[str, tuple[bool, int | None]] = {}

    def count(self, where: RunFilter) -> int:
        """How many runs there are without child runs, by owner, labels and agent."""
        condition, values = _condition_of(where)
        return int(self._rows(f"SELECT count(*) FROM runs WHERE {condition}", *values)[0][0])  # noqa: S608 - ours

    def newest(self, limit: int, where: RunFilter = EVERY_RUN) -> Sequence[RunRecord]:
        """The newest runs first, without child runs; all of them with a negative `limit`."""
        condition, values = _condition_of(where)
        query = f"SELECT run, {_RECORD} FROM runs WHERE {condition}"  # noqa: S608 - ours
        position = where.position
        records: list[RunRecord] = []
        while len(records) != limit:
            page = self._rows(
                f"{query}{' AND (started_ns, run) < (?, ?)' if position else ''}"
                f" ORDER BY started_ns DESC, run DESC LIMIT {_PAGE}",
                *values,
                *(position or ()),
            )
            for run, *facts in page:
                try:
                    record = self._record(_text(run), facts)
                except ParseError as error:
                    start = facts[0] if isinstance(facts[0], int) else 0
                    record = RunRecord(str(run), "", "ended", None, "", start, damage=error.message)
                if where.matches(record):
                    records.append(record)
                    if len(records) == limit:
                        break
            if len(page) < _PAGE:
                break
            position = (page[-1][1], page[-1][0])
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

    def to_do(
        self, places: Sequence[str], limit: int, unsent_ns: int = -(2**62), *, on_any_host: bool = False
    ) -> Sequence[str]:
        """The runs of `places` that are in the queue, or whose process died, the oldest first."""
        # Two questions, each answered in the order of the index: of a long queue only the head is read.
        query = (
            "SELECT started_ns, run, owner FROM runs WHERE place <> '' AND status <> 'ended' AND status = ?"  # noqa: S608 - ours
            f" AND place IN ({', '.join('?' * len(places))}) AND format <= ? AND {UNSENT.format(self._store.clock)}"
        )
        values: list[object] = [*places, RUN_FORMAT, unsent_ns]
        if not on_any_host:
            # Looked up for each row: a join would read all tags.
            query += " AND coalesce((SELECT value FROM tags WHERE run = runs.run AND name = 'host'), ?) = ?"
            values += [self._store.host] * 2
        query += " ORDER BY started_ns, run"
        rows = self._rows(f"{query} LIMIT {limit:d}", "queued", *values)
        working = self._rows(query, "working", *values)
        dead_owners = {owner for owner in {row[2] for row in working} if self._store.is_gone(owner, self.connection)}
        rows += [row for row in working if row[2] in dead_owners]
        return [run for _, run, _ in sorted(rows)[:limit]]

    def pending(self, run: str) -> dict[str, Question]:
        """What `run` itself has asked and nobody has answered, by the id of the question."""
        return {each.question.id: each.question for each in self.questions(run) if each.run == run}

    def answers(self, run: str) -> Sequence[str]:
        """The answers that `run` has been given, as they are written."""
        return [body for (body,) in self._rows("SELECT body FROM events WHERE run = ? AND kind = 'answered'", run)]

    def mail(self, runs: AbstractSet[str]) -> list[Mail]:
        """What other processes have left for `runs` and their child runs."""
        # One question, however many runs are at work here: what others have left for others in between is little.
        query = "SELECT run, kind, body FROM inbox WHERE run >= ? AND run < ? AND kind <> 'call'"
        rows = self._rows(query, min(runs), max(runs) + AFTER_CHILD) if runs else []
        return [_mail(*row) for row in rows if row[0].partition(CHILD)[0] in runs]

    def record(self, run: str, owner: str | None = None) -> RunRecord:
        """One run's record; another owner's run is none."""
        try:
            if owner is None:
                return self._record(run, self._start(run))
            # Asked for in the query: to read another's row takes longer than to find none.
            query = f"SELECT {_RECORD} FROM runs WHERE run = ? AND started_for = ?"  # noqa: S608 - ours
            rows = self._rows(query, run, owner)
            if not rows:
                raise unknown_run(run, [])
            return self._record(run, rows[0])
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

    def find(self, part: str, limit: int) -> tuple[str, ...]:
        """The run `part`, and at most `limit` whose ids begin with it, or else end with it; the newest first.

        Child runs are among them only when `part` names one.
        """
        same = self._rows("SELECT started_ns, run FROM runs WHERE run = ?", part)
        most = f" LIMIT {limit:d}" if limit >= 0 else ""
        whose = "" if CHILD in part else " AND parent IS NULL"
        for column, start in (("run", part), ("reversed", part[::-1])):
            where = f"{column} > ? AND {column} < ?{whose}"
            query = f"SELECT started_ns, run FROM runs WHERE {where} ORDER BY {column} DESC{most}"  # noqa: S608 - ours
            if matches := [*same, *sorted(self._rows(query, start, start + _LAST), reverse=True)]:
                return tuple(run for _, run in matches)
        return ()

    def damage(self) -> Iterator[tuple[str, str]]:
        """Each run that cannot be read, or whose start is missing, and why."""
        last = ""
        while page := self._rows(f"SELECT run FROM runs WHERE run > ? ORDER BY run LIMIT {_PAGE}", last):  # noqa: S608
            for (run,) in page:
                try:
                    self.record(run)
                    self.history(run)
                    self.mail({run})
                except ParseError as error:
                    yield run, error.message
            last = page[-1][0]
        for (run,) in self._rows("SELECT DISTINCT run FROM events WHERE run NOT IN (SELECT run FROM runs)"):
            yield run, f"Run `{run}` has events, but nothing says how it was started."

    def idle(self, runs: Sequence[str]) -> Sequence[str]:
        """Those of `runs` that no process works on: ended, stalled, or not to be read."""
        idle: list[str] = []
        for run in runs:
            with suppress(ParseError):
                record = self.record(run)
                if record.ended_ns is None and not record.stalled:
                    continue
            idle.append(run)
        return idle

    def events(self, run: str, after: int, limit: int) -> Sequence[Event]:
        """At most `limit` events with a sequence above `after`."""
        query = f"{_EVENTS} LIMIT {limit:d}" if limit >= 0 else _EVENTS
        try:
            return [_event(run, row) for row in self._rows(query, run, max(after, 0))]
        except ParseError as error:
            raise self._damaged(run, error) from error

    def history(self, run: str) -> RunHistory:
        """Everything about one run."""
        started_ns, body, payload, *row = self._start(
            run, "started_ns, body, payload, epoch, place, attempts, status, owner"
        )
        try:
            start = read_object(_text(body))
            events, notes = list[Event](), list[Note]()
            for row_of_event in self._rows(_EVENTS, run, -_MOST):
                if _integer(row_of_event[0]) < 0:
                    notes.append(_note(_text(row_of_event[3]), _text(row_of_event[5])))
                    continue
                events.append(_event(run, row_of_event))
                if events[-1].sequence != len(events):
                    raise ParseError(f"event {len(events)} is missing.")
            return RunHistory(
                run=run,
                workflow=_text(start.get("workflow")),
                payload=read_object(_text(payload)),
                label=_text(start.get("label")),
                started_ns=_integer(started_ns),
                parent=_text_or_none(start.get("parent")),
                owner=_text(start.get("for", "")),
                labels=_labels(start),
                events=events,
                notes=notes[::-1],
                epoch=_integer(row[0]),
                place=_text(row[1]),
                attempts=_integer(row[2]) - (row[3] == "working" and self._store.has_left(_text(row[4]))),
            )
        except ParseError as error:
            raise self._damaged(run, error) from error

    def _record(self, run: str, facts: Sequence[Any]) -> RunRecord:
        started_ns, body, status, owner, resumed_after, run_format = facts
        start, after = read_object(_text(body)), _integer(resumed_after)
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
        alive, stopped_pid, waits_for = True, None, ""
        if ended_ns is None and _integer(run_format) > RUN_FORMAT:
            waits_for = "a newer version of retinue"
        if ended_ns is None and status in {"queued", "input_required"}:
            lifecycle = "submitted" if status == "queued" else "input_required"
            query = "SELECT value FROM tags WHERE run = ? AND name = 'host' AND value <> ?"
            if not waits_for and (hosts := self._rows(query, run, self._store.host)):
                waits_for = f"a worker on {_text(hosts[0][0])}, or one with `--shared-workspace`"
        elif ended_ns is None:
            if owner not in self._owners:
                alive = self._store.is_alive(owner, self.connection)
                self._owners[owner] = alive, self._store.stopped_pid(owner) if alive else None
            alive, stopped_pid = self._owners[owner]
        if ended_ns is None and alive and lifecycle == "working":
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
            waits_for=waits_for,
            stopped_pid=stopped_pid,
        )

    def _start(self, run: str, columns: str = _RECORD) -> tuple[Any, ...]:
        rows = self._rows(f"SELECT {columns} FROM runs WHERE run = ?", run)  # noqa: S608 - ours
        if not rows:
            recent_runs = self._rows("SELECT run FROM runs WHERE parent IS NULL ORDER BY started_ns DESC LIMIT 1000")
            raise unknown_run(run, [name for (name,) in recent_runs])
        return rows[0]

    def _head(self, run: str, sequence: int, head: object) -> tuple[Outcome | None, Lifecycle]:
        try:
            return head_of(_text(head))
        except ParseError:  # it is not as we write it; perhaps it still says the same
            rows = self._rows("SELECT body FROM events WHERE run = ? AND sequence = ?", run, sequence)
            return head_of(_text(rows[0][0]))

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self.connection.execute(
            query, [storable(value) if isinstance(value, str) else value for value in values]
        ).fetchall()

    def _damaged(self, run: str, error: ParseError) -> ParseError:
        return ParseError(
            f"The history of run `{run}` cannot be read: {error.message}",
            hint="The history was changed by another program; remove this run from it.",
            path=self._store.place,
            detail={"run": run},
        )


def _condition_of(where: RunFilter) -> tuple[str, list[object]]:
    """Which runs are meant, by owner, labels and agent: SQL, and its values."""
    conditions, values = ["parent IS NULL"], list[object]()
    if where.owner is not None:
        conditions.append("started_for = ?")
        values.append(where.owner)
    tags = [(f"label:{name}", value) for name, value in where.labels.items()]
    tags += [("agent", where.agent)] if where.agent is not None else []
    for tag in tags:
        conditions.append("run IN (SELECT run FROM tags WHERE name = ? AND value = ?)")
        values += tag
    return " AND ".join(conditions), values


def storable(text: str) -> str:
    """`text` as every database takes it: without halves of surrogate pairs, and without NUL."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def _mail(run: str, kind: str, body: str) -> Mail:
    if kind == "cancel":
        return Mail(run, None, _text(read_object(body).get("reason")))
    answered = decode("answered", body)
    if not isinstance(answered, QuestionAnswered):
        raise ParseError(f"{body[:40]!r} stands where an answer belongs.")
    return Mail(run, answered.answer)


def _event(run: str, row: Sequence[Any]) -> Event:
    sequence, node, attempt, kind, at_ns, text = row
    body = decode(_text(kind), _text(text))
    return Event(run, _text(node), _integer(attempt), _integer(sequence), _integer(at_ns), body)


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
