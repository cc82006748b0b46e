"""One run's history while it is being written: recorded, told to followers when it may be, and to an operator's log."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from retinue.contract.event import (
    AttemptRetried,
    Body,
    Decision,
    Event,
    Message,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.sanitize import printable
from retinue.engine.run_history import Note, RunHistory, without_data
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from retinue.engine.inprocess import InProcessEngine

_LOGGER: Final = logging.getLogger("retinue.runs")
logging.getLogger("retinue").addHandler(logging.NullHandler())  # otherwise Python prints unhandled records to stderr

_CIRCUITS: Final = {"open_circuit": logging.WARNING, "probe_circuit": logging.INFO, "close_circuit": logging.INFO}


def log_event(event: Event) -> None:
    """Tell `logging.getLogger("retinue.runs")` what an operator acts on: starts, ends, retries, open circuits.

    Never what was asked or answered. The message of a failure is among it, since that is all that tells why.
    """
    body, level = event.body, logging.DEBUG if event.node else logging.INFO
    # Of a thousand events nearly all are starts and good ends, which are seldom listened to.
    is_routine = isinstance(body, NodeStarted) or (isinstance(body, NodeFinished) and body.result.useful)
    if is_routine and not _LOGGER.isEnabledFor(level):
        return
    where = f"run {event.run}" + (f" {event.node}" if event.node else "")
    match body:
        case NodeStarted():
            _LOGGER.log(level, "%s: started%s", where, body.agent and f" `{body.agent}`")
        case NodeFinished(result):
            fault, status = result.fault, result.outcome or result.lifecycle
            if fault is None or result.useful:
                _LOGGER.log(level, "%s: ended, %s", where, status)
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


def _on_one_line(text: str) -> str:
    return " ".join(printable(text[:500]).split())


def wake(waiters: Sequence["asyncio.Future[None]"]) -> None:
    """Let everyone go on who waits."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


_ESSENTIAL: Final = (NodeStarted, NodeFinished, QuestionAsked, QuestionAnswered, TurnsAdded, UsageReported)
"""What resuming and following a run depend on."""


class Log:
    """One run's history while it is being written.

    Attributes:
        history: What has happened so far.
        closed: The last event has been recorded.
        silent: Nothing is recorded any more, as if the process had died.
        is_written: The last event is in the journal too, if there is one.
    """

    __slots__ = ("_followers", "_host", "_is_capped", "_uncommitted", "closed", "history", "is_written", "silent")

    def __init__(self, history: RunHistory, host: "InProcessEngine") -> None:
        self.history, self._host = history, host
        self.closed = self.silent = self.is_written = self._is_capped = False
        self._followers: list[asyncio.Future[None]] = []
        self._uncommitted: deque[int] = deque()

    def record(
        self,
        body: Body,
        node: str = "",
        attempt: int = 0,
        *,
        then: Callable[[Body], None] | None = None,
        is_late: bool = False,
    ) -> None:
        """Append an event, unless it is one too many and nothing depends on it, or the last one has been recorded.

        Args:
            body: What happened.
            node: Where.
            attempt: In which attempt.
            then: Called with what was recorded when it is in the journal; nobody is told of the event before.
            is_late: It may come after the last one.
        """
        if self.silent or (self.closed and not is_late):
            if then is not None:
                then(body)
                self._wake()
            return
        events, max_events = self.history.events, self._host.max_events
        is_optional = then is None and not isinstance(body, _ESSENTIAL)
        if max_events is not None and len(events) >= max_events and is_optional:
            if self._is_capped:
                return
            self._is_capped = True  # what is not recorded from here on is said once
            body, node, attempt = Message(f"More than {max_events:,} events: only ends are recorded."), "", 0
        event = Event(self.history.run, node, attempt, len(events) + 1, self._host.clock(), body)
        event = self._write(event, then)
        events.append(event)
        log_event(event)
        if self._host.journal is None and then is not None:
            then(event.body)
        if self._followers:
            self._wake()

    def _write(self, event: Event, then: Callable[[Body], None] | None) -> Event:
        """Write `event`, or what stands for it when it is no JSON data; gives what is recorded."""
        journal = self._host.journal
        if journal is None:
            return event
        on_commit: Callable[[object], None] | None = None
        if then is not None:
            self._uncommitted.append(event.sequence)
            on_commit = lambda _: self._host.in_loop(partial(self._hand_on, event, then))  # noqa: E731
        try:
            journal.record(event, self.history.epoch, on_commit)
        except InvalidInput as error:
            body = event.body
            what = "an event" if not isinstance(body, NodeFinished) else f"the result of `{event.node or event.run}`"
            text = f"{error.message} So {what} is not recorded."
            is_end = isinstance(body, NodeFinished)
            stand_in = NodeFinished(without_data(body.result, text)) if is_end else Message(text, "warning")
            event = replace(event, body=stand_in)
            journal.record(event, self.history.epoch, on_commit)
        return event

    def _hand_on(self, event: Event, then: Callable[[Body], None]) -> None:
        self._uncommitted.popleft()  # they are committed in the order in which they were recorded
        then(event.body)
        self._wake()

    def note(self, note: Note) -> None:
        """Keep a value that was given to the workflow."""
        notes = self.history.notes
        notes.append(note)
        if self._host.journal is not None and not self.closed and not self.silent:
            self._host.journal.note(self.history.run, len(notes), note, self._host.clock(), self.history.epoch)

    async def follow(self, after: int, *, live: bool) -> AsyncGenerator[Event, None]:
        """The events above `after`; with `live`, new ones until the last. Slow readers do not hold up others."""
        place = max(after, 0)
        while True:
            events = self.history.events
            while place < (self._uncommitted[0] - 1 if self._uncommitted else len(events)):
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
        wake(followers)
