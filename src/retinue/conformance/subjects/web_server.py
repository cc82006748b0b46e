"""A server behind a URL as a subject: HTTP as it comes, by no SDK, with whatever happens as an exchange.

Every request has a connection of its own: one that a server closed between two requests is no fault of it.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from retinue.conformance.port import Probe, ProbeExchange
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.web.client import WebClient
from retinue.tools.web.url import ANYWHERE, WebUrl, parse_url

EVENTS: Final = "text/event-stream"
_MAX_BYTES: Final = 16_000_000
_HEAD_BYTES: Final = 65_536
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - names, nothing is bound


class WebServer:
    """Judges a server by what it answers over HTTP.

    Args:
        url: What the user named. No other host is ever asked.
        credentials: Headers that every request gets, and no report shows.

    Raises:
        InvalidInput: It is no URL.
        NotInstalled: The extra `web` is missing.
    """

    def __init__(self, url: str, *, credentials: Mapping[str, str] | None = None) -> None:
        self.url: WebUrl = parse_url(url)
        self.credentials = dict(credentials or {})
        # The user named the host, and a proxy in the environment is the user's as well.
        self._client = WebClient(ANYWHERE, proxy="use")

    @property
    def name(self) -> str:
        """The URL."""
        return self.url.text

    def place(self, url: str) -> WebUrl:
        """`url`, which may be relative to the user's.

        Raises:
            InvalidInput: It is none, or leads to another host, which nobody has allowed to be asked.
        """
        place = self.url.join(url)
        if place.host in _HERE and self.url.host in _HERE:  # servers call themselves by any name of this machine
            place = replace(place, host=self.url.host, address=self.url.address)
        if (place.scheme, place.host, place.port) != (self.url.scheme, self.url.host, self.url.port):
            raise InvalidInput(
                f"{place.text[:200]!r} is not on the server that was named.", hint="Name this address itself."
            )
        return place

    async def send(
        self,
        probe: Probe,
        url: WebUrl,
        *,
        method: str,
        headers: Mapping[str, str],
        content: bytes,
        timeout_s: float,
        head_only: bool = False,
        anonymous: bool = False,
    ) -> ProbeExchange:
        """Send one request, and bring back whatever comes. Never raises but on cancellation.

        Args:
            probe: What it is for.
            url: Where.
            method: The HTTP method.
            headers: Beside credentials.
            content: The body.
            timeout_s: How long all of it may take. A stream that goes on is cut then.
            head_only: The body is not waited for.
            anonymous: Without credentials.
        """
        began_ns = time.perf_counter_ns()
        head = "".join(f"{name}: {value}\n" for name, value in headers.items())
        exchange = ProbeExchange(probe, f"{method} {url.target}\n{head}\n{content.decode('utf-8', 'replace')}")
        received = bytearray()
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream(
                    url,
                    method=method,
                    headers={**headers, **({} if anonymous else self.credentials)},
                    content=content,
                    max_bytes=_MAX_BYTES,
                    read_timeout_s=timeout_s + 1,
                ) as response,
            ):
                own_headers = {name: self._without_secrets(value) for name, value in response.headers.items()}
                exchange = replace(exchange, status=response.status, headers=own_headers)
                if not head_only:
                    async for chunk in response.body:
                        received += chunk
        except (TimeoutError, DeadlineExceeded):
            exchange = replace(exchange, error=f"There was no answer within {timeout_s:g} s.", late=True)
        except (RetinueError, OSError, ValueError) as error:
            exchange = replace(exchange, error=getattr(error, "message", str(error)))
        if not exchange.error or (exchange.late and exchange.media_type == EVENTS):
            try:
                exchange = replace(exchange, text=self._without_secrets(received.decode("utf-8")))
            except UnicodeDecodeError as error:
                exchange = replace(exchange, error=f"The body is not UTF-8 from byte {error.start + 1:,} on.")
        return replace(exchange, duration_ns=time.perf_counter_ns() - began_ns)

    async def send_raw(
        self, probe: Probe, pieces: AsyncIterable[bytes], *, about: str, timeout_s: float
    ) -> ProbeExchange:
        """Write bytes as they stand, credentials and all being left to the caller, until the server answers or closes.

        Args:
            probe: What it is for.
            pieces: Written one after the other. When there are no more, the answer is waited for.
            about: What is written, for the report.
            timeout_s: How long all of it may take. A connection that is open then is an error of the exchange.
        """
        began_ns = time.perf_counter_ns()
        exchange = ProbeExchange(probe, about)
        secure = ssl.create_default_context() if self.url.scheme == "https" else None
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(self.url.host, self.url.port, ssl=secure)
                try:
                    answer = await _talk(reader, writer, pieces)
                finally:
                    writer.close()
        except TimeoutError:
            exchange = replace(exchange, error=f"The connection was still open after {timeout_s:g} s.")
        except OSError as error:
            exchange = replace(exchange, error=f"The connection broke: {error}")
        else:
            head, _, body = answer.partition(b"\r\n\r\n")
            words = head.split(None, 2)
            status = int(words[1]) if len(words) > 1 and words[1].isdigit() else None
            text = self._without_secrets(body.decode("utf-8", "replace"))
            exchange = replace(exchange, status=status, text=text if status else "(closed without an answer)")
        return replace(exchange, duration_ns=time.perf_counter_ns() - began_ns)

    def _without_secrets(self, text: str) -> str:
        for secret in self.credentials.values():
            text = text.replace(secret, "…")
        return text


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pieces: AsyncIterable[bytes]) -> bytes:
    """Write until something comes, or the connection is closed; and what came."""

    async def write() -> None:
        with suppress(ConnectionError):
            async for piece in pieces:
                writer.write(piece)
                await writer.drain()

    writing = asyncio.create_task(write())
    try:
        answer = await reader.read(_HEAD_BYTES)
        if answer and b"\r\n\r\n" not in answer:
            answer += await reader.read(_HEAD_BYTES)
    except ConnectionError:  # reset: closed, with a bang
        answer = b""
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
    return answer


class TaskEndpoint:
    """The generic endpoint of spec 004 as a subject: every request is posted there.

    Args:
        server: Where it is.
        url: The endpoint.
    """

    is_isolated = False

    def __init__(self, server: WebServer, url: str) -> None:
        self._server, self._url = server, server.place(url)

    @property
    def name(self) -> str:
        """The URL of the endpoint."""
        return self._url.text

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Post one request, and bring back what is answered."""
        exchange = await self._server.send(
            probe,
            self._url,
            method="POST",
            headers={"content-type": "application/json"},
            content=request.encode("utf-8", "surrogatepass"),
            timeout_s=timeout_s,
        )
        return replace(exchange, request=request)

    def close(self) -> None:
        """Nothing is held between requests."""
