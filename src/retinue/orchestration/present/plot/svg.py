"""A plot as an SVG file of its own: readable in light and in dark, and described for who cannot see it."""

from typing import Final, assert_never

from retinue.orchestration.present.html.markup import element, text
from retinue.orchestration.present.numbers import short
from retinue.orchestration.present.plot.layout import WIDTH, Box, Line, Mark, Words, laid_out
from retinue.orchestration.present.plot.panel import Panel, Plot

__all__ = ["as_svg"]

_COLOURS: Final = 6
_STYLE: Final = """
  .paper { fill: #ffffff; }
  text { font: 12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; fill: #3c454e; }
  .title { font-size: 18px; font-weight: 600; fill: #1c2127; } .value { fill: #1c2127; } .soft { fill: #5b6570; }
  .grid { stroke: #dfe3e8; } .axis { stroke: #5b6570; }
  .over { stroke: #1c2127; stroke-width: 1.5; } .target { stroke: #b3261e; stroke-width: 2; }
  .c0 { fill: #2f6fb3; } .c1 { fill: #d9822b; } .c2 { fill: #3d9a6b; }
  .c3 { fill: #a4508b; } .c4 { fill: #7a6fce; } .c5 { fill: #8a7340; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #15191e; }
    text { fill: #c5ccd4; } .title, .value { fill: #e4e7eb; } .soft { fill: #9aa5b1; }
    .grid { stroke: #343b44; } .axis { stroke: #9aa5b1; } .over { stroke: #e4e7eb; } .target { stroke: #f28b82; }
    .c0 { fill: #6ea8e0; } .c1 { fill: #eba45e; } .c2 { fill: #6cc598; }
    .c3 { fill: #d28bbd; } .c4 { fill: #a9a0ee; } .c5 { fill: #c4ab74; }
  }
"""


def as_svg(plot: Plot) -> str:
    """`plot` as the text of an SVG file."""
    marks, height = laid_out(plot)
    inside = [
        element("title", text(plot.title), id="title"),
        element("desc", text(_described(plot)), id="description"),
        element("style", _STYLE),
        element("rect", "", width=WIDTH, height=_px(height), class_="paper"),
        *map(_drawn, marks),
    ]
    size = {"width": WIDTH, "height": _px(height), "viewBox": f"0 0 {WIDTH} {_px(height)}"}
    known = {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "aria_labelledby": "title description"}
    return element("svg", "\n".join(inside), **known, **size) + "\n"


def _described(plot: Plot) -> str:
    return " ".join(_told(panel) for panel in plot.panels)[:4000]


def _told(panel: Panel) -> str:
    values = ", ".join(f"{bar.label} {short(bar.value)}" for bar in panel.bars if bar.value is not None)
    return f"{panel.title}, {panel.axis}: {values or 'nothing measured'}."


def _drawn(mark: Mark) -> str:
    match mark:
        case Box():
            inside = element("title", text(mark.told)) if mark.told else ""
            size = {"width": _px(mark.width), "height": _px(mark.height)}
            colour = f"c{mark.colour % _COLOURS}"
            return element("rect", inside, x=_px(mark.x), y=_px(mark.y), rx=2, class_=colour, **size)
        case Line():
            ends = {"x1": _px(mark.x1), "y1": _px(mark.y1), "x2": _px(mark.x2), "y2": _px(mark.y2)}
            return element("line", "", class_=mark.kind, **ends)
        case Words():
            place = {"x": _px(mark.x), "y": _px(mark.y), "text_anchor": mark.anchor}
            return element("text", text(mark.text), class_=mark.tone, **place)
        case _:
            assert_never(mark)


def _px(value: float) -> str:
    return format(round(value, 1), ".10g")
