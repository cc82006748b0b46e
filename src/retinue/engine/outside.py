"""Time, chance and waiting for the bodies of steps.

A workflow asks its `Scope`, which repeats its answers on a replay. The body of a step is not replayed, only its result
is kept, so it may see the world as it is; but through one value, so that a test can hold the clock still.
"""

import asyncio
import random
import time
from asyncio import CancelledError as Stopped
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["REAL", "Outside", "Stopped"]


@dataclass(frozen=True, slots=True)
class Outside:
    """What the body of a step may know of the world.

    Attributes:
        clock: Nanoseconds since 1970 UTC.
        chance: Numbers in [0, 1).
        pause: Waits for so many seconds, blocking nobody.
    """

    clock: Callable[[], int] = time.time_ns
    chance: Callable[[], float] = random.random
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep


REAL: Final = Outside()
"""The machine's own clock and chance."""
