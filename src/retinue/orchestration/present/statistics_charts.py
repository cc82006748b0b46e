"""Statistics of past runs as charts: what they cost over time, the mix of tiers, and success and time by name."""

from collections.abc import Iterator, Sequence
from typing import Final

from retinue.contract.table import Chart, Series
from retinue.llm.allocation import TARGET, Mix
from retinue.orchestration.statistics import Statistics, Tally

__all__ = ["charts_of"]

_NAMES: Final = 12


def charts_of(found: Statistics) -> tuple[Chart, ...]:
    """`found` as charts; what was not measured is left out."""
    return (
        *_over_time(found),
        *_mix(found.mix),
        *_success("Success by agent", found.agents),
        *_success("Success by model", found.models),
        *_time(found.agents),
        *_faults(found),
    )


def _over_time(found: Statistics) -> Iterator[Chart]:
    if not found.periods:
        return
    labels = tuple(period.name for period in found.periods)
    if any(period.whole.usd is not None for period in found.periods):
        cost = Series(name="cost", values=tuple(period.whole.usd for period in found.periods))
        yield Chart(title="Cost over time", kind="line", labels=labels, series=(cost,), unit="USD")
    else:
        runs = Series(name="runs", values=tuple(period.whole.calls for period in found.periods))
        yield Chart(title="Runs over time", kind="line", labels=labels, series=(runs,))


def _mix(mixes: Sequence[Mix]) -> Iterator[Chart]:
    if mixes:
        shares = (
            Series(name=f"by {mix.unit}", values=tuple(mix.shares[tier] * 100 for tier in TARGET)) for mix in mixes
        )
        target = Series(name="target", values=tuple(share * 100 for share in TARGET.values()))
        yield Chart(title="Mix of tiers", labels=tuple(TARGET), series=(*shares, target), unit="%")


def _success(title: str, tallies: Sequence[Tally]) -> Iterator[Chart]:
    """Whole answers among the calls that nobody stopped, beside the number of calls."""
    if tallies := tallies[:_NAMES]:
        rates = (None if each.success_rate is None else each.success_rate * 100 for each in tallies)
        labels = tuple(f"{each.name} ({each.calls:,})" for each in tallies)
        yield Chart(title=title, labels=labels, series=(Series(name="success", values=tuple(rates)),), unit="%")


def _time(tallies: Sequence[Tally]) -> Iterator[Chart]:
    if timed := [each for each in tallies if each.durations_ns][:_NAMES]:
        series = (
            Series(name="quickest call", values=tuple(min(each.durations_ns) / 1e9 for each in timed)),
            Series(name="middle call", values=tuple((each.median_ns or 0) / 1e9 for each in timed)),
            Series(name="slowest call", values=tuple(max(each.durations_ns) / 1e9 for each in timed)),
        )
        yield Chart(title="Time by agent", labels=tuple(each.name for each in timed), series=series, unit="s")


def _faults(found: Statistics) -> Iterator[Chart]:
    if faults := dict(list(found.faults.items())[:_NAMES]):
        attempts = Series(name="failed attempts", values=tuple(faults.values()))
        yield Chart(title="Failed attempts by fault", labels=tuple(faults), series=(attempts,))
