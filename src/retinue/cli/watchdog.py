"""Sees when nothing moves any more: an agent keeps the event loop to itself past its time, and does not let go.

Code of this process cannot be stopped from outside, only struck: as Ctrl-C strikes, wherever it is. That ends the
command; what was finished is in the history. An agent that waits with `await`, or works with `run.offload`, never
meets this.
"""

import asyncio
import signal
import threading
import time
from typing import Final, Self

from retinue.errors import DeadlineExceeded

__all__ = ["Watchdog"]

_BEAT_S: Final = 0.5
_LOOK_S: Final = 1.0
_GRACE_S: Final = 3.0


class Watchdog:
    """Watches the event loop of the main thread, as an async context.

    Args:
        limit_s: How long an agent may take; the loop may stand still a little longer than that.

    Attributes:
        bitten: It had to strike.
        run: Which run it watches; empty before it has begun, and when nothing of it is kept.
    """

    def __init__(self, limit_s: float) -> None:
        self.bitten = False
        self.run = ""
        self._limit_s = limit_s
        self._beaten = time.monotonic()
        self._next: asyncio.TimerHandle | None = None
        self._over = threading.Event()

    async def __aenter__(self) -> Self:
        self._beat()
        threading.Thread(target=self._watch, args=(threading.get_ident(),), daemon=True, name="watchdog").start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        if self._next is not None:
            self._next.cancel()

    def error(self) -> DeadlineExceeded:
        """What to say when it has struck."""
        kept = "nothing was kept"
        if self.run:
            kept = f"what was finished is kept: `retinue runs show {self.run} --events` tells what, and "
            kept += f"`retinue runs resume {self.run}` goes on"
        return DeadlineExceeded(
            f"An agent kept the whole process to itself for more than {self._limit_s:g} s; both were ended.",
            hint=f"Let it wait with `await`, or work in `run.offload`; {kept}.",
            detail={"bound": "watchdog", "seconds": self._limit_s},
        )

    def _beat(self) -> None:
        self._beaten = time.monotonic()
        self._next = asyncio.get_running_loop().call_later(_BEAT_S, self._beat)

    def _watch(self, thread: int) -> None:
        # asyncio takes the first strike as a wish to cancel and raises at the second; so strike until the loop moves.
        while not self._over.wait(_LOOK_S):
            if time.monotonic() - self._beaten > self._limit_s + _GRACE_S:
                self.bitten = True
                signal.pthread_kill(thread, signal.SIGINT)
