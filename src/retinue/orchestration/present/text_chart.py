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
from retinue.contract.table import Chart
from retinue.orchestration.present.numbers import clamp, format_value_label

_MAX_BARS: Final = 50
"""Most bars that are drawn; the rest is counted."""
_MAX_LABEL: Final = 32
_MIN_BAR: Final = 8
_HEIGHTS: Final = "▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS: Final = "_.-:=+*#"
_IN_ASCII: Final = str.maketrans({**dict.fromkeys("█▉▊▋▌▍▎▏▐▕", "#"), "…": "~"})


def chart_text(chart: Chart, *, width: int = 72, is_ascii: bool = False) -> str:
    """`chart`, drawn. Its title is not in it.

    Args:
        chart: What to draw.
        width: Columns there are.
        is_ascii: Draw with ASCII only, for a terminal that has nothing else; the labels stay what they are.
    """
    lines = _lines(chart, width, is_ascii=is_ascii) if chart.kind == "line" else _bars(chart, width)
    text = "\n".join(line.rstrip() for line in lines)
    return text.translate(_IN_ASCII) if is_ascii else text


def _bars(chart: Chart, width: int) -> Iterator[str]:
    several, bar_count = len(chart.series) > 1, max(1, _MAX_BARS // len(chart.series))
    values = [clamp(value) for one in chart.series for value in one.values[:bar_count] if value is not None]
    # As in `html_chart`: with no values at all, `min` wants two numbers.
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    size = (high - low) or 1.0
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False, expand=True)
    value_width = max(len(_value_text(value, chart.unit)) for one in chart.series for value in one.values[:bar_count])
    room = max(4, width - value_width - _MIN_BAR - 6)
    for label_width in (
        (min(_MAX_LABEL, room // 2), min(_MAX_LABEL // 2, room // 2)) if several else (min(_MAX_LABEL, room),)
    ):
        grid.add_column(no_wrap=True, max_width=label_width)
    grid.add_column(no_wrap=True, justify="right")
    grid.add_column(ratio=1, min_width=_MIN_BAR)
    for place, label in enumerate(chart.labels[:bar_count]):
        for number, one in enumerate(chart.series):
            value = one.values[place]
            start, end = min(clamp(value or 0), 0.0) - low, max(clamp(value or 0), 0.0) - low
            bar = Bar(size, start, max(end, start + size / width / 4) if value else end)  # a small value still shows
            names = _text("" if number else label), _text(one.name)
            grid.add_row(*names[: 1 + several], _text(_value_text(value, chart.unit)), bar)
    # Without the environment, whose COLUMNS and FORCE_COLOR rich would put above what is given here.
    screen = Console(file=StringIO(), width=width, color_system=None, legacy_windows=False, _environ={})
    with screen.capture() as capture:
        screen.print(grid)
    yield from capture.get().splitlines()
    if len(chart.labels) > bar_count:
        yield f"and {len(chart.labels) - bar_count:,} more"


def _lines(chart: Chart, width: int, *, is_ascii: bool) -> Iterator[str]:
    names = [_text(one.name) for one in chart.series]
    name_width = min(max(name.cell_len for name in names), _MAX_LABEL)
    step = -(-len(chart.labels) // max(_MIN_BAR, width - name_width - 2))
    indent = " " * (name_width + 2 if name_width else 0)
    marks = _ASCII_HEIGHTS if is_ascii else _HEIGHTS
    for name, one in zip(names, chart.series, strict=True):
        name.truncate(name_width, overflow="ellipsis", pad=True)
        # A mark for each `step` values: as high as their mean lies between nought (or the lowest) and the highest.
        groups = [one.values[start : start + step] for start in range(0, len(one.values), step)]
        numbers = [[clamp(value) for value in group if value is not None] for group in groups]
        means = [sum(value / len(group) for value in group) if group else None for group in numbers]
        present = [mean for mean in means if mean is not None]
        low = min(0, *present, 0)
        span = (max(present, default=0) - low) or 1
        heights = "".join(" " if mean is None else marks[min(7, int((mean - low) / span * 8))] for mean in means)
        yield f"{name}{indent[name_width:]}{heights}"
        points = [(value, place) for place, value in enumerate(one.values) if value is not None]
        extremes = "no values"
        if points:
            (least, first), (most, last) = min(points), max(points, key=lambda pair: (pair[0], -pair[1]))
            lowest = f"lowest {_value_text(least, chart.unit)} ({_short(chart.labels[first])})"
            extremes = f"{lowest}, highest {_value_text(most, chart.unit)} ({_short(chart.labels[last])})"
            extremes = f"always {_value_text(least, chart.unit)}" if least == most else extremes
        yield f"{indent}{extremes}"
    ends = " … ".join(dict.fromkeys(_short(label) for label in (chart.labels[0], chart.labels[-1])))
    yield f"{indent}{ends}{f', a mark is the mean of {step:,}' if step > 1 else ''}"


def _value_text(value: float | None, unit: str | None) -> str:
    if value is None:
        return "no value"
    unit_text = _line(unit or "")[:20]
    return f"{format_value_label(value)}{unit_text if unit_text in {'', '%'} else f' {unit_text}'}"


def _short(label: str) -> str:
    text = _text(label)
    text.truncate(_MAX_LABEL, overflow="ellipsis")
    return str(text)


def _text(external: str) -> Text:
    """Foreign text as rich prints it: on one line, and with no markup in it."""
    return Text(_line(external), overflow="ellipsis")


def _line(external: str) -> str:
    return " ".join(printable(external).split())
