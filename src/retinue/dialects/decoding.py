"""Bytes and quoted values of the dialects that are text, not JSON."""

from retinue.contract import json
from retinue.errors import ParseError


def decode_utf8(data: bytes) -> str:
    """`data` as text.

    Raises:
        ParseError: It is no UTF-8; `detail` says line, column, offset and reason.
    """
    hint = "Send the text as UTF-8."
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise parse_error_at("", 0, "encoding", "the text is UTF-16, not UTF-8", hint=hint)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        problem = f"the byte 0x{data[error.start]:02x} is not UTF-8 here"
        raise parse_error_at(good, len(good), "encoding", problem, hint=hint) from None


def parse_error_at(text: str, offset: int, reason: str, problem: str, *, hint: str) -> ParseError:
    """What is `problem` with `text` at a place in it, as an error."""
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    detail = {"line": line, "column": column, "offset": offset, "reason": reason}
    return ParseError(f"Line {line}, column {column}: {problem}.", hint=hint, detail=detail)


def unquote_json(text: str) -> str | None:
    """The text that a JSON string says; None when `text` is none."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return None
    try:
        value = json.loads(text)
    except ParseError:
        return None
    return value if isinstance(value, str) else None
