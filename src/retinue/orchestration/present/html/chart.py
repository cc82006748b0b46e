"""Charts as SVG that stands inside a page: axis, ticks, labels, and a description for who cannot see it.

Numbers in, markup out; the colours are classes, so that the page's light and dark decide them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.sanitize import printable
from retinue.contract.table import Chart
from retinue.orchestration.present.html.markup import element, text
from retinue.orchestration.present.numbers import beside, drawable, short
from retinue.orchestration.present.text_chart import cells_of

__all__ = ["COLOURS", "chart"]

COLOURS: Final = 6
"""Series have that many colours, and begin again after."""

_WIDTH: Final = 720
_BARS: Final = 60
_LABEL: Final = 34
_CELL_PX: Final = 7.4
_ROW_PX: Final = 22
_PLOT_PX: Final = 240
_TICKS: Final = 5
_LEAST: Final = 1e-290
"""A span below this is none: steps within it could not be told from nought."""
_DOTS: Final = 48
_NAMED_SERIES: Final = 4
"""Bars of more series than that are too thin for a number beside each."""


def chart(drawn: Chart, number: int) -> str:
    """`drawn` as a figure.

    Args:
        drawn: What to draw.
        number: Which figure of the page it is: ids are made of it.
    """
    named = drawn.title.strip() or " and ".join(one.name for one in drawn.series if one.name) or "Chart"
    inside, height = _lines(drawn) if drawn.kind == "line" else _bars(drawn)
    ids = f"chart-{number}-title", f"chart-{number}-text"
    told = element("title", text(named), id=ids[0]) + element("desc", text(_described(drawn)), id=ids[1])
    view = {"viewBox": f"0 0 {_WIDTH} {_px(height)}", "role": "img", "aria_labelledby": " ".join(ids)}
    counted = drawn.unit and drawn.unit.casefold() not in named.casefold()
    caption = text(f"{named} ({drawn.unit})" if counted else named)
    picture = element("svg", told + "".join(inside), **view)
    return element("figure", f"{element('figcaption', caption)}{_legend(drawn)}{picture}{_more(drawn)}", class_="chart")


def _legend(drawn: Chart) -> str:
    if len(drawn.series) < 2:
        return ""
    items = (
        element("li", f'<i class="{_colour(place)}"></i>{text(_clipped(one.name))}')
        for place, one in enumerate(drawn.series)
    )
    return element("ul", "".join(items), class_="legend")


def _more(drawn: Chart) -> str:
    hidden = len(drawn.labels) - _BARS if drawn.kind == "bar" else 0
    return element("p", f"and {hidden:,} more", class_="more") if hidden > 0 else ""


def _described(drawn: Chart) -> str:
    """What the picture says, in words: each series with its lowest and highest value."""
    said = [f"{drawn.kind} chart, {len(drawn.labels):,} labels from {drawn.labels[0]} to {drawn.labels[-1]}"]
    for one in drawn.series:
        known = [(value, place) for place, value in enumerate(one.values) if value is not None]
        if known:
            (low, first), (high, last) = min(known), max(known)
            lowest, highest = f"{beside(low)} at {drawn.labels[first]}", f"{beside(high)} at {drawn.labels[last]}"
            said.append(f"{one.name or 'values'}: lowest {lowest}, highest {highest}")
    return f"{'; '.join(said)[:2000]}."


# The two kinds.


@dataclass(frozen=True, slots=True)
class _Axis:
    """Values on a length: nought is always on it.

    Attributes:
        ticks: Round values from the lowest to the highest.
    """

    ticks: Sequence[float]
    length: float

    def at(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return (value - low) / ((high - low) or 1) * self.length


def _axis(values: Sequence[float], length: float) -> _Axis:
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    span = high / _TICKS - low / _TICKS
    span = span if span > _LEAST else 1.0
    step = 10.0 ** math.floor(math.log10(span))
    step = next((step * factor for factor in (1, 2, 2.5, 5, 10) if step * factor >= span), span)
    whole = all(value.is_integer() for value in values)
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step), max(math.ceil(high / step), math.floor(low / step) + 1)
    return _Axis([step * count for count in range(first, last + 1)], length)


def _bars(drawn: Chart) -> tuple[Iterator[str], float]:
    labels = [_clipped(label) for label in drawn.labels[:_BARS]]
    left = min(max(map(cells_of, labels)) * _CELL_PX + 12, _WIDTH * 0.4)
    values = [drawable(value) for one in drawn.series for value in one.values[:_BARS] if value is not None]
    longest = max(
        (len(beside(value)) for one in drawn.series for value in one.values[:_BARS] if value is not None), default=1
    )
    axis = _axis(values, _WIDTH - left - longest * _CELL_PX - 16)
    count = len(drawn.series)
    thick = 14.0 if count <= _NAMED_SERIES else 7.0
    row = max(_ROW_PX, (thick + 1) * count + 8)
    height = row * len(labels)

    def draw() -> Iterator[str]:
        for tick in axis.ticks:
            x = left + axis.at(tick)
            yield _line(x, 0, x, height + 4, "zero" if tick == 0 else "grid")
            yield _label(x, height + 18, short(tick), "middle")
        for place, label in enumerate(labels):
            top = row * place
            yield _label(left - 8, top + row / 2 + 4, label, "end")
            for number, one in enumerate(drawn.series):
                value = one.values[place]
                y = top + (row - (thick + 1) * count) / 2 + (thick + 1) * number
                if value is None:
                    continue
                start, end = sorted((axis.at(0), axis.at(drawable(value))))
                size = {"x": _px(left + start), "y": _px(y), "width": _px(max(end - start, 0.5)), "height": _px(thick)}
                yield element("rect", "", class_=_colour(number), rx=2, **size)
                if count <= _NAMED_SERIES:
                    x, anchor = (left + start - 6, "end") if value < 0 else (left + end + 6, "start")
                    yield _label(x, y + thick / 2 + 4, beside(value), anchor, "value")

    return draw(), height + 24


def _lines(drawn: Chart) -> tuple[Iterator[str], float]:
    values = [drawable(value) for one in drawn.series for value in one.values if value is not None]
    axis = _axis(values, _PLOT_PX)
    left = max(len(short(tick)) for tick in axis.ticks) * _CELL_PX + 14
    count = len(drawn.labels)
    shown = _spread(drawn.labels, _WIDTH - left)
    edge = max(cells_of(_clipped(drawn.labels[place])) for place in shown) * _CELL_PX / 2
    inset = max(0.0, edge - left)
    width = _WIDTH - left - inset - edge - 4

    def x_of(place: int) -> float:
        return left + inset + (width * place / (count - 1) if count > 1 else width / 2)

    def y_of(value: float) -> float:
        return 10 + _PLOT_PX - axis.at(drawable(value))

    def draw() -> Iterator[str]:
        for tick in axis.ticks:
            yield _line(left, y_of(tick), _WIDTH - 4, y_of(tick), "zero" if tick == 0 else "grid")
            yield _label(left - 8, y_of(tick) + 4, short(tick), "end")
        for place in shown:
            yield _line(x_of(place), _PLOT_PX + 10, x_of(place), _PLOT_PX + 15, "zero")
            yield _label(x_of(place), _PLOT_PX + 30, _clipped(drawn.labels[place]), "middle")
        for number, one in enumerate(drawn.series):
            for run in _runs(one.values):
                points = [f"{_px(x_of(place))},{_px(y_of(value))}" for place, value in run]
                if len(drawn.series) == 1 and len(run) > 1:
                    ends = [f"{_px(x_of(place))},{_px(y_of(0))}" for place in (run[-1][0], run[0][0])]
                    yield element("polygon", "", points=" ".join([*points, *ends]), class_=f"area {_colour(number)}")
                yield element("polyline", "", points=" ".join(points), class_=f"line {_colour(number)}")
                for place, value in run if count <= _DOTS or len(run) == 1 else ():
                    told = element("title", text(f"{drawn.labels[place]}: {beside(value)}"))
                    spot = {"cx": _px(x_of(place)), "cy": _px(y_of(value)), "r": 3}
                    yield element("circle", told, class_=_colour(number), **spot)

    return draw(), _PLOT_PX + 40


def _runs(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    """Values without a gap, each with its place: a line must not lead over what nobody measured."""
    run: list[tuple[int, float]] = []
    for place, value in enumerate(values):
        if value is not None:
            run.append((place, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _spread(labels: Sequence[str], width: float) -> list[int]:
    """Which labels there is room for: every second, third, and so on."""
    longest = max(cells_of(_clipped(label)) for label in labels) * _CELL_PX + 16
    step = -(-len(labels) // max(1, int(width // longest)))
    return list(range(0, len(labels), step))


# Marks.


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return element("line", "", x1=_px(x1), y1=_px(y1), x2=_px(x2), y2=_px(y2), class_=kind)


def _label(x: float, y: float, words: str, anchor: str, kind: str = "label") -> str:
    return element("text", text(words), x=_px(x), y=_px(y), text_anchor=anchor, class_=kind)


def _colour(place: int) -> str:
    return f"c{place % COLOURS}"


def _px(value: float) -> str:
    return format(round(value, 1), ".10g")


def _clipped(label: str) -> str:
    line = " ".join(printable(label).split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…"
