"""What orchestration costs: branches with a join, and many small orchestrations at once.

Real boundary calls on the in-process engine, no journal: every input and output is validated, every event recorded.
"""

import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from bench.table import Row, peak_mb
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.run_request import RUN_PLAN, RunRequest

if TYPE_CHECKING:
    from retinue.contract.task import ContextLevel

__all__ = ["crowd", "join", "measure", "square", "three_way"]

_CONCURRENT = 1_000


class _Square(BaseModel):
    value: int


class _Sum(BaseModel):
    total: int


@agent(description="Squares a number, at once.")
async def square(number: int) -> _Square:
    """Square a number."""
    return _Square(value=number * number)


@agent(description="Says that all is there.")
async def join(number: int) -> _Sum:
    """Give the number back."""
    return _Sum(total=number)


def _plan(branches: int) -> Plan:
    nodes = [
        Delegation(id=f"b{number}", agent="square", skill="square", parameters={"number": number})
        for number in range(branches)
    ]
    needs = tuple(node.id for node in nodes)
    context: dict[str, ContextLevel] = dict.fromkeys(needs, "none")
    last = Delegation(id="join", agent="join", skill="join", parameters={"number": 1}, needs=needs, context=context)
    return Plan(nodes=(*nodes, last))


def three_way() -> JsonMapping:
    """What `run_plan` is started with for three branches and their join."""
    return RunRequest(plan=_plan(3), answer="collected").to_json()


async def _branches(branches: int, times: int) -> float:
    """Milliseconds for one fan-out and join, the median."""
    registry = Registry([square, join])
    async with InProcessEngine(workflows(registry)) as engine:
        orchestrator = Orchestrator(registry, engine)
        plan = _plan(branches)
        taken: list[float] = []
        for _ in range(times + 1):
            begun = time.perf_counter_ns()
            run = await orchestrator.start(plan, answer="collected")
            result = await engine.result(run)
            taken.append((time.perf_counter_ns() - begun) / 1e6)
            if result.outcome != "success":
                raise RuntimeError(result.to_json_text())
        return sorted(taken[1:])[times // 2]


async def crowd() -> tuple[float, float]:
    """Three-way orchestrations a second, a thousand of them begun at once, and the peak of memory in MB."""
    registry = Registry([square, join])
    async with InProcessEngine(workflows(registry)) as engine:
        payload = three_way()

        async def one() -> None:
            await engine.result(await engine.start(RUN_PLAN, payload))

        await one()
        gc.collect()
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(_CONCURRENT):
                group.create_task(one())
        taken = time.perf_counter() - begun
    return _CONCURRENT / taken, peak_mb()


def _run(work: Callable[[], Coroutine[object, object, float]]) -> float:
    return asyncio.run(work())


def _apart() -> tuple[float, float]:
    """The crowd in a process of its own, so that nobody else's memory is counted."""
    code = "import asyncio, bench.orchestration as b; print(*asyncio.run(b.crowd()))"
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    rate, peak = map(float, done.stdout.split())
    return rate, peak


def measure() -> list[Row]:
    rows = [
        Row(f"{branches:,} branches and a join", _run(lambda n=branches, t=times: _branches(n, t)), "ms", goal=goal)
        for branches, times, goal in ((3, 200, 0.5), (50, 40, 5.0), (1_000, 7, 100.0))
    ]
    crowds = sorted(_apart() for _ in range(3))
    rate, peak = crowds[1]
    rows.append(Row("1,000 three-way orchestrations at once", rate, "a second", goal=2_000, at_least=True))
    rows.append(Row("… and their peak of memory", peak, "MB", goal=80.0))
    return rows
