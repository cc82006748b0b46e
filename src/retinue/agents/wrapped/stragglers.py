"""Ends what a program has started in sessions of its own, which no signal to its group reaches.

Whatever a program starts inherits its environment, and with it the mark that is set there. Linux alone shows the
environment of a process; elsewhere such stragglers are not found. A daemon that was given another environment is not
found either: it has parted for good.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["end_marked", "marked_environment", "new_mark"]

_VARIABLE: Final = "RETINUE_CALL"
_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 5
"""How often is looked again: one that is being ended may just have started another."""


def new_mark() -> str:
    """A mark that no other program has."""
    return os.urandom(8).hex()


def marked_environment(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """`environment` with the mark in it, after those of whoever runs us: they find what they have started too."""
    return {**environment, _VARIABLE: f"{os.environ.get(_VARIABLE, '')}{mark}"}


def end_marked(mark: str) -> None:
    """Kill everything that has inherited `mark`."""
    for _ in range(_ROUNDS):
        found = tuple(_with(mark.encode()))
        for process in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not found:
            return


def _with(mark: bytes) -> Iterator[int]:
    """The processes that have `mark`. Those that have ended and wait to be collected have no environment any more."""
    if not _PROCESSES.is_dir():
        return
    for entry in os.scandir(_PROCESSES):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it has ended, or is somebody else's
                environment = Path(entry.path, "environ").read_bytes()
                if any(mark in each for each in environment.split(b"\0") if each.startswith(_VARIABLE.encode())):
                    yield int(entry.name)
