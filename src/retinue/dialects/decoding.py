"""Values that several dialects write alike: bytes as text, quoted values, and timestamps (RFC 3339, UTC)."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
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
    return f"{value[:80]!r} reads like a template that was not filled in."


_SECOND: Final = 1_000_000_000
_END: Final = 253_402_300_800  # seconds to the year 10000, which RFC 3339 cannot say
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,12}))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)


def format_timestamp(ns: int) -> str | None:
    """The moment `ns` nanoseconds after 1970 UTC, as in `2025-10-08T15:30:00Z`; None beyond the year 9999."""
    seconds, rest = divmod(ns, _SECOND)
    if not 0 <= seconds < _END:
        return None
    day = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{day:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def parse_timestamp(text: str) -> int | None:
    """Nanoseconds from 1970 UTC to the moment that `text` says; None when it says none, or one before."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    utc_offset = 0 if match[8] else (int(match[10]) * 60 + int(match[11])) * (60 if match[9] == "+" else -60)
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since_epoch.days * 86_400 + since_epoch.seconds - utc_offset
    fraction = int((match[7] or "0").ljust(9, "0")[:9])
    return seconds * _SECOND + fraction if seconds >= 0 else None
