"""Charts out of characters: bars of blocks for names, one row of heights for what runs over time.

Pure text of a given width, for a code fence or a terminal; who colours it is the CLI.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from retinue.contract.sanitize import printable
from retinue.contract.table import Chart, Series
from retinue.orchestration.present.numbers import beside, drawable

__all__ = ["ChartLine", "cells_of", "chart_lines"]

_BARS: Final = 50
"""Most bars that are drawn; the rest is counted."""
_LABEL: Final = 32
_LEAST: Final = 8
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS: Final = "_.-:=+*#"


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: what stands before the marks, the marks themselves, and what stands after them."""

    before: str
    marks: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.marks}{self.after}".rstrip()


def chart_lines(chart: Chart, *, width: int = 72, in_ascii: bool = False) -> list[ChartLine]:
    """`chart`, drawn. Its title is not in it.

    Args:
        chart: What to draw.
        width: Columns there are.
        in_ascii: Draw with ASCII only, for a terminal that has nothing else; the labels stay what they are.
    """
    draw = _lines if chart.kind == "line" else _bars
    return list(draw(chart, width, in_ascii))


def cells_of(text: str) -> int:
    """Columns of a terminal that `text` takes: two for a wide character, none for one that sits on another."""
    return sum(_width(character) for character in text) if not text.isascii() else len(text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _fitted(text: str, most: int, *, in_ascii: bool) -> str:
    """`text` on one line, cut to `most` columns."""
    line = " ".join(printable(text).split())
    if cells_of(line) <= most:
        return line
    kept, room = "", most - (3 if in_ascii else 1)
    for character in line:
        if cells_of(kept) + _width(character) > room:
            break
        kept += character
    return f"{kept}{'...' if in_ascii else '…'}"


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - cells_of(text))


def _value(value: float | None, unit: str | None) -> str:
    if value is None:
        return "no value"
    return f"{beside(value)}{_unit(unit)}"


def _unit(unit: str | None) -> str:
    said = " ".join(printable(unit or "").split())[:20]
    return said if said in {"", "%"} else f" {said}"


# Bars.


def _bars(chart: Chart, width: int, in_ascii: bool) -> Iterator[ChartLine]:  # noqa: FBT001 - one of two drawers alike
    kept = max(1, _BARS // len(chart.series))
    labels = [_fitted(label, _LABEL, in_ascii=in_ascii) for label in chart.labels[:kept]]
    names = [_fitted(one.name, _LABEL // 2, in_ascii=in_ascii) for one in chart.series]
    known = [value for one in chart.series for value in one.values[:kept] if value is not None]
    values = [drawable(value) for value in known]
    labelled, named = max(map(cells_of, labels)), max(map(cells_of, names)) if len(names) > 1 else 0
    told = max((len(_value(value, chart.unit)) for value in known), default=0)
    scale = _Scale(
        min(0, *values, 0), max(0, *values, 0), max(_LEAST, width - labelled - (named + 2 if named else 0) - told - 4)
    )
    for place, label in enumerate(labels):
        for number, one in enumerate(chart.series):
            before = _padded("" if number else label, labelled) + (
                f"  {_padded(names[number], named)}" if named else ""
            )
            value = one.values[place]
            yield ChartLine(f"{before}  ", scale.bar(value, in_ascii=in_ascii), f" {_value(value, chart.unit)}")
    if len(chart.labels) > kept:
        yield ChartLine(f"and {len(chart.labels) - kept:,} more")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values lie on `room` columns."""

    low: float
    high: float
    room: int

    def bar(self, value: float | None, *, in_ascii: bool) -> str:
        """The bar of `value`, from zero on, padded on its left."""
        span = (self.high - self.low) or 1
        zero = round(-self.low / span * self.room)
        if value is None:
            return " " * zero
        length = abs(drawable(value)) / span * self.room
        if in_ascii:
            whole, rest = max(round(length), 1 if value else 0), 0
        else:
            whole, rest = divmod(max(round(length * 8), 1 if value else 0), 8)
        block = "#" if in_ascii else "█"
        if value < 0:  # there are no eighths that grow to the left
            whole = max(whole, 1)
            return " " * max(0, zero - whole) + block * whole
        return " " * zero + block * whole + (_EIGHTHS[rest] if rest else "")


# Lines.


def _lines(chart: Chart, width: int, in_ascii: bool) -> Iterator[ChartLine]:  # noqa: FBT001 - as above
    names = [_fitted(one.name, _LABEL, in_ascii=in_ascii) for one in chart.series]
    named = max(map(cells_of, names))
    room = max(_LEAST, width - named - 2)
    step = -(-len(chart.labels) // room)
    dots = " .. " if in_ascii else " … "
    for name, one in zip(names, chart.series, strict=True):
        before = f"{_padded(name, named)}  " if named else ""
        heights, extremes = _heights(one, step, in_ascii=in_ascii), _extremes(one, chart, in_ascii=in_ascii)
        fits = cells_of(before) + len(heights) + cells_of(extremes) + 2 <= width
        yield ChartLine(before, heights, f"  {extremes}" if fits else "")
        if not fits:
            yield ChartLine(f"{' ' * cells_of(before)}{extremes}")
    ends = dict.fromkeys(_fitted(label, _LABEL, in_ascii=in_ascii) for label in (chart.labels[0], chart.labels[-1]))
    each = f", a mark is the mean of {step:,}" if step > 1 else ""
    yield ChartLine(f"{' ' * (named + 2 if named else 0)}{dots.join(ends)}{each}")


def _heights(series: Series, step: int, *, in_ascii: bool) -> str:
    """One mark for each `step` values: as high as their mean lies between nought (or the lowest) and the highest."""
    marks = _ASCII_HEIGHTS if in_ascii else _HEIGHTS
    groups = [series.values[start : start + step] for start in range(0, len(series.values), step)]
    known = [[drawable(value) for value in group if value is not None] for group in groups]
    means = [sum(value / len(group) for value in group) if group else None for group in known]
    there = [mean for mean in means if mean is not None]
    low = min(0, *there, 0)
    span = (max(there, default=0) - low) or 1
    return "".join(" " if mean is None else marks[min(7, int((mean - low) / span * 8))] for mean in means)


def _extremes(series: Series, chart: Chart, *, in_ascii: bool) -> str:
    known = [(value, place) for place, value in enumerate(series.values) if value is not None]
    if not known:
        return "no values"
    (low, first), (high, last) = min(known), max(known, key=lambda pair: (pair[0], -pair[1]))
    if low == high:
        return f"always {_value(low, chart.unit)}"

    def said(value: float, place: int) -> str:
        return f"{_value(value, chart.unit)} ({_fitted(chart.labels[place], _LABEL, in_ascii=in_ascii)})"

    return f"lowest {said(low, first)}, highest {said(high, last)}"
