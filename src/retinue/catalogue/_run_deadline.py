"""The time an agent has left, asked between two pieces of its work.

A thread cannot be interrupted, so whoever works in one asks. It ends a little before its time is up: what was found
so far must still be put together and handed over.
"""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from retinue.agents.port import RunContext
from retinue.errors import Canceled, DeadlineExceeded

P = ParamSpec("P")
T = TypeVar("T")

_SECOND: Final = 1_000_000_000
_RESERVE_SHARE: Final = 0.1
_MAX_RESERVE_NS: Final = 2 * _SECOND


class RunDeadline:
    """Says when to stop.

    Args:
        run: Whose clock and deadline count.
        seconds: A bound of the agent's own, from now.
    """

    def __init__(self, run: RunContext, *, seconds: float | None = None) -> None:
        self._now = run.now
        self._stopped = False
        now = run.now()
        bounds = [] if seconds is None else [now + int(seconds * _SECOND)]
        if run.deadline_ns is not None:
            reserve = min(int(max(run.deadline_ns - now, 0) * _RESERVE_SHARE), _MAX_RESERVE_NS)
            bounds.append(run.deadline_ns - reserve)
        self._end = min(bounds, default=None)

    def stop(self) -> None:
        """Nobody waits any more: end at the next check."""
        self._stopped = True

    def remaining_s(self) -> float | None:
        """Seconds left, none below 0; None when nothing bounds them."""
        return None if self._end is None else max(self._end - self._now(), 0) / _SECOND

    def check(self) -> None:
        """Go on, or not.

        Raises:
            DeadlineExceeded: Time is up, or nearly.
            Canceled: Nobody waits any more.
        """
        if self._stopped:
            raise Canceled("The work was stopped.")
        if self._end is not None and self._now() >= self._end:
            raise DeadlineExceeded("Time was up.", hint="Allow more time, or ask for less.", detail={"bound": "agent"})


async def in_cancellable_thread(
    deadline: RunDeadline, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run `function`, which checks `deadline`, in a thread; when the caller is cancelled the thread soon ends too."""
    from retinue.engine.blocking import in_thread  # noqa: PLC0415 - asyncio is not needed to list agents

    try:
        return await in_thread(function, *args, **kwargs)
    finally:
        deadline.stop()
