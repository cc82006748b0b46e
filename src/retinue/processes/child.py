"""A program that runs beside us: talked with through its pipes, and ended with everything it started.

It is a group of its own, so Ctrl-C in the terminal does not reach it. Its lines are bounded, and its stderr is drained,
so that it never waits for us, and its end is kept.
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, SubprocessStreamProtocol
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from retinue.errors import NotInstalled

from .orphans import kill_group, kill_marked, marked_environment, new_mark, register, unregister
from .start import encode_environment, encode_words, start_error

MAX_LINE: Final = 8 * 2**20
"""Bytes of one line, unless the caller says otherwise."""

STDERR_KEPT: Final = 16_384
"""Bytes of the end of stderr that are kept."""

_LEAVE_S: Final = 1.0
"""Seconds to end by itself, once its stdin is closed."""
_TERM_S: Final = 1.0
_KILLED_S: Final = 2.0
"""Seconds until a killed program is gone; more pass only while the system holds it."""
_DRAIN_S: Final = 0.3


class _Protocol(SubprocessStreamProtocol):
    """Knows when the program itself has ended.

    `asyncio.subprocess.Process.wait` does not, in some versions of Python: there it waits until everybody has closed
    the pipes, and so for whatever the program left behind.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class Child:
    """One program that runs. Made by `start`; end it with `stop`.

    Attributes:
        pid: Its process, which leads its group.
        exited: Set once it has ended; what it has started may still run.
        stderr: The end of its stderr so far.
        flooded: It sent a line longer than the limit, and is not read any further.
    """

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol, *, mark: str) -> None:
        self._transport, self._protocol, self._mark = transport, protocol, mark
        self._read_lock = asyncio.Lock()
        self._is_stopping = False
        self.pid = transport.get_pid()
        self.exited = protocol.exited
        self.stderr = bytearray()
        self.flooded = False
        register(self.pid, mark)
        self.stderr_closed = asyncio.create_task(self._drain_stderr(protocol.stderr))

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        program: str | None = None,
        stdin: int | IO[bytes] = PIPE,
        stderr: int = PIPE,
        limit: int | None = None,
    ) -> "Child":
        """Start `argv` in `cwd`.

        Args:
            argv: The program and its arguments.
            cwd: Where it runs.
            env: All the variables it gets; the mark by which its children are found is added.
            program: The file that is executed, when it is not `argv[0]`.
            stdin: A pipe, `DEVNULL` or a file.
            stderr: A pipe, or `STDOUT` for one stream of both.
            limit: Bytes of one line; `MAX_LINE` when absent.

        Raises:
            NotInstalled: There is no such program, its interpreter is missing, or this is Windows.
            MissingFile: There is no folder `cwd`.
            AccessDenied: It may not be run.
            InvalidInput: The system cannot run it.
        """
        if os.name != "posix":  # pragma: no cover - sessions and signals are not there
            raise NotInstalled("Programs are run on Linux and macOS only.", hint="Do without programs here.")
        mark = new_mark()
        try:
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Protocol(MAX_LINE if limit is None else limit),
                *encode_words(argv),
                executable=program,
                cwd=cwd,
                env=encode_environment(marked_environment(env, mark)),
                stdin=stdin,
                stdout=PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise start_error(error, program or argv[0], cwd) from error
        except asyncio.CancelledError:  # asyncio has killed the program, but not what that may have started already
            kill_marked(mark)
            raise
        return cls(transport, protocol, mark=mark)

    @property
    def status(self) -> int | None:
        """Its exit status; negative is the signal that ended it; None while it runs."""
        return self._transport.get_returncode()

    @property
    def mark(self) -> str:
        """What everything it has started has in its environment."""
        return self._mark

    @property
    def stdout(self) -> asyncio.StreamReader:
        """Its output."""
        assert self._protocol.stdout is not None  # noqa: S101 - it was asked for
        return self._protocol.stdout

    @property
    def stdin(self) -> asyncio.StreamWriter:
        """Its input, when it is a pipe."""
        assert self._protocol.stdin is not None  # noqa: S101 - it was asked for
        return self._protocol.stdin

    @property
    def stderr_tail(self) -> str:
        """The end of its stderr as text."""
        return self.stderr.decode("utf-8", "replace").strip()

    async def read_line(self) -> bytes:
        """The next line of its output; empty when there will be none."""
        if self.flooded:
            return b""
        try:
            async with self._read_lock:
                return await self.stdout.readuntil()
        except asyncio.IncompleteReadError as error:
            return error.partial
        except asyncio.LimitOverrunError:
            self.flooded = True
            return b""

    async def write(self, data: bytes) -> None:
        """Write `data`. Nothing happens when it does not read any more: its output shows that it has gone."""
        with suppress(OSError):
            self.stdin.write(data)
            await self.stdin.drain()

    async def wait_exit(self) -> None:
        """Wait a moment for it to end by itself, and for the end of its stderr."""
        await self.wait(_LEAVE_S)
        await asyncio.wait({self.stderr_closed}, timeout=_DRAIN_S)

    async def wait(self, seconds: float) -> bool:
        """Wait until it has ended, at most so long; whether it has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to it and to its group."""
        kill_group(self.pid, number)

    async def stop(
        self,
        *,
        leave_s: float | None = None,
        term_s: float | None = None,
        spare_detached: bool = False,
        drain_s: float = 0.0,
    ) -> None:
        """End it: by closing its stdin, then by SIGTERM, then by SIGKILL; and what it has started in any case.

        Safe to call twice. Let it finish (`finish_shielded`) when you may be cancelled meanwhile.

        Args:
            leave_s: Seconds for it to end once its stdin is closed; 0 does not wait, absent waits a second.
            term_s: Seconds for it to end after SIGTERM; 0 sends none, absent waits a second.
            spare_detached: Let live what runs in sessions of its own.
            drain_s: Seconds for the rest of stderr to arrive.
        """
        if self._is_stopping:
            return
        self._is_stopping = True
        # From here on each step is taken only once, also when a second `stop` comes while this one waits.
        leave_s = _LEAVE_S if leave_s is None else leave_s
        term_s = _TERM_S if term_s is None else term_s
        try:
            if leave_s and self._protocol.stdin is not None:
                self.stdin.close()
                await self.wait(leave_s)
            if term_s and not self.exited.is_set():
                self.kill(signal.SIGTERM)
                await self.wait(term_s)
        finally:
            self.kill()  # of one that has ended, the rest of its group
            try:
                if not spare_detached:
                    # In a thread: all processes of the machine are looked at.
                    await asyncio.to_thread(kill_marked, self._mark)
                await self.wait(_KILLED_S)
                if drain_s:
                    await asyncio.wait({self.stderr_closed}, timeout=drain_s)
            finally:
                self.stderr_closed.cancel()
                unregister(self.pid)
                # Closes our ends of the pipes too, which a process in another session may hold open for ever.
                self._transport.close()

    async def _drain_stderr(self, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (chunk := await stream.read(65_536)):
            self.stderr += chunk
            del self.stderr[:-STDERR_KEPT]


async def finish_shielded(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end, also when we are cancelled meanwhile; then let the cancellation pass."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
