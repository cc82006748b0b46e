"""Charts out of characters: bars of blocks for names, by rich, and one row of heights for what runs over time.

Pure text of a given width, for a code fence or a terminal; who colours it is the CLI. rich has nothing for the row of
heights, which fits any width and can be ASCII, so it is made here.
"""

from collections.abc import Iterator
from io import StringIO
from typing import Final

from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from retinue.contract.sanitize import printable
from retinue.contract.table import Chart, Series
from retinue.orchestration.present.numbers import beside, drawable

__all__ = ["chart_text"]

_BARS: Final = 50
"""Most bars that are drawn; the rest is counted."""
_LABEL: Final = 32
_LEAST: Final = 8
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS: Final = "_.-:=+*#"
_IN_ASCII: Final = str.maketrans({**dict.fromkeys("█▉▊▋▌▍▎▏▐▕", "#"), "…": "~"})


def chart_text(chart: Chart, *, width: int = 72, in_ascii: bool = False) -> str:
    """`chart`, drawn. Its title is not in it.

    Args:
        chart: What to draw.
        width: Columns there are.
        in_ascii: Draw with ASCII only, for a terminal that has nothing else; the labels stay what they are.
    """
    lines = _lines(chart, width, in_ascii=in_ascii) if chart.kind == "line" else _bars(chart, width)
    drawn = "\n".join(line.rstrip() for line in lines)
    return drawn.translate(_IN_ASCII) if in_ascii else drawn


def _bars(chart: Chart, width: int) -> Iterator[str]:
    several, kept = len(chart.series) > 1, max(1, _BARS // len(chart.series))
    values = [drawable(value) for one in chart.series for value in one.values[:kept] if value is not None]
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    size = (high - low) or 1.0
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False, expand=True)
    told = max(len(_value(value, chart.unit)) for one in chart.series for value in one.values[:kept])
    room = max(4, width - told - _LEAST - 6)
    for most in (min(_LABEL, room // 2), min(_LABEL // 2, room // 2)) if several else (min(_LABEL, room),):
        grid.add_column(no_wrap=True, max_width=most)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(ratio=1, min_width=_LEAST)
    for place, label in enumerate(chart.labels[:kept]):
        for number, one in enumerate(chart.series):
            value = one.values[place]
            start, end = min(drawable(value or 0), 0.0) - low, max(drawable(value or 0), 0.0) - low
            bar = Bar(size, start, max(end, start + size / width / 4) if value else end)  # a small value still shows
            names = _text("" if number else label), _text(one.name)
            grid.add_row(*names[: 1 + several], _text(_value(value, chart.unit)), bar)
    screen = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False, _environ={})
    with screen.capture() as capture:
        screen.print(grid)
    yield from capture.get().splitlines()
    if len(chart.labels) > kept:
        yield f"and {len(chart.labels) - kept:,} more"


def _lines(chart: Chart, width: int, *, in_ascii: bool) -> Iterator[str]:
    names = [_text(one.name) for one in chart.series]
    named = min(max(name.cell_len for name in names), _LABEL)
    step = -(-len(chart.labels) // max(_LEAST, width - named - 2))
    indent = " " * (named + 2 if named else 0)
    for name, one in zip(names, chart.series, strict=True):
        name.truncate(named, overflow="ellipsis", pad=True)
        yield f"{name}{indent[named:]}{_heights(one, step, in_ascii=in_ascii)}"
        yield f"{indent}{_extremes(one, chart)}"
    ends = " … ".join(dict.fromkeys(_short(label) for label in (chart.labels[0], chart.labels[-1])))
    yield f"{indent}{ends}{f', a mark is the mean of {step:,}' if step > 1 else ''}"


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


def _extremes(series: Series, chart: Chart) -> str:
    known = [(value, place) for place, value in enumerate(series.values) if value is not None]
    if not known:
        return "no values"
    (low, first), (high, last) = min(known), max(known, key=lambda pair: (pair[0], -pair[1]))
    if low == high:
        return f"always {_value(low, chart.unit)}"
    lowest = f"lowest {_value(low, chart.unit)} ({_short(chart.labels[first])})"
    return f"{lowest}, highest {_value(high, chart.unit)} ({_short(chart.labels[last])})"


def _value(value: float | None, unit: str | None) -> str:
    if value is None:
        return "no value"
    said = _line(unit or "")[:20]
    return f"{beside(value)}{said if said in {'', '%'} else f' {said}'}"


def _short(label: str) -> str:
    text = _text(label)
    text.truncate(_LABEL, overflow="ellipsis")
    return str(text)


def _text(foreign: str) -> Text:
    """Foreign text as rich prints it: on one line, and with no markup in it."""
    return Text(_line(foreign), overflow="ellipsis")


def _line(foreign: str) -> str:
    return " ".join(printable(foreign).split())
