"""Run foreign code once, in this task, until it ends or its time is up, whatever it does.

What comes out of the agent is a value here, exceptions included; only what comes from outside (somebody cancels the
call, somebody presses Ctrl-C) is still an exception. An agent that swallows its cancellation gets a grace period to
clean up and is closed after it. Nothing interrupts code that blocks the event loop: that is measured and told.
"""

import asyncio
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

_GROUP_EXIT: Final = asyncio.TaskGroup.__aexit__.__code__


class TaskGroups:
    """The task groups of one piece of foreign code that have cancelled its task.

    Args:
        awaitable: The code.
        task: The task it runs in.
    """

    __slots__ = ("_awaitable", "_cancellations", "_task")

    def __init__(self, awaitable: object, task: "asyncio.Task[Any]") -> None:
        self._awaitable = awaitable
        self._task = task
        self._cancellations: list[tuple[object, int]] = []

    def record_cancellation(self) -> None:
        """A cancellation has arrived: remember the group that it comes from, if it comes from one."""
        known_groups = [group for group, _ in self._cancellations]
        for group in self._exiting_groups():
            # There is no public way to ask a group; a newer Python without these has no need of it either.
            has_failed = getattr(group, "_parent_cancel_requested", False) and getattr(group, "_errors", None)
            if has_failed and not any(group is each for each in known_groups):
                self._cancellations.append((group, self._task.cancelling()))

    def uncancel_finished(self) -> None:
        """Take back what a group has left standing that is through by now."""
        if not self._cancellations:
            return
        exiting = self._exiting_groups()
        for cancellation in self._cancellations[:]:
            group, count = cancellation
            if not any(group is each for each in exiting):
                self._cancellations.remove(cancellation)
                if self._task.cancelling() >= count:
                    self._task.uncancel()

    def _exiting_groups(self) -> list[object]:
        """The groups that the code is leaving right now, outermost first."""
        groups: list[object] = []
        at: Any = self._awaitable
        while at is not None:
            frame = getattr(at, "cr_frame", None)
            if frame is not None and frame.f_code is _GROUP_EXIT:
                groups.append(frame.f_locals.get("self"))
            at = getattr(at, "cr_await", None) or getattr(at, "gi_yieldfrom", None)
        return groups


_Future: TypeAlias = asyncio.Future[Any]
_Steps: TypeAlias = Generator[_Future | None, None, BaseException | None]


@dataclass(slots=True)
class AttemptResult:
    """How one attempt ended.

    Attributes:
        reply: What the agent returned; also what it still returned after its time was up.
        error: What it raised instead.
        timed_out: Its time was up before it ended, and it was told to stop.
        closed: It went on after that for longer than the grace period, and was closed.
        canceled: Somebody cancelled the call. Whoever reads this must raise `CancelledError` when done.
        blocked_ns: The longest it kept everybody else from running.
    """

    reply: object = None
    error: BaseException | None = None
    timed_out: bool = False
    closed: bool = False
    canceled: bool = False
    blocked_ns: int = 0


async def attempt(start: Callable[[], Awaitable[object]], *, seconds: float | None, grace_s: float) -> AttemptResult:
    """Await what `start` gives, for at most `seconds`.

    The agent runs in the calling task, and no timer is set unless it waits for something: a call that never waits
    costs next to nothing. An agent that cancels its own task cancels the call.

    A cancellation is not raised but told, so that what the agent still handed back is not lost.

    Raises:
        KeyboardInterrupt: A person pressed Ctrl-C while the agent blocked.
    """
    task = asyncio.current_task()
    if task is None:  # pragma: no cover - an event loop that runs coroutines without tasks is none of asyncio's
        raise RuntimeError("an agent is called inside an asyncio task")
    deadline_s = None if seconds is None else task.get_loop().time() + seconds
    driver = _CoroutineDriver(start, task, grace_s)
    if not driver.step():
        try:
            async with asyncio.timeout_at(deadline_s):
                await driver
        except TimeoutError:
            driver.result.timed_out = True
        except CancelledError:
            pass
    driver.result.canceled = driver.canceled
    return driver.result


class _CoroutineDriver:
    """One piece of foreign code, driven step by step.

    Awaiting it hands what the code waits for to the event loop, as `await` does. The difference: it stays in charge
    when the code refuses to end.
    """

    __slots__ = (
        "_done",
        "_given_up",
        "_grace_s",
        "_groups",
        "_inner",
        "_iterator",
        "_prior_cancels",
        "_start",
        "_task",
        "_timer",
        "result",
    )

    def __init__(self, start: Callable[[], Awaitable[object]], task: "asyncio.Task[Any]", grace_s: float) -> None:
        self.result = AttemptResult()
        self._start = start
        self._task = task
        self._prior_cancels = task.cancelling()
        self._grace_s = grace_s
        self._iterator: Any = None
        self._groups: TaskGroups | None = None
        self._inner: _Future | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._done = False
        self._given_up = False

    @property
    def canceled(self) -> bool:
        """Somebody has asked the task to stop since this began, and has not taken it back."""
        return self._task.cancelling() > self._prior_cancels

    def step(self, error: BaseException | None = None) -> bool:
        """Let the code run until it waits for something; say whether it has ended instead."""
        began = time.perf_counter_ns()
        try:
            if self._iterator is None:
                awaitable = self._start()
                self._groups = TaskGroups(awaitable, self._task)
                self._iterator = awaitable.__await__()
            self._inner = self._iterator.send(None) if error is None else self._iterator.throw(error)
        except StopIteration as end:
            self._done, self.result.reply = True, end.value
        except BaseException as raised:  # whatever it is, it is what this agent came to
            self._done, self.result.error = True, raised
            if isinstance(raised, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
        self.result.blocked_ns = max(self.result.blocked_ns, time.perf_counter_ns() - began)
        if self._groups is not None:
            self._groups.uncancel_finished()
        return self._done

    def __await__(self) -> Generator[_Future | None, None, None]:
        try:
            while True:
                error = yield from self._wait()
                if self._given_up or self.step(error):
                    break
                self._update_grace_timer()
        finally:
            self._cleanup()
        if self.canceled:
            raise CancelledError

    def _wait(self) -> _Steps:
        """Wait for what the code waits for; give what must be thrown into it, if anything."""
        inner = self._inner
        if type(inner) is asyncio.Future or not asyncio.isfuture(inner):
            try:
                yield inner
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - the future's own failure, or a cancellation: for the code
                if self._groups is not None and isinstance(error, CancelledError):
                    self._groups.record_cancellation()
                return error
            return None
        # A task or a gathering ends when it likes, even cancelled. So wait beside it, not for it.
        inner._asyncio_future_blocking = False  # noqa: SLF001 - the mark by which `await` and the loop shake hands
        while not inner.done():
            beside = self._task.get_loop().create_future()
            inner.add_done_callback(lambda _, beside=beside: beside.done() or beside.set_result(None))
            try:
                yield from beside
            except CancelledError as error:
                if self._given_up or not inner.cancel():
                    return error
                self._update_grace_timer()
        return None

    def _update_grace_timer(self) -> None:
        """Keep the grace timer running while a cancellation stands that the code has not answered.

        A time-out of the code's own cancels this task too, and takes that back when it is through.
        """
        if not self.canceled:
            if self._timer:
                self._timer.cancel()
                self._timer = None
        elif not self._timer:
            self._timer = self._task.get_loop().call_later(self._grace_s, self._give_up)

    def _give_up(self) -> None:
        self._given_up = True
        self._task.cancel()

    def _cleanup(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._given_up:
            self._task.uncancel()
        if not self._done:
            self.result.closed = True
            try:
                self._iterator.close()
            except BaseException as error:  # noqa: BLE001 - it refuses even this; nobody will run it again
                self.result.error = error
