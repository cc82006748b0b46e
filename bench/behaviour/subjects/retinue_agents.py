"""Retinue: Python agents, called through the boundary, walked by a plan with a `quorum` join."""

import asyncio
import time
from collections.abc import Sequence

from probing import BLOCK_S, HANG_S, LIMIT_S, Down, Facts, answer
from pydantic import BaseModel

import retinue
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import ContextLevel, Limits, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows


class Found(BaseModel):
    value: int


class Total(BaseModel):
    values: list[int]


@retinue.agent
async def good() -> Found:
    """Gives three."""
    return Found(value=3)


@retinue.agent
async def down() -> Found:
    """Is down."""
    raise Down("this branch is down")


@retinue.agent
async def hang() -> Found:
    """Never comes back."""
    await asyncio.sleep(HANG_S)
    return Found(value=1)


@retinue.agent
async def block() -> Found:
    """Keeps the event loop to itself."""
    time.sleep(BLOCK_S)
    return Found(value=1)


@retinue.agent
async def join(task: Task) -> Total:
    """Adds up what came."""
    return Total(values=[given["data"]["value"] for given in task.context.inputs.values()])


@retinue.agent
async def broken_join(task: Task) -> Total:
    """Fails."""
    raise Down("the join failed")


async def walked(branches: Sequence[Agent], last: Agent = join) -> Result:
    agents = {agent.definition.name: agent for agent in (*branches, last)}
    nodes = [
        Delegation(id=f"b{number}", agent=agent.definition.name, limits=Limits(timeout_s=LIMIT_S))
        for number, agent in enumerate(branches)
    ]
    needs = tuple(node.id for node in nodes)
    handed: dict[str, ContextLevel] = dict.fromkeys(needs, "full")
    end = Delegation(id="join", agent=last.definition.name, needs=needs, join="quorum", quorum=0.3, context=handed)
    registry = Registry(agents.values())
    async with InProcessEngine(workflows(registry)) as engine:
        return await Orchestrator(registry, engine).run_plan(Plan(goal="probe", nodes=(*nodes, end)))


async def run(*branches: Agent, join: Agent = join) -> Facts:
    result = await walked(branches, join)
    sections = {section["node"]: section["text"] for section in result.data["answer"]}
    failures = [f"{one['node']}: {one['code']}: {one['message']}" for one in result.data["failures"]]
    told = [f"{warning.type}: {warning.message}" for warning in result.warnings]
    facts: Facts = {"kept": any("3" in text for text in sections.values()), "answer": str(sections)}
    return {**facts, "missing_said": bool(failures), "told": "; ".join(failures or told)}


async def called(parameters: dict[str, object]) -> Facts:
    seen: list[object] = []

    @retinue.agent
    async def double(number: int) -> Found:
        """Double a number."""
        seen.append(number)
        return Found(value=number * 2)

    result = await retinue.call(double, **parameters)
    if seen:
        return {"got": repr(seen[0])}
    return {"error": f"{result.fault.code}: {result.fault.hint}" if result.fault else "nothing"}


async def answering(answers: list[object]) -> Facts:
    calls = 0

    @retinue.agent
    async def branch() -> Found:
        """Answers as it is told."""
        nonlocal calls
        calls += 1
        return Found.model_construct(value=answers[min(calls, len(answers)) - 1])

    result = await retinue.call(branch)
    facts: Facts = {"calls": calls, "kept": result.useful, "answer": str(result.data)}
    faults = [attempt.fault.message for attempt in result.attempts if attempt.fault]
    if result.fault is not None:
        facts |= {"error": f"{result.outcome}: {result.fault.message}", "faults": len(faults)}
        facts |= {"last_kept": result.data is not None}
    return facts


answer(
    {
        "two_down": lambda: run(down, down, good),
        "text_for_integer": lambda: called({"number": "1"}),
        "unknown_field": lambda: called({"number": 1, "nmuber": 2}),
        "bad_then_good": lambda: answering(["many", 3]),
        "always_bad": lambda: answering(["many"]),
        "hangs": lambda: run(hang, good),
        "blocks": lambda: run(block, good),
        "join_error": lambda: run(good, good, join=broken_join),
    }
)
