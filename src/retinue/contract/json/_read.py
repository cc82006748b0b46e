"""The strict reader: the standard library's parser with hooks, and the scanner for the place when it refuses."""

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, NoReturn, cast

from retinue.contract.formatting import ensure_text

from ._write import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, JsonObject, JsonValue, Reason, parse_error


def loads(data: str | bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> JsonValue:
    """Read one JSON value, refusing whatever two parsers could read differently (K8, C17).

    Refused: duplicate keys, `NaN` and infinities, numbers beyond a double, lone surrogates, comments, trailing commas,
    text after the value, a byte order mark, anything but UTF-8, and more than the two limits allow. The time is linear
    in the length, for refused texts too.

    Args:
        data: Text, or bytes of UTF-8.
        max_bytes: Longest text, in bytes of UTF-8.
        max_depth: Most containers inside each other.

    Raises:
        InvalidInput: It is neither text nor bytes.
        ParseError: `path` is the JSON Pointer of the place, `detail` holds `line`, `column` (both from 1), `offset`
            (in characters; in bytes where they could not be decoded) and `reason`.
    """
    text = decode_text(data, max_bytes=max_bytes)
    if not _is_too_deep(text, max_depth):
        try:
            value = cast("JsonValue", _DECODER.decode(text))
        except RecursionError:
            # Within the limit, but the caller had used up most of the stack.
            _scan(text, max_depth)
            raise parse_error(text, 0, "too_deep", "the value is nested deeper than the stack has room for") from None
        except ValueError:
            pass
        else:
            # The parser pairs `\ud83d\ude00` and lets a half stand; only texts with such an escape are looked at.
            has_half = (not text.isascii() and _RAW_SURROGATE.search(text)) or (
                _SURROGATE_ESCAPE.search(text) and not _NO_LONE_ESCAPE.fullmatch(text)
            )
            if not has_half:
                return value
    _scan(text, max_depth)
    raise parse_error(
        text, 0, "syntax", "the text is not strict JSON"
    )  # pragma: no cover - the scan is the stricter one


def decode_text(data: str | bytes, *, max_bytes: int) -> str:
    """Give `data` as text, seen to be UTF-8, not empty and not too large. Surrogates in a `str` are left to the scan.

    Raises:
        ParseError: It is not.
    """
    ensure_text(data, "JSON text", or_bytes=True)
    size = len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise parse_error("", 0, "too_large", f"the text has {size} bytes and {max_bytes} are allowed")
    if isinstance(data, str):
        text = data
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]:
        raise parse_error("", 0, "encoding", "the text is UTF-16 or UTF-32, not UTF-8")
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            prefix, what = data[: error.start].decode("utf-8"), f"the byte 0x{data[error.start]:02x} is not UTF-8 here"
            failure = parse_error(prefix, len(prefix), "encoding", what)
            failure.detail["offset"] = error.start
            raise failure from None
    if text.startswith("\ufeff"):
        raise parse_error(text, 0, "byte_order_mark", "the text starts with a byte order mark")
    if not text or text.isspace():
        raise parse_error(text, 0, "empty", "there is no JSON value")
    return text


def _scan(text: str, max_depth: int) -> None:
    """Find the place that the standard library refused, and raise what is wrong there."""
    from ._scan import Scanner  # noqa: PLC0415 - its expressions take 3 ms to compile, and most texts are fine

    Scanner(text, max_depth=max_depth).document()


# Depth. Walking the value afterwards costs more than reading it, so count brackets in the text instead.


def _is_too_deep(text: str, max_depth: int) -> bool:
    """Say whether the brackets outside strings nest deeper than `max_depth`, exactly up to the first syntax error."""
    if text.count("[") + text.count("{") <= max_depth:
        return False
    data = text.encode("utf-8", "surrogatepass")
    # Escaped quotes go first: then every second piece between quotes lies outside of strings.
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    outside = b"".join(data.split(b'"')[::2])
    brackets = outside.translate(None, delete=_NOT_BRACKETS)
    depths = accumulate(map(_STEPS.__getitem__, brackets))
    return next(filter(max_depth.__lt__, depths), None) is not None


_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Sequence[int] = [1 if byte in b"[{" else -1 for byte in range(256)]


_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_NO_LONE_ESCAPE = re.compile(
    r"(?:[^\\]++|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?!u[dD][89a-fA-F]).))*+", re.DOTALL
)

_RAW_SURROGATE = re.compile("[\ud800-\udfff]")


# Hooks. A refusal says nothing but no: the scanner finds the place.


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _integer(literal: str) -> int:
    if len(literal) > MAX_DIGITS and len(literal.lstrip("-")) > MAX_DIGITS:
        raise ValueError
    return int(literal)


def _float(literal: str) -> float:
    value = float(literal)
    if value in (_INFINITE, -_INFINITE):
        raise ValueError
    return value


def _constant(literal: str) -> NoReturn:
    raise ValueError(literal)


_INFINITE = float("inf")
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)

_OPENING: Final = re.compile(r"(?<![^\n])[ \t]{0,3}(`{3,}+|~{3,}+)[^\n`]*\n\s*+\Z")


def repair(text: str, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[JsonObject, str]:
    """Take the one JSON object out of an answer that wraps it in a code fence or in prose.

    Returns:
        The object, and one sentence that says what was stripped: the warning the caller must record.

    Raises:
        ParseError: There is no object, more than one, one that is not whole or not strict JSON, or one that is part
            of something larger. `detail` as for `loads`, places counted in the whole text.
    """
    from ._scan import Scanner, next_object  # noqa: PLC0415 - rarely needed, slow to import

    text = decode_text(text, max_bytes=max_bytes)
    start = next_object(text, 0)
    if start is None:
        raise parse_error(text, 0, "no_object", "the text holds no JSON object")
    end = Scanner(text, start=start, max_depth=max_depth).value()
    second = next_object(text, end)
    if second is not None:
        raise parse_error(text, second, "two_objects", "a second JSON object starts")
    before, after = text[:start], text[end:]
    # Refuse an object inside an array or a dictionary of another language: its surroundings carry meaning.
    for opening, closing in ("[]", "{}"):
        if before.count(opening) > before.count(closing) or after.count(closing) > after.count(opening):
            reason: Reason = "not_alone"
            raise parse_error(
                text, len(before), reason, f"the JSON object is part of something in `{opening}{closing}`"
            )
    value = loads(text[start:end], max_bytes=max_bytes, max_depth=max_depth)
    return cast("JsonObject", value), _describe_wrapping(before, after)


def _describe_wrapping(before: str, after: str) -> str:
    """Describe what stood around the object."""
    opening = _OPENING.search(before)
    fence = opening[1] if opening else ""
    closed = bool(fence) and after.lstrip().startswith(fence)
    before = before[: opening.start()] if opening else before
    prose = len(before.strip()) + len(after.lstrip().removeprefix(fence).strip() if closed else after.strip())
    parts: list[str] = []
    if fence:
        parts.append("a code fence" if closed else "the start of a code fence that does not end")
    if prose:
        parts.append(f"{prose} characters of prose")
    return f"Stripped {' and '.join(parts) or 'nothing but white space'} around the JSON object."


def as_mapping(value: object) -> dict[str, Any]:
    """`value` when it is a JSON object, else an empty one: for data that anybody may have written."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """`value` when it is a JSON array, else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_mappings(value: object) -> list[dict[str, Any]]:
    """The objects in a JSON array; none when `value` is not one."""
    return [cast("dict[str, Any]", item) for item in as_list(value) if isinstance(item, dict)]
