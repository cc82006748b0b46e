"""What a person sees while a run goes on: on a terminal a live tree of delegations, elsewhere a few plain lines.

All of it is on stderr and all of it may be missed: the answer comes afterwards (`result_output`).
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Final, Protocol

from retinue.cli.nodes import RunNode, RunNodes, State
from retinue.cli.options import Form
from retinue.cli.output import console, echo_err, format_duration, safe
from retinue.contract.event import Event

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

TICK_S: Final = 0.1
"""How often the picture changes while somebody works."""

_RESERVED_ROWS: Final = 5
"""Rows of the terminal that are left to the goal and to whatever comes after."""
_WIDE: Final = 100
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


def render_tree(nodes: RunNodes, goal: str, *, width: int, height: int, in_ascii: bool = False) -> "RenderableType":
    """The tree as it is now, for a terminal of `width` columns and `height` rows."""
    from rich.table import Table
    from rich.text import Text

    rows, more = _rows(nodes, max(height - _RESERVED_ROWS, 3))
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True, justify="right", style="dim")
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for depth, node in rows:
        name = _name(depth, node, in_ascii=in_ascii)
        if node.skill and node.skill != node.agent and width >= _WIDE:
            name.append(f".{safe(node.skill)}", style="dim")
        grid.add_row(name, _time(node), _about(node))
    if more:
        grid.add_row("", "", Text(f"and {more:,} more", style="dim"))
    whole = Table.grid(expand=True)
    whole.add_column(no_wrap=True, overflow="ellipsis")
    whole.add_row(Text(safe(goal), style="bold"))
    whole.add_row(grid)
    return whole


def _rows(nodes: RunNodes, room: int) -> tuple[list[tuple[int, RunNode]], int]:
    """The nodes to draw, and how many more there are: those at work first when not all have room."""
    every = list(nodes)
    if len(every) <= room:
        return every, 0
    chosen = sorted(range(len(every)), key=lambda place: _URGENCY[every[place][1].state])[:room]
    return [every[place] for place in sorted(chosen)], len(every) - room


def _name(depth: int, node: RunNode, *, in_ascii: bool) -> "Text":
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


def _about(node: RunNode) -> "Text":
    from rich.text import Text

    if node.note and node.state != "success":
        return Text(safe(node.note), style=_MARKS[node.state][2])
    return Text(safe(node.title) + (" (kept)" if node.is_reused else ""), style="dim")


def _time(node: RunNode) -> str:
    if node.started_ns is None:
        return ""
    return format_duration(max(0, (node.ended_ns or time.time_ns()) - node.started_ns))


_QUIET_S: Final = 1.0
"""Whoever has no terminal is not told of what is over sooner."""
_WORDS: Final[dict[State, str]] = {
    "waiting": "waits", "working": "works", "asking": "asks", "success": "done", "partial": "partly done",
    "error": "failed", "canceled": "not done",
}  # fmt: skip


def is_interactive() -> bool:
    """Whether there is a person to ask: one who reads what we say and can type an answer."""
    # Where a person types and reads; None where it was closed.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class Screen(Protocol):
    """Shows one run."""

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """The run has started. From here on an event loop runs."""
        ...

    def update(self, event: Event, node: RunNode | None) -> None:
        """`event` was noted, and changed `node`."""
        ...

    def pause(self) -> contextlib.AbstractContextManager[None]:
        """Make room for a question."""
        ...

    def end(self) -> None:
        """The run has ended. Called once or more, whether it began or not."""
        ...


def screen_for(form: Form) -> Screen:
    """The screen that fits the wish and the terminal."""
    if form.machine or form.quiet:
        return NullScreen()
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return LineScreen()
    return TreeScreen(console(stderr=True))


class NullScreen:
    """Shows nothing."""

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """See `Screen`."""

    def update(self, event: Event, node: RunNode | None) -> None:
        """See `Screen`."""

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """See `Screen`."""
        yield

    def end(self) -> None:
        """See `Screen`."""


class LineScreen:
    """One line for each beginning and each end, of runs that take more than a second.

    Args:
        quiet_s: How long that second is.
    """

    def __init__(self, *, quiet_s: float = _QUIET_S) -> None:
        self._quiet_s = quiet_s
        self._nodes: RunNodes | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_printing = False
        self._began = 0.0
        self._last = ""

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """Wait a second before anything is said."""
        del goal
        self._nodes, self._began = nodes, time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(self._quiet_s, self._start_printing)

    def update(self, event: Event, node: RunNode | None) -> None:
        """Say that a node began or ended, or that it asks."""
        if self._is_printing and node is not None and event.kind in {"started", "finished", "retried", "asked"}:
            self._print_node(node)

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """Lines do not mind."""
        yield

    def end(self) -> None:
        """Say no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _start_printing(self) -> None:
        self._is_printing = True
        for _, node in self._nodes or ():
            if node.state != "waiting":
                self._print_node(node)

    def _print_node(self, node: RunNode) -> None:
        took_s = time.monotonic() - self._began
        about = safe(node.note if node.note and node.state != "success" else node.title)
        line = f"{node.agent} {_WORDS[node.state]}: {about[:160]}"
        if line != self._last:  # several events may say the same of a node
            echo_err(f"{took_s:6.1f} s  {line}")
        self._last = line


class TreeScreen:
    """All delegations, redrawn in place ten times a second.

    Args:
        console: The terminal.
    """

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._nodes: RunNodes | None = None
        self._goal = ""
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._in_ascii = not console.encoding.lower().startswith("utf")

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """Draw the plan, and keep drawing."""
        self._nodes, self._goal = nodes, goal
        self._show(nodes)
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    def update(self, event: Event, node: RunNode | None) -> None:
        """Nothing: the next tick shows it."""

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """Take the tree away, and draw it anew below the question."""
        if self._live is not None:
            self._live.transient = True
        self._hide()
        try:
            yield
        finally:
            if self._nodes is not None:
                self._show(self._nodes)

    def end(self) -> None:
        """Leave the last picture standing."""
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        if self._nodes is not None:
            self._nodes.close()
            self._hide()
            self._console.print()
            self._nodes = None

    def _show(self, nodes: RunNodes) -> None:
        from rich.live import Live

        def now() -> "RenderableType":
            size = self._console.size
            width = min(size.width, self._console.width)
            return render_tree(nodes, self._goal, width=width, height=size.height, in_ascii=self._in_ascii)

        self._live = Live(console=self._console, auto_refresh=False, get_renderable=now)
        self._live.start(refresh=True)

    def _hide(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            if self._live is not None:
                self._live.refresh()
