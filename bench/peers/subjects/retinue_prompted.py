"""Retinue: an agent that is instructions in each branch, on a scripted model; called through the boundary."""

from driver import Once, serve
from pydantic import BaseModel

from retinue.agents.prompted import PromptedAgent
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Delegation, Plan
from retinue.contract.task import Task
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.port import AssistantMessage, OnText, Request, Response, UserMessage
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN, RunRequest

DEFINITION = Definition(
    name="squarer",
    description="Squares a number. Use when one is asked about. Returns the square.",
    instructions="You square numbers. Answer with the square only.",
    skills=(
        Skill(
            name="square",
            description="Squares a number.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        ),
    ),
)


class Sum(BaseModel):
    total: int


class Scripted:
    """A model that answers with the square of the number it is asked about."""

    name = "scripted:squares"
    max_output = None

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Answer at once."""
        asked = request.turns[0]
        number = int("".join(filter(str.isdigit, asked.text))) if isinstance(asked, UserMessage) else 0
        text = str(number**2)
        if on_text is not None:
            on_text(text)
        return Response(AssistantMessage(text))

    def price(self, **_: int) -> None:
        """It has none."""


@agent(description="Adds up what the branches found.")
async def join(task: Task) -> Sum:
    """Add up."""
    return Sum(total=sum(int(given["content"]) for given in task.context.inputs.values()))


def plan_of(branches: int) -> Plan:
    """One node a branch, and a join that is handed the whole of each."""
    nodes = [
        Delegation(id=f"b{number}", agent="squarer", skill="square", instruction=str(number))
        for number in range(branches)
    ]
    needs = tuple(node.id for node in nodes)
    last = Delegation(id="join", agent="join", skill="join", needs=needs, context=dict.fromkeys(needs, "full"))
    return Plan(nodes=(*nodes, last))


class Subject:
    """The engine is made at the first run, inside the loop, and kept, as a program would."""

    def __init__(self) -> None:
        self._engine: InProcessEngine | None = None

    async def engine(self) -> InProcessEngine:
        """The one engine."""
        if self._engine is None:
            squarer = PromptedAgent(DEFINITION, models=Models.only(Scripted()))
            self._engine = await InProcessEngine(workflows(Registry([squarer, join]))).__aenter__()
        return self._engine

    def prepare(self, branches: int) -> Once:
        """A run of the fan-out."""
        payload = RunRequest(plan=plan_of(branches), answer="collected").to_json()

        async def once() -> int:
            engine = await self.engine()
            result = await engine.result(await engine.start(RUN_PLAN, payload))
            return int(result.data["results"]["join"]["total"])

        return once


if __name__ == "__main__":
    serve(Subject().prepare)
