"""One HTTP request through the guard: no cookies, no redirects followed, bounded in size; failures as our errors.

Bodies are decompressed and decoded here; what an answer means is for its caller. Nothing is kept between requests, and
no connection outlives its call, unless the client is entered (`async with`): then they are kept until it is left, as
are the proxies that the environment names.
"""

import codecs
import importlib
import os
import re
import ssl
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias, cast
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InvalidInput,
    MissingFile,
    NetworkError,
    NotInstalled,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
)
from retinue.tools.encoding import encoding_of
from retinue.tools.web.url import Guard, WebUrl

if TYPE_CHECKING:
    import httpcore

USER_AGENT: Final = "retinue/0 (+https://github.com/retinue/retinue; fetches pages that its user asks for)"

ProxyUse: TypeAlias = Literal["refuse", "ignore", "use"]
"""What becomes of a proxy that the environment names. Behind one, the address that is reached cannot be checked.
`refuse` is an error; `ignore` connects directly, guarded; `use` trusts the proxy to keep the inner network closed."""

_CONNECT_S: Final = 10.0
_READ_S: Final = 20.0
_MAX_CONNECTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class WebResponse:
    """An answer.

    Attributes:
        headers: By lower-case name; of one that came twice, the first, but all of the codings.
        truncated: There was more than was read, or it broke off.
    """

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


@dataclass(frozen=True, slots=True)
class WebStream:
    """An answer whose body is still to come.

    Attributes:
        headers: As those of a `WebResponse`.
        body: Decompressed, and capped; can be read once.
    """

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: "CappedBody"


class WebClient:
    """An HTTP client for the addresses that the guard allows.

    Args:
        guard: What may be reached.
        proxy: What becomes of a proxy in the environment.
        trust: What proves a server's name; the usual authorities when absent.
    """

    def __init__(
        self, guard: Guard | None = None, *, proxy: ProxyUse = "refuse", trust: ssl.SSLContext | None = None
    ) -> None:
        self.guard = guard or Guard()
        self._proxy: ProxyUse = proxy
        self._trust = trust
        self._pools: dict[object, httpcore.AsyncConnectionPool] = {}
        self._proxies: Mapping[str, str] | None = None
        self._stack: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._proxies = getproxies_environment()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stack, self._stack, self._proxies = self._stack, None, None
        self._pools.clear()
        if stack is not None:
            await stack.aclose()

    async def send(
        self,
        url: WebUrl,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        max_bytes: int = 5 * 2**20,
        read_timeout_s: float = _READ_S,
    ) -> WebResponse:
        """Ask once and read the answer, whatever its status.

        Args:
            url: Where.
            method: The HTTP method.
            headers: Beside those that every request has; one of the same name wins.
            content: The body.
            max_bytes: The most of the answer that is read.
            read_timeout_s: Seconds that the other side may be silent.

        Raises:
            RetinueError: As `stream`.
        """
        async with self.stream(
            url, method=method, headers=headers, content=content, max_bytes=max_bytes, read_timeout_s=read_timeout_s
        ) as response:
            body = await response.body.read()
            return WebResponse(url, response.status, response.headers, body, response.body.truncated)

    @asynccontextmanager
    async def stream(
        self,
        url: WebUrl,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes = b"",
        max_bytes: int = 5 * 2**20,
        read_timeout_s: float = _READ_S,
    ) -> "AsyncGenerator[WebStream]":
        """Ask once, and give the answer as it comes. The arguments are those of `send`.

        Raises:
            AccessDenied: The guard refuses, or a proxy is set.
            NetworkError: The server does not answer, or the connection breaks.
            DeadlineExceeded: The other side takes too long for a step.
            OutputInvalid: What came is not HTTP, or not compressed as it says.
            NotInstalled: The extra `web` is missing.
        """
        self.guard.check(url)
        request_headers = {
            "Host": url.authority,
            "User-Agent": USER_AGENT,
            "Accept-Encoding": ACCEPTED_CODINGS,
            **(headers or {}),
        }
        if content or method not in {"GET", "HEAD"}:
            request_headers["Content-Length"] = str(len(content))
        times = {"connect": _CONNECT_S, "read": read_timeout_s, "write": _READ_S, "pool": _CONNECT_S}
        async with self._pool(url) as (pool, place):
            import httpcore  # noqa: PLC0415 - optional

            request = httpcore.Request(
                method,
                place,
                headers=[(name.encode(), value.encode()) for name, value in request_headers.items()],
                content=content or None,
                extensions={"timeout": times},
            )
            response = await pool.handle_async_request(request)
            try:
                response_headers: dict[str, str] = {}
                for raw_name, raw_value in response.headers:
                    name, value = raw_name.decode("latin-1").lower(), raw_value.decode("utf-8", "replace")
                    if name == "content-encoding" and name in response_headers:  # RFC 9110, 5.3: each was applied
                        response_headers[name] += f", {value}"
                    else:
                        response_headers.setdefault(name, value)
                coding = response_headers.get("content-encoding", "")
                body = CappedBody(response.aiter_stream(), coding=coding, max_bytes=max_bytes)
                yield WebStream(url, response.status, response_headers, body)
            finally:
                await response.aclose()

    @asynccontextmanager
    async def _pool(self, url: WebUrl) -> "AsyncGenerator[tuple[httpcore.AsyncConnectionPool, httpcore.URL]]":
        """Connections for `url`, and it as httpcore writes it; what goes wrong with them is one of our errors."""
        try:
            importlib.import_module("anyio")  # what httpcore connects with
            import httpcore  # noqa: PLC0415 - optional
        except ImportError as error:
            raise NotInstalled(
                f"The package `{error.name}` is not installed, and pages are fetched by it.",
                hint="install `retinue[web]`",
            ) from error
        target = httpcore.URL(
            scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode()
        )
        proxy = self._proxy_for(url)
        try:
            if self._stack is None:
                async with self._new_pool(url, proxy) as pool:
                    yield pool, target
            else:
                if proxy not in self._pools:
                    self._pools[proxy] = await self._stack.enter_async_context(self._new_pool(url, proxy))
                yield self._pools[proxy], target
        except httpcore.TimeoutException as error:
            raise DeadlineExceeded(
                f"{url.host!r} did not answer in time.", hint="Try later.", detail={"bound": "connection"}
            ) from error
        except httpcore.LocalProtocolError:  # its message quotes the header, which may hold a key
            raise InvalidInput(
                f"The request to {url.host!r} cannot be sent: a header holds characters that none may hold.",
                hint="Check the key or the URL.",
            ) from None
        except httpcore.RemoteProtocolError as error:
            why = str(error).partition(":")[0].rstrip(".")  # behind the colon it quotes what came
            raise OutputInvalid(f"What {url.host!r} says is not HTTP: {why}.", hint="Try another page.") from error
        except (httpcore.NetworkError, httpcore.ProxyError, OSError) as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            why = str(cause) or type(cause).__name__
            raise NetworkError(
                f"{url.authority!r} cannot be reached: {why}.", hint="Check the URL, or try later."
            ) from error

    def _new_pool(
        self, url: WebUrl, proxy: tuple[str, tuple[bytes, bytes] | None] | None
    ) -> "httpcore.AsyncConnectionPool":
        import httpcore  # noqa: PLC0415 - optional

        if self._trust is None and url.scheme == "https":  # made once, since reading it takes 20 ms
            custom_ca = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
            self._trust = ssl.create_default_context() if custom_ca else httpcore.default_ssl_context()
        # Where anyio is missing the class stands for the lack of it, which its type does not leave out.
        anyio_backend = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())
        guarded = _GuardedBackend(self.guard, anyio_backend, httpcore.ConnectError)
        return httpcore.AsyncConnectionPool(
            ssl_context=self._trust,
            proxy=None if proxy is None else httpcore.Proxy(proxy[0], auth=proxy[1]),
            max_connections=_MAX_CONNECTIONS,
            # httpcore uses its methods only; its base class cannot be named here without importing it.
            network_backend=cast("httpcore.AsyncNetworkBackend", guarded) if proxy is None else None,
        )

    def _proxy_for(self, url: WebUrl) -> tuple[str, tuple[bytes, bytes] | None] | None:
        """The URL of the proxy to go through, and its user and password."""
        proxies = getproxies_environment() if self._proxies is None else self._proxies
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if self._proxy == "ignore" or not proxy or proxy_bypass(url.authority):
            return None
        if self._proxy == "refuse":
            raise AccessDenied(
                "The environment names a proxy, and behind a proxy the address that is reached cannot be checked.",
                hint='Allow it (`proxy="use"`) or go around it (`proxy="ignore"`).',
            )
        try:  # what is not a URL may hold a password, and is not repeated
            parts = urlsplit(proxy)
            name, password, place = parts.username, parts.password, parts.netloc.rpartition("@")[2]
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and place.isascii()
            _ = parts.port  # raises when it is not a number
        except ValueError:
            is_url, name, password, place = False, None, None, ""
        if not is_url:
            raise InvalidInput("The proxy in the environment is not an http or https URL.", hint="Correct it.")
        auth = (unquote(name).encode(), unquote(password or "").encode()) if name else None
        return f"{urlsplit(proxy).scheme}://{place}/", auth


class _GuardedBackend:
    """Turns a name into an address, once.

    httpcore asks for a connection to a name, and gets one to an address that the guard gave for it and to no other. TLS
    still proves the name, not the address.
    """

    def __init__(self, guard: Guard, inner: "httpcore.AsyncNetworkBackend", connect_error: type[Exception]) -> None:
        self._guard, self._inner, self._connect_error = guard, inner, connect_error

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: "Iterable[httpcore.SOCKET_OPTION] | None" = None,
    ) -> "httpcore.AsyncNetworkStream":
        failure: Exception | None = None
        for address in await self._guard.resolve(host, port):
            try:
                return await self._inner.connect_tcp(
                    str(address), port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except self._connect_error as error:
                failure = error
        raise failure or self._connect_error(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - httpcore's signature
        socket_options: "Iterable[httpcore.SOCKET_OPTION] | None" = None,  # noqa: ARG002 - the same
    ) -> "httpcore.AsyncNetworkStream":
        raise self._connect_error(f"{path}: sockets of this machine are not connected to")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


_MOST_WAIT_S = 86_400.0


def status_error(status: int, *, who: str, retry_after: str = "") -> RetinueError:
    """The error for a status that is not a success.

    Args:
        status: 3xx, 4xx or 5xx.
        who: Who answered, as a sentence begins: `The page 'https://…'`.
        retry_after: The `Retry-After` header.
    """
    message = f"{who} answered with status {status}"
    wait = retry_after_s(retry_after)
    match status:
        case 401 | 407:
            return Unauthenticated(f"{message}: it wants to know who asks.", hint="Use a source that is open.")
        case 403 | 451:
            return AccessDenied(f"{message}: it does not allow this.", hint="Use another source.")
        case 404 | 410:
            return MissingFile(f"{message}: there is nothing.", hint="Check the URL, or search for the page.")
        case 408 | 425 | 429 | 503:
            return Unavailable(f"{message}: not now.", hint="Wait, then ask again.", retry_after_s=wait)
        case _ if status >= 500:
            return NetworkError(f"{message}: it failed.", hint="Ask again later.", retry_after_s=wait)
        case _:
            return InvalidInput(f"{message}.", hint="Ask for something else.")


def retry_after_s(header: str) -> float | None:
    """The seconds that a `Retry-After` header asks to wait, at most a day; None when it says nothing readable."""
    text = header.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), _MOST_WAIT_S)
    try:
        when = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(0.0, when - time.time()), _MOST_WAIT_S)


ACCEPTED_CODINGS: Final = "gzip, deflate"

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")  # RFC 6838, 4.2
_META: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARACTER_SETS: Final = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|hz|johab|tis-620"
)
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MOST_MEMBERS: Final = 1_000
"""Of one gzip stream: each costs a copy of what follows it."""


class CappedBody:
    """A body as it arrives: decompressed, and never more of it than was granted.

    Args:
        chunks: As they arrive.
        coding: What the `Content-Encoding` header says.
        max_bytes: The most of what comes in, and of what it decompresses to.

    Attributes:
        truncated: There was more than `max_bytes`, or it broke off; known when all has been read.

    Raises:
        OutputInvalid: It is compressed in a way that was not asked for; or, while it is read, not as it says.
    """

    def __init__(self, chunks: AsyncIterable[bytes], *, coding: str, max_bytes: int) -> None:
        kind = coding.strip().lower().removeprefix("x-")
        if kind not in ("", "identity", "gzip", "deflate"):
            raise OutputInvalid(
                f"The page is compressed as {coding.strip()[:40]!r}, which was not asked for.", hint="Try another page."
            )
        self._chunks = chunks
        self._max_bytes = max_bytes
        # Unpacked as it comes, and never more than was granted: a small answer can unpack to gigabytes.
        self._inflate = _Inflate(is_gzip=kind == "gzip") if kind in ("gzip", "deflate") else None
        self.truncated = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received_size, size = 0, 0
        async for chunk in self._chunks:
            received_size += len(chunk)
            rest = self._max_bytes - size
            piece = chunk if self._inflate is None else self._inflate(chunk, rest + 1)
            size += len(piece)
            if size > self._max_bytes or received_size > self._max_bytes:
                self.truncated = True
                yield piece[:rest]
                return
            if piece:
                yield piece
        self.truncated = self._inflate is not None and self._inflate.is_truncated

    async def read(self) -> bytes:
        """All of it."""
        return b"".join([chunk async for chunk in self])


class _Inflate:
    """Decompresses a stream, each time no more than asked for. gzip may be many members, one after the other."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._head = b""
        self._stream = None
        self._members = 0
        self._over = False

    @property
    def is_truncated(self) -> bool:
        return not (self._over or (self._stream.eof if self._stream is not None else not self._head))

    def __call__(self, chunk: bytes, at_most: int) -> bytes:
        body = bytearray()
        rest, self._head = self._head + chunk, b""
        while rest and not self._over and len(body) < at_most:
            if self._stream is None or self._stream.eof:
                if len(rest) < 2:
                    self._head = rest
                    break
                head = rest[:2]
                if self._members and (not self._is_gzip or head != _GZIP_MAGIC):
                    self._over = True  # padding behind a whole stream is passed over
                    break
                self._members += 1
                if self._members > _MOST_MEMBERS:
                    raise _encoding_error(f"it has more than {_MOST_MEMBERS} members")
                # "deflate" is the name of two forms: with a header (RFC 1950, 2.2) and without.
                has_header = head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0
                wbits = zlib.MAX_WBITS | 16 if self._is_gzip else zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
                self._stream = zlib.decompressobj(wbits)
            try:
                body += self._stream.decompress(rest, at_most - len(body))
            except zlib.error as error:
                raise _encoding_error(str(error)) from None
            rest = self._stream.unused_data
        return bytes(body)


def _encoding_error(why: str) -> OutputInvalid:
    return OutputInvalid(f"The page is not compressed as it says: {why}.", hint="Try another page, or later.")


def media_type(content_type: str) -> str:
    """The type alone, in lower case: `text/html`. Empty when there is none, or it is not a media type."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if _TYPE.fullmatch(kind) else ""


def decode_body(data: bytes, content_type: str) -> str:
    """`data` as text: by its byte order mark, by what its sender or the page itself says, else as UTF-8.

    What cannot be decoded is replaced by a mark: a page is better read with holes than not at all.
    """
    if bom_encoding := encoding_of(data):
        return data.decode(bom_encoding, "replace")
    match = _CHARSET.search(content_type)
    inside = None if match else _META.search(data[:4_096])
    name = match[1] if match else inside[1].decode("ascii") if inside else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = "utf-8"
    if codec in {"iso8859-1", "ascii"}:  # the web says so and means this
        codec = "cp1252"
    # Python has codecs that decompress, or take for ever: only character sets are let through.
    return data.decode(codec if _CHARACTER_SETS.fullmatch(codec) else "utf-8", "replace")
