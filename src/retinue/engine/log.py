"""The events of one run as they happen: numbered, kept, written to the journal, and followed by whoever wants to."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from retinue.contract.event import AttemptRetried, Body, Decision, Event, Message, NodeFinished, NodeStarted
from retinue.contract.sanitize import printable
from retinue.engine.run_history import Note, RunHistory, without_data
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

_LOGGER: Final = logging.getLogger("retinue.runs")
logging.getLogger("retinue").addHandler(logging.NullHandler())  # otherwise Python prints what nobody handles to stderr

_CIRCUITS: Final = {"open_circuit": logging.WARNING, "probe_circuit": logging.INFO, "close_circuit": logging.INFO}
_LONGEST: Final = 500


def log_event(event: Event) -> None:
    """Tell `logging.getLogger("retinue.runs")` what an operator acts on: starts, ends, retries, open circuits.

    Never what was asked or answered. The message of a failure is among it, since that is all that tells why.
    """
    body, where = event.body, f"run {event.run}" + (f" {event.node}" if event.node else "")
    match body:
        case NodeStarted():
            _LOGGER.log(_level(event), "%s: started%s", where, body.agent and f" `{body.agent}`")
        case NodeFinished(result):
            fault, status = result.fault, result.outcome or result.lifecycle
            if fault is None or result.useful:
                _LOGGER.log(_level(event), "%s: ended, %s", where, status)
            else:
                _LOGGER.warning("%s: ended, %s: %s: %s", where, status, fault.code, _on_one_line(fault.message))
        case AttemptRetried():
            why = "corrected" if body.code in {"output_invalid", "parse_error"} else "tried again"
            _LOGGER.warning(
                "%s: attempt %d failed (%s), %s in %.3g s", where, event.attempt, body.code, why, body.wait_s
            )
        case Decision(move) if move in _CIRCUITS:
            _LOGGER.log(_CIRCUITS[move], "%s: %s: %s", where, move, _on_one_line(body.reason))
        case _:
            pass


def _level(event: Event) -> int:
    return logging.DEBUG if event.node else logging.INFO


def _on_one_line(text: str) -> str:
    return " ".join(printable(text[:_LONGEST]).split())


class Log:
    """One run's history while it is being written.

    Attributes:
        history: What has happened so far.
        closed: The last event has been recorded.
        written: It is in the journal too, if there is one: only then is anybody told.
    """

    __slots__ = ("_clock", "_followers", "_journal", "closed", "history", "is_written")

    def __init__(self, history: RunHistory, clock: Callable[[], int], journal: "Journal | None") -> None:
        self.history = history
        self.closed = self.is_written = False
        self._clock = clock
        self._journal = journal
        self._followers: list[asyncio.Future[None]] = []

    def record(self, body: Body, node: str = "", attempt: int = 0) -> None:
        """Append an event, unless the last one has been recorded."""
        if self.closed:
            return
        events = self.history.events
        event = Event(self.history.run, node, attempt, len(events) + 1, self._clock(), body)
        events.append(event)
        log_event(event)
        if self._journal is not None:
            self._write(self._journal, event)
        if self._followers:
            self._wake()

    def note(self, note: Note) -> None:
        """Keep a value that was given to the workflow."""
        notes = self.history.notes
        notes.append(note)
        if self._journal is not None:
            self._journal.note(self.history.run, len(notes), note, self._clock())

    def close(self, loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
        """The last event has been recorded. Calls `then` in `loop` when it is written."""
        self.closed = True

        def finish() -> None:
            self.is_written = True
            self._wake()
            then()

        def on_written() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(finish)

        if self._journal is None:
            finish()
        else:
            self._journal.notify(on_written)

    async def follow(self, after: int, *, live: bool) -> AsyncGenerator[Event, None]:
        """The events above `after`; with `live`, new ones until the last. Slow readers hold nobody up."""
        place = max(after, 0)
        while True:
            events = self.history.events
            while place < len(events) - (live and self.closed and not self.is_written):
                yield events[place]
                place += 1
            if not live or self.is_written:
                return
            follower = asyncio.get_running_loop().create_future()
            self._followers.append(follower)
            try:
                await follower
            finally:
                if follower in self._followers:
                    self._followers.remove(follower)

    def _wake(self) -> None:
        followers, self._followers = self._followers, []
        for follower in followers:
            if not follower.done():
                follower.set_result(None)

    def _write(self, journal: "Journal", event: Event) -> None:
        try:
            journal.record(event)
        except InvalidInput as error:
            body = event.body
            what = "an event" if not isinstance(body, NodeFinished) else f"the result of `{event.node or event.run}`"
            warning = Message(f"{error.message} So {what} is not recorded.", "warning")
            stand_in: Body = warning
            if isinstance(body, NodeFinished) and not event.node:
                stand_in = NodeFinished(without_data(body.result, warning.text))
            with suppress(InvalidInput):
                journal.record(Event(event.run, event.node, event.attempt, event.sequence, event.at_ns, stand_in))
            if stand_in is warning:
                self.record(Message(warning.text, "warning"))
