"""Bytes and quoted values of the dialects that are text, not JSON."""

import re
from collections.abc import Iterable
from typing import Final

from retinue.contract import json
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonValue
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


def find_json(text: str) -> JsonValue:
    """What `text` is in JSON, or the one object that stands in it; None when there is neither."""
    try:
        return json.loads(text)
    except ParseError:
        pass
    try:
        return json.repair(text)[0]
    except ParseError:
        return None


def quote_keys(keys: Iterable[str]) -> str:
    """Keys as a sentence names them: `"a", "b" and "c"`."""
    return natural_list(f'"{key}"' for key in keys)


_WORDS: Final = r"(?!(?:true|false|null)[\]}])[A-Za-z][A-Za-z0-9 _/.-]{1,80}"
_PLACEHOLDER: Final = re.compile(rf"\[{_WORDS}\]|\{{{_WORDS}\}}")

PLACEHOLDER_FIX: Final = "Fill it in, or leave it out."


def placeholder_problem(value: str) -> str:
    """What is wrong with a value that is a place to be filled, as a sentence; empty where nothing is."""
    return _sentence(value) if _PLACEHOLDER.fullmatch(value) else ""


def placeholder_problem_within(value: str) -> str:
    """The same for one that only has such a place in it, as the name of a file."""
    return _sentence(value) if _PLACEHOLDER.search(value) else ""


def _sentence(value: str) -> str:
    return f"{value[:80]!r} reads like a template that nobody filled."
