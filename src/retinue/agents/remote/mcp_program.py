"""An MCP server that is a program: started with a clean environment, heard line by line within bounds, ended whole.

It stands in for the SDK's own transport, which keeps a line however long it gets, and sends what the program says on
stderr to the terminal of whoever runs us. What the messages mean is not asked here.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from retinue.agents.wrapped.stragglers import end_marked, marked_environment, new_mark
from retinue.errors import AccessDenied, MissingFile, NotInstalled
from retinue.tools.process import clean_environment

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
    ]

__all__ = ["MAX_LINE", "Program"]

MAX_LINE: Final = 8 * 2**20
"""Bytes of one message."""

_STDERR_KEPT: Final = 4_096
_LEAVE_S: Final = 1.0
"""To end by itself, once its stdin is closed."""
_TERM_S: Final = 1.0


class Program:
    """A program that speaks MCP.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: Variables it gets besides the usual few.

    Attributes:
        gone: Set when it can no longer be spoken to.
        flooded: It sent a message longer than `MAX_LINE`, and was not heard any further.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str]) -> None:
        self._argv = argv
        self._cwd = cwd
        self._env = env
        self._stderr = bytearray()
        self.gone = asyncio.Event()
        self.flooded = False

    @property
    def last_words(self) -> str:
        """The end of what it said on stderr."""
        return self._stderr.decode("utf-8", "replace").strip()

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[Streams]":
        """Start it, give the streams of messages from it and to it, and end it with all it started.

        Raises:
            NotInstalled: There is no such program, or this is Windows.
            MissingFile: There is no folder `cwd`.
            AccessDenied: It may not be run.
        """
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional

        mark = new_mark()
        process = await self._started(mark)
        to_us, from_it = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        to_it, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(self._hear(process, to_us)),
            asyncio.create_task(self._tell(process, from_us)),
            asyncio.create_task(self._keep_stderr(process)),
        ]
        try:
            yield from_it, to_it
        finally:
            self.gone.set()
            for stream in (from_it, to_it):
                stream.close()
            await _in_peace(_ended(process, mark, tasks))

    async def _started(self, mark: str) -> asyncio.subprocess.Process:
        if os.name != "posix":  # pragma: no cover - sessions and signals are not there
            raise NotInstalled("Programs are run on Linux and macOS only.", hint="Use a server with a URL.")
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv,
                cwd=self._cwd,
                env=marked_environment(clean_environment(self._env), mark),
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

    async def _hear(
        self, process: asyncio.subprocess.Process, to_us: "MemoryObjectSendStream[SessionMessage | Exception]"
    ) -> None:
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415 - optional

        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_us:
                while line := await self._line(process):
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:  # what is no message is talk, which some servers let slip onto stdout
                        continue
                    await to_us.send(SessionMessage(message))
        self.gone.set()
        await _drained(process)

    async def _line(self, process: asyncio.subprocess.Process) -> bytes:
        """The next line; nothing when there will be none."""
        assert process.stdout is not None  # noqa: S101 - it was asked for
        try:
            return await process.stdout.readuntil()
        except asyncio.IncompleteReadError:
            return b""
        except asyncio.LimitOverrunError:
            self.flooded = True
            return b""

    async def _tell(
        self, process: asyncio.subprocess.Process, from_us: "MemoryObjectReceiveStream[SessionMessage]"
    ) -> None:
        assert process.stdin is not None  # noqa: S101 - it was asked for
        with suppress(OSError):
            async with from_us:
                async for each in from_us:
                    text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()

    async def _keep_stderr(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # noqa: S101 - it was asked for
        while chunk := await process.stderr.read(65_536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_KEPT]


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Throw away what it still says: it could not end while nobody takes it, nor could its pipe be closed."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    while await process.stdout.read(65_536):
        pass


async def _ended(process: asyncio.subprocess.Process, mark: str, tasks: "list[asyncio.Task[None]]") -> None:
    """End it: by closing its stdin, then by asking, then by force, and whatever it has started in any case."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    for wait_s, ask in ((_LEAVE_S, signal.SIGTERM), (_TERM_S, signal.SIGKILL)):
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await process.wait()
            break
        _signal(process.pid, ask)
    _signal(process.pid, signal.SIGKILL)  # children of its session
    await asyncio.to_thread(end_marked, mark)
    await process.wait()
    with suppress(OSError):
        await process.stdin.wait_closed()
    await asyncio.wait(tasks, timeout=_TERM_S)  # until its pipes have run dry
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _in_peace(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` to its end, also when we are cancelled meanwhile; then let the cancellation pass."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
