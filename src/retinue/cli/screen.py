"""What a person sees while a run goes on: on a terminal a live tree of delegations, elsewhere a few plain lines.

All of it is on stderr and all of it may be missed: the answer comes afterwards (`answer`).
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Final, Protocol

from retinue.cli.nodes import Node, Nodes, State
from retinue.cli.options import Form
from retinue.cli.output import console, duration, safe, tell
from retinue.contract.event import Event

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

__all__ = ["Lines", "Screen", "Silence", "Tree", "screen_for", "somebody_is_there"]

_TICK_S: Final = 0.1
_PATIENCE_S: Final = 1.0
"""Whoever has no terminal is not told of what is over sooner."""
_ROWS: Final = 5
"""Rows of the terminal that are left to the goal and to whatever comes after."""

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
_WORDS: Final[dict[State, str]] = {
    "waiting": "waits", "working": "works", "asking": "asks", "success": "done", "partial": "partly done",
    "error": "failed", "canceled": "not done",
}  # fmt: skip


def somebody_is_there() -> bool:
    """Whether there is a person to ask: one who reads what we say and can type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class Screen(Protocol):
    """Shows one run."""

    def begin(self, nodes: Nodes, goal: str) -> None:
        """The run has started. From here on an event loop runs."""
        ...

    def changed(self, event: Event, node: Node | None) -> None:
        """`event` was noted, and changed `node`."""
        ...

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """Make room for a question."""
        ...

    def end(self) -> None:
        """The run has ended. Called once or more, whether it began or not."""
        ...


def screen_for(form: Form) -> Screen:
    """The screen that fits the wish and the terminal."""
    if form.machine or form.quiet:
        return Silence()
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return Lines()
    return Tree(console(stderr=True))


class Silence:
    """Shows nothing."""

    def begin(self, nodes: Nodes, goal: str) -> None:
        """See `Screen`."""

    def changed(self, event: Event, node: Node | None) -> None:
        """See `Screen`."""

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """See `Screen`."""
        yield

    def end(self) -> None:
        """See `Screen`."""


class Lines:
    """One line for each beginning and each end, of runs that take more than a second."""

    def __init__(self) -> None:
        self._nodes: Nodes | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._speaks = False
        self._began = 0.0

    def begin(self, nodes: Nodes, goal: str) -> None:
        """Wait a second before anything is said."""
        del goal
        self._nodes, self._began = nodes, time.monotonic()
        self._patience = asyncio.get_running_loop().call_later(_PATIENCE_S, self._speak)

    def changed(self, event: Event, node: Node | None) -> None:
        """Say that a node began or ended, or that it asks."""
        if self._speaks and node is not None and event.kind in {"started", "finished", "retried", "asked"}:
            self._say(node)

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Lines do not mind."""
        yield

    def end(self) -> None:
        """Say no more."""
        if self._patience is not None:
            self._patience.cancel()

    def _speak(self) -> None:
        self._speaks = True
        for _, node in self._nodes or ():
            if node.state != "waiting":
                self._say(node)

    def _say(self, node: Node) -> None:
        took_s = time.monotonic() - self._began
        about = safe(node.note if node.note and node.state != "success" else node.title)
        tell(f"{took_s:6.1f} s  {node.agent} {_WORDS[node.state]}: {about[:160]}")


class Tree:
    """All delegations, redrawn in place ten times a second."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._nodes: Nodes | None = None
        self._goal = ""
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._began_ns = 0
        self._ascii = not console.encoding.lower().startswith("utf")

    def begin(self, nodes: Nodes, goal: str) -> None:
        """Draw the plan, and keep drawing."""
        self._nodes, self._goal, self._began_ns = nodes, safe(goal), time.time_ns()
        self._show()
        self._ticking = asyncio.get_running_loop().create_task(self._tick())

    def changed(self, event: Event, node: Node | None) -> None:
        """Nothing: the next tick shows it."""

    @contextlib.contextmanager
    def aside(self) -> Generator[None]:
        """Take the tree away, and draw it anew below the question."""
        if self._live is not None:
            self._live.transient = True
        self._hide()
        try:
            yield
        finally:
            self._show()

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

    def picture(self) -> "RenderableType":
        """The tree as it is now."""
        from rich.table import Table
        from rich.text import Text

        if self._nodes is None:
            return Text()
        rows, more = self._rows(self._nodes)
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, justify="right", style="dim")
        grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        for depth, node in rows:
            grid.add_row(self._name(depth, node), _time(node), self._about(node))
        if more:
            grid.add_row("", "", Text(f"and {more:,} more", style="dim"))
        whole = Table.grid(expand=True)
        whole.add_column(no_wrap=True, overflow="ellipsis")
        whole.add_row(Text(self._goal, style="bold"))
        whole.add_row(grid)
        return whole

    def _rows(self, nodes: Nodes) -> tuple[list[tuple[int, Node]], int]:
        """The nodes to draw, and how many more there are: those at work first when not all have room."""
        every = list(nodes)
        room = max(self._console.height - _ROWS, 3)
        if len(every) <= room:
            return every, 0
        rank = {"asking": 0, "working": 1, "error": 2, "partial": 3, "success": 4, "canceled": 5, "waiting": 6}
        chosen = sorted(range(len(every)), key=lambda place: rank[every[place][1].state])[:room]
        return [every[place] for place in sorted(chosen)], len(every) - room

    def _name(self, depth: int, node: Node) -> "RenderableType":
        from rich.text import Text

        mark, plain, style = _MARKS[node.state]
        if node.state == "working":
            frames = _SPINNER[self._ascii]
            mark = plain = frames[int(time.monotonic() / _TICK_S) % len(frames)]
        text = Text(f" {'  ' * depth}")
        text.append(f"{plain if self._ascii else mark} ", style=style)
        text.append(safe(node.agent))
        if node.skill and node.skill != node.agent and self._console.width >= 100:
            text.append(f".{safe(node.skill)}", style="dim")
        return text

    def _about(self, node: Node) -> "RenderableType":
        from rich.text import Text

        if node.note and node.state != "success":
            return Text(safe(node.note), style=_MARKS[node.state][2])
        return Text(safe(node.title) + (" (kept)" if node.kept else ""), style="dim")

    def _show(self) -> None:
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False, get_renderable=self.picture)
        self._live.start(refresh=True)

    def _hide(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            if self._live is not None:
                self._live.refresh()


def _time(node: Node) -> str:
    if node.started_ns is None:
        return ""
    return duration(max(0, (node.ended_ns or time.time_ns()) - node.started_ns))
