"""Retinue: Python agents called through the boundary, in- and output validated, every event recorded.

With `--journal` the events also go to a journal in a throw-away file, or in the PostgreSQL database whose URL follows;
without it nothing is kept, as with the peers.
"""

import argparse
import contextlib
import tempfile
from typing import Any

from driver import Once, serve
from pydantic import BaseModel

from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Delegation, Plan
from retinue.contract.task import Task
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN, RunRequest


class Square(BaseModel):
    value: int


class Sum(BaseModel):
    total: int


@agent(description="Squares a number, at once.")
async def square(number: int) -> Square:
    """Square a number."""
    return Square(value=number * number)


@agent(description="Adds up what the branches found.")
async def join(task: Task) -> Sum:
    """Add up."""
    return Sum(total=sum(given["data"]["value"] for given in task.context.inputs.values()))


def plan_of(branches: int) -> Plan:
    """One node a branch, and a join that is handed the whole of each."""
    nodes = [
        Delegation(id=f"b{number}", agent="square", skill="square", parameters={"number": number})
        for number in range(branches)
    ]
    needs = tuple(node.id for node in nodes)
    last = Delegation(id="join", agent="join", skill="join", needs=needs, context=dict.fromkeys(needs, "full"))
    return Plan(nodes=(*nodes, last))


class Subject:
    """The engine is made at the first run, inside the loop, and kept, as a program would."""

    def __init__(self, place: str | None) -> None:
        self._stack = contextlib.AsyncExitStack()
        self._place = place
        self._engine: InProcessEngine | None = None

    async def engine(self) -> InProcessEngine:
        """The one engine."""
        if self._engine is None:
            journal = None if self._place is None else self._stack.enter_context(Journal(self._place))
            known = workflows(Registry([square, join]))
            self._engine = await self._stack.enter_async_context(InProcessEngine(known, journal=journal))
        return self._engine

    def prepare(self, branches: int) -> Once:
        """A run of the fan-out."""
        payload = RunRequest(plan=plan_of(branches), answer="collected").to_json()

        async def once() -> int:
            engine = await self.engine()
            result: Any = await engine.result(await engine.start(RUN_PLAN, payload))
            return int(result.data["results"]["join"]["total"])

        return once


def main() -> None:
    """Serve, with a throw-away journal if one is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        parser = argparse.ArgumentParser()
        parser.add_argument("--journal", nargs="?", const=f"{folder}/journal.db")
        serve(Subject(parser.parse_args().journal).prepare)


if __name__ == "__main__":
    main()
