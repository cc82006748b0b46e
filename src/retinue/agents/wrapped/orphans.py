"""Ends what a program has started in sessions of its own, which no signal to its group reaches.

Whatever a program starts inherits its environment, and with it the mark that is set there. Linux alone shows the
environment of a process; elsewhere such stragglers are not found. A daemon that was given another environment is not
found either: it has parted for good.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_VARIABLE: Final = "_RETINUE_CALL"
_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 10
"""How often is looked again: one that is being ended may just have started another."""
_PAUSE_S: Final = 0.02


def new_mark() -> str:
    """A mark that no other program has."""
    return os.urandom(8).hex()


def marked_environment(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """`environment` with the mark in it, after those of whoever runs us: they find what they have started too."""
    return {**environment, _VARIABLE: f"{os.environ.get(_VARIABLE, '')}{mark}"}


def kill_marked(mark: str) -> None:
    """Kill everything that has inherited `mark`. Takes milliseconds, and does not come back before they are told."""
    for _ in range(_ROUNDS):
        environments = dict(_environments())
        processes = [process for process, environment in environments.items() if _has_mark(environment, mark)]
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if not processes and all(environments.values()):
            return
        time.sleep(_PAUSE_S)


def find_marked(mark: str, *, apart_from: int) -> tuple[int, ...]:
    """The processes that have inherited `mark` and still run, without those of the process group `apart_from`."""
    processes: list[int] = []
    for process, environment in _environments():
        with suppress(ProcessLookupError):
            if _has_mark(environment, mark) and os.getpgid(process) != apart_from:
                processes.append(process)
    return tuple(processes)


def _has_mark(environment: bytes, mark: str) -> bool:
    mark_bytes, variable = mark.encode(), f"{_VARIABLE}=".encode()
    return any(mark_bytes in each for each in environment.split(b"\0") if each.startswith(variable))


def _environments() -> Iterator[tuple[int, bytes]]:
    """The environment of every other process whose environment we may read; of one that is just starting it is empty.

    Those that have ended and wait to be collected have none, and no program either.
    """
    if not _PROCESSES.is_dir():
        return
    for entry in os.scandir(_PROCESSES):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it has ended, or is somebody else's
                environment = Path(entry.path, "environ").read_bytes()
                if environment or Path(entry.path, "exe").readlink():
                    yield int(entry.name), environment
