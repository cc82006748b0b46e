"""Where the marks of a plot go: rectangles, lines and words with their places, the same for every kind of file."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.contract.sanitize import printable
from retinue.orchestration.present.numbers import drawable, short
from retinue.orchestration.present.plot.panel import Bar, Panel, Plot

__all__ = ["WIDTH", "Anchor", "Box", "Line", "Mark", "Tone", "Words", "laid_out"]

WIDTH: Final = 760
"""Pixels from edge to edge."""

Anchor: TypeAlias = Literal["start", "middle", "end"]
Tone: TypeAlias = Literal["title", "label", "value", "soft"]

_MARGIN, _CHARACTER, _LABEL, _ROW, _THICK, _TALL = 24.0, 7.0, 44, 26.0, 14.0, 180.0
_TICKS: Final = 5
_LEAST: Final = 1e-290
_MOST_BARS, _MOST_COLUMNS = 30, 60


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle in one of six colours."""

    x: float
    y: float
    width: float
    height: float
    colour: int
    told: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line: of the grid, of the axis, or drawn over a bar."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: Literal["grid", "axis", "over", "target"]


@dataclass(frozen=True, slots=True)
class Words:
    """One line of text; `y` is its base line."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    tone: Tone = "label"


Mark: TypeAlias = Box | Line | Words


def laid_out(plot: Plot) -> tuple[list[Mark], float]:
    """All marks of `plot`, and how high it is in pixels."""
    marks: list[Mark] = [Words(_MARGIN, 34, _clipped(plot.title, 80), tone="title")]
    top = 48.0
    if plot.subtitle:
        marks.append(Words(_MARGIN, 54, _clipped(plot.subtitle, 100), tone="soft"))
        top = 68.0
    for panel in plot.panels:
        marks.append(Words(_MARGIN, top + 22, _clipped(panel.title, 80), tone="value"))
        top += 30
        if panel.note:
            marks.append(Words(_MARGIN, top + 10, _clipped(panel.note, 110), tone="soft"))
            top += 18
        drawn, height = _bars(panel, top) if panel.kind == "bars" else _columns(panel, top)
        marks += drawn
        top += height + 18
    return marks, top + 8


def _bars(panel: Panel, top: float) -> tuple[list[Mark], float]:
    bars = panel.bars[:_MOST_BARS]
    labels = [_clipped(bar.label, _LABEL) for bar in bars]
    left = _MARGIN + max(map(len, labels), default=0) * _CHARACTER + 10
    axis = _Axis.over(panel, WIDTH - left - _MARGIN - 60)
    height = _ROW * len(bars)
    marks: list[Mark] = []
    for tick in axis.ticks:
        x = left + axis.at(tick)
        marks.append(Line(x, top, x, top + height + 4, "axis" if tick == 0 else "grid"))
        marks.append(Words(x, top + height + 18, short(tick), "middle", "soft"))
    for place, (bar, label) in enumerate(zip(bars, labels, strict=True)):
        y = top + _ROW * place + (_ROW - _THICK) / 2
        marks.append(Words(left - 8, y + _THICK - 3, label, "end"))
        marks += _one_bar(bar, axis, left, y)
    marks.append(Words(left + axis.length / 2, top + height + 36, panel.axis, "middle", "soft"))
    return marks + _more(panel, _MOST_BARS, top + height + 36), height + 40


def _one_bar(bar: Bar, axis: "_Axis", left: float, y: float) -> Iterator[Mark]:
    end = left
    if bar.value is not None:
        length = axis.at(bar.value)
        yield Box(left, y, max(length, 1.0), _THICK, bar.colour, f"{bar.label}: {short(bar.value)}")
        end = left + length
    if bar.low is not None and bar.high is not None:
        low, high, middle = left + axis.at(bar.low), left + axis.at(bar.high), y + _THICK / 2
        yield Line(low, middle, high, middle, "over")
        yield Line(low, middle - 4, low, middle + 4, "over")
        yield Line(high, middle - 4, high, middle + 4, "over")
        end = max(end, high)
    if bar.target is not None:
        x = left + axis.at(bar.target)
        yield Line(x, y - 4, x, y + _THICK + 4, "target")
        end = max(end, x)
    said = "not measured" if bar.value is None else short(bar.value)
    yield Words(end + 6, y + _THICK - 3, said, tone="soft" if bar.value is None else "value")


def _columns(panel: Panel, top: float) -> tuple[list[Mark], float]:
    bars = panel.bars[-_MOST_COLUMNS:]
    axis = _Axis.over(panel, _TALL)
    left = _MARGIN + max(len(short(tick)) for tick in axis.ticks) * _CHARACTER + 10
    step = (WIDTH - left - _MARGIN) / max(len(bars), 1)
    top += 24
    marks: list[Mark] = [Words(_MARGIN, top - 12, panel.axis, tone="soft")]
    for tick in axis.ticks:
        y = top + _TALL - axis.at(tick)
        marks.append(Line(left, y, WIDTH - _MARGIN, y, "axis" if tick == 0 else "grid"))
        marks.append(Words(left - 8, y + 4, short(tick), "end", "soft"))
    every = max(1, math.ceil((max((len(bar.label) for bar in bars), default=1) * _CHARACTER + 12) / step))
    thick = min(step * 0.7, 48.0)
    for place, bar in enumerate(bars):
        middle = left + step * (place + 0.5)
        if bar.value is not None:
            length = max(axis.at(bar.value), 1.0)
            told = f"{bar.label}: {short(bar.value)}"
            marks.append(Box(middle - thick / 2, top + _TALL - length, thick, length, bar.colour, told))
        if place % every == 0:
            marks.append(Words(middle, top + _TALL + 18, _clipped(bar.label, _LABEL), "middle", "soft"))
    return marks + _more(panel, _MOST_COLUMNS, top + _TALL + 36), _TALL + 48


def _more(panel: Panel, most: int, y: float) -> list[Mark]:
    hidden = len(panel.bars) - most
    return [Words(WIDTH - _MARGIN, y, f"and {hidden:,} more", "end", "soft")] if hidden > 0 else []


@dataclass(frozen=True, slots=True)
class _Axis:
    """Values from nought on, on a length."""

    ticks: Sequence[float]
    length: float

    @classmethod
    def over(cls, panel: Panel, length: float) -> "_Axis":
        values = [
            drawable(value)
            for bar in panel.bars
            for value in (bar.value, bar.high, bar.target, panel.ceiling)
            if value is not None
        ]
        high = max([0.0, *values])
        span = high / _TICKS
        span = span if span > _LEAST else 0.2
        step = 10.0 ** math.floor(math.log10(span))
        step = next((step * factor for factor in (1, 2, 2.5, 5, 10) if step * factor >= span * 0.999_999), span)
        return cls([step * count for count in range(max(math.ceil(high / step - 1e-9), 1) + 1)], length)

    def at(self, value: float) -> float:
        return max(0.0, drawable(value) / self.ticks[-1] * self.length)


def _clipped(label: str, most: int) -> str:
    line = " ".join(printable(label).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
