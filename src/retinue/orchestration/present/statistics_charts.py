"""Past runs, and comparisons of agents and models, as charts: cost, success and time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from retinue.contract.table import Chart, Series
from retinue.llm.allocation import TARGET
from retinue.orchestration.comparing_agents import Contender, Spread
from retinue.orchestration.statistics import Statistics, Tally

_MAX_NAMES: Final = 12


def statistics_charts(statistics: Statistics) -> tuple[Chart, ...]:
    """`statistics` as charts; what was not measured is left out."""
    charts: list[Chart] = []
    if statistics.periods:
        labels = tuple(period.name for period in statistics.periods)
        if any(period.whole.usd is not None for period in statistics.periods):
            cost = Series(name="cost", values=tuple(period.whole.usd for period in statistics.periods))
            charts.append(Chart(title="Cost over time", kind="line", labels=labels, series=(cost,), unit="USD"))
        else:
            runs = Series(name="runs", values=tuple(period.whole.calls for period in statistics.periods))
            charts.append(Chart(title="Runs over time", kind="line", labels=labels, series=(runs,)))
    if statistics.mix:
        shares = [
            Series(name=f"by {mix.unit}", values=tuple(mix.shares[tier] * 100 for tier in TARGET))
            for mix in statistics.mix
        ]
        target = Series(name="target", values=tuple(share * 100 for share in TARGET.values()))
        charts.append(Chart(title="Mix of tiers", labels=tuple(TARGET), series=(*shares, target), unit="%"))
    charts += _success_charts("Success by agent", statistics.agents)
    charts += _success_charts("Success by model", statistics.models)
    if timed_tallies := [each for each in statistics.agents if each.durations_ns][:_MAX_NAMES]:
        series = (
            Series(name="quickest call", values=tuple(min(each.durations_ns) / 1e9 for each in timed_tallies)),
            Series(name="middle call", values=tuple((each.median_ns or 0) / 1e9 for each in timed_tallies)),
            Series(name="slowest call", values=tuple(max(each.durations_ns) / 1e9 for each in timed_tallies)),
        )
        names = tuple(each.name for each in timed_tallies)
        charts.append(Chart(title="Time by agent", labels=names, series=series, unit="s"))
    if faults := dict(list(statistics.faults.items())[:_MAX_NAMES]):
        attempts = Series(name="failed attempts", values=tuple(faults.values()))
        charts.append(Chart(title="Failed attempts by fault", labels=tuple(faults), series=(attempts,)))
    return tuple(charts)


def _success_charts(title: str, tallies: Sequence[Tally]) -> Iterator[Chart]:
    """Whole answers among the calls that nobody stopped, beside the number of calls."""
    if tallies := tallies[:_MAX_NAMES]:
        rates = (None if each.success_rate is None else each.success_rate * 100 for each in tallies)
        labels = tuple(f"{each.name} ({each.calls:,})" for each in tallies)
        yield Chart(title=title, labels=labels, series=(Series(name="success", values=tuple(rates)),), unit="%")


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
