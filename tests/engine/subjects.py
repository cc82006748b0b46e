"""The engines that the shared suite runs over, each with how it is opened and what it promises.

A further engine joins by one entry in `KINDS`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypedDict, Unpack

import pytest

from retinue.contract.task import Answer, Question
from retinue.engine.base import Capabilities, Engine, Workflow
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal


class Options(TypedDict, total=False):
    """What every engine takes."""

    answerer: Callable[[Question], Awaitable[Answer | None]]
    waits_for_answers: bool
    clock: Callable[[], int]
    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Subject:
    """One engine under test, with a place of its own: a folder, or the URL of a database."""

    name: str
    capabilities: Capabilities
    place: str

    def open(
        self, workflows: Mapping[str, Workflow], **options: Unpack[Options]
    ) -> AbstractAsyncContextManager[Engine]:
        """A new engine object over the same place; entering it twice is like two processes, one after the other."""
        return _OPENERS[self.name](self.place, workflows, options)


@asynccontextmanager
async def _bare(place: str, workflows: Mapping[str, Workflow], options: Options):
    async with InProcessEngine(workflows, **options) as engine:
        yield engine


@asynccontextmanager
async def _recorded(place: str, workflows: Mapping[str, Workflow], options: Options):
    with Journal(place) as journal:
        async with InProcessEngine(workflows, journal=journal, **options) as engine:
            yield engine


_OPENERS: dict[str, Callable[[str, Mapping[str, Workflow], Options], AbstractAsyncContextManager[Engine]]] = {
    "inprocess": _bare,
    "sqlite": lambda place, workflows, options: _recorded(f"{place}/runs.sqlite3", workflows, options),
    "postgres": _recorded,
}
_DURABLE = Capabilities(durable=True)
KINDS: dict[str, Capabilities] = {"inprocess": Capabilities(), "sqlite": _DURABLE, "postgres": _DURABLE}


def over(*needed: str) -> pytest.MarkDecorator:
    """Run a test over every engine that has the capabilities `needed`."""
    names = [
        pytest.param(name, marks=[pytest.mark.slow] if name == "postgres" else [])  # it starts a server
        for name, has in KINDS.items()
        if all(getattr(has, each) for each in needed)
    ]
    return pytest.mark.parametrize("subject", names, indirect=True)


async def flushed(engine: Engine) -> None:
    """Wait until what a killed process must not lose is on the disk."""
    journal = getattr(engine, "journal", None)
    if isinstance(journal, Journal):
        await asyncio.to_thread(journal.flush)
