"""Agno: a `Workflow` of one `Parallel` of async function steps and a joining step; tools as `Function` calls."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from agno.tools.function import Function, FunctionCall
from agno.workflow import Parallel, Step, StepInput, StepOutput, Workflow
from probing import BLOCK_S, HANG_S, Down, Facts, answer, cut
from pydantic import BaseModel

os.environ["AGNO_TELEMETRY"] = "false"
Executor = Callable[[StepInput], Awaitable[object]]


class Found(BaseModel):
    value: int


async def good(_: StepInput) -> StepOutput:
    return StepOutput(content=Found(value=3))


async def down(_: StepInput) -> StepOutput:
    raise Down("this branch is down")


async def join(step_input: StepInput) -> StepOutput:
    outputs = (step_input.previous_step_outputs or {})["branches"].steps or []
    values = [output.content.value for output in outputs if isinstance(output.content, Found)]
    missing = [f"{output.step_name}: {output.error}" for output in outputs if not output.success]
    return StepOutput(content={"values": values, "missing": missing, "raw": [repr(one.content) for one in outputs]})


async def run(*branches: Executor, join: Executor = join, retries: int = 0) -> Facts:
    steps = [Step(name=f"b{number}", executor=one, max_retries=retries) for number, one in enumerate(branches)]
    last = Step(name="join", executor=join, max_retries=0)
    workflow = Workflow(name="probe", steps=[Parallel(*steps, name="branches"), last], telemetry=False)
    found = await workflow.arun(input="go")
    if not isinstance(found.content, dict):
        return {"error": cut(f"{found.status}: {found.content}")}
    said = found.content
    return {"kept": 3 in said["values"], "missing_said": bool(said["missing"]), "answer": str(said["raw"])}


async def called(arguments: dict[str, object]) -> Facts:
    seen: list[object] = []

    async def double(number: int) -> int:
        """Double a number."""
        seen.append(number)
        return number * 2

    result = await FunctionCall(function=Function.from_callable(double), arguments=arguments).aexecute()
    return {"got": repr(seen[0])} if seen else {"error": cut(str(result.error or result.status))}


async def answering(answers: list[object]) -> Facts:
    calls = 0

    async def branch(_: StepInput) -> Found:
        nonlocal calls
        calls += 1
        return Found.model_construct(value=answers[min(calls, len(answers)) - 1])

    async def first(step_input: StepInput) -> StepOutput:
        outputs = (step_input.previous_step_outputs or {})["branches"].steps or []
        return StepOutput(content={"values": [one.content.value for one in outputs], "missing": [], "raw": []})

    facts = await run(branch, join=first, retries=2)
    return {**facts, "calls": calls}


async def hang(_: StepInput) -> StepOutput:
    await asyncio.sleep(HANG_S)
    return StepOutput(content=Found(value=1))


async def block(_: StepInput) -> StepOutput:
    time.sleep(BLOCK_S)
    return StepOutput(content=Found(value=1))


async def broken_join(_: StepInput) -> StepOutput:
    raise Down("the join failed")


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
