"""Usage of several requests as one. What one of them did not say is not made up for it."""

from collections.abc import Sequence
from functools import cache

from retinue.contract.result import Cost, Usage

__all__ = ["nothing", "together"]


@cache
def nothing() -> Usage:
    """The usage of which nobody said anything: one for all who need it."""
    return Usage()


def together(used: Sequence[Usage]) -> Usage:
    """All of `used` as one.

    A number stands for those that have one. The cost is there only when every one of them has a cost: a sum that leaves
    somebody out would be too low.
    """
    if len(used) == 1:
        return used[0]
    if not used:
        return nothing()
    return Usage(
        tokens_in=_sum([each.tokens_in for each in used]),
        tokens_out=_sum([each.tokens_out for each in used]),
        tokens_total=Usage.total(used),
        tokens_cached=_sum([each.tokens_cached for each in used]),
        requests=_sum([each.requests for each in used]),
        cost=_cost([each.cost for each in used]),
        model=_words([each.model for each in used]),
        counter=_words([each.counter for each in used]),
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _cost(costs: Sequence[Cost | None]) -> Cost | None:
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    price_id = _words([cost.price_id for cost in known]) or ""
    return Cost(
        usd=sum(cost.usd for cost in known),
        price_id=price_id,
        price_date=_words([each.price_date for each in known]) or "",
    )


def _words(words: Sequence[str | None]) -> str | None:
    """Each word once, in their order."""
    return ", ".join(dict.fromkeys(word for word in words if word)) or None
