"""What a person sees while a run goes on: on a terminal a live tree of delegations, elsewhere a few plain lines.

All of it is on stderr and all of it may be missed: the answer comes afterwards (`result_output`).
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Generator
from typing import Final

from retinue.cli.output import echo_err, safe
from retinue.contract.event import Body, Event, Message
from retinue.orchestration.run_nodes import NodeState, RunNode, RunNodes

_QUIET_S: Final = 1.0
"""Without a terminal, what ends sooner is not shown."""
NODE_WORDS: Final[dict[NodeState, str]] = {
    "waiting": "waits", "working": "works", "asking": "asks", "success": "done", "partial": "partly done",
    "error": "failed", "canceled": "not done",
}  # fmt: skip


def is_interactive() -> bool:
    """Whether there is a person to ask: one who reads what we say and can type an answer."""
    # Where a person types and reads; None where it was closed.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def tell_message(body: Body) -> None:
    """Say a message where there is no run to show it in."""
    if isinstance(body, Message):
        echo_err(safe(body.text))


class Screen:
    """Shows one run; by itself nothing of it."""

    def begin(self, nodes: RunNodes, goal: str) -> None:
        """The run has started. From here on an event loop runs."""

    def update(self, event: Event, node: RunNode | None) -> None:
        """`event` was noted, and changed `node`."""

    @contextlib.contextmanager
    def pause(self) -> Generator[None]:
        """Make room for a question."""
        yield

    def end(self, *, is_over: bool = True) -> None:
        """Nothing more is shown: the run is over, or goes on unseen. Called once or more, whether it began or not."""


class LineScreen(Screen):
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
        """Say that a node began or ended, or that it asks or has a message."""
        kinds = {"started", "finished", "retried", "asked", "message"}
        if self._is_printing and node is not None and event.kind in kinds:
            self._print_node(node)

    def end(self, *, is_over: bool = True) -> None:
        """Say no more."""
        del is_over
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
        line = f"{node.agent} {NODE_WORDS[node.state]}: {about[:160]}"
        if line != self._last:  # several events may say the same of a node
            echo_err(f"{took_s:6.1f} s  {line}")
        self._last = line
