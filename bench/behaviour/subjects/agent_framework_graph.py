"""Agent Framework: a workflow of typed function executors; tools as `FunctionTool`s."""

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("ENABLE_INSTRUMENTATION", "false")

from agent_framework import FunctionExecutor, FunctionTool, WorkflowBuilder, WorkflowContext
from probing import BLOCK_S, HANG_S, Down, Facts, answer
from pydantic import BaseModel


class Found(BaseModel):
    value: int


async def start(message: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(message)


async def good(_: str, ctx: WorkflowContext[Found]) -> None:
    await ctx.send_message(Found(value=3))


async def down(_: str, ctx: WorkflowContext[Found]) -> None:
    raise Down("this branch is down")


async def join(found: list[Found], ctx: WorkflowContext[None, list[Found]]) -> None:
    await ctx.yield_output(found)


async def run(*branches: Callable[..., Any], join: Callable[..., Any] = join) -> Facts:
    first, last = FunctionExecutor(start, id="start"), FunctionExecutor(join, id="join")
    executors = [FunctionExecutor(branch, id=f"b{number}") for number, branch in enumerate(branches)]
    builder = WorkflowBuilder(start_executor=first, output_from=[last]).add_fan_out_edges(first, executors)
    built = builder.add_fan_in_edges(executors, last) if len(executors) > 1 else builder.add_edge(executors[0], last)
    outputs = (await built.build().run("go")).get_outputs()
    if not outputs:
        return {"error": "The run ended without an output."}
    values = [one.value for one in outputs[0]]
    return {"kept": 3 in values, "answer": str(values)}


async def called(arguments: dict[str, object]) -> Facts:
    seen: list[object] = []

    async def double(number: int) -> int:
        """Double a number."""
        seen.append(number)
        return number * 2

    await FunctionTool(name="double", func=double).invoke(arguments=arguments)
    return {"got": repr(seen[0])}


async def answering(answers: list[object]) -> Facts:
    calls = 0

    async def branch(_: str, ctx: WorkflowContext[Found]) -> None:
        nonlocal calls
        calls += 1
        await ctx.send_message(Found.model_construct(value=answers[min(calls, len(answers)) - 1]))

    facts = await run(branch, good)
    return {**facts, "calls": calls}


async def hang(_: str, ctx: WorkflowContext[Found]) -> None:
    await asyncio.sleep(HANG_S)
    await ctx.send_message(Found(value=1))


async def block(_: str, ctx: WorkflowContext[Found]) -> None:
    time.sleep(BLOCK_S)
    await ctx.send_message(Found(value=1))


async def broken_join(found: list[Found], ctx: WorkflowContext[None, list[Found]]) -> None:
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
