"""Agents to orchestrate, and one call that does it: the real registry, boundary and engine."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.event import Decision, Event
from retinue.contract.plan import Delegation
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.orchestrator import Orchestrator, workflows


class Square(BaseModel):
    value: int


class Found(BaseModel):
    summary: str
    findings: list[dict[str, Any]]


@agent(description="Squares a number.", effects=[], examples=["square 12", "what is the square of 7"])
async def square(number: int) -> Square:
    """Square a number.

    Args:
        number: The number to square.
    """
    return Square(value=number * number)


@agent(description="Is always down.")
async def down(number: int = 1) -> Square:
    """Squares a number, were it not down."""
    raise ConnectionRefusedError(f"no line for {number}")


@agent(description="Says no for good.")
async def forbidden(number: int = 1) -> Square:
    """Squares a number, but not for you."""
    raise PermissionError(f"not {number}")


@agent(description="Waits until it is stopped.")
async def endless(run: RunContext) -> Square:
    """Never ends."""
    await asyncio.Event().wait()
    return Square(value=0)


@agent(
    description="Finds passages about a topic in the documents.",
    effects=["read"],
    examples=["find passages about retries"],
)
async def passages(topic: str) -> Found:
    """Find passages about a topic.

    Args:
        topic: What to look for.
    """
    finding = {"topic": topic, "content": f"All about {topic}.", "source": "docs/guide.md:7"}
    return Found(summary=f"One passage about {topic}.", findings=[finding])


def node(name: str, agent_name: str = "square", *, needs: tuple[str, ...] = (), **facts: Any) -> Delegation:
    """A delegation; `square` gets a number to square."""
    if agent_name == "square":
        facts.setdefault("parameters", {"number": 2})
    return Delegation(id=name, agent=agent_name, needs=needs, **facts)


def orchestrated(
    *agents: Any, work: Callable[[Orchestrator], Awaitable[Any]], answerer: Any = None, **surroundings: Any
) -> Any:
    """What `work` gives, with an orchestrator over `agents`."""

    async def main() -> Any:
        registry = Registry(agents)
        async with InProcessEngine(workflows(registry, **surroundings), answerer=answerer) as engine:
            return await work(Orchestrator(registry, engine))

    return asyncio.run(main())


async def decisions(orchestrator: Orchestrator, run: str) -> list[tuple[str, str]]:
    """Every decision of a run as node and move."""
    events: list[Event] = [event async for event in orchestrator.engine.events(run, follow=False)]
    return [(event.node, event.body.move) for event in events if isinstance(event.body, Decision)]
