"""Requests and answers over one pair of streams: many under way at once, each with its own time limit.

It knows JSON-RPC and nothing of files, positions or processes. What the server asks of us is answered by `answer`; it
can ask for nothing that changes anything.
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

__all__ = []

_METHOD_NOT_FOUND: Final = -32601
_PASSING: Final = frozenset({-32801, -32802})
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
        reader: What the server says.
        writer: What it hears.
        name: What the server is called, for messages.

    Attributes:
        broken: Why nothing more can be said or heard; None while it can.
    """

    def __init__(self, *, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._writer = writer
        self._name = name
        self._numbers = count(1)
        self._pending: dict[int, asyncio.Future[JsonObject]] = {}
        self.failure: RetinueError | None = None

    async def listen(self) -> None:
        """Hear the server until it ends or sends nonsense; whoever still waits is told."""
        try:
            while (message := await read_message(self._reader)) is not None:
                self._dispatch(message)
            self.failure = _server_gone(f"The language server `{self._name}` has ended.")
        except OutputInvalid as error:
            self.failure = error
        except OSError as error:
            self.failure = _server_gone(f"The language server `{self._name}` cannot be heard: {error}.")
        finally:
            self.failure = self.failure or _server_gone(f"The language server `{self._name}` was stopped.")
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

    async def drain(self) -> None:
        """Wait until the server has taken what it was told."""
        try:
            await self._writer.drain()
        except OSError as error:
            raise self.failure or _server_gone(f"The language server `{self._name}` has ended.") from error

    async def _exchange(self, number: int, method: str, params: JsonValue) -> JsonValue:
        for attempt in range(_ATTEMPTS):
            future: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
            self._pending[number] = future
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            await self.drain()
            answer = await future
            failure = answer.get("error")
            if failure is None:
                return answer.get("result")
            if not isinstance(failure, dict) or failure.get("code") not in _PASSING or attempt == _ATTEMPTS - 1:
                raise self._request_error(method, failure)
        raise AssertionError  # pragma: no cover - the last attempt raises

    def _request_error(self, method: str, failure: JsonValue) -> RetinueError:
        code, message = (failure.get("code"), failure.get("message")) if isinstance(failure, dict) else (None, None)
        if code == _METHOD_NOT_FOUND:
            return Unavailable(
                f"`{self._name}` does not do `{method}`.",
                hint="Configure a language server that does.",
                detail={"retryable": False},
            )
        words = message[:300] if isinstance(message, str) else "no reason was given"
        return Unavailable(f"`{self._name}` failed at `{method}`: {words}", hint="Make sure that the place exists.")

    def _dispatch(self, message: JsonObject) -> None:
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            if number is not None:
                self._answer(number, method, message.get("params"))
        elif isinstance(number, int) and (future := self._pending.get(number)) and not future.done():
            future.set_result(message)

    def _answer(self, number: JsonValue, method: str, params: JsonValue) -> None:
        if method == "workspace/configuration":
            items = params.get("items") if isinstance(params, dict) else None
            settings: list[JsonValue] = [None for _ in items] if isinstance(items, list) else []
            self._send({"jsonrpc": "2.0", "id": number, "result": settings})
        elif method in _ANSWERS:
            self._send({"jsonrpc": "2.0", "id": number, "result": _ANSWERS[method]})
        else:
            refusal: JsonValue = {"code": _METHOD_NOT_FOUND, "message": "not done here"}
            self._send({"jsonrpc": "2.0", "id": number, "error": refusal})

    def _send(self, message: JsonObject) -> None:
        if self.failure is not None or self._writer.is_closing():
            raise self.failure or _server_gone(f"The language server `{self._name}` has ended.")
        self._writer.write(frame(message))

    def _cancel(self, number: int) -> None:
        if self.failure is None and not self._writer.is_closing():
            self.notify("$/cancelRequest", {"id": number})


def is_server_gone(error: RetinueError) -> bool:
    """Whether `error` says that the server has ended, or can no longer be heard."""
    return error.detail.get("ended") is True


def _server_gone(message: str) -> Unavailable:
    return Unavailable(message, detail={"ended": True})


MAX_MESSAGE: Final = 64 * 2**20
"""The longest message that is read, in bytes."""

_FIELD: Final = re.compile(rb"([A-Za-z][A-Za-z-]{0,63}):[ \t]*([^\r\n]{0,512})\r?\n")
_MOST_FIELDS: Final = 16
_MAX_DEPTH: Final = 512


def frame(message: JsonObject) -> bytes:
    """`message` as it goes over the wire."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_message(stream: StreamReader, *, max_bytes: int = MAX_MESSAGE) -> JsonObject | None:
    """The next message; None when the stream has ended between two.

    Raises:
        OutputInvalid: The header is none, the length is missing or too large, the body stops short or is no JSON
            object.
    """
    size = await _size(stream)
    if size is None:
        return None
    if size > max_bytes:
        raise _protocol_error(f"a message of {size} bytes, and {max_bytes} are allowed")
    try:
        body = await stream.readexactly(size)
    except IncompleteReadError as error:
        raise _protocol_error(f"{len(error.partial)} of {size} promised bytes, and then ended") from None
    try:
        message = json.loads(body, max_bytes=max_bytes, max_depth=_MAX_DEPTH)
    except ParseError as error:
        raise _protocol_error(f"a message that is not JSON: {error.message}") from error
    if not isinstance(message, dict):
        raise _protocol_error("a message that is not an object")
    return message


async def _size(stream: StreamReader) -> int | None:
    """What the header says; None at the end of the stream."""
    size: int | None = None
    for number in range(_MOST_FIELDS):
        try:
            line = await stream.readuntil(b"\n")
        except IncompleteReadError as error:
            if not number and not error.partial:
                return None
            raise _protocol_error("half a header, and then ended") from None
        except LimitOverrunError:
            raise _protocol_error("a header without an end") from None
        if line in (b"\r\n", b"\n"):
            if size is None:
                raise _protocol_error("a header without `Content-Length`")
            return size
        field = _FIELD.fullmatch(line)
        if field is None:
            raise _protocol_error(f"{line[:80]!r} where a header must stand")
        if field[1].lower() == b"content-length":
            size = _number(field[2].strip())
    raise _protocol_error("a header without an end")


def _number(text: bytes) -> int:
    if not text.isdigit() or len(text) > 12:
        raise _protocol_error(f"the length {text[:40]!r}")
    return int(text)


def _protocol_error(what: str) -> OutputInvalid:
    return OutputInvalid(
        f"The language server sent {what}.", hint="Make sure that the program that is started speaks LSP on its stdout."
    )
