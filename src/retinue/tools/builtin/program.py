"""Runs one program that a model has named: a group of its own that ends whole, and the two ends of what it prints.

What may be run is decided before; a program can do all that its user can, and no fence stands around it.
"""

import asyncio
from asyncio.subprocess import DEVNULL, STDOUT
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Final

from retinue.errors import DeadlineExceeded, LimitReached
from retinue.processes.child import Child, finish_shielded

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
        timeout_s: After this many seconds it is killed, with everything it started in its group.
        limit: Bytes of output that are kept.

    Raises:
        DeadlineExceeded: Time was up; `detail["output"]` is what it had printed.
        LimitReached: It printed without end; `detail["output"]` likewise.
        RetinueError: It cannot be started; see `Child.start`.
    """
    started_at, ends = perf_counter_ns(), _OutputEnds(limit)
    child = await Child.start(
        words, program=program, cwd=folder, env=environment, stdin=DEVNULL, stderr=STDOUT, limit=_CHUNK
    )
    reading = asyncio.create_task(_read(child, ends))
    try:
        async with asyncio.timeout(timeout_s):
            await child.exited.wait()
            child.kill()  # what it left running in its group ends with it
            await asyncio.wait({reading}, timeout=_GRACE_S)
    except TimeoutError:
        raise DeadlineExceeded(
            f"{words[0]!r} took longer than {timeout_s:.3g} seconds and was killed",
            hint="ask for less at once, or for more time with `timeout_s`",
            detail={"bound": "tool", "output": ends.text()},
        ) from None
    finally:
        reading.cancel()
        await finish_shielded(child.stop(leave_s=0, term_s=0, spare_detached=True))
    if ends.size > _MOST_BYTES:
        raise LimitReached(
            f"{words[0]!r} printed more than {_MOST_BYTES:,} bytes and was killed",
            hint="make it print less",
            detail={"output": ends.text()},
        )
    return ProgramResult(child.status or 0, ends.text(), ends.left_out(), perf_counter_ns() - started_at)


async def _read(child: Child, ends: _OutputEnds) -> None:
    while ends.size <= _MOST_BYTES and (chunk := await child.stdout.read(_CHUNK)):
        ends.add(chunk)
    if ends.size > _MOST_BYTES:
        child.kill()
