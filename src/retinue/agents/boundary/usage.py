"""Adding up what attempts cost. What was not measured stays absent, and money of two prices says so."""

from typing import Any, Final

from retinue.contract.result import Cost, Usage

__all__ = ["add_usage"]

_COUNTS: Final = ("tokens_in", "tokens_out", "tokens_cached", "requests")
_NAMES: Final = ("model", "counter")


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Both together; None when neither measured anything."""
    if one is None or other is None:
        return other if one is None else one
    counts: dict[str, Any] = {name: _sum(getattr(one, name), getattr(other, name)) for name in _COUNTS}
    words: dict[str, Any] = {name: _joined(getattr(one, name), getattr(other, name)) for name in _NAMES}
    return Usage(**counts, **words, tokens_total=Usage.total((one, other)), cost=_cost(one.cost, other.cost))


def _sum(one: int | None, other: int | None) -> int | None:
    return (one or 0) + (other or 0) if one is not None or other is not None else None


def _joined(one: str | None, other: str | None) -> str | None:
    """Both words, each once: `a` and `b` give `a, b`."""
    if not one or not other:
        return one or other
    return ", ".join(dict.fromkeys((*one.split(", "), *other.split(", "))))


def _cost(one: Cost | None, other: Cost | None) -> Cost | None:
    if one is None or other is None:
        return other if one is None else one
    prices = _joined(one.price_id, other.price_id) or one.price_id
    dates = _joined(one.price_date, other.price_date) or one.price_date
    return Cost(usd=one.usd + other.usd, price_id=prices, price_date=dates)
