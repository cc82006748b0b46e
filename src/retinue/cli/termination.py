"""Lets a command end as Ctrl-C ends it when the system asks, so that whatever it has started is ended with it.

What an agent runs in a session of its own hears neither the terminal nor the system: only we can tell it.
"""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["termination_as_interrupt"]

_NAMES: Final = ("SIGTERM", "SIGHUP")
"""The system asks; the terminal was closed. Not every system has both."""


@contextmanager
def termination_as_interrupt() -> Generator[None]:
    """Take SIGTERM and SIGHUP for Ctrl-C, also while an agent keeps the event loop to itself.

    What is ignored stays ignored: `nohup retinue run …` goes on when its terminal has gone.
    """
    numbers = [number for name in _NAMES if (number := getattr(signal, name, None)) is not None]
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    try:
        before = {number: signal.signal(number, _interrupt) for number in heard}
    except (OSError, ValueError):  # not here, or not in this thread
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)
