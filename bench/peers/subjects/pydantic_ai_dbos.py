"""pydantic-ai on DBOS: an `Agent` a branch on a scripted model, each model request a durable step of one workflow."""

import asyncio

from dbos import DBOS
from dbos_workflow import serve_durably
from driver import Once
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_agents import answer

AGENT = Agent(FunctionModel(answer), name="squarer", capabilities=[DBOSDurability()])


@DBOS.workflow(name="agents")
async def agents(branches: int) -> int:
    runs = await asyncio.gather(*(AGENT.run(str(number)) for number in range(branches)))
    return sum(int(run.output) for run in runs)


def prepare(branches: int) -> Once:
    async def once() -> int:
        handle = await DBOS.start_workflow_async(agents, branches)
        return int(await handle.get_result())

    return once


if __name__ == "__main__":
    serve_durably(prepare)
