"""A comparison of agents and models as charts: quality, cost and time, each with its spread."""

from collections.abc import Callable, Iterator, Sequence

from retinue.contract.table import Chart, Series
from retinue.orchestration.comparing_agents import Contender, Spread


def comparison_charts(contenders: Sequence[Contender]) -> tuple[Chart, ...]:
    """`contenders` as charts; what was measured of none of them is left out."""
    if not contenders:
        return ()
    return (
        *_spread_charts(contenders, "quality", lambda each: each.quality, unit="%", scale=100),
        *_spread_charts(contenders, "cost", lambda each: each.usd, unit="US cents", scale=100),
        *_spread_charts(contenders, "time", lambda each: each.seconds, unit="s"),
        *_spread_charts(contenders, "tokens in and out", lambda each: each.tokens),
    )


def _spread_charts(
    contenders: Sequence[Contender],
    quantity: str,
    spread_of: Callable[[Contender], Spread | None],
    *,
    unit: str | None = None,
    scale: float = 1,
) -> Iterator[Chart]:
    spreads = [spread_of(each) for each in contenders]
    if all(spread is None for spread in spreads):
        return
    least = tuple(None if each is None else each.low * scale for each in spreads)
    middle = tuple(None if each is None else each.middle * scale for each in spreads)
    most = tuple(None if each is None else each.high * scale for each in spreads)
    series = [Series(name=quantity, values=middle)]
    if least != most:
        values_by_name = (f"least {quantity}", least), (f"middle {quantity}", middle), (f"most {quantity}", most)
        series = [Series(name=name, values=values) for name, values in values_by_name]
    title = f"{quantity[0].upper()}{quantity[1:]} of a trial"
    yield Chart(title=title, labels=tuple(each.name for each in contenders), series=tuple(series), unit=unit)
