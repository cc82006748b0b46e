"""Runs a program to its end, and ends everything it started with it.

What it prints can be read as it comes, and the caller may be cancelled at any time.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

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

_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The output of a program, and how it ended.

    Attributes:
        status: Its exit status; negative is the signal that ended it.
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


async def run_program(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    max_bytes: int,
    on_output: OnOutput | None = None,
) -> ProgramResult:
    """Run `argv` to its end. When the caller is cancelled, it is ended first, with all its children.

    Raises:
        RetinueError: It cannot be started; see `Child.start`.
    """
    turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_MAX_RUNNING))
    # The input is a file: a pipe would have to be fed while the outputs are read.
    async with turn:
        with TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            starting = asyncio.ensure_future(asyncio.to_thread(Guard))
            try:
                guard = await asyncio.shield(starting)
            except asyncio.CancelledError:
                (await starting).close()
                raise
            try:
                child = await Child.start(argv, cwd=cwd, env=env, stdin=source, limit=_CHUNK)
                guard.watch(child.pid)
                return await _Run(child, max_bytes=max_bytes, on_output=on_output).finish(Path(argv[0]).name)
            finally:
                await finish_shielded(asyncio.to_thread(guard.close))


class _Run:
    """One program until its end."""

    def __init__(self, child: Child, *, max_bytes: int, on_output: OnOutput | None) -> None:
        self._child, self._max_bytes, self._on_output = child, max_bytes, on_output
        self._stdout = bytearray()
        self._flooded = False
        self._reading = asyncio.create_task(self._read_stdout())

    async def finish(self, name: str) -> ProgramResult:
        child, had_orphans, ended_well = self._child, False, False
        outputs = {self._reading, child.stderr_closed}
        try:
            await child.exited.wait()
            had_orphans = bool((await asyncio.wait(outputs, timeout=_LINGER_S))[1])
            ended_well = not (self._flooded or had_orphans)
        except asyncio.CancelledError as error:
            with suppress(asyncio.CancelledError):
                await finish_shielded(child.stop(leave_s=0, term_s=_TERM_S, drain_s=_LINGER_S))
            error.add_note(self._stop_note(name))
            raise
        finally:
            # A daemon that has detached from a program that ended well may live on.
            await finish_shielded(child.stop(leave_s=0, term_s=0, spare_detached=ended_well))
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
                room = self._max_bytes - len(self._stdout)
                self._stdout += chunk[:room]
                self._flooded = len(chunk) > room
                if self._on_output is not None and not self._flooded:
                    self._on_output(chunk)
                if self._flooded:
                    self._child.kill()
        except Exception:
            self._child.kill()  # else it would wait for ever for a reader
            raise

    def _stop_note(self, name: str) -> str:
        """What it had printed by then, so that it is not lost."""
        text, stderr = (output.decode("utf-8", "replace").strip() for output in (self._stdout, self._child.stderr))
        so_far = f"{len(self._stdout):,} bytes, beginning with {text[:500]!r}" if text else "nothing"
        end = f"; its stderr ended with {stderr[-500:]!r}" if stderr else ""
        return f"`{name}` was ended with everything it had started; it had printed {so_far}{end}."
