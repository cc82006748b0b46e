"""A comparison of agents and models as a plot: quality, cost and time, each with its spread."""

from collections.abc import Callable, Sequence

from retinue.orchestration.comparing_agents import Contender, Spread
from retinue.orchestration.present.plot.panel import Bar, Panel, Plot

__all__ = ["plot_of"]


def plot_of(found: Sequence[Contender], *, title: str, subtitle: str = "") -> Plot:
    """`found` as panels; one for which nothing was measured is left out."""
    note = "The bar is the middle trial, the whisker goes from the least to the most."
    panels = (
        _panel(found, "Quality", "quality (%)", lambda each: each.quality, scale=100, colour=2, ceiling=100, note=note),
        _panel(found, "Cost of a trial", "cost (US cents)", lambda each: each.usd, scale=100, colour=0),
        _panel(found, "Time of a trial", "time (s)", lambda each: each.seconds, colour=4),
        _panel(found, "Tokens of a trial", "tokens in and out", lambda each: each.tokens, colour=1),
    )
    return Plot(title, tuple(panel for panel in panels if panel is not None), subtitle)


def _panel(
    found: Sequence[Contender],
    title: str,
    axis: str,
    spread_of: Callable[[Contender], Spread | None],
    *,
    colour: int,
    scale: float = 1,
    ceiling: float | None = None,
    note: str = "",
) -> Panel | None:
    bars: list[Bar] = []
    for each in found:
        spread = spread_of(each)
        if spread is None:
            bars.append(Bar(each.name, None, colour=colour))
            continue
        low, high = (spread.low * scale, spread.high * scale) if spread.low < spread.high else (None, None)
        bars.append(Bar(each.name, spread.middle * scale, low=low, high=high, colour=colour))
    if all(bar.value is None for bar in bars):
        return None
    return Panel(title, axis, tuple(bars), ceiling=ceiling, note=note)
