"""What JSON holds, as types, how a place inside it is named, and what is said about a text that is refused.

Reader and writer share the limits that stand here. No reading and no writing.
"""

from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from retinue.errors import ParseError

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
"""Anything JSON can say. For type checkers; pydantic models use pydantic's own."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: what every message of an agent is at the top."""


def pointer(parts: Iterable[str | int]) -> str:
    """Name a place inside a JSON document as RFC 6901 does: `pointer(["a/b", 0])` is `/a~1b/0`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


MAX_BYTES: Final = 16 * 2**20
"""Longest text read or written unless the caller says otherwise, in bytes of UTF-8."""

MAX_DEPTH: Final = 128
"""Most containers inside each other unless the caller says otherwise."""

MAX_DIGITS: Final = 308
"""Longest integer literal: every integer this long still fits a double, so every peer can read it."""

Reason: TypeAlias = Literal[
    "byte_order_mark",
    "comment",
    "duplicate_key",
    "empty",
    "encoding",
    "lone_surrogate",
    "no_object",
    "not_a_number",
    "not_alone",
    "number_too_large",
    "syntax",
    "too_deep",
    "too_large",
    "trailing_comma",
    "trailing_text",
    "truncated",
    "two_objects",
]
"""Why a text was refused: `detail["reason"]` of the error."""

_HINTS: Final[dict[Reason, str]] = {
    "byte_order_mark": "Send plain UTF-8 without a byte order mark.",
    "comment": "Remove the comment; JSON has none.",
    "duplicate_key": "Give each key of an object once.",
    "empty": "Send one JSON value.",
    "encoding": "Send the text as UTF-8.",
    "lone_surrogate": r"Send the whole character, or both halves of its `\uD8xx\uDCxx` pair.",
    "no_object": "Answer with one JSON object.",
    "not_a_number": "Leave the key out, or use null or a finite number.",
    "not_alone": "Answer with the JSON object alone.",
    "number_too_large": "Use a number that fits a double, or send it as a string.",
    "syntax": "Send strict JSON: double quotes, lower-case true, false and null, no comments, no trailing commas.",
    "too_deep": "Flatten the value, or split it into several.",
    "too_large": "Send less, or hand over a file by its path.",
    "trailing_comma": "Remove the comma before the closing bracket.",
    "trailing_text": "Send one JSON value and nothing after it.",
    "truncated": "Send the whole text; it ends in the middle of a value.",
    "two_objects": "Answer with exactly one JSON object.",
}


def position_at(text: str, offset: int) -> tuple[int, int]:
    """Say line and column of `offset`, both from 1, lines ending with a line feed."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def parse_error(
    text: str,
    offset: int,
    reason: Reason,
    what: str,
    *,
    path: str = "",
) -> ParseError:
    """Make the error for a text that is refused at `offset`; `what` is a clause without a full stop."""
    line, column = position_at(text, offset)
    return ParseError(
        f"Line {line}, column {column}: {what}.",
        hint=_HINTS[reason],
        path=path,
        detail={"line": line, "column": column, "offset": offset, "reason": reason},
    )
