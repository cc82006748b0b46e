"""Runs a program to its end, and ends everything it started with it.

What it prints can be read as it comes, and the caller may be cancelled at any time. `run_program` is for programs that
answer on stdout, `run_command` for those whose output a person or a model reads.
"""

import asyncio
from asyncio.subprocess import PIPE, STDOUT
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from time import perf_counter_ns
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from retinue.errors import DeadlineExceeded, LimitReached

from .child import Child, finish_shielded
from .orphans import Guard, find_marked

OnOutput: TypeAlias = Callable[[bytes], object]
"""Gets what the program prints on stdout, as it comes."""

_CHUNK: Final = 65_536
_MAX_RUNNING: Final = 64
"""Programs that run at once in one event loop; further ones wait their turn."""
_LINGER_S: Final = 0.3
"""Seconds that children which outlive their program may hold its output open."""
_TERM_S: Final = 0.3
"""Seconds a cancelled program has to end by itself."""
_MOST_BYTES: Final = 256 * 2**20
"""What a command may print, of which little is kept."""

# A semaphore belongs to one event loop, and goes with it.
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The output of a program, and how it ended.

    Attributes:
        status: Its exit status; negative is the signal that ended it.
        stdout: All of it, or for `ends` nothing.
        stderr: The last 16 KiB of it.
        flooded: It printed more than was allowed, and was killed; `stdout` is the beginning.
        had_orphans: Children held its output open after its end, and were killed.
        background_pids: Processes that closed its outputs, detached, and run on after it ended by itself.
    """

    status: int
    stdout: bytes
    stderr: bytes
    flooded: bool = False
    had_orphans: bool = False
    background_pids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command said, and how it ended.

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


class OutputEnds:
    """The beginning and the end of what is said, each at most half of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0

    def add(self, chunk: bytes) -> None:
        """Take what was said next."""
        self._size += len(chunk)
        room = self._half - len(self._head)
        self._head += chunk[:room]
        if rest := chunk[room:]:
            self._tail.append(rest)
            self._tail_size += len(rest)
        # Whole chunks are dropped, so that no byte is copied more than once however much is printed.
        while self._tail and self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail.popleft())

    @property
    def left_out(self) -> int:
        """How many bytes are missing in the middle."""
        return max(self._size - 2 * self._half, 0)

    @property
    def text(self) -> str:
        """Both ends, and how much is missing between them."""
        tail = b"".join(self._tail)
        if not self.left_out:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        middle = f"\n[… {self.left_out:,} bytes are left out here …]\n"
        return self._head.decode("utf-8", "replace") + middle + tail[-self._half :].decode("utf-8", "replace")


async def run_command(
    words: Sequence[str], *, program: str, cwd: str, env: Mapping[str, str], timeout_s: float, limit: int
) -> CommandOutput:
    """Run `program` with `words` as its argument vector, to its end. What detaches from it may live on.

    Args:
        words: The argument vector; the first is the name that the program sees.
        program: The file that is executed.
        cwd: Where it starts.
        env: All of its environment.
        timeout_s: After this many seconds it is ended, with everything it started.
        limit: Bytes of output that are kept.

    Raises:
        DeadlineExceeded: Time was up; `detail["output"]` is what it had printed.
        LimitReached: It printed without end; `detail["output"]` likewise.
        RetinueError: It cannot be started; see `Child.start`.
    """
    started_at, ends = perf_counter_ns(), OutputEnds(limit)
    try:
        async with asyncio.timeout(timeout_s):
            result = await run_program(words, program=program, cwd=cwd, env=env, max_bytes=_MOST_BYTES, ends=ends)
    except TimeoutError:
        raise DeadlineExceeded(
            f"{words[0]!r} took longer than {timeout_s:.3g} seconds and was killed",
            hint="ask for less at once, or for more time with `timeout_s`",
            detail={"bound": "tool", "output": ends.text},
        ) from None
    if result.flooded:
        raise LimitReached(
            f"{words[0]!r} printed more than {_MOST_BYTES:,} bytes and was killed",
            hint="make it print less",
            detail={"output": ends.text},
        )
    return CommandOutput(result.status, ends.text, ends.left_out, perf_counter_ns() - started_at)


async def run_program(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    max_bytes: int,
    program: str | None = None,
    stdin: bytes = b"",
    on_output: OnOutput | None = None,
    ends: OutputEnds | None = None,
) -> ProgramResult:
    """Run `argv` to its end. When the caller is cancelled, it is ended first, with all its children.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: All the variables it gets.
        max_bytes: What it may print on stdout.
        program: The file that is executed, when it is not `argv[0]`.
        stdin: What it reads.
        on_output: Gets its stdout as it comes.
        ends: Gets both outputs, as one stream, in place of `stdout`. What then holds it open in a session of its own
            is not waited for, and may live on.

    Raises:
        RetinueError: It cannot be started; see `Child.start`.
    """
    turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_MAX_RUNNING))
    # The input is a file: a pipe would have to be fed while the outputs are read.
    async with turn:
        with TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            # Shielded: a guard that is being started when we are cancelled must be closed as well.
            starting = asyncio.ensure_future(asyncio.to_thread(Guard))
            try:
                guard = await asyncio.shield(starting)
            except asyncio.CancelledError:
                (await starting).close()
                raise
            try:
                stderr = PIPE if ends is None else STDOUT
                child = await Child.start(
                    argv, program=program, cwd=cwd, env=env, stdin=source, stderr=stderr, limit=_CHUNK
                )
                guard.watch(child.pid)
                run = _Run(child, max_bytes=max_bytes, on_output=on_output, ends=ends)
                return await run.finish(Path(argv[0]).name)
            finally:
                await finish_shielded(asyncio.to_thread(guard.close))


class _Run:
    """One program until its end."""

    def __init__(self, child: Child, *, max_bytes: int, on_output: OnOutput | None, ends: OutputEnds | None) -> None:
        self._child, self._room, self._on_output, self._ends = child, max_bytes, on_output, ends
        self._stdout = bytearray()
        self._flooded = False
        self._reading = asyncio.create_task(self._read_stdout())

    async def finish(self, name: str) -> ProgramResult:
        child, had_orphans, ended_well = self._child, False, False
        outputs = {self._reading, child.stderr_closed}
        try:
            await child.exited.wait()
            if self._ends is not None:
                child.kill()  # what it left running in its group would only hold the output open
            had_orphans = bool((await asyncio.wait(outputs, timeout=_LINGER_S))[1]) and self._ends is None
            ended_well = not (self._flooded or had_orphans)
        except asyncio.CancelledError as error:
            with suppress(asyncio.CancelledError):
                await finish_shielded(child.stop(leave_s=0, term_s=_TERM_S, drain_s=_LINGER_S))
            # What it had printed by then is not lost.
            text, stderr = (output.decode("utf-8", "replace").strip() for output in (self._stdout, child.stderr))
            so_far = f"{len(self._stdout):,} bytes, beginning with {text[:500]!r}" if text else "nothing"
            end = f"; its stderr ended with {stderr[-500:]!r}" if stderr else ""
            if self._ends is None:
                error.add_note(f"`{name}` was ended with everything it had started; it had printed {so_far}{end}.")
            raise
        finally:
            # A daemon that has detached from a program that ended well may live on.
            await finish_shielded(child.stop(leave_s=0, term_s=0, spare_detached=ended_well))
            # A detached child may hold the output open for ever: what was read by now is all there will be.
            self._reading.cancel()
            await asyncio.gather(*outputs, return_exceptions=True)
        if not self._reading.cancelled():
            self._reading.result()  # raises what `on_output` has raised
        return ProgramResult(
            status=-SIGKILL if child.status is None else child.status,
            stdout=bytes(self._stdout),
            stderr=bytes(child.stderr),
            flooded=self._flooded,
            had_orphans=had_orphans,
            background_pids=await asyncio.to_thread(find_marked, child.mark, apart_from=child.pid)
            if ended_well
            else (),
        )

    async def _read_stdout(self) -> None:
        try:
            while not self._flooded and (chunk := await self._child.stdout.read(_CHUNK)):
                if self._ends is not None:
                    self._ends.add(chunk)
                else:
                    self._stdout += chunk[: self._room]
                self._flooded = len(chunk) > self._room
                self._room -= len(chunk)
                if self._on_output is not None and not self._flooded:
                    self._on_output(chunk)
                if self._flooded:
                    self._child.kill()
        except Exception:
            self._child.kill()  # else it would wait for ever for a reader
            raise
