"""An MCP server at a URL: the SDK's streamable HTTP, with bounds on what it may send.

The user has set the URL, so it may be in the inner network; the SDK follows redirects within the same origin only.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from retinue.errors import InvalidInput

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

MAX_BODY: Final = 8 * 2**20
"""Bytes of one answer."""

_CONNECT_S: Final = 15.0
_READ_S: Final = 300.0


class HttpTransport:
    """A URL that speaks MCP.

    Args:
        url: Where it is.
        headers: What is sent with each request: a key, for example.

    Attributes:
        status: The last status that was no success; 0 when all were.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = headers
        self.status = 0

    @asynccontextmanager
    async def streams(self) -> "AsyncGenerator[TransportStreams]":
        """Connect, give the streams of messages from it and to it, and take leave.

        Raises:
            InvalidInput: It is no URL, or a header cannot be sent.
        """
        import httpx2  # noqa: PLC0415 - comes with the SDK
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - optional

        # What refuses these later quotes them, and they may hold a key.
        if any(not text.isprintable() for pair in self._headers.items() for text in pair):
            raise _invalid_endpoint()
        try:
            client = httpx2.AsyncClient(
                headers={"Accept-Encoding": "identity", **self._headers},
                timeout=httpx2.Timeout(_CONNECT_S, read=_READ_S),
                event_hooks={"response": [self._limit_response]},
            )
            httpx2.URL(self._url)
        except (httpx2.InvalidURL, ValueError, TypeError):
            raise _invalid_endpoint() from None
        async with (
            client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_BODY) as streams,
        ):
            yield streams

    async def _limit_response(self, response: "httpx2.Response") -> None:
        """Note how it went, and cap what follows."""
        import httpx2  # noqa: PLC0415 - comes with the SDK

        if response.status_code >= 400:
            self.status = response.status_code
        inner = response.stream
        assert isinstance(inner, httpx2.AsyncByteStream)  # noqa: S101 - the client is asynchronous

        class Capped(httpx2.AsyncByteStream):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise httpx2.StreamError("the answer is compressed, which was not asked for")
                received = 0
                async for chunk in inner:
                    received += len(chunk)
                    if received > MAX_BODY and "event-stream" not in response.headers.get("content-type", ""):
                        raise httpx2.StreamError(f"the answer is longer than {MAX_BODY} bytes")
                    yield chunk

            async def aclose(self) -> None:
                await inner.aclose()

        response.stream = Capped()


def _invalid_endpoint() -> InvalidInput:
    return InvalidInput("The URL or a header of the MCP server cannot be used.", hint="Correct it.")
