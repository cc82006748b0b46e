"""Requests and answers over one pair of streams: many under way at once, each with its own time limit.

It knows LSP's framing and JSON-RPC, and nothing of files, positions or processes. What the server asks of us is
answered from a table; it can ask for nothing that changes anything. Not `lsprotocol`: its import takes 400 ms, for a
dozen messages of which most fields are unused here.
"""

import asyncio
import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Final

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import DeadlineExceeded, OutputInvalid, ParseError, RetinueError, Unavailable

_METHOD_NOT_FOUND: Final = -32601
_RETRYABLE: Final = frozenset({-32801, -32802})
"""`ContentModified` and `ServerCancelled`: the same question is answered when it is asked again."""
_ATTEMPTS: Final = 4

_ANSWERS: Final[Mapping[str, JsonValue]] = MappingProxyType(
    {
        "client/registerCapability": None,
        "client/unregisterCapability": None,
        "window/showMessageRequest": None,
        "window/workDoneProgress/create": None,
        "workspace/applyEdit": {"applied": False},
        "workspace/codeLens/refresh": None,
        "workspace/diagnostic/refresh": None,
        "workspace/inlayHint/refresh": None,
        "workspace/semanticTokens/refresh": None,
        "workspace/workspaceFolders": None,
    }
)
"""What a server may ask of its client, and what it is told: we know no settings, and let it edit nothing."""


class LspConnection:
    """One conversation with a server.

    Args:
        reader: The server's output.
        writer: The server's input.
        name: The server's name, for messages.

    Attributes:
        failure: Why it cannot be used any more; None while it can.
    """

    def __init__(self, *, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._name = name
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[JsonObject]] = {}
        self.failure: RetinueError | None = None

    async def listen(self) -> None:
        """Read what the server sends until it ends or breaks the protocol; requests under way then fail."""
        try:
            while (message := await read_message(self._reader)) is not None:
                self._dispatch(message)
            self.failure = self._unavailable("has ended.")
        except OutputInvalid as error:
            self.failure = error
        except OSError as error:
            self.failure = self._unavailable(f"cannot be read: {error}.")
        finally:
            self.failure = self.failure or self._unavailable("was stopped.")
            for waiting in self._pending.values():
                if not waiting.done():
                    waiting.set_exception(self.failure)

    async def request(self, method: str, params: JsonValue, *, timeout_s: float) -> JsonValue:
        """Ask, and await the answer.

        Raises:
            DeadlineExceeded: No answer came in time; the server is told not to go on.
            Unavailable: It does not know the method, or says that it cannot.
            OutputInvalid: What it sends cannot be understood.
        """
        number = next(self._numbers)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._exchange(number, method, params)
        except TimeoutError:
            self._cancel(number)
            raise DeadlineExceeded(
                f"`{self._name}` did not answer `{method}` within {timeout_s:g} seconds.",
                hint="Ask again when it has read the project, or ask for less.",
                detail={"bound": "language_server"},
            ) from None
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: JsonValue) -> None:
        """Tell the server something."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def _exchange(self, number: int, method: str, params: JsonValue) -> JsonValue:
        for attempt in range(_ATTEMPTS):
            future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
            self._pending[number] = future
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            try:
                await self._writer.drain()
            except OSError as error:
                raise self.failure or self._unavailable("has ended.") from error
            answer = await future
            failure = answer.get("error")
            if failure is None:
                return answer.get("result")
            details = failure if isinstance(failure, dict) else {}
            if details.get("code") == _METHOD_NOT_FOUND:
                raise Unavailable(
                    f"`{self._name}` does not support `{method}`.",
                    hint="Configure a language server that does.",
                    detail={"retryable": False},
                )
            if details.get("code") not in _RETRYABLE or attempt == _ATTEMPTS - 1:
                message = details.get("message")
                reason = message[:300] if isinstance(message, str) else "no reason was given"
                raise Unavailable(
                    f"`{self._name}` failed at `{method}`: {reason}", hint="Make sure that the place exists."
                )
        raise AssertionError  # pragma: no cover - the last attempt raises

    def _dispatch(self, message: JsonObject) -> None:
        number, method = message.get("id"), message.get("method")
        if not isinstance(method, str):
            if isinstance(number, int) and (future := self._pending.get(number)) and not future.done():
                future.set_result(message)
        elif number is not None:
            answer: JsonObject
            if method == "workspace/configuration":
                params = message.get("params")
                items = params.get("items") if isinstance(params, dict) else None
                settings: list[JsonValue] = [None for _ in items] if isinstance(items, list) else []
                answer = {"result": settings}
            elif method in _ANSWERS:
                answer = {"result": _ANSWERS[method]}
            else:
                answer = {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}
            self._send({"jsonrpc": "2.0", "id": number, **answer})

    def _send(self, message: JsonObject) -> None:
        if self.failure is not None or self._writer.is_closing():
            raise self.failure or self._unavailable("has ended.")
        self._writer.write(frame(message))

    def _cancel(self, number: int) -> None:
        if self.failure is None and not self._writer.is_closing():
            self.notify("$/cancelRequest", {"id": number})

    def _unavailable(self, reason: str) -> Unavailable:
        return Unavailable(f"The language server `{self._name}` {reason}", detail={"ended": True})


def is_server_gone(error: RetinueError) -> bool:
    """Whether `error` says that the server has ended, or can no longer be read."""
    return error.detail.get("ended") is True


MAX_MESSAGE: Final = 64 * 2**20
"""The longest message that is read, in bytes."""

_FIELD: Final = re.compile(rb"([A-Za-z][A-Za-z-]{0,63}):[ \t]*([^\r\n]{0,512})\r?\n")
_MAX_FIELDS: Final = 16
_MAX_DEPTH: Final = 512


def frame(message: JsonObject) -> bytes:
    """`message` as it goes over the wire."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(stream: StreamReader, *, max_bytes: int = MAX_MESSAGE) -> JsonObject | None:
    """The next message; None when the stream has ended between two.

    A peer that breaks the form is told so at once: it is never read on from a guessed place.

    Raises:
        OutputInvalid: The header is invalid, the length is missing or too large, the body is cut, or is not a JSON
            object.
    """
    size: int | None = None
    for number in range(_MAX_FIELDS):
        try:
            line = await stream.readuntil(b"\n")
        except IncompleteReadError as error:
            if not number and not error.partial:
                return None
            raise _protocol_error("half a header, and then ended") from None
        except LimitOverrunError:
            raise _protocol_error("a header without an end") from None
        if line in (b"\r\n", b"\n"):
            break
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _protocol_error(f"{line[:80]!r} in place of a header")
        if field[1].lower() == b"content-length":
            text = field[2].strip()
            if not text.isdigit() or len(text) > 12:
                raise _protocol_error(f"the length {text[:40]!r}")
            size = int(text)
    else:
        raise _protocol_error("a header without an end")
    if size is None:
        raise _protocol_error("a header without `Content-Length`")
    if size > max_bytes:
        raise _protocol_error(f"a message of {size} bytes, and {max_bytes} are allowed")
    try:
        message = json.loads(await stream.readexactly(size), max_bytes=max_bytes, max_depth=_MAX_DEPTH)
    except IncompleteReadError as error:
        raise _protocol_error(f"{len(error.partial)} of {size} promised bytes, and then ended") from None
    except ParseError as error:
        raise _protocol_error(f"a message that is not JSON: {error.message}") from error
    if not isinstance(message, dict):
        raise _protocol_error("a message that is not an object")
    return message


def _protocol_error(what: str) -> OutputInvalid:
    return OutputInvalid(
        f"The language server sent {what}.", hint="Make sure that the program that is started speaks LSP on its stdout."
    )
