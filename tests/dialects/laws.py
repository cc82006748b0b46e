"""The laws every dialect keeps, as functions: nothing is lost but what a loss report names, and nothing it names is kept."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import cast

from retinue.contract.finding import Loss
from retinue.contract.json import pointer
from retinue.contract.model import Model

__all__ = ["assert_exact_losses", "differences"]

_ABSENT = object()


def assert_exact_losses(before: Model, after: Model, losses: Iterable[Loss], *, unit_ns: int = 1) -> None:
    """See that `after` differs from `before` exactly where `losses` says.

    Args:
        before: What was written.
        after: What was read back.
        losses: What writing it reported.
        unit_ns: The dialect's unit of time in nanoseconds: rounding to it is no loss.
    """
    differing = set(differences(_whole(before), _whole(after), unit_ns=unit_ns))
    named = {loss.field for loss in losses}
    unnamed = {path for path in differing if not any(_under(path, field) for field in named)}
    assert not unnamed, f"lost, and not reported: {sorted(unnamed)}\n{before!r}\n{after!r}"
    kept = {field for field in named if not any(_under(path, field) or _under(field, path) for path in differing)}
    assert not kept, f"reported as lost, and kept: {sorted(kept)}\n{before!r}\n{after!r}"


def differences(one: object, other: object, *, unit_ns: int = 1, path: tuple[str | int, ...] = ()) -> Iterator[str]:
    """JSON Pointers of the places where two JSON values differ, as deep as both go."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = _members(cast("dict[str, object]", one), cast("dict[str, object]", other))
    elif isinstance(one, list) and isinstance(other, list):
        pairs = _items(cast("list[object]", one), cast("list[object]", other))
    else:
        pairs = iter(())
        unit = unit_ns if path and str(path[-1]).endswith("_ns") else 1
        if not _same(cast("object", one), other, unit):
            yield pointer(path)
    for key, mine, yours in pairs:
        yield from differences(mine, yours, unit_ns=unit_ns, path=(*path, key))


def _members(one: dict[str, object], other: dict[str, object]) -> Iterator[tuple[str | int, object, object]]:
    return ((key, one.get(key, _ABSENT), other.get(key, _ABSENT)) for key in {**one, **other})


def _items(one: list[object], other: list[object]) -> Iterator[tuple[str | int, object, object]]:
    paired = zip_longest(one, other, fillvalue=_ABSENT)
    return ((at, mine, yours) for at, (mine, yours) in enumerate(paired))


def _same(one: object, other: object, unit: int) -> bool:
    if unit > 1 and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= unit // 2
    return one == other and type(one) is type(other)


def _under(path: str, field: str) -> bool:
    return path == field or path.startswith(f"{field}/")


def _whole(noun: Model) -> object:
    return noun.model_dump(mode="json", by_alias=True)
