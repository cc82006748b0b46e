"""Ends what a program has started, also in sessions of its own, which no signal to its group reaches.

Whatever a program starts inherits its environment, and with it the mark that is set there. Only Linux shows the
environment of a process; elsewhere such orphans are not found. A daemon that was given another environment is not
found either: it has detached for good.
"""

import atexit
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, cast

_VARIABLE: Final = "_RETINUE_CALL"
_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 10
"""How often the processes are listed again: one that is being killed may just have started another."""
_PAUSE_S: Final = 0.02

_running: dict[int, str] = {}
"""The groups that run right now, and the marks of their programs."""


def new_mark() -> str:
    """A mark that no other program has."""
    return os.urandom(8).hex()


def marked_environment(environment: Mapping[str, str], mark: str) -> dict[str, str]:
    """`environment` with the mark in it, after our own marks: our caller finds what we have started, too."""
    return {**environment, _VARIABLE: f"{os.environ.get(_VARIABLE, '')}{mark}"}


def kill_group(group: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to the leader of a group and to everything in it."""
    # The group outlives its leader while a member lives; an error means that it is empty, or belongs to another user.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_marked(mark: str) -> None:
    """Kill everything that has inherited `mark`. Takes milliseconds, and returns when all have been signalled."""
    for _ in range(_ROUNDS):
        environments = dict(_environments())
        processes = [process for process, environment in environments.items() if _has_mark(environment, mark)]
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        # One whose environment is still empty is just starting, and may turn out to be ours.
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


def register(group: int, mark: str) -> None:
    """Have the group killed when this program exits before the group was ended."""
    _running[group] = mark


def unregister(group: int) -> None:
    """The group has ended."""
    _running.pop(group, None)


@atexit.register
def _kill_all() -> None:
    for group, mark in tuple(_running.items()):
        kill_group(group)
        kill_marked(mark)


class Guard:
    """Kills a process group even when this process is killed itself, and can do nothing any more.

    A shell reads the group's number, then waits for a line that never comes: when this process is gone, its end of the
    pipe is closed. Linux alone has a signal for that, and sends it when the *thread* ends that started the program.
    The guard is started before the program, which might have gone already by the time that the guard is there.
    """

    def __init__(self) -> None:
        self._shell = None
        with suppress(OSError):  # no shell, or no room for a process: then without
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r group && { read -r _; kill -KILL "-$group"; }'],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env={},
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """Kill this group when this process is gone."""
        if self._shell is not None:
            with suppress(OSError):  # the guard was killed
                cast("IO[bytes]", self._shell.stdin).write(b"%d\n" % group)

    def close(self) -> None:
        """The group has ended."""
        if self._shell is not None:
            self._shell.kill()  # before its pipe is closed, which would make it kill the group
            self._shell.wait()
            cast("IO[bytes]", self._shell.stdin).close()


def _has_mark(environment: bytes, mark: str) -> bool:
    mark_bytes, variable = mark.encode(), f"{_VARIABLE}=".encode()
    return any(mark_bytes in each for each in environment.split(b"\0") if each.startswith(variable))


def _environments() -> Iterator[tuple[int, bytes]]:
    """The environment of every other process that we may read; that of a process that is just starting is empty.

    Zombies are left out: they have neither an environment nor a program.
    """
    if not _PROCESSES.is_dir():
        return
    for entry in os.scandir(_PROCESSES):
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it has ended, or belongs to another user
                environment = Path(entry.path, "environ").read_bytes()
                if environment or Path(entry.path, "exe").readlink():
                    yield int(entry.name), environment
