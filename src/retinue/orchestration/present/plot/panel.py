"""What a plot shows, as a value: panels of bars, each with its unit. Where the marks go is the business of `layout`."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Bar", "Panel", "Plot"]


@dataclass(frozen=True, slots=True)
class Bar:
    """One value.

    Attributes:
        value: Its length; None where nothing was measured, and then nothing is drawn.
        low: Where the spread of what was measured begins; drawn as a whisker together with `high`.
        target: Where it should be; drawn as a mark across the bar.
        colour: Which of the six colours; bars that belong together share one.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    target: float | None = None
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars over one axis.

    Attributes:
        axis: What is measured, with its unit: `median time (s)`.
        kind: `bars` lie one below the other, with room for names; `columns` stand side by side, as over time.
        ceiling: Where the axis ends at least: 100 for a share in percent.
        note: One line below the title.
    """

    title: str
    axis: str
    bars: tuple[Bar, ...]
    kind: Literal["bars", "columns"] = "bars"
    ceiling: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """Panels one below the other, under one title."""

    title: str
    panels: tuple[Panel, ...]
    subtitle: str = ""
