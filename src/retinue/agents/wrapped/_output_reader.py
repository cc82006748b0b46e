"""Hears a program on both its outputs until it and they have ended, or until patience has.

Who started it, and what is done with what it said, is not known here.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ, DefaultSelector
from time import monotonic
from typing import IO, Final, Self, TypeAlias, cast

OnOutput: TypeAlias = Callable[[bytes], object]
"""Is told what the program says on stdout, as it comes, in the thread that reads it."""

KILL_WAIT_S: Final = 2.0
"""How long is waited for what was killed."""

_CHUNK: Final = 65_536
_STDERR_KEPT: Final = 16_384
_LOOK_S: Final = 0.05
"""How often is looked whether it has ended, where the system does not tell."""
_LINGER_S: Final = 0.3
"""How long is listened to children that outlive their program."""
_PATIENCE_S: Final = 0.3
"""How long a program has to end by itself once it was told to."""


class OutputReader:
    """Hears both outputs of one program until they and it have ended, or patience has."""

    def __init__(
        self, process: subprocess.Popen[bytes], wake_fd: int, *, max_bytes: int, on_output: OnOutput | None
    ) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.flooded = self.had_orphans = False
        self._process = process
        self._max_bytes = max_bytes
        self._on_output = on_output
        self._deadline: float | None = None
        self._killed = False
        self._selector = DefaultSelector()
        self._open: set[int] = set()
        for pipe, on_chunk in ((process.stdout, self._on_stdout), (process.stderr, self._on_stderr)):
            descriptor = cast("IO[bytes]", pipe).fileno()
            self._open.add(descriptor)
            self._selector.register(descriptor, EVENT_READ, partial(self._read, descriptor, on_chunk))
        self._selector.register(wake_fd, EVENT_READ, partial(self._stop, wake_fd))
        self._pidfd = _open_pidfd(process.pid)
        if self._pidfd is not None:
            self._selector.register(self._pidfd, EVENT_READ, self._on_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def read_all(self) -> None:
        """Listen."""
        while not self._is_finished():
            for key, _ in self._selector.select(self._wait_s()):
                cast("Callable[[], None]", key.data)()

    def _is_finished(self) -> bool:
        """Whether there is nothing more to hear, or nothing more to wait for."""
        has_ended = self._process.poll() is not None
        if has_ended and not self._open:
            return True
        now = monotonic()
        if has_ended and self._deadline is None:
            self._deadline = now + _LINGER_S
        if self._deadline is None or now < self._deadline:
            return False
        if has_ended or self._killed:
            self.had_orphans = True
            return True
        self._kill()
        return False

    def _wait_s(self) -> float | None:
        remaining_s = None if self._deadline is None else max(0.0, self._deadline - monotonic())
        if self._pidfd is not None:
            return remaining_s
        return _LOOK_S if remaining_s is None else min(remaining_s, _LOOK_S)

    def _read(self, descriptor: int, on_chunk: OnOutput) -> None:
        chunk = os.read(descriptor, _CHUNK) if not self.flooded else b""
        if chunk:
            on_chunk(chunk)
        else:
            self._selector.unregister(descriptor)
            self._open.discard(descriptor)

    def _on_stdout(self, chunk: bytes) -> None:
        room = self._max_bytes - len(self.stdout)
        self.stdout += chunk[:room]
        if len(chunk) > room:
            self.flooded = True
            self._kill()
        elif self._on_output is not None:
            self._on_output(chunk)

    def _on_stderr(self, chunk: bytes) -> None:
        self.stderr += chunk
        del self.stderr[:-_STDERR_KEPT]

    def _stop(self, wake_fd: int) -> None:
        self._selector.unregister(wake_fd)
        self._deadline = monotonic() + _PATIENCE_S
        signal_group(self._process.pid, signal.SIGTERM)

    def _kill(self) -> None:
        self._killed = True
        self._deadline = monotonic() + KILL_WAIT_S
        signal_group(self._process.pid, signal.SIGKILL)

    def _on_exit(self) -> None:
        if self._pidfd is not None:
            self._selector.unregister(self._pidfd)


def _open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def signal_group(group: int, number: int) -> None:
    """Send a signal to a program and to everything it started."""
    with suppress(ProcessLookupError, PermissionError):  # all of it is gone, or what is left has become somebody else's
        os.killpg(group, number)
