"""The laws every dialect keeps, as functions: nothing is lost but what a loss report names, and nothing it names is kept."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, cast

from hypothesis import strategies as st

from retinue.contract.finding import Loss
from retinue.contract.json import pointer
from retinue.contract.model import Model
from retinue.dialects.port import Parsed
from retinue.errors import InvalidInput, OutputInvalid, ParseError

__all__ = ["assert_exact_losses", "assert_read_or_refused", "differences", "mutated"]

_ABSENT = object()
_PIECES = ("", "null", '"', "{", "[", "]", "}", "1", "true", "**", "\n")


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


def assert_read_or_refused(read: Callable[..., Parsed[Any]], text: str | bytes, **options: Any) -> None:
    """See that `read` gives a message, or one of the typed errors: unreadable, or refused with findings."""
    try:
        assert isinstance(read(text, **options), Parsed)
    except ParseError:
        pass
    except (InvalidInput, OutputInvalid) as error:
        assert error.detail["findings"]  # noqa: PT017 - reading it is fine too


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[str]) -> str:
    """One of the texts, with up to four places of it spoiled."""
    text = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(_PIECES)) + text[end:]
    return text


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
