"""Follows a run together with its child runs, from any place on: for servers, the web view and the command line.

Every run counts its events by itself, so a place is one position for each run that is followed: a `RunCursor`. What the
events mean for the nodes of a plan is the business of `run_nodes`.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final, cast

from retinue.contract.event import Event, NodeFinished, NodeStarted
from retinue.engine.base import Engine
from retinue.engine.ids import CHILD
from retinue.engine.run_history import is_kept
from retinue.errors import InvalidInput, UnknownName
from retinue.orchestration.run_request import RESERVED

MAX_CURSOR_LENGTH: Final = 8192
"""Characters of a cursor's text."""

_READ_AHEAD: Final = 64
"""Events that wait for the reader, of all runs together."""
_CHILDREN_AT_ONCE: Final = 250
"""Child runs of one run that are followed at once."""
_NUMBER: Final = "[1-9][0-9]{0,14}"
_ENTRY: Final = re.compile(rf"((?:{_NUMBER}\.)*{_NUMBER})?:(0|{_NUMBER})")


@dataclass(frozen=True, slots=True)
class RunCursor:
    """How much of a run and of its child runs has been delivered. As text `12,5:4,5.3:0`, which needs no quoting.

    Attributes:
        position: Sequence of the last event of the run itself; 0 before the first.
        children: The same for its child runs. Each is named by the sequence of the event that started it, behind the
            name of the run that it belongs to: `5`, and `5.3` for a child run of that one.
    """

    position: int = 0
    children: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def parse(cls, text: str) -> "RunCursor":
        """The cursor whose text this is.

        Raises:
            InvalidInput: It is none.
        """
        positions: dict[str, int] = {}
        for entry in f":{text}".split(",") if len(text) <= MAX_CURSOR_LENGTH else [text]:
            match = _ENTRY.fullmatch(entry)
            path = match[1] or "" if match else ""
            above, _, start = path.rpartition(".")
            if match is None or path in positions or (path and int(start) > positions.get(above, 0)):
                raise _wrong_cursor(text)
            positions[path] = int(match[2])
        return cls(positions.pop(""), positions)

    def __str__(self) -> str:
        return ",".join((str(self.position), *(f"{path}:{position}" for path, position in self.children.items())))


@dataclass(frozen=True, slots=True)
class FollowedEvent:
    """An event, and the cursor that goes on behind it."""

    event: Event
    cursor: RunCursor


async def follow_run(
    engine: Engine, run: str, *, after: RunCursor = RunCursor()
) -> AsyncGenerator[FollowedEvent, None]:
    """Give every event of a run and of its child runs, and of theirs, as they happen. The run's own end is the last.

    The events of each run come in order, those of a child run after the event that started it. Whoever goes on from a
    cursor gets exactly what was not delivered before it, also when the run was resumed since. Close it when you leave
    before the end (`contextlib.aclosing`).

    A child run leaves the cursor when it has been delivered to its end and will not go on when the run is resumed,
    because its result, or that of a run above it, is kept; those that failed stay. Nothing is ever lost, but events
    come again behind a cursor, with the same `run` and `sequence`, in two cases: with about a thousand child runs its
    text would be longer than `MAX_CURSOR_LENGTH`, and it stays where it was; and a child run goes on if the process
    was killed after recording its end and before recording the same in the run above.

    A child run takes a task while it is followed, and some hundred bytes to the end. At most 250 of one run are
    followed at once; while there are more, its own events wait. A slow reader holds up nobody else: 64 events are read
    ahead, one for each run, and of runs of another process the page that the journal gave. The cursor is copied for
    each event. Going on behind a cursor with child runs reads the events of the runs they belong to again, from the
    first of these starts on.

    Args:
        engine: Knows the run.
        run: Its id.
        after: What was delivered before.

    Raises:
        UnknownName: There is no such run.
        InvalidInput: The cursor is not of this run.
        ParseError: The record of one of the runs cannot be read.
    """
    if not after.children:
        stream = cast("AsyncGenerator[Event, None]", engine.events(run, after=after.position))
        async with aclosing(stream) as events:
            async for event in events:
                if starts_child(event):  # from here on several runs are read at once
                    break
                after = RunCursor(event.sequence)
                yield FollowedEvent(event, after)
            else:
                return
    follower = _Follower(engine, run, after)
    task = asyncio.create_task(follower.read_all())
    task.add_done_callback(lambda _: follower.queue.put_nowait(None))
    end: Event | None = None
    try:
        while (item := await follower.queue.get()) is not None:
            source, event = item
            if event is None:
                follower.unlist(source)
                continue
            follower.room.release()
            if source is follower.root:
                if end is not None:  # of an earlier life: the run was resumed
                    yield follower.deliver(source, end)
                    end = None
                if isinstance(event.body, NodeFinished) and not event.node:
                    end = event
                    continue
            yield follower.deliver(source, event)
        task.result()
        if end is not None:
            yield follower.deliver(follower.root, end)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def starts_child(event: Event) -> bool:
    """Whether a child run begins with it, `{run}:{node}` of the event."""
    return isinstance(event.body, NodeStarted) and RESERVED in event.node and not event.body.agent


def _wrong_cursor(text: str) -> InvalidInput:
    return InvalidInput(
        f"{text[:80]!r} is not a cursor of this run.",
        hint="Use one that came with an event of this run, or none to begin with its first.",
        path="/after",
    )


@dataclass(eq=False, slots=True)
class _FollowedRun:
    """One run that is followed.

    Attributes:
        run: Its id.
        path: Its name in a cursor; "" for the run that all others belong to.
        read_position: The last event that was read; it may not have been delivered yet.
        children: Its child runs by the names of their steps.
        slots: Child runs that can still be followed at once.
        queued_count: Events of it that have been read and not delivered.
        is_reading: Something reads its events, or is about to.
        is_due: Look for events once more after that.
        is_kept: The run it belongs to takes its result from the record when it is resumed.
    """

    run: str
    path: str
    parent: "_FollowedRun | None"
    read_position: int
    children: "dict[str, _FollowedRun]" = field(default_factory=dict[str, "_FollowedRun"])
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CHILDREN_AT_ONCE))
    queued_count: int = 0
    is_reading: bool = False
    is_due: bool = False
    is_kept: bool = False

    @property
    def is_final(self) -> bool:
        """All of it has been delivered, and nothing will be added."""
        run: _FollowedRun | None = self
        while run is not None and not run.is_kept:
            run = run.parent
        return run is not None and not self.is_reading and not self.queued_count

    def subtree(self) -> "Iterator[_FollowedRun]":
        """All that belong to it, each before the one it belongs to, and at last itself."""
        for child in self.children.values():
            yield from child.subtree()
        yield self


class _Follower:
    """Reads the events of all runs into one queue, and keeps account of what has been delivered from it.

    Attributes:
        queue: What was read: the run with an event, or with None when there are no more for now. None at the end.
        room: Events that may still be put there.
        root: The run that all others belong to.
    """

    def __init__(self, engine: Engine, run: str, after: RunCursor) -> None:
        self.queue: asyncio.Queue[tuple[_FollowedRun, Event | None] | None] = asyncio.Queue()
        self.room = asyncio.Semaphore(_READ_AHEAD)
        self._engine = engine
        self._tasks = asyncio.TaskGroup()
        self._cursor = after
        self._positions: dict[str, int] = {}
        self._length = 0
        for path, position in (("", after.position), *after.children.items()):
            self._set_position(path, position)
        self._starts: dict[str, set[int]] = {}
        for path in after.children:
            above, _, start = path.rpartition(".")
            self._starts.setdefault(above, set()).add(int(start))
        self.root = self._followed_run(run, "", None)

    async def read_all(self) -> None:
        """Read until the run and all its child runs have ended."""
        try:
            async with self._tasks:
                await self._read(self.root)
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    def deliver(self, run: _FollowedRun, event: Event) -> FollowedEvent:
        """Note that `event` of `run` is given away."""
        run.queued_count -= 1
        self._set_position(run.path, event.sequence)
        if isinstance(event.body, NodeFinished) and not event.node:
            run.is_kept = run.parent is not None and is_kept(event.body.result)
        if (child := run.children.get(event.node)) is not None:
            if isinstance(event.body, NodeStarted):
                child.is_kept = False
                self._set_position(child.path, self._positions.get(child.path, 0))
            elif isinstance(event.body, NodeFinished):
                child.is_kept = is_kept(event.body.result)
                for each in child.subtree():
                    self.unlist(each)
        if self._length <= MAX_CURSOR_LENGTH:
            children = self._positions.copy()
            self._cursor = RunCursor(children.pop(""), children)
        return FollowedEvent(event, self._cursor)

    def unlist(self, run: _FollowedRun) -> None:
        """Take a run out of the cursor if it is final, and then those above it that waited for this."""
        while run.parent is not None and run.path in self._positions and run.is_final:
            if any(child.path in self._positions for child in run.children.values()):
                return
            self._length -= len(f",{run.path}:{self._positions.pop(run.path)}")
            run = run.parent

    def _set_position(self, path: str, position: int) -> None:
        """Set what has been delivered of a run, and keep account of the length of the cursor's text."""
        if (before := self._positions.get(path)) is not None:
            self._length -= len(f",{path}:{before}")
        self._length += len(f",{path}:{position}")
        self._positions[path] = position

    def _followed_run(self, run: str, path: str, parent: _FollowedRun | None) -> _FollowedRun:
        # Behind a cursor its child runs are known by their starts alone, which are read again.
        first = min(self._starts.get(path, ()), default=self._positions.get(path, 0) + 1)
        return _FollowedRun(run, path, parent, read_position=first - 1)

    async def _read(self, run: _FollowedRun) -> None:
        """Read the events of a run until it ends, and see that its child runs are read."""
        while True:
            # Of thousands of child runs the first may be forgotten; and one that another process starts may not be
            # recorded yet, which its end will tell.
            with nullcontext() if run.parent is None else suppress(UnknownName):
                stream = cast("AsyncGenerator[Event, None]", self._engine.events(run.run, after=run.read_position))
                async with aclosing(stream) as events:
                    async for event in events:
                        await self._queue_event(run, event)
            if not run.is_due:
                break
            run.is_due = False
        run.is_reading = False
        self.queue.put_nowait((run, None))
        if run.parent is not None:
            run.parent.slots.release()

    async def _queue_event(self, run: _FollowedRun, event: Event) -> None:
        """Queue an event, unless it was delivered before the cursor; read the child run that it starts or ends."""
        is_new = event.sequence > self._positions.get(run.path, 0)
        child = self._child_of(run, event, is_new=is_new)
        if is_new:
            await self.room.acquire()
            run.queued_count += 1
            self.queue.put_nowait((run, event))
        run.read_position = event.sequence
        if child is None:
            return
        if child.is_reading:
            child.is_due = True
            return
        child.is_reading = True  # before the event can be delivered: what is being read is not final
        await run.slots.acquire()
        self._tasks.create_task(self._read(child))

    def _child_of(self, run: _FollowedRun, event: Event, *, is_new: bool) -> _FollowedRun | None:
        """The child run that `event` starts or ends, if that one is followed."""
        child = run.children.get(event.node)
        is_listed = event.sequence in self._starts.get(run.path, ())
        is_start = starts_child(event)
        if is_start and child is None and (is_new or is_listed):
            path = f"{run.path}.{event.sequence}".lstrip(".")
            child = run.children[event.node] = self._followed_run(f"{run.run}{CHILD}{event.node}", path, run)
        if is_listed and (child is None or not is_start):
            raise _wrong_cursor(str(self._cursor))
        if isinstance(event.body, NodeFinished) and child is not None and not is_new:
            child.is_kept = is_kept(event.body.result)
        # Also at its end: perhaps it was not recorded yet at its start, or only an earlier end of it.
        return child if isinstance(event.body, NodeStarted | NodeFinished) else None
