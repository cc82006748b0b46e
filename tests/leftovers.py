"""Processes that tests left behind, found by where they descend from and by the session's temporary folder."""

import os
import signal
import time
from pathlib import Path

__all__ = ["end_leftovers"]

_PROC = Path("/proc")
_PATIENCE_S = 10.0
"""How long what is being ended may take; a busy machine needs some of it."""


def end_leftovers(folder: Path) -> list[str]:
    """End what still lives of this session, and return its command lines; what ends by itself in time is not counted.

    A process that was orphaned is no longer below this one: it is known by `folder`, which stands in its working folder,
    its command line or its environment. Where there is no `/proc`, nothing is found.
    """
    end = time.monotonic() + _PATIENCE_S
    while (left := _leftovers(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    for process in left:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return [f"{process}: {command}" for process, command in left.items()]


def _leftovers(folder: Path) -> dict[int, str]:
    parents = {int(entry.name): parent for entry in _PROC.glob("[0-9]*") if (parent := _parent(entry)) is not None}
    return {
        process: _read(process, "cmdline").replace("\0", " ").strip()
        for process in parents
        if process != os.getpid()
        and (_descends(process, parents) or _names(process, folder))
        and "multiprocessing.resource_tracker" not in _read(process, "cmdline")  # it ends with this process
    }


def _parent(entry: Path) -> int | None:
    """The parent of a process that lives; None for one that has ended and was not waited for."""
    try:
        state, parent, *_ = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in {"Z", "X"} else int(parent)


def _descends(process: int, parents: dict[int, int]) -> bool:
    seen: set[int] = set()
    while (parent := parents.get(process)) and parent not in seen:
        if parent == os.getpid():
            return True
        seen.add(process := parent)
    return False


def _names(process: int, folder: Path) -> bool:
    try:
        if (_PROC / str(process) / "cwd").readlink().is_relative_to(folder):
            return True
    except OSError:
        return False
    return any(f"{folder}{os.sep}" in _read(process, name) for name in ("cmdline", "environ"))


def _read(process: int, name: str) -> str:
    try:
        return (_PROC / str(process) / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
