"""The writer: one text for one value, which `loads` under the same limits reads back as the same value.

It looks at every value before writing: the standard library writes keys that are no strings, half surrogate pairs and
values shared a billion times without a word.
"""

import json
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias, cast

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
    size = measure(value, max_nodes=max_bytes + 2, max_depth=max_depth, max_bytes=max_bytes)
    try:
        if size is None or size.depth > max_depth:
            _, obstacles = to_plain_json(value, max_nodes=max_bytes // 2 + 1, max_depth=max_depth)
            for each in obstacles:
                if each.reason == "size":
                    raise _too_large(max_bytes)
                raise InvalidInput(each.message, hint=each.fix, path=each.path)
        text = _ENCODER.encode(value)
    except RecursionError:
        raise InvalidInput(
            "The value is nested deeper than the stack has room for.", hint="Flatten the value, or split it."
        ) from None
    if len(text if text.isascii() else text.encode()) > max_bytes:
        raise _too_large(max_bytes)
    return text


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))


def _too_large(max_bytes: int) -> InvalidInput:
    return InvalidInput(f"The value takes more than {max_bytes} bytes.", hint="Send less, or hand over a file.")


# What is JSON data. A quick look for most values, and a walk with places for what it does not take.

MAX_NODES: Final = 1_000_000
"""Most values in one instance of a schema; a part that is used twice counts twice."""

_CHARACTERS: Final = 32
"""So many characters weigh as much as one value."""

_MAX_INTEGER: Final = 10**MAX_DIGITS
_INFINITE: Final = float("inf")
_MAX_OBSTACLES: Final = 50
"""So many obstacles are listed. A value with more is no JSON by accident."""


class Size(NamedTuple):
    """What `measure` saw.

    Attributes:
        weight: Values, plus the length of their strings in units of 32 characters.
        depth: Containers inside each other: 0 for a scalar.
    """

    weight: int
    depth: int


def measure(
    value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH, max_bytes: int | None = None
) -> Size | None:
    """Weigh JSON data; None when `value` is anything else, a subclass included, or beyond a limit.

    Level by level, so a cycle ends at the depth limit and a part that is used many times at the node limit.

    Raises:
        InvalidInput: Its text would surely have more than `max_bytes`.
    """
    weight = characters = depth = 0
    level: list[object] = [value]
    while level:
        weight += len(level)
        # A value takes two bytes at least, itself and what parts it from the next.
        if max_bytes is not None and 2 * weight + characters > max_bytes + 2:
            raise _too_large(max_bytes)
        if weight > max_nodes or depth > max_depth:
            return None
        below: list[object] = []
        texts: list[object] = []
        containers = False
        for item in level:
            kind = type(item)  # and no subclass, which may show the encoder something else than it shows us
            if kind is str:
                texts.append(item)
            elif kind is dict:
                containers = True
                members = cast("dict[object, object]", item)
                texts.extend(members)
                below.extend(members.values())
            elif kind is list or kind is tuple:
                containers = True
                below.extend(cast("list[object]", item))
            elif kind is int or kind is float:
                limit = _MAX_INTEGER if kind is int else _INFINITE
                if not -limit < cast("float", item) < limit:
                    return None
            elif item is not None and kind is not bool:
                return None
        for text in texts:
            if type(text) is not str or not (text.isascii() or _encodes(text)):
                return None
            characters += len(text)
        level = below
        depth += containers
    return Size(weight + characters // _CHARACTERS, depth)


class Obstacle(NamedTuple):
    """What keeps a value from being JSON data, as a sentence, with what to do about it and its JSON Pointer."""

    reason: Literal["json", "depth", "size"]
    message: str
    fix: str
    path: str


def to_plain_json(
    value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH
) -> tuple[object, tuple[Obstacle, ...]]:
    """Copy `value` into JSON's own types, and say what stands in the way.

    A subclass of `str`, `int`, `float`, `dict`, `list` or `tuple` becomes what it is a kind of. With obstacles the copy
    is not to be used.
    """
    copier = _Copier(max_nodes=max_nodes, max_depth=max_depth)
    try:
        copy = copier.copy(value)
    except _TooManyObstacles:
        copy = None
    return copy, tuple(copier.obstacles)


class _TooManyObstacles(Exception):
    """Nothing is gained by looking further."""


class _Copier:
    """One walk over one value. It goes down by recursion: the depth is capped well below the interpreter's."""

    def __init__(self, *, max_nodes: int, max_depth: int) -> None:
        self.obstacles: list[Obstacle] = []
        self._max_nodes = max_nodes
        self._max_depth = max_depth
        self._nodes = 0
        self._where: list[str | int] = []
        self._open: list[object] = []

    def copy(self, item: object) -> object:
        self._nodes += 1
        if self._nodes > self._max_nodes:
            self._where = []  # it is the whole that is too large
            self._report_obstacle(
                "size", f"The value holds more than {self._max_nodes:,} values", "Send less, or a file"
            )
            raise _TooManyObstacles
        match item:
            case str():
                return self._text(str.__str__(item))
            case bool() | None:
                return item
            case int():
                integer = int.__int__(item)
                if not -_MAX_INTEGER < integer < _MAX_INTEGER:
                    self._report_obstacle("json", "An integer has more than 308 digits", "Send it as a string")
                return integer
            case float():
                number = float.__float__(item)
                if not -_INFINITE < number < _INFINITE:
                    self._report_obstacle(
                        "json", f"`{number}` is not a JSON number", "Leave it out, or use a finite number"
                    )
                return number
            case dict() | list() | tuple():
                return self._container(cast("dict[object, object] | list[object] | tuple[object, ...]", item))
            case _:
                self._report_obstacle(
                    "json", f"A value of type `{type(item).__name__}` is not JSON", "Convert it first"
                )
                return None

    def _container(self, item: dict[object, object] | list[object] | tuple[object, ...]) -> object:
        if len(self._open) == self._max_depth:
            if any(outer is item for outer in self._open):
                self._report_obstacle("json", "The value contains itself", "Give each part its own value")
            else:
                self._report_obstacle(
                    "depth", f"More than {self._max_depth} containers are nested", "Flatten the value"
                )
            return None
        self._open.append(item)
        try:
            if isinstance(item, dict):
                return {self._key(key): self._member(key, inner) for key, inner in item.items()}
            return [self._member(index, inner) for index, inner in enumerate(item)]
        finally:
            self._open.pop()

    def _member(self, key: object, item: object) -> object:
        self._where.append(key if isinstance(key, (str, int)) else short_repr(key))
        copy = self.copy(item)
        self._where.pop()
        return copy

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return self._text(str.__str__(key))
        self._report_obstacle("json", f"The key {short_repr(key)} is not a string", "Use strings as keys")
        return ""

    def _text(self, text: str) -> str:
        if not _encodes(text):
            self._report_obstacle(
                "json", f"The text {short_repr(text)} holds half of a surrogate pair", "Send the whole character"
            )
        return text

    def _report_obstacle(self, reason: Literal["json", "depth", "size"], message: str, fix: str) -> None:
        path = pointer(
            part.encode(errors="replace").decode() if isinstance(part, str) else part for part in self._where
        )
        self.obstacles.append(Obstacle(reason, f"{message}.", f"{fix}.", path))
        if len(self.obstacles) == _MAX_OBSTACLES:
            raise _TooManyObstacles


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
