"""What a person sees while a run goes on: on a terminal a live tree of delegations, elsewhere a few plain lines.

All of it is on stderr and all of it may be missed: the answer comes afterwards (`answer`).
"""

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Generator
from typing import IO, TYPE_CHECKING, Final, Protocol

from retinue.cli.nodes import Node, Nodes, State
from retinue.cli.options import Form
from retinue.cli.output import console, safe, tell
from retinue.cli.picture import TICK_S, picture
from retinue.contract.event import Event

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

__all__ = ["Lines", "Screen", "Silence", "Tree", "screen_for", "somebody_is_there"]

_PATIENCE_S: Final = 1.0
"""Whoever has no terminal is not told of what is over sooner."""
_WORDS: Final[dict[State, str]] = {
    "waiting": "waits", "working": "works", "asking": "asks", "success": "done", "partial": "partly done",
    "error": "failed", "canceled": "not done",
}  # fmt: skip


def somebody_is_there() -> bool:
    """Whether there is a person to ask: one who reads what we say and can type an answer."""
    return all(stream is not None and stream.isatty() for stream in _both_ways())


def _both_ways() -> tuple[IO[str] | None, IO[str] | None]:
    """Where a person types and reads; None where it was closed."""
    return sys.stdin, sys.stderr


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
    """One line for each beginning and each end, of runs that take more than a second.

    Args:
        patience_s: How long that second is.
    """

    def __init__(self, *, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._nodes: Nodes | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._speaks = False
        self._began = 0.0
        self._last = ""

    def begin(self, nodes: Nodes, goal: str) -> None:
        """Wait a second before anything is said."""
        del goal
        self._nodes, self._began = nodes, time.monotonic()
        self._patience = asyncio.get_running_loop().call_later(self._patience_s, self._speak)

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
        line = f"{node.agent} {_WORDS[node.state]}: {about[:160]}"
        if line != self._last:  # several events may say the same of a node
            tell(f"{took_s:6.1f} s  {line}")
        self._last = line


class Tree:
    """All delegations, redrawn in place ten times a second.

    Args:
        console: The terminal.
    """

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._nodes: Nodes | None = None
        self._goal = ""
        self._live: Live | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._in_ascii = not console.encoding.lower().startswith("utf")

    def begin(self, nodes: Nodes, goal: str) -> None:
        """Draw the plan, and keep drawing."""
        self._nodes, self._goal = nodes, goal
        self._show(nodes)
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

    def _show(self, nodes: Nodes) -> None:
        from rich.live import Live

        def now() -> "RenderableType":
            size = self._console.size
            width = min(size.width, self._console.width)
            return picture(nodes, self._goal, width=width, height=size.height, in_ascii=self._in_ascii)

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
