"""Plain JSON data out of whatever an agent or a caller handed over: a copy that shares nothing with the original.

It says whether a value is JSON at all, and where it is not. Whether it is the right JSON is for `contract.schema`.
"""

from typing import Any, Final

from retinue.contract import json
from retinue.contract.json import JsonValue

__all__ = ["ROOM", "NotPlainError", "plain_copy", "quick_copy"]


def plain_copy(value: object) -> JsonValue:
    """A copy of `value` made of dicts, lists, strings, numbers, booleans and None.

    Tuples become lists; subclasses (`OrderedDict`, `StrEnum`) become what they stand for.

    Raises:
        InvalidInput: The value holds what JSON cannot say, or goes beyond a limit; `path` is its JSON Pointer.
    """
    try:
        return quick_copy(value, json.MAX_DEPTH, [ROOM])
    except (NotPlainError, UnicodeEncodeError):
        return json.loads(json.dumps(value))  # pyright: ignore[reportArgumentType] - it checks what it is given


ROOM: Final = 2**20
"""Members and characters of long texts that the quick way copies."""

_LONG: Final = 4096
_INFINITE: Final = float("inf")
_WORD: Final = 2**63


class NotPlainError(Exception):
    """The quick way ends here: the strict writer decides, and says where and why."""


def quick_copy(value: Any, depth: int, room: list[int]) -> Any:  # noqa: C901 - one branch a type, on the hot path
    """Copy the common case in one pass.

    Args:
        value: What to copy.
        depth: How many containers may still be entered.
        room: One number that counts down members and long texts, so that no bomb of shared parts is unrolled.

    Raises:
        NotPlainError: It is not the common case.
        UnicodeEncodeError: A text holds half of a surrogate pair.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of anything at all
    if kind is str:
        if not value.isascii():
            value.encode()
        if len(value) > _LONG:
            _take(len(value), room)
        return value
    if kind is dict:
        _take(len(value) if depth else ROOM + 1, room)
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise NotPlainError
            if not key.isascii():
                key.encode()
            copy[key] = quick_copy(item, depth - 1, room)
        return copy
    if kind is list or kind is tuple:
        _take(len(value) if depth else ROOM + 1, room)
        return [quick_copy(item, depth - 1, room) for item in value]
    if kind is bool or value is None:
        return value
    if (kind is int and -_WORD <= value < _WORD) or (kind is float and -_INFINITE < value < _INFINITE):
        return value
    raise NotPlainError


def _take(amount: int, room: list[int]) -> None:
    room[0] -= amount
    if room[0] < 0:
        raise NotPlainError
