"""Runs one program apart: a clean environment, a group of its own that ends whole, and the two ends of what it says.

It is for programs that a model names. What may be run is decided before; that a program can do all that its user can is
no secret, and no fence stands around it.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final

from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput, LimitReached, NotInstalled

_CHUNK: Final = 65_536
_MOST_BYTES: Final = 256 * 1024 * 1024
_GRACE_S: Final = 0.5
"""How long is listened on after the program has ended, to what it left behind."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How it went.

    Attributes:
        code: The exit code; negative for the signal that ended it.
        output: What it said on both its outputs, in order; its middle is missing when `left_out`.
        left_out: How many bytes are missing there.
        duration_ns: How long it took.
    """

    code: int
    output: str
    left_out: int
    duration_ns: int


class _OutputEnds:
    """The beginning and the end of what is said, each at most half of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail.popleft())

    def left_out(self) -> int:
        return max(self.size - 2 * self._half, 0)

    def text(self) -> str:
        tail = b"".join(self._tail)
        left_out = self.left_out()
        if not left_out:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head, tail = bytes(self._head), tail[len(tail) - self._half :]
        middle = f"\n[… {left_out:,} bytes are left out here …]\n"
        return head.decode("utf-8", "replace") + middle + tail.decode("utf-8", "replace")


async def run_program(
    words: Sequence[str], *, program: str, folder: str, environment: Mapping[str, str], timeout_s: float, limit: int
) -> ProgramResult:
    """Run `program` with `words` as its argument vector, to its end.

    Args:
        words: The argument vector; the first is the name the program is told.
        program: The file that is executed.
        folder: Where it starts.
        environment: All of its environment.
        timeout_s: After this many seconds it is ended, with everything it started in its group.
        limit: Bytes of output that are kept.

    Raises:
        NotInstalled: There is no such program.
        AccessDenied: It may not be executed.
        InvalidInput: It is not a program.
        DeadlineExceeded: Time was up; `detail["output"]` is what it had said.
        LimitReached: It talked without end; `detail["output"]` likewise.
    """
    started_at = perf_counter_ns()
    ends = _OutputEnds(limit)
    try:
        transport, listener = await asyncio.get_running_loop().subprocess_exec(
            lambda: _OutputProtocol(ends),
            *words,
            executable=program,
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise NotInstalled(f"the program {words[0]!r} is not there", hint="install it, or use another") from error
    except PermissionError as error:
        raise AccessDenied(f"the program {words[0]!r} may not be run", hint="check its mode bits") from error
    except OSError as error:
        raise InvalidInput(
            f"{words[0]!r} cannot be run: {error.strerror}", hint="name a program", path="/command"
        ) from error
    group = transport.get_pid()
    try:
        async with asyncio.timeout(timeout_s):
            await listener.finished.wait()
            # What it left running ends with it, and a moment is enough to hear its last words.
            _end_group(group)
            await asyncio.wait({listener.silent}, timeout=_GRACE_S)
    except TimeoutError:
        raise DeadlineExceeded(
            f"{words[0]!r} took longer than {timeout_s:.3g} seconds and was ended",
            hint="ask for less at once, or for more time with `timeout_s`",
            detail={"bound": "tool", "output": ends.text()},
        ) from None
    finally:
        _end_group(group)
        transport.close()
        await listener.exited.wait()
    if ends.size > _MOST_BYTES:
        raise LimitReached(
            f"{words[0]!r} said more than {_MOST_BYTES:,} bytes and was ended",
            hint="make it say less",
            detail={"output": ends.text()},
        )
    return ProgramResult(transport.get_returncode() or 0, ends.text(), ends.left_out(), perf_counter_ns() - started_at)


class _OutputProtocol(asyncio.SubprocessProtocol):
    """Hears a program until it ends or has said far too much.

    Not `asyncio.subprocess.Process`: that one waits until everybody who holds the output has closed it, and so for
    whatever the program left behind.
    """

    def __init__(self, ends: _OutputEnds) -> None:
        self.ends = ends
        self.finished = asyncio.Event()
        self.exited = asyncio.Event()
        self.silent: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - the port's form
        self.ends.add(data)
        if self.ends.size > _MOST_BYTES:
            self.finished.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the port's form
        if not self.silent.done():
            self.silent.set_result(None)

    def process_exited(self) -> None:
        self.finished.set()
        self.exited.set()


def _end_group(group: int) -> None:
    # The group outlives its leader while a process is in it; when none is, there is nothing to end.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
