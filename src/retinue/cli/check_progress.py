"""How far `retinue check` is: one line on stderr, where somebody looks, once it takes more than a second."""

import asyncio
import os
import sys
import time
from contextlib import suppress
from typing import Final, Self

from retinue.cli.output import format_duration
from retinue.conformance.port import Probe, ProbeExchange

_TICK_S: Final = 1.0
_CLEAR_LINE: Final = "\r\x1b[2K"
"""Clears the line the cursor is on."""


class CheckProgress:
    """Counts the requests that came back, and says so every second: one that hangs is seen to.

    Used inside an event loop.

    Args:
        tick_s: How long that second is.
    """

    def __init__(self, *, tick_s: float = _TICK_S) -> None:
        self._is_watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._tick_s = tick_s
        self._timer: asyncio.TimerHandle | None = None
        self._began_ns = time.monotonic_ns()
        self._has_written = False
        self._count = 0
        self._latest = ""

    def __enter__(self) -> Self:
        if self._is_watched:
            self._schedule()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._has_written:
            _write(_CLEAR_LINE)

    def on_exchange(self, probe: Probe, exchange: ProbeExchange) -> None:
        """Another request has come back."""
        self._count += 1
        self._latest = f", the latest `{probe.name}` after {format_duration(exchange.duration_ns)}"

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_s, self._tick)

    def _tick(self) -> None:
        self._has_written = True
        took = format_duration(time.monotonic_ns() - self._began_ns)
        answers = "1 request has" if self._count == 1 else f"{self._count} requests have"
        _write(f"{_CLEAR_LINE}{took}: {answers} come back{self._latest}")
        self._schedule()


def _write(text: str) -> None:
    with suppress(OSError):  # nobody looks any more
        sys.stderr.write(text)
        sys.stderr.flush()
