"""A program beside us that is spoken with in lines, both ways, for as long as that is wanted, and then ended whole.

Its lines are bounded, its stderr goes to no terminal, and whatever it has started ends with it. `process` runs a
program that is asked once; what the lines mean is not asked here.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final

from retinue.errors import AccessDenied, MissingFile, NotInstalled

from .orphans import kill_marked, marked_environment, new_mark

MAX_LINE: Final = 8 * 2**20
"""Bytes of one line."""

_STDERR_KEPT: Final = 4_096
_LEAVE_S: Final = 1.0
"""To end by itself, once its stdin is closed."""
_TERM_S: Final = 1.0


class LineProgram:
    """One program.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: All the variables it gets.
        unsupported_hint: What to do instead where programs cannot be run.

    Attributes:
        flooded: It sent a line longer than `MAX_LINE`, and is not heard any further.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str], unsupported_hint: str) -> None:
        self._argv, self._cwd, self._env, self._unsupported_hint = argv, cwd, env, unsupported_hint
        self._mark = new_mark()
        self._stderr = bytearray()
        self._process: asyncio.subprocess.Process | None = None
        self._stderr_task: asyncio.Task[None] | None = None
        self._reader = asyncio.Lock()
        self._is_stopping = False
        self.flooded = False

    @property
    def stderr_tail(self) -> str:
        """The end of what it said on stderr."""
        return self._stderr.decode("utf-8", "replace").strip()

    @property
    def status(self) -> int | None:
        """Its exit status; negative is the signal that ended it; None as long as it runs."""
        return None if self._process is None else self._process.returncode

    async def start(self) -> None:
        """Start it.

        Raises:
            NotInstalled: There is no such program, or this is Windows.
            MissingFile: There is no folder `cwd`.
            AccessDenied: It may not be run.
        """
        if os.name != "posix":  # pragma: no cover - sessions and signals are not there
            raise NotInstalled("Programs are run on Linux and macOS only.", hint=self._unsupported_hint)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                cwd=self._cwd,
                env=marked_environment(self._env, self._mark),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=MAX_LINE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if not os.path.isdir(self._cwd):  # noqa: ASYNC240, PTH112 - it takes any text, raises nothing, and is quick
                raise MissingFile(f"There is no folder {self._cwd!r}.", hint="Correct `cwd`.") from error
            raise NotInstalled(
                f"The program {self._argv[0]!r} is not installed.", hint="Install it, or correct `command`."
            ) from error
        except (OSError, ValueError) as error:
            raise AccessDenied(f"The program {self._argv[0]!r} cannot be run: {error}.", hint="Correct it.") from error
        self._stderr_task = asyncio.create_task(self._collect_stderr(self._process))

    async def read_line(self) -> bytes:
        """The next line it says; nothing when there will be none."""
        process = self._process
        if process is None or process.stdout is None or self.flooded:
            return b""
        try:
            async with self._reader:
                return await process.stdout.readuntil()
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            self.flooded = True
            return b""

    async def write(self, data: bytes) -> None:
        """Write `data`. Nothing happens when it does not listen any more: that it has gone, its lines will show."""
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.write(data)
                await process.stdin.drain()

    async def wait_exit(self) -> None:
        """Wait for a moment until it has ended by itself, and its last words are heard."""
        if self._process is not None and self._stderr_task is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await self._process.wait()
                    await asyncio.wait({self._stderr_task})

    async def stop(self, *, graceful: bool = True) -> None:
        """End it: by closing its stdin, then by asking, then by force, and whatever it has started in any case.

        It is ended also when we are cancelled meanwhile.

        Args:
            graceful: Otherwise by force at once: it must do nothing more.
        """
        if self._process is not None and not self._is_stopping:
            self._is_stopping = True
            if not graceful:
                _signal(self._process.pid, signal.SIGKILL)
            await finish_shielded(self._shut_down(self._process))

    async def _shut_down(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # noqa: S101 - it was asked for
        draining = asyncio.create_task(self._drain_stdout(process))
        process.stdin.close()
        for wait_s, signal_number in ((_LEAVE_S, signal.SIGTERM), (_TERM_S, signal.SIGKILL)):
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await process.wait()
                break
            _signal(process.pid, signal_number)
        _signal(process.pid, signal.SIGKILL)  # children of its session
        await asyncio.to_thread(kill_marked, self._mark)
        await process.wait()
        with suppress(OSError):
            await process.stdin.wait_closed()
        tasks = [task for task in (self._stderr_task, draining) if task is not None]
        await asyncio.wait(tasks, timeout=_TERM_S)  # until its pipes have run dry
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain_stdout(self, process: asyncio.subprocess.Process) -> None:
        """Throw away what it still says: it could not end while nobody takes it, nor could its pipe be closed."""
        assert process.stdout is not None  # noqa: S101 - it was asked for
        async with self._reader:
            while await process.stdout.read(65_536):
                pass

    async def _collect_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101 - it was asked for
        while chunk := await process.stderr.read(65_536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_KEPT]


async def finish_shielded(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end, also when we are cancelled meanwhile; then let the cancellation pass."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
