"""A comparison of agents and models as charts: quality, cost and time, each with its spread."""

from collections.abc import Callable, Iterator, Sequence

from retinue.contract.table import Chart, Series
from retinue.orchestration.comparing_agents import Contender, Spread

__all__ = ["charts_of"]


def charts_of(found: Sequence[Contender]) -> tuple[Chart, ...]:
    """`found` as charts; what was measured of none of them is left out."""
    if not found:
        return ()
    return (
        *_spreads(found, "quality", lambda each: each.quality, unit="%", scale=100),
        *_spreads(found, "cost", lambda each: each.usd, unit="US cents", scale=100),
        *_spreads(found, "time", lambda each: each.seconds, unit="s"),
        *_spreads(found, "tokens in and out", lambda each: each.tokens),
    )


def _spreads(
    found: Sequence[Contender],
    what: str,
    spread_of: Callable[[Contender], Spread | None],
    *,
    unit: str | None = None,
    scale: float = 1,
) -> Iterator[Chart]:
    spreads = [spread_of(each) for each in found]
    if all(spread is None for spread in spreads):
        return
    least = tuple(None if each is None else each.low * scale for each in spreads)
    middle = tuple(None if each is None else each.middle * scale for each in spreads)
    most = tuple(None if each is None else each.high * scale for each in spreads)
    series = [Series(name=what, values=middle)]
    if least != most:
        named = (f"least {what}", least), (f"middle {what}", middle), (f"most {what}", most)
        series = [Series(name=name, values=values) for name, values in named]
    title = f"{what[0].upper()}{what[1:]} of a trial"
    yield Chart(title=title, labels=tuple(each.name for each in found), series=tuple(series), unit=unit)
