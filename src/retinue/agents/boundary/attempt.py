"""Run foreign code once, in a task of its own, until it ends or its time is up, whatever it does.

What comes out of the agent is a value here, exceptions included. An agent that swallows its cancellation gets a grace
period to clean up and is closed after it. Nothing interrupts code that blocks the event loop: that is only measured.
"""

import asyncio
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class AttemptResult:
    """How one attempt ended.

    Attributes:
        reply: What the agent returned; also what it still returned after its time was up.
        error: What it raised instead.
        timed_out: Its time was up before it ended, and it was told to stop.
        closed: It went on after that for longer than the grace period, and was closed.
        canceled: The call was cancelled. The caller must raise `CancelledError` when done.
        late_s: How long after its time it ended without being told to stop, because the event loop was blocked.
    """

    reply: object = None
    error: BaseException | None = None
    timed_out: bool = False
    closed: bool = False
    canceled: bool = False
    late_s: float = 0.0


async def attempt(start: Callable[[], Awaitable[object]], *, seconds: float | None, grace_s: float) -> AttemptResult:
    """Await what `start` gives, for at most `seconds`. An agent that cancels its own task cancels the call.

    A cancellation is not raised but noted, so that what the agent still handed back is not lost.

    Raises:
        KeyboardInterrupt: A person pressed Ctrl-C while the agent blocked.
    """
    result = AttemptResult()
    steps: Any = None

    async def run() -> None:
        # Nothing may leave this task as an exception: asyncio would end the program over a `SystemExit`.
        nonlocal steps
        try:
            steps = start().__await__()
            result.reply = await _delegate(steps)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what this agent came to
            if not result.closed:
                result.error = error

    loop, code = asyncio.get_running_loop(), run()
    deadline = None if seconds is None else loop.time() + seconds
    task = loop.create_task(code)
    try:
        try:
            await asyncio.wait((task,), timeout=seconds)
            result.timed_out = not task.done()
        except CancelledError:
            result.canceled = True
        if not task.done():
            await _stop(task, result, grace_s)
        elif task.cancelling() and isinstance(result.error, CancelledError):
            result.canceled = True
        elif deadline is not None:
            result.late_s = max(0.0, loop.time() - deadline)
    finally:
        if not task.done():
            # Close what the agent runs, and let the task wake up to find it closed. Code that goes on even then is
            # cut off with the task's own coroutine, or the event loop could never be shut down.
            result.closed = True
            try:
                if steps is not None:
                    steps.close()
            except BaseException as error:  # noqa: BLE001 - nobody will run it again
                result.error = error
                code.close()
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            task.cancel()
    return result


@coroutine
def _delegate(steps: Generator[Any, None, T]) -> Generator[Any, None, T]:
    return (yield from steps)


async def _stop(task: "asyncio.Task[None]", result: AttemptResult, grace_s: float) -> None:
    """Cancel `task`, and again whenever the call is cancelled meanwhile, and wait for the grace period."""
    loop = asyncio.get_running_loop()
    end = loop.time() + grace_s
    task.cancel()
    while not task.done() and (remaining := end - loop.time()) > 0:
        try:
            await asyncio.wait((task,), timeout=remaining)
        except CancelledError:
            result.canceled = True
            task.cancel()
