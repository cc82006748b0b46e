"""Statistics of past runs as charts: what they cost over time, the mix of tiers, and success and time by name."""

from collections.abc import Iterator, Sequence
from typing import Final

from retinue.contract.table import Chart, Series
from retinue.llm.allocation import TARGET, TierMix
from retinue.orchestration.statistics import Statistics, Tally

_MAX_NAMES: Final = 12


def statistics_charts(statistics: Statistics) -> tuple[Chart, ...]:
    """`statistics` as charts; what was not measured is left out."""
    return (
        *_time_charts(statistics),
        *_tier_charts(statistics.mix),
        *_success_charts("Success by agent", statistics.agents),
        *_success_charts("Success by model", statistics.models),
        *_duration_charts(statistics.agents),
        *_fault_charts(statistics),
    )


def _time_charts(statistics: Statistics) -> Iterator[Chart]:
    if not statistics.periods:
        return
    labels = tuple(period.name for period in statistics.periods)
    if any(period.whole.usd is not None for period in statistics.periods):
        cost = Series(name="cost", values=tuple(period.whole.usd for period in statistics.periods))
        yield Chart(title="Cost over time", kind="line", labels=labels, series=(cost,), unit="USD")
    else:
        runs = Series(name="runs", values=tuple(period.whole.calls for period in statistics.periods))
        yield Chart(title="Runs over time", kind="line", labels=labels, series=(runs,))


def _tier_charts(mixes: Sequence[TierMix]) -> Iterator[Chart]:
    if mixes:
        shares = (
            Series(name=f"by {mix.unit}", values=tuple(mix.shares[tier] * 100 for tier in TARGET)) for mix in mixes
        )
        target = Series(name="target", values=tuple(share * 100 for share in TARGET.values()))
        yield Chart(title="Mix of tiers", labels=tuple(TARGET), series=(*shares, target), unit="%")


def _success_charts(title: str, tallies: Sequence[Tally]) -> Iterator[Chart]:
    """Whole answers among the calls that nobody stopped, beside the number of calls."""
    if tallies := tallies[:_MAX_NAMES]:
        rates = (None if each.success_rate is None else each.success_rate * 100 for each in tallies)
        labels = tuple(f"{each.name} ({each.calls:,})" for each in tallies)
        yield Chart(title=title, labels=labels, series=(Series(name="success", values=tuple(rates)),), unit="%")


def _duration_charts(tallies: Sequence[Tally]) -> Iterator[Chart]:
    if timed_tallies := [each for each in tallies if each.durations_ns][:_MAX_NAMES]:
        series = (
            Series(name="quickest call", values=tuple(min(each.durations_ns) / 1e9 for each in timed_tallies)),
            Series(name="middle call", values=tuple((each.median_ns or 0) / 1e9 for each in timed_tallies)),
            Series(name="slowest call", values=tuple(max(each.durations_ns) / 1e9 for each in timed_tallies)),
        )
        yield Chart(title="Time by agent", labels=tuple(each.name for each in timed_tallies), series=series, unit="s")


def _fault_charts(statistics: Statistics) -> Iterator[Chart]:
    if faults := dict(list(statistics.faults.items())[:_MAX_NAMES]):
        attempts = Series(name="failed attempts", values=tuple(faults.values()))
        yield Chart(title="Failed attempts by fault", labels=tuple(faults), series=(attempts,))
