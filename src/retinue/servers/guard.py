"""What a request must be before any door sees it: of a known host and origin, on a plain path, with a bounded body."""

from asyncio import CancelledError
from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retinue.contract import json
from retinue.errors import AccessDenied, InvalidInput, ParseError, Unavailable
from retinue.servers.errors import HttpError, error_response, form_of_path

MAX_BODY: Final = 2**20
"""Bytes."""
MAX_DEPTH: Final = 64
"""Containers inside each other in a JSON body."""

_ONCE: Final = ("authorization", "content-length", "content-type", "host", "origin")
_TRICKS: Final = (b"%2f", b"%5c", b"%00", b"%2e", b"\\", b"//", b"/./", b"/../")


class RequestGuard:
    """An ASGI application in front of another. The body is read whole before that one is called.

    Args:
        app: What is guarded.
        hosts: Names this server is reached by, without ports, in small letters; a page of these may call it.
        max_body: Bytes.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        max_body: int = MAX_BODY,
    ) -> None:
        self._app, self._hosts, self._max_body = app, frozenset(hosts), max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # nothing here speaks over a web socket
        form = form_of_path(scope["path"])
        try:
            headers = Headers(scope=scope)
            self._check(scope, headers)
            body = await self._read(headers, receive)
            if body is None:  # the client went away
                return
            if form == "mcp" and body:  # the others read it strictly themselves
                json.loads(body, max_bytes=self._max_body, max_depth=MAX_DEPTH)
        except ParseError as error:
            await error_response(HttpError(400, error), form=form)(scope, receive, send)
            return
        except HttpError as error:
            await error_response(error, form=form)(scope, receive, send)
            return
        first = True

        async def replay() -> Message:
            nonlocal first
            if first:
                first = False
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        is_answered = False

        async def watched_send(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, replay, watched_send)
        except CancelledError:  # the time that a stopping server gives is over, and nobody waits for this task
            if is_answered:
                raise
            error = Unavailable("The server is stopping.", hint="Ask again in a moment.", retry_after_s=5.0)
            await error_response(error, form=form)(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse what no honest client sends."""
        for name in _ONCE:
            if len(headers.getlist(name)) > 1:
                raise HttpError(400, InvalidInput(f"The header {name!r} stands twice.", hint="Send it once."))
        host = headers.get("host", "")
        if _name_of(host) not in self._hosts:
            hint = "Use the address that `retinue serve` shows, or name this one with `--public-url`."
            raise HttpError(421, InvalidInput(f"This server is not {host[:80]!r}.", hint=hint))
        origin = headers.get("origin")
        is_foreign = origin is not None and _name_of(origin.partition("://")[2]) not in self._hosts
        if is_foreign or headers.get("sec-fetch-site") == "cross-site":
            raise HttpError(
                403, AccessDenied("Pages of other sites may not call this server.", hint="Call it directly.")
            )
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        if any(trick in path.partition(b"?")[0].lower() for trick in _TRICKS) or not path.isascii():
            raise HttpError(400, InvalidInput("The path is not a plain one.", hint="Send it as the card says."))

    async def _read(self, headers: Headers, receive: Receive) -> bytes | None:
        """The body; None when the client went away meanwhile."""
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise HttpError(400, InvalidInput("`Content-Length` is not a number.", hint="Leave it to your client."))
        chunks: list[bytes] = []
        received = 0
        while int(length[:20]) <= self._max_body and received <= self._max_body:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunks.append(message.get("body", b""))
            received += len(chunks[-1])
            if received <= self._max_body and not message.get("more_body", False):
                return b"".join(chunks)
        raise HttpError(
            413,
            InvalidInput(f"The body has more than {self._max_body:,} bytes.", hint="Send less."),
            {"connection": "close"},
        )


def _name_of(authority: str) -> str:
    """The host of `host:port`, in small letters."""
    name = authority.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]
