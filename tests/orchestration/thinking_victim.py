"""A process whose run asks a model to choose, and is killed while an agent works: `thinking_victim JOURNAL hang|resume`.

What a model is asked for is written on one line each time; a resumed run must not ask for it again.
"""

import asyncio
import sys
from pathlib import Path

from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.task import Budget
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.llm.models import Models
from retinue.llm.port import Request
from retinue.llm.scripted import Line, ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator, workflows
from tests.orchestration.parts import Square, square

HANGS = sys.argv[2] == "hang"
JOURNALS: list[Journal] = []


@agent(description="Looks and finds nothing.")
async def blind(number: int) -> Square:
    """Look."""
    raise FileNotFoundError(f"nothing about {number}")


@agent(description="Works for long.")
async def slow() -> Square:
    """Work."""
    if HANGS:
        await asyncio.to_thread(JOURNALS[0].flush)  # what comes before must be on the disk when it is killed
        print("hanging", flush=True)  # noqa: T201 - as below
        await asyncio.Event().wait()
    return Square(value=1)


def says(request: Request) -> Line:
    """Chooses the squarer, and writes the answer."""
    name = request.shape.name if request.shape else ""
    print(name, end=" ", flush=True)  # noqa: T201 - read by the test
    if name == "choice":
        return {"choice": "1_square.square", "reason": "It squares."}
    return {"claims": [{"text": "The square is 144.", "cites": ["a.1"]}]}


async def main(place: Path) -> None:
    """Start the run, or go on with it."""
    registry = Registry([square, blind, slow])
    models = Models.only(ScriptedModel(says))
    fits = Candidate(agent="blind", skill="blind", score=0.5, share=0.5)
    other = Candidate(agent="square", skill="square", score=0.5, share=0.5)
    failing = Delegation(
        id="a", agent="blind", skill="blind", instruction="square 12", parameters={"number": 12}, chosen=fits, alternatives=(other,)
    )  # fmt: skip
    plan = Plan(goal="square 12", nodes=(failing, Delegation(id="b", agent="slow", needs=("a",))))
    with Journal(place) as journal:
        JOURNALS.append(journal)
        async with InProcessEngine(workflows(registry, models=models), journal=journal) as engine:
            orchestrator = Orchestrator(registry, engine, models=models)
            if HANGS:
                run = await orchestrator.start(plan, budget=Budget(timeout_s=60), run="run")
            else:
                run = await engine.resume("run")
            result = await engine.result(run)
            sections = [section for section in result.data["answer"] if section["node"]]
            print(result.outcome, len(sections), flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
