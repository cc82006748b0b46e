"""Models that say what a test wants them to judge, and agents that fail in ways that leave a choice."""

from collections.abc import Callable, Iterable
from typing import Any

from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.contract.event import Decision
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.port import Request, UserMessage
from retinue.llm.scripted import Line, ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator
from tests.orchestration.parts import Found, Square, orchestrated


def drafted(*nodes: JsonMapping, **facts: Any) -> JsonMapping:
    """A draft that delegates."""
    return {"move": "delegate", "reason": "It is two requests.", "nodes": list(nodes), **facts}


def drafted_node(name: str, who: str, instruction: str, *needs: str, **facts: Any) -> JsonMapping:
    """A node of a draft; `who` is an agent and its skill of the same name."""
    return {"id": name, "agent": who, "skill": who, "instruction": instruction, "needs": list(needs), **facts}


def model(script: Iterable[Line] | Callable[[Request], Line], **facts: Any) -> ScriptedModel:
    """A scripted model with a price."""
    said: dict[str, Any] = {"usd_per_million": 1.0, **facts}
    return ScriptedModel(script, **said)


def said_to(asked: ScriptedModel, *, request: int = 0) -> str:
    """What a model was told first."""
    turn = asked.requests[request].turns[0]
    assert isinstance(turn, UserMessage)
    return turn.text


def by_shape(**lines: Line | list[Line]) -> Callable[[Request], Line]:
    """A script that answers by what it is asked for: `plan`, `parameters`, `choice`, `answer`."""
    left = {name: list(line) if isinstance(line, list) else [line] for name, line in lines.items()}

    def following(request: Request) -> Line:
        name = request.shape.name if request.shape else ""
        said = left.get(name) or ["Nothing was written for this."]
        return said.pop(0) if len(said) > 1 else said[0]

    return following


def shapes(asked: ScriptedModel) -> list[str]:
    """What a model was asked for, in order."""
    return [request.shape.name if request.shape else "" for request in asked.requests]


def thinking(scripted: ScriptedModel, *agents: Any, work: Any, **surroundings: Any) -> Any:
    """What `work` gives, with an orchestrator that thinks with `scripted`."""
    models = Models.only(scripted)

    async def with_models(orchestrator: Orchestrator) -> Any:
        engine = orchestrator.engine
        assert isinstance(engine, InProcessEngine)
        return await work(Orchestrator(orchestrator.registry, engine, models=models))

    return orchestrated(*agents, work=with_models, models=models, **surroundings)


def answered(scripted: ScriptedModel, goal: str, *agents: Any, **facts: Any) -> tuple[Result, list[Decision]]:
    """The result of a goal, and what was decided on the way."""

    async def work(orchestrator: Orchestrator) -> tuple[Result, list[Decision]]:
        plan = await orchestrator.plan_goal(goal, budget=facts.get("budget"))
        run = await orchestrator.start(plan, **facts)
        result = await orchestrator.engine.result(run)
        events = [event async for event in orchestrator.engine.events(run, follow=False)]
        return result, [event.body for event in events if isinstance(event.body, Decision)]

    return thinking(scripted, *agents, work=work)


@agent(description="Doubles a number.", examples=["double 12", "what is twice 7"])
async def double(number: int) -> Square:
    """Double a number.

    Args:
        number: The number to double.
    """
    return Square(value=2 * number)


@agent(description="Squares a number on a machine far away.", examples=["square 12 far away"])
async def far_square(number: int) -> Square:
    """Square a number far away.

    Args:
        number: The number to square.
    """
    raise ConnectionRefusedError(f"no line for {number}")


@agent(description="Tells about the weather in a city.", examples=["what is the weather in Vienna"])
async def weather(city: str, run: RunContext) -> Found:
    """Tell the weather.

    Args:
        city: Which city.
    """
    finding = {"topic": city, "content": f"In {city} it is 21 degrees and dry.", "source": "weather.csv:3"}
    return Found(summary=f"{city}: 21 degrees.", findings=[finding])
