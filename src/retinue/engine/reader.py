"""What the rows of a journal say: records, events and histories of runs.

Everything in a row is checked, because somebody may have edited it: nonsense is an error that names its run, and never
keeps other runs from being read.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from retinue.contract.event import Event, NodeFinished
from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.engine.base import RunRecord
from retinue.engine.event_codec import decode, head_of, read_data, read_object
from retinue.engine.ids import CHILD, unknown_run
from retinue.engine.journal_store import FIRST_NOTE, MOST, is_alive
from retinue.engine.run_history import Note, RunHistory, Value
from retinue.errors import ParseError

T = TypeVar("T")

_HEAD: Final = 80
"""Characters of a body that hold outcome and lifecycle; see `record.head_of`."""


class JournalReader:
    """Reads by one connection. Not for several threads at once.

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

    def newest(self, limit: int) -> Sequence[RunRecord]:
        """The newest runs first, without child runs; all of them with a negative `limit`."""
        starts = self._rows(
            "SELECT run, at_ns, body FROM events WHERE sequence = 0 AND instr(run, ?) = 0"
            " ORDER BY at_ns DESC, run DESC LIMIT ?",
            CHILD,
            min(limit, MOST),
        )
        return [self._record_or_damage(*start) for start in starts]

    def record(self, run: str) -> RunRecord:
        """One run's record.

        Raises:
            UnknownName: There is no such run; near names are suggested.
            ParseError: Its record cannot be read.
        """
        try:
            return self._record(run, *self._start(run))
        except ParseError as error:
            raise self._damaged(run, error) from error

    def result(self, run: str) -> Result | None:
        """What the run came to when it ended last.

        Raises:
            ParseError: That cannot be read.
        """
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
        """At most `limit` events with a sequence above `after`.

        Raises:
            ParseError: One of them cannot be read.
        """
        rows = self._rows(
            "SELECT sequence, node, attempt, kind, at_ns, body FROM events WHERE run = ? AND sequence > ?"
            " ORDER BY sequence LIMIT ?",
            run,
            max(after, 0),
            limit,
        )
        try:
            return [_event(run, row) for row in rows]
        except ParseError as error:
            raise self._damaged(run, error) from error

    def history(self, run: str) -> RunHistory:
        """Everything about one run.

        Raises:
            UnknownName: There is no such run.
            ParseError: Something in it cannot be read, or is missing.
        """
        started_ns, body = self._start(run)
        try:
            start = read_object(_text(body))
            return RunHistory(
                run=run,
                workflow=_text(start.get("workflow")),
                payload=self._payload(run),
                label=_text(start.get("label")),
                started_ns=_integer(started_ns),
                parent=_text_or_none(start.get("parent")),
                events=_check_contiguous(self.events(run, 0, -1)),
                notes=self._notes(run),
            )
        except ParseError as error:
            raise self._damaged(run, error) from error

    def _record_or_damage(self, run: object, started_ns: object, body: object) -> RunRecord:
        try:
            return self._record(_text(run), started_ns, body)
        except ParseError as error:
            start = started_ns if isinstance(started_ns, int) else 0
            return RunRecord(str(run), "", "ended", None, "", start, damage=error.message)

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
        alive = ended_ns is not None or self._is_alive(owner)
        if ended_ns is None and alive and self._has_open_question(run, after):
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

    def _is_alive(self, owner: str) -> bool:
        if owner not in self._alive:
            self._alive[owner] = is_alive(self._owners, owner)
        return self._alive[owner]

    def _has_open_question(self, run: str, after: int) -> bool:
        rows = self._rows(
            "SELECT node, kind FROM events WHERE run = ? AND sequence > ? AND kind IN ('asked', 'answered')", run, after
        )
        return bool({node for node, kind in rows if kind == "asked"} - {node for node, kind in rows if kind != "asked"})

    def _head(self, run: str, sequence: int, head: object) -> tuple[Outcome | None, Lifecycle]:
        try:
            return head_of(_text(head))
        except ParseError:  # it is not as we write it; perhaps it still says the same
            rows = self._rows("SELECT body FROM events WHERE run = ? AND sequence = ?", run, sequence)
            return head_of(_text(rows[0][0]))

    def _payload(self, run: str) -> JsonMapping:
        rows = self._rows("SELECT body FROM events WHERE run = ? AND sequence = ?", run, FIRST_NOTE)
        if not rows:
            raise ParseError("what it was started with is missing")
        return read_object(_text(rows[0][0]))

    def _notes(self, run: str) -> list[Note]:
        rows = self._rows(
            "SELECT kind, body FROM events WHERE run = ? AND sequence < ? ORDER BY sequence DESC", run, FIRST_NOTE
        )
        return [_note(_text(kind), _text(body)) for kind, body in rows]

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        # A name from a command line may hold halves of surrogate pairs, which no run has and SQLite does not take.
        bound = [value.encode(errors="replace").decode() if isinstance(value, str) else value for value in values]
        return self.connection.execute(query, bound).fetchall()

    def _damaged(self, run: str, error: ParseError) -> ParseError:
        return ParseError(
            f"The history of run `{run}` cannot be read: {error.message}",
            hint="The history was changed by another program; remove this run from it.",
            path=str(self._path),
            detail={"run": run},
        )


def _event(run: str, row: Sequence[object]) -> Event:
    sequence, node, attempt, kind, at_ns, body = row
    return Event(
        run, _text(node), _integer(attempt), _integer(sequence), _integer(at_ns), decode(_text(kind), _text(body))
    )


def _check_contiguous(events: Sequence[Event]) -> list[Event]:
    for place, event in enumerate(events, 1):
        if event.sequence != place:
            raise ParseError(f"event {place} is missing.")
    return list(events)


def _note(kind: str, body: str) -> Note:
    value = read_data(body)
    if kind in {"now", "random", "sleep"} and isinstance(value, int | float) and not isinstance(value, bool):
        return (cast("Value", kind), value)
    if kind == "renewed" and isinstance(value, dict):
        counts = cast("JsonMapping", value)
        return ("renewed", {name: _integer(counts.get(name)) for name in ("now", "random", "sleep")})
    raise ParseError(f"the note {kind[:40]!r} is none that was ever written.")


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
