"""Messages of the base protocol: a header with `Content-Length`, an empty line, JSON. Nothing is asked of their sense.

A peer that breaks the form is told so at once; it is never read on from a guessed place.
"""

import re
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from typing import Final

from retinue.contract import json
from retinue.contract.json import JsonObject
from retinue.errors import OutputInvalid, ParseError

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
