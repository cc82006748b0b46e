"""A run drawn as a tree of delegations. A pure function of what is known; when it is drawn is for `screen`."""

import time
from typing import TYPE_CHECKING, Final

from retinue.cli.nodes import Node, Nodes, State
from retinue.cli.output import duration, safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["TICK_S", "picture"]

TICK_S: Final = 0.1
"""How often the picture changes while somebody works."""

_KEPT_ROWS: Final = 5
"""Rows of the terminal that are left to the goal and to whatever comes after."""
_ROOMY: Final = 100
"""Columns from which on skills are named too."""

_MARKS: Final[dict[State, tuple[str, str, str]]] = {
    "waiting": ("·", ".", "dim"),
    "working": ("", "", "cyan"),
    "asking": ("?", "?", "yellow"),
    "success": ("✓", "+", "green"),
    "partial": ("◐", "~", "yellow"),
    "error": ("✗", "x", "red"),
    "canceled": ("-", "-", "dim"),
}
"""Each state's mark, the same in ASCII, and its colour."""
_SPINNER: Final = ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
_URGENCY: Final[dict[State, int]] = {
    "asking": 0, "working": 1, "error": 2, "partial": 3, "success": 4, "canceled": 5, "waiting": 6,
}  # fmt: skip


def picture(nodes: Nodes, goal: str, *, width: int, height: int, in_ascii: bool = False) -> "RenderableType":
    """The tree as it is now, for a terminal of `width` columns and `height` rows."""
    from rich.table import Table
    from rich.text import Text

    rows, more = _rows(nodes, max(height - _KEPT_ROWS, 3))
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right", style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for depth, node in rows:
        name = _name(depth, node, in_ascii=in_ascii)
        if node.skill and node.skill != node.agent and width >= _ROOMY:
            name.append(f".{safe(node.skill)}", style="dim")
        grid.add_row(name, _time(node), _about(node))
    if more:
        grid.add_row("", "", Text(f"and {more:,} more", style="dim"))
    whole = Table.grid(expand=True)
    whole.add_column(no_wrap=True, overflow="ellipsis")
    whole.add_row(Text(safe(goal), style="bold"))
    whole.add_row(grid)
    return whole


def _rows(nodes: Nodes, room: int) -> tuple[list[tuple[int, Node]], int]:
    """The nodes to draw, and how many more there are: those at work first when not all have room."""
    every = list(nodes)
    if len(every) <= room:
        return every, 0
    chosen = sorted(range(len(every)), key=lambda place: _URGENCY[every[place][1].state])[:room]
    return [every[place] for place in sorted(chosen)], len(every) - room


def _name(depth: int, node: Node, *, in_ascii: bool) -> "Text":
    from rich.text import Text

    *marks, style = _MARKS[node.state]
    mark = marks[in_ascii]
    if node.state == "working":
        frames = _SPINNER[in_ascii]
        mark = frames[int(time.monotonic() / TICK_S) % len(frames)]
    text = Text(f" {'  ' * depth}")
    text.append(f"{mark} ", style=style)
    text.append(safe(node.agent))
    return text


def _about(node: Node) -> "Text":
    from rich.text import Text

    if node.note and node.state != "success":
        return Text(safe(node.note), style=_MARKS[node.state][2])
    return Text(safe(node.title) + (" (kept)" if node.kept else ""), style="dim")


def _time(node: Node) -> str:
    if node.started_ns is None:
        return ""
    return duration(max(0, (node.ended_ns or time.time_ns()) - node.started_ns))
