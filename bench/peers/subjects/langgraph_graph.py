"""LangGraph: a `StateGraph` of async function nodes, fanned out with `Send`, joined by a reducer.

With `--journal` its checkpoints go to a throw-away SQLite file, each before the next step begins; else it keeps none.
"""

import contextlib
import operator
import sys
import tempfile
import uuid
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


def builder_of(branches: int) -> Any:
    def fan_out(_: State) -> list[Send]:
        return [Send("square", {"number": number}) for number in range(branches)]

    graph: Any = StateGraph(State)
    graph.add_node("square", square)
    graph.add_node("join", join)
    graph.add_conditional_edges(START, fan_out, ["square"])
    graph.add_edge("square", "join")
    graph.add_edge("join", END)
    return graph


def prepare(branches: int) -> Once:
    compiled = builder_of(branches).compile()

    async def once() -> int:
        found = await compiled.ainvoke({"squares": [], "total": 0}, {"max_concurrency": None})
        return int(found["total"])

    return once


def main() -> None:
    """Serve, with a checkpointer if one is asked for."""
    if "--journal" not in sys.argv:
        serve(prepare)
        return
    # The package of the checkpointer is not imported without it: a start is measured too.
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415 - see above

    stack = contextlib.AsyncExitStack()
    file = f"{stack.enter_context(tempfile.TemporaryDirectory())}/checkpoints.db"

    def prepare_durable(branches: int) -> Once:
        graphs: list[Any] = []

        async def once() -> int:
            if not graphs:  # it wants the loop
                saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
                graphs.append(builder_of(branches).compile(checkpointer=saver))
            config = {"max_concurrency": None, "configurable": {"thread_id": str(uuid.uuid4())}}
            found = await graphs[0].ainvoke({"squares": [], "total": 0}, config, durability="sync")
            return int(found["total"])

        return once

    serve(prepare_durable)


if __name__ == "__main__":
    main()
