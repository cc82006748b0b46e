"""LangGraph: a `StateGraph` of async function nodes over a pydantic state; tools as `langchain_core` tools."""

import asyncio
import operator
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy
from probing import BLOCK_S, HANG_S, LIMIT_S, Down, Facts, answer, cut
from pydantic import BaseModel

Node = Callable[["State"], Any]


class State(BaseModel):
    found: Annotated[list[int], operator.add] = []
    total: int = 0


async def good(_: State) -> Mapping[str, object]:
    return {"found": [3]}


async def join(state: State) -> Mapping[str, object]:
    return {"total": sum(state.found)}


async def down(_: State) -> Mapping[str, object]:
    raise Down("this branch is down")


async def run(*branches: Node, join: Node = join, **node_options: object) -> Facts:
    graph: Any = StateGraph(State)
    names = [f"b{number}" for number in range(len(branches))]
    for name, branch in zip(names, branches, strict=True):
        graph.add_node(name, branch, **node_options)
        graph.add_edge(START, name)
    graph.add_node("join", join)
    graph.add_edge(names, "join")
    graph.add_edge("join", END)
    found = await graph.compile().ainvoke({})
    return {"kept": 3 in found["found"], "answer": found["total"]}


async def called(arguments: dict[str, object]) -> Facts:
    seen: list[object] = []

    @tool
    async def double(number: int) -> int:
        """Double a number."""
        seen.append(number)
        return number * 2

    await double.ainvoke(arguments)
    return {"got": repr(seen[0])}


async def answering(answers: list[object]) -> Facts:
    calls = 0

    async def branch(_: State) -> Mapping[str, object]:
        nonlocal calls
        calls += 1
        return {"found": [answers[min(calls, len(answers)) - 1]]}

    try:
        facts = await run(branch, retry_policy=RetryPolicy(max_attempts=3, retry_on=Exception, initial_interval=0.01))
    except Exception as error:
        return {"error": cut(f"after {calls} call: {error}")}
    return {**facts, "calls": calls}


async def hang(_: State) -> Mapping[str, object]:
    await asyncio.sleep(HANG_S)
    return {"found": [1]}


async def block(_: State) -> Mapping[str, object]:
    time.sleep(BLOCK_S)
    return {"found": [1]}


async def broken_join(_: State) -> Mapping[str, object]:
    raise Down("the join failed")


answer(
    {
        "two_down": lambda: run(down, down, good),
        "text_for_integer": lambda: called({"number": "1"}),
        "unknown_field": lambda: called({"number": 1, "nmuber": 2}),
        "bad_then_good": lambda: answering(["many", 3]),
        "always_bad": lambda: answering(["many"]),
        "hangs": lambda: run(hang, good, timeout=LIMIT_S),
        "blocks": lambda: run(block, good, timeout=LIMIT_S),
        "join_error": lambda: run(good, good, join=broken_join),
    }
)
