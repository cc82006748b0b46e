"""Charts as SVG, drawn by leather: inside of a page, or one below the other in a file of their own.

No script, and nothing that is loaded from elsewhere. In dark mode a style sheet takes the place of the colours that
stand beside each mark, so that programs that know no style sheets still show the light ones.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from math import floor, log10
from typing import Any, Final
from xml.etree import ElementTree as ET

import leather  # pyright: ignore[reportMissingTypeStubs]
from leather.scales import Ordinal  # pyright: ignore[reportMissingTypeStubs]
from rich.cells import cell_len

from retinue.contract.sanitize import printable
from retinue.contract.table import Chart
from retinue.orchestration.present.html_markup import CHART_STYLE, COLOURS, element, text
from retinue.orchestration.present.numbers import clamp, format_short, format_value_label

_WIDTH: Final = 720
_LINE_PX: Final = 320
_ROW_PX: Final = 22
_MARGIN_PX: Final = 110
_CELL_PX: Final = 8
_MAX_BARS: Final = 60
_MAX_LABEL: Final = 34
_MIN_VALUE: Final = 1e-290
"""What is smaller counts as nought: it could not be told from it in a picture."""
_DIGITS: Final = 12


def chart_svg(chart: Chart, *, name: str = "chart") -> str:
    """`chart` as an `<svg>` that stands inside a page.

    Args:
        chart: What to draw.
        name: What the ids in it begin with.
    """
    marks, margin, width, height = _render(chart)
    titled = element("title", text(caption_of(chart)), id=f"{name}-title")
    described = element("desc", text(_description(chart)), id=f"{name}-text")
    view = {"viewBox": f"{-margin} 0 {width} {height}", "role": "img", "aria_labelledby": f"{name}-title {name}-text"}
    return element("svg", titled + described + marks, **view)


def charts_file(title: str, charts: Iterable[Chart], *, subtitle: str = "") -> str:
    """An SVG file with `charts` one below the other."""
    parts = [element("text", text(_clip(title, 80)), x=24, y=34, class_="title")]
    parts.append(element("text", text(_clip(subtitle, 110)), x=24, y=54))
    descriptions, top, widest = list[str](), 72, _WIDTH
    for chart in charts:
        marks, margin, width, height = _render(chart)
        parts.append(element("text", text(_clip(caption_of(chart), 110)), x=24, y=top + 14, class_="title"))
        parts.append(element("g", marks, transform=f"translate({margin} {top + 10})"))
        descriptions.append(f"{caption_of(chart)}: {_description(chart)}")
        top, widest = top + height, max(widest, width)
    head = element("title", text(title), id="title") + element(
        "desc", text(" ".join(descriptions)[:4000]), id="description"
    )
    paper = element("rect", "", width=widest, height=top, fill="#ffffff", class_="paper")
    size = {"width": widest, "height": top, "viewBox": f"0 0 {widest} {top}", "xmlns": "http://www.w3.org/2000/svg"}
    inside = head + element("style", CHART_STYLE) + paper + "\n".join(parts)
    return element("svg", inside, role="img", aria_labelledby="title description", **size) + "\n"


def caption_of(chart: Chart) -> str:
    """What stands above a chart: its title, else the names of its series, the unit, and how many bars are drawn."""
    title = chart.title.strip() or " and ".join(one.name for one in chart.series if one.name) or "Chart"
    unit = f" ({chart.unit})" if chart.unit and chart.unit.casefold() not in title.casefold() else ""
    first = (
        f", the first {_MAX_BARS} of {len(chart.labels):,}"
        if chart.kind == "bar" and len(chart.labels) > _MAX_BARS
        else ""
    )
    return f"{title}{unit}{first}"


def _description(chart: Chart) -> str:
    """What the picture says, in words: each series with its lowest and highest value."""
    parts = [f"{chart.kind} chart, {len(chart.labels):,} labels from {chart.labels[0]} to {chart.labels[-1]}"]
    for one in chart.series:
        points = [(value, place) for place, value in enumerate(one.values) if value is not None]
        if points:
            (low, first), (high, last) = min(points), max(points)
            lowest, highest = (
                f"{format_value_label(low)} at {chart.labels[first]}",
                f"{format_value_label(high)} at {chart.labels[last]}",
            )
            parts.append(f"{one.name or 'values'}: lowest {lowest}, highest {highest}")
    return f"{'; '.join(parts)[:2000]}."


def _render(chart: Chart) -> tuple[str, int, int, int]:
    """The marks of `chart`; how far they reach to the left of nought; how wide and high they are in all."""
    if all(value is None for one in chart.series for value in one.values):
        return element("text", "no values", x=24, y=40), 0, _WIDTH, 60
    labels = [_clip(label, _MAX_LABEL) for label in chart.labels]
    with localcontext() as context:
        context.prec = _DIGITS
        tree, height = _lines(chart, labels) if chart.kind == "line" else _bars(chart, labels)
    tree.remove(tree[0])  # a background of its own
    # leather takes every character to be as wide as a Latin one, and writes no values beside bars.
    margin = max(cell_len(label) - len(label) for label in labels) * _CELL_PX
    right = (
        max(len(format_value_label(value)) for one in chart.series for value in one.values if value is not None)
        * _CELL_PX
    )
    return ET.tostring(tree, encoding="unicode"), margin, margin + _WIDTH + right, height


def _bars(chart: Chart, labels: Sequence[str]) -> tuple[Any, int]:
    """A row for each label and series."""
    count, bar_labels, unit = len(chart.series), labels[:_MAX_BARS], _unit(chart)
    rows = {
        f"{place} {number}": label if number == 0 else ""
        for place, label in enumerate(bar_labels)
        for number in range(count)
    }
    picture: Any = leather.Chart()
    picture.set_y_scale(Ordinal(list(rows)[::-1]))
    picture.add_y_axis(tick_formatter=_mapped_formatter(rows))
    picture.add_x_scale(*_axis_range(chart, unit))
    picture.add_x_axis(tick_formatter=_scaled_formatter(unit))
    values = list[str]()
    for number, one in enumerate(chart.series):
        points = [(place, value) for place, value in enumerate(one.values[:_MAX_BARS]) if value is not None]
        if points:
            data = [(_scaled(value, unit), f"{place} {number}") for place, value in points]
            picture.add_bars(data, name=_clip(one.name, _MAX_LABEL), fill_color=_colour(number))
            values += [format_value_label(value) for _, value in reversed(points)]  # as they are drawn
    height = _ROW_PX * len(rows) + _MARGIN_PX + (_ROW_PX if count > 1 else 0)
    tree = picture.to_svg_group(_WIDTH, height)
    bars = [(bars, bar) for bars in tree.iterfind(".//g[@class='series bars']") for bar in bars.findall("rect")]
    for (group, bar), value in zip(bars, values, strict=True):
        x, y = float(bar.get("x")) + float(bar.get("width")) + 6, float(bar.get("y")) + float(bar.get("height")) / 2 + 4
        ET.SubElement(group, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": "value"}).text = value
    return tree, height


def _lines(chart: Chart, labels: Sequence[str]) -> tuple[Any, int]:
    """A line for each series; it has a gap where there is no value, and a lone value is a dot."""
    unit, last = _unit(chart), max(len(labels) - 1, 1)
    places = [10 * place / last for place in range(len(labels))]
    picture: Any = leather.Chart()
    picture.add_x_scale(0, 10)
    # There is room for every second label, every third, and so on.
    fit = max(1, int(_WIDTH * 0.8 // ((max(map(len, labels)) + 2) * _CELL_PX)))
    step = -(-len(labels) // fit)
    ticks = dict(zip(places[::step], labels[::step], strict=True))
    picture.add_x_axis(ticks=list(ticks), tick_formatter=_mapped_formatter(ticks))
    picture.add_y_scale(*_axis_range(chart, unit))
    picture.add_y_axis(tick_formatter=_scaled_formatter(unit))
    for number, one in enumerate(chart.series):
        if any(value is not None for value in one.values):
            heights = [None if value is None else _scaled(value, unit) for value in one.values]
            data = list(zip(places, heights, strict=True))
            picture.add_line(data, name=_clip(one.name, _MAX_LABEL), stroke_color=_colour(number))
    tree = picture.to_svg_group(_WIDTH, _LINE_PX)
    for path in tree.iter("path"):
        # A path of one point shows nothing; with a line of no length, its round ends make a dot.
        if " L " not in path.get("d"):
            path.set("d", f"{path.get('d')} h 0")
            path.set("stroke-width", "5")
    return tree, _LINE_PX


def _mapped_formatter(words: Mapping[Any, str]) -> Callable[..., str]:
    """Words ticks as `words` says."""

    def word(tick: object, *_: object) -> str:
        return words[tick]

    return word


def _scaled_formatter(unit: float) -> Callable[..., str]:
    """Words ticks that are so many times too small."""

    def word(tick: Decimal, *_: object) -> str:
        return format_short(float(tick) * unit)

    return word


def _unit(chart: Chart) -> float:
    """A power of ten that brings the values below ten: the sums of leather have a bounded number of digits."""
    most = max(abs(clamp(value)) for one in chart.series for value in one.values if value is not None)
    return 10.0 ** floor(log10(most)) if most > _MIN_VALUE else 1.0


def _scaled(value: float, unit: float) -> float:
    # leather warns about data that lies off the scale, however little: -5e-324 below an axis from 0 to 1.
    return clamp(value) / unit if abs(value) > _MIN_VALUE else 0.0


def _axis_range(chart: Chart, unit: float) -> tuple[float, float]:
    """Where the axis begins and ends; nought is always on it."""
    values = [_scaled(value, unit) for one in chart.series for value in one.values if value is not None]
    # Nought twice, since `min` of a single number without values beside it is an error.
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    return (low, high) if high - low > _MIN_VALUE else (0.0, 1.0)


def _colour(number: int) -> str:
    return list(COLOURS)[number % len(COLOURS)]


def _clip(label: str, limit: int) -> str:
    line = " ".join(printable(label).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
