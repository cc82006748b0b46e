"""Processes to be killed: `python -m tests.chaos.worker` forks one for each line of its input.

A line says by which subject of the engine's suite a plan is run or gone on with, where, which file of effects it has,
and what is broken in it. The process writes what it begins and what it tells into that file, a line each, which nothing
can take back. It waits for a run that another one works on, to go on with it if that one dies.
"""

import asyncio
import json
import os
import random
import signal
import sys
from contextlib import suppress

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question, Task
from retinue.engine.base import Outside
from retinue.engine.store import StoreLost
from retinue.errors import InvalidInput, RetinueError
from retinue.orchestration.orchestrator import Orchestrator, workflows
from tests.chaos.broken_engines import BROKEN
from tests.engine.subjects import KINDS, Subject

RUN = "chaos"


@agent(description="Works a little.")
async def works(run: RunContext, number: int = 0) -> dict[str, int]:
    """Work."""
    await run.sleep(run.random() * 0.02)
    return {"number": number}


@agent(description="Asks somebody.")
async def asks(run: RunContext) -> dict[str, bool]:
    """Ask."""
    answer = await run.ask(Question(id="sure", text="Is it sure?", kind="approval"))
    return {"sure": answer is not None and answer.value is True}


@agent(description="Plans.", composes=True)
async def plans(run: RunContext) -> Plan | dict[str, int]:
    """Plan, and answer."""
    if run.parts is not None:
        return {"parts": len(run.parts)}
    nodes = [Delegation(id=f"p{number}", agent="works", parameters={"number": number}) for number in range(3)]
    last = Delegation(id="last", agent="works", needs=("p0", "p1"), parameters={"number": 9})
    return Plan(nodes=(*nodes, last), call_again=True)


PLAN = Plan(
    nodes=(
        *(Delegation(id=f"n{number}", agent="works", parameters={"number": number}) for number in range(4)),
        Delegation(id="all", agent="works", needs=("n0", "n1"), parameters={"number": 4}),
        Delegation(id="any", agent="works", needs=("n2", "n3"), join="any", parameters={"number": 5}),
        Delegation(id="ask", agent="asks", needs=("n0",)),
        Delegation(id="plan", agent="plans", needs=("all",)),
        Delegation(id="end", agent="works", needs=("plan", "ask"), join="quorum", parameters={"number": 6}),
    )
)


class _Noting(Boundary):
    """Writes down what begins, and what was handed on to it."""

    def __init__(self, registry: Registry, effects: int) -> None:
        super().__init__(registry)
        self._effects = effects

    async def call(self, task: Task, run: RunContext | LocalContext) -> Result:
        note(self._effects, "begins", step=task.id, needs=list(task.context.inputs))
        return await super().call(task, run)


def note(effects: int, what: str, **facts: object) -> None:
    os.write(effects, (json.dumps({"what": what, "process": os.getpid(), **facts}) + "\n").encode())


async def work(kind: str, store: str, effects: int, slowness: float = 1) -> None:
    registry = Registry([works, asks, plans])

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds * slowness)

    async def answer(question: Question) -> Answer:
        await sleep(random.random() * 0.02)
        return Answer(question_id=question.id, value=True)

    known = workflows(registry, boundary=_Noting(registry, effects), outside=Outside(pause=sleep))
    async with Subject(kind, KINDS[kind], store).open(known, answerer=answer) as engine:
        await Orchestrator(registry, engine).start(PLAN, run=RUN)
        note(effects, "acknowledges")
        while True:
            try:
                await engine.resume(RUN)
                break
            except (InvalidInput, StoreLost):  # somebody works on it, as far as anybody knows
                await asyncio.sleep(0.02)
        result = await engine.result(RUN)
        note(effects, "tells", result=json.loads(result.to_json_text()))


def child(kind: str, store: str, file: str, broken: str, slowness: float) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.alarm(200)  # whatever hangs ends by this, and its run has not ended
    effects = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    random.seed()
    with pytest.MonkeyPatch.context() as patch, suppress(RetinueError):  # it was taken over: it is for others
        if broken:
            BROKEN[broken](patch)
        asyncio.run(work(kind, store, effects, slowness))


def main() -> None:
    """For each line start a process and print its id; for an empty one wait for the oldest and print how it ended."""
    asyncio.run(work("inprocess", "", os.open(os.devnull, os.O_WRONLY)))  # what a first run makes ready is ready
    processes: list[int] = []
    for line in sys.stdin:
        if line.strip():
            process = os.fork()
            if process == 0:
                try:
                    child(*json.loads(line))
                finally:
                    os._exit(0)
            processes.append(process)
            print(process, flush=True)  # noqa: T201 - to the harness
        else:
            _, status = os.waitpid(processes.pop(0), 0)
            print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    main()
