"""LangGraph: a `StateGraph` of async function nodes, fanned out with `Send`, joined by a reducer. No checkpointer."""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from driver import Once, serve
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send


class State(TypedDict):
    squares: Annotated[list[int], operator.add]
    total: int


class Branch(TypedDict):
    number: int


async def square(state: Branch) -> Mapping[str, object]:
    return {"squares": [state["number"] * state["number"]]}


async def join(state: State) -> Mapping[str, object]:
    return {"total": sum(state["squares"])}


def prepare(branches: int) -> Once:
    def fan_out(_: State) -> list[Send]:
        return [Send("square", {"number": number}) for number in range(branches)]

    graph: Any = StateGraph(State)
    graph.add_node("square", square)
    graph.add_node("join", join)
    graph.add_conditional_edges(START, fan_out, ["square"])
    graph.add_edge("square", "join")
    graph.add_edge("join", END)
    compiled = graph.compile()

    async def once() -> int:
        found = await compiled.ainvoke({"squares": [], "total": 0}, {"max_concurrency": None})
        return int(found["total"])

    return once


if __name__ == "__main__":
    serve(prepare)
