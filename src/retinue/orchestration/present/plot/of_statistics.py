"""Statistics of past runs as a plot: what they cost over time, the mix of tiers, and success and time by name."""

from collections.abc import Iterator, Sequence
from typing import Final

from retinue.llm.allocation import TARGET, Mix
from retinue.orchestration.present.plot.panel import Bar, Panel, Plot
from retinue.orchestration.statistics import Statistics, Tally

__all__ = ["plot_of"]

_NAMES: Final = 12


def plot_of(found: Statistics, *, subtitle: str = "") -> Plot:
    """`found` as panels; one for which nothing was measured is left out."""
    panels = (
        _over_time(found),
        _mix(found.mix),
        _success("Success by agent", found.agents),
        _success("Success by model", found.models),
        _time(found.agents),
        _faults(found),
    )
    return Plot("Past runs", tuple(panel for panel in panels if panel is not None), subtitle)


def _over_time(found: Statistics) -> Panel | None:
    if not found.periods:
        return None
    if any(period.whole.usd is not None for period in found.periods):
        bars = tuple(Bar(period.name, period.whole.usd) for period in found.periods)
        return Panel("Cost over time", "cost (USD)", bars, kind="columns")
    bars = tuple(Bar(period.name, period.whole.calls) for period in found.periods)
    return Panel("Runs over time", "runs", bars, kind="columns")


def _mix(mixes: Sequence[Mix]) -> Panel | None:
    if not mixes:
        return None
    return Panel(
        "Mix of tiers",
        "share (%)",
        tuple(_shares(mixes)),
        ceiling=100,
        note=f"The red mark is the target: {', '.join(f'{share:.0%} {tier}' for tier, share in TARGET.items())}.",
    )


def _shares(mixes: Sequence[Mix]) -> Iterator[Bar]:
    for colour, mix in enumerate(mixes):
        for tier, share in mix.shares.items():
            yield Bar(f"{tier}, by {mix.unit}", share * 100, target=TARGET[tier] * 100, colour=colour)


def _success(title: str, tallies: Sequence[Tally]) -> Panel | None:
    if not tallies:
        return None
    bars = (
        Bar(f"{each.name} ({each.calls:,})", None if each.success_rate is None else each.success_rate * 100, colour=2)
        for each in tallies[:_NAMES]
    )
    note = "Whole answers among the calls that nobody stopped; the number of calls in parentheses."
    return Panel(title, "success (%)", tuple(bars), ceiling=100, note=note)


def _time(tallies: Sequence[Tally]) -> Panel | None:
    timed = [each for each in tallies if each.durations_ns][:_NAMES]
    if not timed:
        return None
    bars = (_spread(each) for each in timed)
    note = "The bar is the middle call, the whisker goes from the quickest to the slowest."
    return Panel("Time by agent", "time of a call (s)", tuple(bars), note=note)


def _spread(tally: Tally) -> Bar:
    middle = (tally.median_ns or 0) / 1e9
    quickest, slowest = min(tally.durations_ns) / 1e9, max(tally.durations_ns) / 1e9
    return Bar(tally.name, middle, low=quickest, high=slowest, colour=4)


def _faults(found: Statistics) -> Panel | None:
    if not found.faults:
        return None
    bars = tuple(Bar(code, count, colour=1) for code, count in list(found.faults.items())[:_NAMES])
    return Panel("What went wrong", "failed attempts", bars)
