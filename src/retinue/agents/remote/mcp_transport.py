"""The two ways to an MCP server: a program and its pipes, or a URL. Both bound what the server may send.

What the messages mean is the SDK's business.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.errors import InvalidInput
from retinue.processes.child import Child, finish_shielded
from retinue.processes.start import clean_environment

if TYPE_CHECKING:  # the SDK is optional
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    Streams: TypeAlias = tuple[
        MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
    ]

MAX_BODY: Final = 8 * 2**20
"""Bytes of one answer by HTTP."""

_CONNECT_S: Final = 15.0
_READ_S: Final = 300.0


class StdioTransport:
    """A program that speaks MCP on its stdin and stdout.

    It replaces the SDK's own transport, which keeps a line of any length, and sends the program's stderr to our
    terminal.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        env: Variables it gets besides the usual few.

    Attributes:
        closed: Set when it can no longer be talked with.
    """

    def __init__(self, argv: tuple[str, ...], *, cwd: str, env: Mapping[str, str]) -> None:
        self._argv, self._cwd, self._env = argv, cwd, env
        self._child: Child | None = None
        self.closed = asyncio.Event()

    @property
    def flooded(self) -> bool:
        """Whether it sent a message longer than `MAX_LINE`."""
        return self._child is not None and self._child.flooded

    @property
    def stderr_tail(self) -> str:
        """The end of its stderr."""
        return "" if self._child is None else self._child.stderr_tail

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[Streams]":
        """Start it, give the streams of messages from it and to it, and end it with everything it started.

        Raises:
            RetinueError: It cannot be started; see `Child.start`.
        """
        import anyio  # noqa: PLC0415 - comes with the SDK
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415 - optional

        child = self._child = await Child.start(self._argv, cwd=self._cwd, env=clean_environment(self._env))
        # Without a buffer, so that no more is read of a server than is taken.
        incoming_sender, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async with incoming_sender:
                    while line := await child.read_line():
                        try:
                            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                        except ValueError:  # some servers let log lines slip onto stdout
                            continue
                        await incoming_sender.send(SessionMessage(message))
            self.closed.set()

        async def send() -> None:
            async with outgoing_receiver:
                async for each in outgoing_receiver:
                    await child.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

        tasks = [asyncio.create_task(receive()), asyncio.create_task(send())]

        async def shut_down() -> None:
            await child.stop()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        try:
            yield incoming, outgoing
        finally:
            self.closed.set()
            for stream in (incoming, outgoing):
                stream.close()
            await finish_shielded(shut_down())


class HttpTransport:
    """A URL that speaks MCP: the SDK's streamable HTTP.

    The user has set the URL, so it may be in the inner network; the SDK follows redirects within the same origin only.

    Args:
        url: Where it is.
        headers: What is sent with each request: a key, for example.

    Attributes:
        status: The last HTTP status that was not a success; 0 when all were.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self.status = 0

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[TransportStreams]":
        """Connect, give the streams of messages from it and to it, and disconnect.

        Raises:
            InvalidInput: The URL is invalid, or a header cannot be sent.
        """
        import httpx2  # noqa: PLC0415 - comes with the SDK
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - optional

        class Capped(httpx2.AsyncByteStream):
            def __init__(self, headers: httpx2.Headers, inner: httpx2.AsyncByteStream) -> None:
                self._headers, self._inner = headers, inner

            async def __aiter__(self) -> AsyncIterator[bytes]:
                if self._headers.get("content-encoding", "identity") != "identity":
                    raise httpx2.StreamError("the answer is compressed, which was not asked for")
                received = 0
                async for chunk in self._inner:
                    received += len(chunk)
                    if received > MAX_BODY and "event-stream" not in self._headers.get("content-type", ""):
                        raise httpx2.StreamError(f"the answer is longer than {MAX_BODY} bytes")
                    yield chunk

            async def aclose(self) -> None:
                await self._inner.aclose()

        async def limit_response(response: httpx2.Response) -> None:
            """Keep the status of a failure, and limit the body."""
            if response.status_code >= 400:
                self.status = response.status_code
            inner = response.stream
            assert isinstance(inner, httpx2.AsyncByteStream)  # noqa: S101 - the client is asynchronous
            response.stream = Capped(response.headers, inner)

        # httpx quotes what it refuses, and that may hold a key.
        invalid = InvalidInput("The URL or a header of the MCP server cannot be used.", hint="Correct it.")
        if any(not text.isprintable() for pair in self._headers.items() for text in pair):
            raise invalid
        try:
            client = httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **self._headers},
                timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
                event_hooks={"response": [limit_response]},
            )
            httpx2.URL(self._url)
        except (httpx2.InvalidURL, ValueError, TypeError):
            raise invalid from None
        async with (
            client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_BODY) as streams,
        ):
            yield streams
