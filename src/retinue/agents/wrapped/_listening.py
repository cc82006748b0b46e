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

__all__ = ["GONE_S", "Hear", "Listening", "signal_group"]

Hear: TypeAlias = Callable[[bytes], object]
"""Is told what the program says on stdout, as it comes, in the thread that reads it."""

GONE_S: Final = 2.0
"""How long is waited for what was killed."""

_CHUNK: Final = 65_536
_STDERR_KEPT: Final = 16_384
_LOOK_S: Final = 0.05
"""How often is looked whether it has ended, where the system does not tell."""
_LINGER_S: Final = 0.3
"""How long is listened to children that outlive their program."""
_PATIENCE_S: Final = 0.3
"""How long a program has to end by itself once it was told to."""


class Listening:
    """Hears both outputs of one program until they and it have ended, or patience has."""

    def __init__(self, process: subprocess.Popen[bytes], woken: int, *, max_bytes: int, hear: Hear | None) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.flooded = self.outlived = False
        self._process = process
        self._max_bytes = max_bytes
        self._hear = hear
        self._until: float | None = None
        self._killed = False
        self._selector = DefaultSelector()
        self._open: set[int] = set()
        for pipe, take in ((process.stdout, self._take), (process.stderr, self._take_stderr)):
            descriptor = cast("IO[bytes]", pipe).fileno()
            self._open.add(descriptor)
            self._selector.register(descriptor, EVENT_READ, partial(self._read, descriptor, take))
        self._selector.register(woken, EVENT_READ, partial(self._stop, woken))
        self._end = _descriptor_of_end(process.pid)
        if self._end is not None:
            self._selector.register(self._end, EVENT_READ, self._noticed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._end is not None:
            os.close(self._end)

    def to_the_end(self) -> None:
        """Listen."""
        while not self._over():
            for key, _ in self._selector.select(self._wait_s()):
                cast("Callable[[], None]", key.data)()

    def _over(self) -> bool:
        """Whether there is nothing more to hear, or nothing more to wait for."""
        ended = self._process.poll() is not None
        if ended and not self._open:
            return True
        now = monotonic()
        if ended and self._until is None:
            self._until = now + _LINGER_S
        if self._until is None or now < self._until:
            return False
        if ended or self._killed:
            self.outlived = True
            return True
        self._kill()
        return False

    def _wait_s(self) -> float | None:
        left_s = None if self._until is None else max(0.0, self._until - monotonic())
        if self._end is not None:
            return left_s
        return _LOOK_S if left_s is None else min(left_s, _LOOK_S)

    def _read(self, descriptor: int, take: Hear) -> None:
        chunk = os.read(descriptor, _CHUNK) if not self.flooded else b""
        if chunk:
            take(chunk)
        else:
            self._selector.unregister(descriptor)
            self._open.discard(descriptor)

    def _take(self, chunk: bytes) -> None:
        room = self._max_bytes - len(self.stdout)
        self.stdout += chunk[:room]
        if len(chunk) > room:
            self.flooded = True
            self._kill()
        elif self._hear is not None:
            self._hear(chunk)

    def _take_stderr(self, chunk: bytes) -> None:
        self.stderr += chunk
        del self.stderr[:-_STDERR_KEPT]

    def _stop(self, woken: int) -> None:
        self._selector.unregister(woken)
        self._until = monotonic() + _PATIENCE_S
        signal_group(self._process.pid, signal.SIGTERM)

    def _kill(self) -> None:
        self._killed = True
        self._until = monotonic() + GONE_S
        signal_group(self._process.pid, signal.SIGKILL)

    def _noticed(self) -> None:
        if self._end is not None:
            self._selector.unregister(self._end)


def _descriptor_of_end(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def signal_group(group: int, number: int) -> None:
    """Send a signal to a program and to everything it started."""
    with suppress(ProcessLookupError, PermissionError):  # all of it is gone, or what is left has become somebody else's
        os.killpg(group, number)
