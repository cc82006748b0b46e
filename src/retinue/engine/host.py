"""What a live run needs of the engine that runs it. `runs` is the one there is; a test may be another."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from retinue.contract.model import JsonMapping
from retinue.contract.question import Answer, Question

if TYPE_CHECKING:
    from retinue.engine.journal import Journal
    from retinue.engine.run import LiveRun

__all__ = ["Answerer", "Host"]

Answerer: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Asks a person; None when nobody is there."""


class Host(Protocol):
    """What a run needs of its engine."""

    thread: int
    clock: Callable[[], int]
    chance: Callable[[], float]
    pause: Callable[[float], Awaitable[None]]
    journal: "Journal | None"
    answerer: Answerer | None
    waits_for_answers: bool

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop everything happens in."""
        ...

    def launch_child(self, parent: "LiveRun", name: str, workflow: str, payload: JsonMapping) -> "LiveRun":
        """Start a child run.

        Raises:
            UnknownName: There is no such workflow.
        """
        ...

    def stop_run(self, run: "LiveRun", reason: str) -> None:
        """Ask a run to stop."""
        ...
