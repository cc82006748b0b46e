"""A goal planned, reconsidered and summed up by a model: a scripted one, so that this runs anywhere."""

import asyncio

from pydantic import BaseModel

from retinue import agent
from retinue.agents.registry import Registry
from retinue.contract.task import Budget
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.port import Request
from retinue.llm.scripted import Line, ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator, workflows


class Figure(BaseModel):
    """What both agents answer."""

    answer: str


@agent(description="Counts the rooms of a house.", examples=["how many rooms are there"])
async def rooms(house: str) -> Figure:
    """Count the rooms of a house.

    Args:
        house: Which house.
    """
    return Figure(answer=f"{house.capitalize()} has 7 rooms.")


@agent(description="Tells when a house was built.", examples=["when was the mill built"])
async def built(house: str) -> Figure:
    """Tell when a house was built.

    Args:
        house: Which house.
    """
    return Figure(answer=f"{house.capitalize()} was built in 1890.")


def judgement(request: Request) -> Line:
    """What a real model would be asked: a plan, then a summary of what came."""
    if request.shape is not None and request.shape.name == "plan":
        wanted = {"rooms": "count the rooms", "built": "when was it built"}
        return {
            "move": "delegate",
            "reason": "Two questions about one house.",
            "nodes": [
                {
                    "id": f"n{number}",
                    "agent": name,
                    "skill": name,
                    "instruction": asked,
                    "needs": [],
                    "parameters": {"house": "the mill"},
                }
                for number, (name, asked) in enumerate(wanted.items(), start=1)
            ],
        }
    return {
        "claims": [
            {"text": "The mill was built in 1890 and has 7 rooms.", "cites": ["n1.1", "n2.1"]},
            {"text": "It was sold in 1950.", "cites": ["n2.1"]},  # nobody said so
        ]
    }


async def main() -> None:
    """Answer one goal within a budget, and show what did not hold."""
    models = Models.only(ScriptedModel(judgement))
    registry = Registry([rooms, built])
    async with InProcessEngine(workflows(registry, models=models)) as engine:
        orchestrator = Orchestrator(registry, engine, models=models)
        result = await orchestrator.run_goal(
            "think hard about the mill: how many rooms, and how old?", budget=Budget(tokens=20_000)
        )
    print(result.content)
    for warning in result.warnings:
        print("warning:", warning.message)
    if result.usage:
        print(result.usage.requests, "requests of a model")


if __name__ == "__main__":
    asyncio.run(main())
