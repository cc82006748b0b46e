"""The time that one use of a tool may take: its own limit or its caller's deadline, whichever comes first."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from retinue.errors import DeadlineExceeded
from retinue.tools.port import ToolContext


@asynccontextmanager
async def time_limit(
    context: ToolContext, timeout_s: float, *, what: str, clock: Callable[[], int] = time.time_ns
) -> AsyncGenerator[None]:
    """End what runs inside when time is up.

    Args:
        context: Holds the caller's deadline.
        timeout_s: The tool's own limit.
        what: What took too long, as a sentence begins.
        clock: Nanoseconds since 1970 UTC.

    Raises:
        DeadlineExceeded: Time is up; `detail["bound"]` says by which bound (C21).
    """
    remaining = None if context.deadline_ns is None else max(0.0, (context.deadline_ns - clock()) / 1e9)
    seconds = timeout_s if remaining is None else min(remaining, timeout_s)
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            yield
    except TimeoutError:
        if not timeout.expired():
            raise
        raise DeadlineExceeded(
            f"{what} took longer than {seconds:.3g} seconds.",
            hint="Ask for something smaller, or elsewhere.",
            detail={"bound": "tool" if seconds == timeout_s else "task"},
        ) from None
