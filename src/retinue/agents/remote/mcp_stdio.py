"""An MCP server that is a program: its lines as messages of the SDK, started with a clean environment and ended whole.

It stands in for the SDK's own transport, which keeps a line however long it gets, and sends what the program says on
stderr to the terminal of whoever runs us. What the messages mean is not asked here.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

from retinue.agents.wrapped.line_program import MAX_LINE, LineProgram, finish_shielded
from retinue.tools.process import clean_environment

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
    ]

__all__ = ["MAX_LINE", "StdioTransport"]


class StdioTransport:
    """A program that speaks MCP.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: Variables it gets besides the usual few.

    Attributes:
        gone: Set when it can no longer be spoken to.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str]) -> None:
        self._program = LineProgram(
            argv, cwd=cwd, env=clean_environment(env), unsupported_hint="Use a server with a URL."
        )
        self.closed = asyncio.Event()

    @property
    def flooded(self) -> bool:
        """Whether it sent a message longer than `MAX_LINE`, and was not heard any further."""
        return self._program.flooded

    @property
    def stderr_tail(self) -> str:
        """The end of what it said on stderr."""
        return self._program.stderr_tail

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
        incoming_sender, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(self._receive(incoming_sender)),
            asyncio.create_task(self._send(outgoing_receiver)),
        ]
        try:
            yield incoming, outgoing
        finally:
            self.closed.set()
            for stream in (incoming, outgoing):
                stream.close()
            await finish_shielded(self._shut_down(tasks))

    async def _shut_down(self, tasks: "list[asyncio.Task[None]]") -> None:
        await self._program.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive(self, incoming: "MemoryObjectSendStream[SessionMessage | Exception]") -> None:
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415 - optional

        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with incoming:
                while line := await self._program.read_line():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:  # what is no message is talk, which some servers let slip onto stdout
                        continue
                    await incoming.send(SessionMessage(message))
        self.closed.set()

    async def _send(self, outgoing: "MemoryObjectReceiveStream[SessionMessage]") -> None:
        async with outgoing:
            async for each in outgoing:
                await self._program.write(
                    each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                )
