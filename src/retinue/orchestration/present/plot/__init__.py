"""Plots that stand alone: panels of bars and columns with labelled axes, as one SVG file or one PNG."""

from retinue.orchestration.present.plot.panel import Bar, Panel, Plot
from retinue.orchestration.present.plot.png import as_png
from retinue.orchestration.present.plot.svg import as_svg

__all__ = ["Bar", "Panel", "Plot", "as_png", "as_svg"]
