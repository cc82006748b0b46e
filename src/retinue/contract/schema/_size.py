"""How large a value is, and whether it is JSON data at all: the guard before the validator.

The validator looks only where the schema looks, answers a foreign type with a bare `ValueError`, takes `NaN` for null,
and beyond its own depth gives up. So a value that did not just come out of the strict reader is walked first.
"""

from typing import Final, NamedTuple, cast

from retinue.contract._shown import shown
from retinue.contract.finding import Finding
from retinue.contract.json import MAX_DEPTH, pointer

__all__ = ["MAX_NODES", "Size", "measure", "purify"]

MAX_NODES: Final = 1_000_000
"""Most values in one instance; a part that is used twice counts twice."""

_CHARACTERS: Final = 32
"""So many characters weigh as much as one value."""

_LARGEST: Final = 10**308
_INFINITE: Final = float("inf")
_MOST: Final = 50
"""So many obstacles are listed. A value with more is no JSON by accident."""


class Size(NamedTuple):
    """What `measure` saw.

    Attributes:
        weight: Values, plus the length of their strings in units of 32 characters.
        depth: Containers inside each other: 0 for a scalar.
    """

    weight: int
    depth: int


def measure(value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH) -> Size | None:
    """Weigh JSON data; None when `value` is anything else, a subclass included, or beyond a limit.

    Level by level, so a cycle ends at the depth limit and a part that is used many times at the node limit.
    """
    weight = characters = depth = 0
    level: list[object] = [value]
    while level:
        weight += len(level)
        if weight > max_nodes or depth > max_depth:
            return None
        below: list[object] = []
        texts: list[object] = []
        containers = False
        for item in level:
            kind = type(item)
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
            elif not _is_plain(item, kind):
                return None
        for text in texts:
            if type(text) is not str or not (text.isascii() or _encodes(text)):
                return None
            characters += len(text)
        level = below
        depth += containers
    return Size(weight + characters // _CHARACTERS, depth)


def _is_plain(item: object, kind: type) -> bool:
    """Say whether a scalar that is no text is one of JSON's own, and in reach of every reader."""
    if kind is int:
        return -_LARGEST < cast("int", item) < _LARGEST
    if kind is float:
        return -_INFINITE < cast("float", item) < _INFINITE
    return kind is bool or item is None


def purify(
    value: object, *, max_nodes: int = MAX_NODES, max_depth: int = MAX_DEPTH
) -> tuple[object, tuple[Finding, ...]]:
    """Copy `value` into JSON's own types, and say what stands in the way.

    A subclass of `str`, `int`, `float`, `dict`, `list` or `tuple` becomes what it is a kind of. With findings the copy
    is not to be used.
    """
    copier = _Copier(max_nodes=max_nodes, max_depth=max_depth)
    try:
        copy = copier.copy(value)
    except _Enough:
        copy = None
    return copy, tuple(copier.obstacles)


class _Enough(Exception):
    """Nothing is gained by looking further."""


class _Copier:
    """One walk over one value. It goes down by recursion: the depth is capped well below the interpreter's."""

    def __init__(self, *, max_nodes: int, max_depth: int) -> None:
        self.obstacles: list[Finding] = []
        self._max_nodes = max_nodes
        self._max_depth = max_depth
        self._nodes = 0
        self._where: list[str | int] = []
        self._open: list[object] = []

    def copy(self, item: object) -> object:
        self._nodes += 1
        if self._nodes > self._max_nodes:
            self._where = []  # it is the whole that is too large
            self._refuse("size", f"The value holds more than {self._max_nodes:,} values", "Send less, or a file")
            raise _Enough
        match item:
            case str():
                return self._text(str.__str__(item))
            case bool() | None:
                return item
            case int():
                return self._integer(int.__int__(item))
            case float():
                return self._float(float.__float__(item))
            case dict() | list() | tuple():
                return self._container(cast("dict[object, object] | list[object] | tuple[object, ...]", item))
            case _:
                self._refuse("json", f"A value of type `{type(item).__name__}` is not JSON", "Convert it first")
                return None

    def _container(self, item: dict[object, object] | list[object] | tuple[object, ...]) -> object:
        if len(self._open) == self._max_depth:
            if any(outer is item for outer in self._open):
                self._refuse("json", "The value contains itself", "Give each part its own value")
            else:
                self._refuse("depth", f"More than {self._max_depth} containers are nested", "Flatten the value")
            return None
        self._open.append(item)
        try:
            if isinstance(item, dict):
                return {self._key(key): self._member(key, inner) for key, inner in item.items()}
            return [self._member(index, inner) for index, inner in enumerate(item)]
        finally:
            self._open.pop()

    def _member(self, key: object, item: object) -> object:
        self._where.append(key if isinstance(key, (str, int)) else shown(key))
        copy = self.copy(item)
        self._where.pop()
        return copy

    def _key(self, key: object) -> str:
        if isinstance(key, str):
            return self._text(str.__str__(key))
        self._refuse("json", f"The key {shown(key)} is not a string", "Use strings as keys")
        return ""

    def _text(self, text: str) -> str:
        if not _encodes(text):
            self._refuse("json", f"The text {shown(text)} holds half of a surrogate pair", "Send the whole character")
        return text

    def _integer(self, number: int) -> int:
        if not -_LARGEST < number < _LARGEST:
            self._refuse("json", "An integer has more than 308 digits", "Send it as a string")
        return number

    def _float(self, number: float) -> float:
        if not -_INFINITE < number < _INFINITE:
            self._refuse("json", f"`{number}` is not a JSON number", "Leave it out, or use a finite number")
        return number

    def _refuse(self, rule: str, message: str, fix: str) -> None:
        path = pointer(
            part.encode(errors="replace").decode() if isinstance(part, str) else part for part in self._where
        )
        self.obstacles.append(Finding(rule=f"schema/{rule}", message=f"{message}.", path=path, fix=f"{fix}."))
        if len(self.obstacles) == _MOST:
            raise _Enough


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
