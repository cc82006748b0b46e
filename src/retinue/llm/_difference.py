"""Which of several recorded requests is nearest to one that is asked, and where the two part.

For a message to a person: cheap, and good enough. Nothing is decided by it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.json import JsonValue, pointer
from retinue.contract.model import JsonMapping

_COMPARED: Final = 500
"""So many recorded requests are compared; the first of them."""

_LEAVES: Final = 5_000
_CONTEXT: Final = 40
_ABSENT: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The recorded request that has most in common with the one asked, and its place in the list."""

    index: int
    recorded: JsonMapping


def nearest(request: JsonMapping, recorded: Sequence[JsonMapping]) -> Nearest | None:
    """The recorded request with the fewest places that differ, the first of equals; None when there are none."""
    expected = dict(_leaves(request))
    best: Nearest | None = None
    fewest = 0
    for index, each in enumerate(recorded[:_COMPARED]):
        actual = dict(_leaves(each))
        differing = sum(actual.get(place, _ABSENT) != value for place, value in expected.items())
        differing += sum(place not in expected for place in actual)
        if best is None or differing < fewest:
            best, fewest = Nearest(index, each), differing
    return best


def difference(recorded: JsonMapping, request: JsonMapping) -> tuple[str, str]:
    """The first place where the two differ, as a JSON Pointer, and what stands there in each."""
    actual, expected = dict(_leaves(recorded)), dict(_leaves(request))
    for place in (*expected, *actual):
        recorded_value, request_value = actual.get(place, _ABSENT), expected.get(place, _ABSENT)
        if recorded_value != request_value:
            return (
                place,
                f"recorded {_excerpt(recorded_value, request_value)}, asked {_excerpt(request_value, recorded_value)}",
            )
    return "", "they differ further down"


def _leaves(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Each place that holds no further place, with what it holds as Python would write it; up to a bound."""
    stack: list[tuple[tuple[str | int, ...], JsonValue]] = [((), value)]
    for _ in range(_LEAVES):
        if not stack:
            return
        place, each = stack.pop()
        if isinstance(each, dict) and each:
            stack += [((*place, name), each[name]) for name in sorted(each, reverse=True)]
        elif isinstance(each, list) and each:
            stack += [((*place, number), item) for number, item in reversed(list(enumerate(each)))]
        else:
            yield pointer(place), repr(each)


def _excerpt(value: str, other: str) -> str:
    """`value` from a little before where it leaves `other`, cut to a readable length."""
    same = next((at for at, (one, two) in enumerate(zip(value, other, strict=False)) if one != two), 0)
    start = max(0, same - _CONTEXT // 2)
    part = value[start : start + 2 * _CONTEXT]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(value) else ''}"
