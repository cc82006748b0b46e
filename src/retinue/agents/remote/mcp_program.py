"""An MCP server that is a program: its lines as messages of the SDK, started with a clean environment and ended whole.

It stands in for the SDK's own transport, which keeps a line however long it gets, and sends what the program says on
stderr to the terminal of whoever runs us. What the messages mean is not asked here.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from retinue.agents.wrapped.lines import MAX_LINE, LineProgram, in_peace
from retinue.tools.process import clean_environment

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
    ]

__all__ = ["MAX_LINE", "Program"]


class Program:
    """A program that speaks MCP.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: Variables it gets besides the usual few.

    Attributes:
        gone: Set when it can no longer be spoken to.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str]) -> None:
        self._program = LineProgram(argv, cwd=cwd, env=clean_environment(env), elsewhere="Use a server with a URL.")
        self.gone = asyncio.Event()

    @property
    def flooded(self) -> bool:
        """Whether it sent a message longer than `MAX_LINE`, and was not heard any further."""
        return self._program.flooded

    @property
    def last_words(self) -> str:
        """The end of what it said on stderr."""
        return self._program.last_words

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

        await self._program.start()
        to_us, from_it = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        to_it, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [asyncio.create_task(self._hear(to_us)), asyncio.create_task(self._tell(from_us))]
        try:
            yield from_it, to_it
        finally:
            self.gone.set()
            for stream in (from_it, to_it):
                stream.close()
            await in_peace(self._ended(tasks))

    async def _ended(self, tasks: "list[asyncio.Task[None]]") -> None:
        await self._program.end()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _hear(self, to_us: "MemoryObjectSendStream[SessionMessage | Exception]") -> None:
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415 - optional

        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with to_us:
                while line := await self._program.line():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:  # what is no message is talk, which some servers let slip onto stdout
                        continue
                    await to_us.send(SessionMessage(message))
        self.gone.set()

    async def _tell(self, from_us: "MemoryObjectReceiveStream[SessionMessage]") -> None:
        async with from_us:
            async for each in from_us:
                await self._program.tell(
                    each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )
