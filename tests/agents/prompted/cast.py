"""Prompted agents in a run of the real orchestrator, each with a script of its own."""

import asyncio
from typing import Any

from retinue.agents.port import Agent
from retinue.agents.prompted import PromptedAgent, Toolbox
from retinue.agents.registry import Registry
from retinue.contract.result import Result
from retinue.contract.task import Answer, Budget, Question
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.models import Models
from retinue.llm.scripted import Line, ScriptedModel, tool_call
from retinue.orchestration.orchestrator import Orchestrator, workflows
from tests.agents.prompted.given import FILES, definition


class Cast:
    """Scripted models for agents of an orchestrated run, by the agent's name."""

    def __init__(self, **scripts: Any) -> None:
        self.models = {
            name: script if isinstance(script, ScriptedModel) else ScriptedModel(script, name=f"t:{name}")
            for name, script in scripts.items()
        }

    def agent(self, name: str, *, toolbox: Toolbox = FILES, **facts: Any) -> PromptedAgent:
        model = self.models[name]
        return PromptedAgent(definition(name, **facts), models=Models.only(model), toolbox=toolbox)


def orchestrated(
    *agents: Agent, first: str = "boss", answer: Any = None, budget: Budget | None = None, **surroundings: Any
) -> Result:
    """What the agent called `first` comes to in a run; a person says `answer` to everything, if anybody is there."""

    async def answerer(question: Question) -> Answer | None:
        said = answer(question) if callable(answer) else answer
        return None if said is None else Answer(question_id=question.id, value=said)

    async def main() -> Result:
        registry = Registry(agents)
        flows = workflows(registry, **surroundings)
        async with InProcessEngine(flows, answerer=answerer) as engine:
            return await Orchestrator(registry, engine).run_task(first, instruction="Do it", budget=budget)

    return asyncio.run(main())


def delegated(to: str, **facts: Any) -> Line:
    """A use of the tool that asks another agent."""
    return tool_call("delegate", agent=to, instruction="Look into it", **facts)
