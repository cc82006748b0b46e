"""Prompted agents for tests: a scripted model for the judgement, and everything around it real."""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, Grants, ToolRule, VerdictWord
from retinue.agents.local import LocalContext
from retinue.agents.prompted import EMPTY, PromptedAgent, Toolbox
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Effect, Runner, Skill, ToolSpec
from retinue.contract.event import Body
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Budget, Question, Task
from retinue.engine.base import Outside
from retinue.llm.models import Models
from retinue.llm.port import Request, ToolResults, UserMessage
from retinue.llm.scripted import Line, ScriptedModel
from retinue.tools.builtin import builtin_tools
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

TAKES: JsonMapping = {"type": "object", "properties": {"task": {"type": "string"}}, "additionalProperties": True}
GIVES: JsonMapping = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}

FILES = Toolbox(toolsets=(lambda: builtin_tools(programs=("*",)),))
"""The real hands."""


def skill(name: str = "helper", **facts: Any) -> Skill:
    said: JsonMapping = {"description": "Helps.", "input_schema": TAKES, "instruction_field": "task", **facts}
    return Skill(name=name, **said)


def definition(
    name: str = "helper", *, skills: tuple[Skill, ...] = (), runner: JsonMapping | None = None, **facts: Any
) -> Definition:
    said: JsonMapping = {"description": "Helps people. Use when stuck. Returns words.", **facts}
    return Definition(name=name, skills=skills or (skill(name),), runner=Runner(**(runner or {})), **said)


def scripted(*lines: Line, **facts: Any) -> ScriptedModel:
    return ScriptedModel(lines, **facts)


def helper(model: ScriptedModel, *, toolbox: Toolbox = EMPTY, **facts: Any) -> PromptedAgent:
    return PromptedAgent(definition(**facts), models=Models.only(model), toolbox=toolbox)


def rules(**words: str | tuple[str, ...]) -> tuple[ToolRule, ...]:
    """`rules(deny="shell")`, `rules(allow=("read", "write"))`."""
    found: list[ToolRule] = []
    verdicts: tuple[VerdictWord, ...] = ("allow", "ask", "deny")
    for verdict in verdicts:
        said = words.get(verdict, ())
        found += [ToolRule(verdict, word) for word in ((said,) if isinstance(said, str) else said)]
    return tuple(found)


class Person:
    """Answers every question in one way, and notes what was asked."""

    def __init__(self, value: object = True) -> None:
        self.asked: list[Question] = []
        self._value = value

    async def __call__(self, question: Question) -> Answer | None:
        self.asked.append(question)
        return Answer(question_id=question.id, value=self._value)


def context(
    folder: Path | None = None,
    *,
    grants: Grants = ALL,
    person: Person | None = None,
    budget: Budget | None = None,
    deadline_ns: int | None = None,
) -> LocalContext:
    workspace = None if folder is None else Workspace(folder)
    return LocalContext(
        workspace=workspace,
        grants=grants,
        answer=person,
        budget=budget,
        deadline_ns=deadline_ns,
        outside=Outside(clock=time.time_ns, pause=at_once, chance=lambda: 0.5),
    )


async def at_once(seconds: float) -> None:
    """Wait for nothing."""


def ask(agent: PromptedAgent, instruction: str = "Help me", *, run: LocalContext | None = None, **facts: Any) -> Result:
    """Call `agent` through a boundary of its own."""
    task = Task(id="t1", agent=agent.definition.name, instruction=instruction, **facts)

    async def main() -> Result:
        return await Boundary(Registry()).call_agent(agent, task, run or context())

    return asyncio.run(main())


def bodies(run: LocalContext, kind: type[Body]) -> list[Any]:
    return [event.body for event in run.events if isinstance(event.body, kind)]


def told(request: Request) -> str:
    """All words of a request's turns, but the model's own."""
    words: list[str] = []
    for turn in request.turns:
        if isinstance(turn, UserMessage):
            words.append(turn.text)
        elif isinstance(turn, ToolResults):
            words += [answer.text for answer in turn.results]
    return "\n".join(words)


class Made:
    """A tool that does what a test says, and notes what it was given."""

    def __init__(
        self,
        name: str = "made",
        does: Callable[[JsonMapping], ToolOutput | str | Exception] = lambda _: "done",
        *,
        effects: Iterable[Effect] = ("read",),
        schema: JsonMapping | None = None,
        timeout_s: float = 5.0,
    ) -> None:
        self.spec = ToolSpec(
            name=name,
            description="Made for a test.",
            input_schema=schema or {"type": "object"},
            effects=tuple(effects),
            timeout_s=timeout_s,
        )
        self.calls: list[JsonMapping] = []
        self._does = does

    async def use(self, arguments: JsonMapping, grip: ToolContext, /) -> ToolOutput:
        """Do it."""
        self.calls.append(arguments)
        came = self._does(arguments)
        if isinstance(came, Exception):
            raise came
        return ToolOutput(came) if isinstance(came, str) else came


def toolbox(*tools: Made) -> Toolbox:
    return Toolbox({tool.spec.name: tool for tool in tools})
