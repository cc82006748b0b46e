"""The writer: one text for one value, which `loads` under the same limits reads back as the same value.

It looks at every value before writing: the standard library writes keys that are no strings, half surrogate pairs and
values shared a billion times without a word.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NoReturn, TypeAlias, cast

from retinue.contract.formatting import short_repr
from retinue.errors import InvalidInput, ParseError

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


def dumps(value: object, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> str:
    """Write `value` as compact JSON text: keys in their order, nothing escaped that need not be.

    Tuples are written as arrays. What the reader would refuse is not written.

    Raises:
        InvalidInput: The value holds something JSON cannot say (a set, bytes, a key that is no string, `NaN`, a lone
            surrogate, a cycle) or goes beyond a limit; `path` is its JSON Pointer.
    """
    if not _is_plain_json(value, max_bytes=max_bytes, max_depth=max_depth):
        _WriteChecker(max_bytes=max_bytes, max_depth=max_depth).value(value)
    try:
        text = _ENCODER.encode(value)
    except RecursionError:
        raise InvalidInput(
            "The value is nested deeper than the stack has room for.", hint="Flatten the value, or split it."
        ) from None
    if len(text if text.isascii() else text.encode()) > max_bytes:
        raise _too_large(max_bytes)
    return text


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))
_INFINITE: Final = float("inf")
_LARGEST: Final = 10**MAX_DIGITS


def _too_large(max_bytes: int) -> InvalidInput:
    return InvalidInput(f"The value takes more than {max_bytes} bytes.", hint="Send less, or hand over a file.")


def _is_plain_json(root: object, *, max_bytes: int, max_depth: int) -> bool:
    """Say quickly whether `root` is surely fine; what is unusual is left to `_WriteChecker`.

    One loop without calls, because most values are fine and this is what they pay. `size` is a lower bound of the
    text, so values shared many times end here too; the depth cap ends cycles.
    """
    size = 0
    waiting: list[tuple[object, int]] = [([root], 0)]
    while waiting:
        container, depth = waiting.pop()
        if depth > max_depth:
            return False
        if type(container) is dict:
            mapping = cast("dict[object, object]", container)
            members: Iterable[object] = mapping.values()
            for key in mapping:
                if type(key) is not str or not (key.isascii() or _encodes(key)):
                    return False
                size += len(key) + 3
        else:
            members = cast("Iterable[object]", container)
        for item in members:
            kind = type(item)
            size += 2
            if kind is str:
                text = cast("str", item)
                size += len(text)
                if not (text.isascii() or _encodes(text)):
                    return False
            elif kind is dict or kind is list or kind is tuple:
                waiting.append((item, depth + 1))
            elif kind is int or kind is float:
                if not -_LARGEST < cast("float", item) < _LARGEST:
                    return False
            elif item is not None and kind is not bool:
                return False
        if size > max_bytes + 2:
            raise _too_large(max_bytes)
    return True


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _WriteChecker:
    """The same walk in order and with the place: the containers on the way down, and the member we are at in each."""

    def __init__(self, *, max_bytes: int, max_depth: int) -> None:
        self._max_bytes = max_bytes
        self._max_depth = max_depth
        self._size = 0
        self._open: list[object] = []
        self._where: list[str | int] = []

    def value(self, root: object) -> None:
        """See that `root` can be written.

        Raises:
            InvalidInput: It cannot.
        """
        members = self._members(root)
        stack = [] if members is None else [members]
        while stack:
            for key, item in stack[-1]:
                self._where[-1] = key
                inner = self._members(item)
                if inner is not None:
                    stack.append(inner)
                    break
            else:
                stack.pop()
                self._open.pop()
                self._where.pop()

    def _members(self, item: object) -> Iterator[tuple[str | int, object]] | None:
        """Check `item` itself; a container is entered and its members given, a scalar has none."""
        self._grow(2)
        match item:
            case str():
                self._text(item)
            case bool() | None:
                pass
            case int() | float():
                self._number(item)
            case dict():
                mapping = cast("dict[object, object]", item)
                return self._enter(mapping, self._dict_members(mapping))
            case list() | tuple():
                sequence = cast("Iterable[object]", item)
                return self._enter(sequence, enumerate(sequence))
            case _:
                self._refuse(f"a value of type `{type(item).__name__}` is not JSON", "Convert it to JSON values first")
        return None

    def _enter(
        self, container: object, members: Iterator[tuple[str | int, object]]
    ) -> Iterator[tuple[str | int, object]]:
        if len(self._open) == self._max_depth:
            if any(outer is container for outer in self._open):
                self._refuse("the value contains itself", "Give each part its own value")
            self._refuse(f"more than {self._max_depth} containers are nested", "Flatten the value, or split it")
        self._open.append(container)
        self._where.append("")
        return members

    def _dict_members(self, members: dict[object, object]) -> Iterator[tuple[str, object]]:
        for key, item in members.items():
            if not isinstance(key, str) or not _encodes(key):
                self._where.pop()
                self._refuse(
                    f"the key {short_repr(key)} is not a whole string", "Use strings without half surrogate pairs"
                )
            self._grow(len(key))
            yield key, item

    def _text(self, text: str) -> None:
        self._grow(len(text))
        if not text.isascii() and not _encodes(text):
            self._refuse(f"the text {short_repr(text)} holds half of a surrogate pair", "Send the whole character")

    def _number(self, number: float) -> None:
        if isinstance(number, int):
            if not -_LARGEST < number < _LARGEST:
                self._refuse(f"an integer has more than {MAX_DIGITS} digits", "Send it as a string")
        elif not -_INFINITE < number < _INFINITE:
            self._refuse(f"`{number}` is not a JSON number", "Leave it out, or use a finite number")

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > self._max_bytes + 2:
            raise _too_large(self._max_bytes)

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise InvalidInput(f"{what[0].upper()}{what[1:]}.", hint=f"{hint}.", path=pointer(self._where))
