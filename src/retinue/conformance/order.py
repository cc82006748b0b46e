"""An order to judge somebody, as a person gives it in words: who it is, what it speaks, how it is asked.

The command line and the pytest plugin both make one; what it comes to is here, so that it comes to the same.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from retinue.conformance.asking import asking_of
from retinue.conformance.guess import guess
from retinue.conformance.judge import PATIENCE_S, Hears, judge
from retinue.conformance.port import Asking, Report, Subject
from retinue.conformance.subjects import Named, command_named, instructions_named, module_apart
from retinue.contract.definition import Definition
from retinue.contract.finding import as_detail, findings_of, in_short
from retinue.contract.names import fold
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.llm.purse import Purse

__all__ = ["Order", "Ready", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who is judged, and what was said of it. What is absent is found out or done without.

    Attributes:
        words: A module (as `module_apart` reads it), a Markdown agent or, when `is_command`, a command line.
        dialect: What it is to speak.
        definition: A file with its definition, JSON or Markdown.
        agent: What it is called in its own answers.
        environment: Variables that a command may see.
        timeout_s: How long it may take for one request.
        models: What answers for a Markdown agent.
        purse: What these models may spend.
    """

    words: str
    is_command: bool = False
    dialect: str | None = None
    definition: Path | None = None
    agent: str | None = None
    operation: str | None = None
    target: str | None = None
    partial_target: str | None = None
    instruction: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: tuple[str, ...] = ()
    timeout_s: float = PATIENCE_S
    models: "Models | None" = None
    purse: "Purse | None" = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A subject that can be judged: what it speaks is known, or was found out. Whoever has it closes it.

    Attributes:
        facts: How it is asked, and how its dialect was found out.
    """

    subject: Subject
    dialect: str
    asking: Asking
    facts: Mapping[str, str]
    timeout_s: float

    async def judged(self, *, told: Hears | None = None) -> Report:
        """Judge it."""
        return await judge(
            self.subject,
            self.dialect,
            asking=self.asking,
            timeout_s=self.timeout_s,
            facts=dict(self.facts),
            told=told,
        )

    def close(self) -> None:
        """Let go of the subject."""
        self.subject.close()


async def prepare(order: Order) -> Ready:
    """Get everything ready: import or find the subject, read its definition, find out what it speaks.

    Raises:
        RetinueError: There is no such subject or definition, or nothing says what it speaks.
    """
    definition = None if order.definition is None else _definition(order.definition, order.agent)
    named = await _named(order, definition)
    try:
        asking = _asking(order, named, definition or named.definition)
        facts = {"asked": _shown(asking)}
        if unset := [name for name in order.environment if name not in os.environ]:
            facts["not set here"] = ", ".join(unset)
        dialect = order.dialect or (definition.dialect if definition else None) or named.dialect
        if dialect is None:
            found = await guess(named.subject, asking=asking, timeout_s=order.timeout_s)
            dialect = found.dialect
            facts["dialect"] = f"found out ({found.certainty}): {found.why}"
    except BaseException:
        named.subject.close()
        raise
    return Ready(named.subject, dialect, asking, facts, order.timeout_s)


def _definition(file: Path, agent: str | None) -> Definition:
    """What the file says of the agent that is meant.

    Raises:
        MissingFile: There is none.
        InvalidDefinition: It cannot be read, or holds no such agent.
    """
    from retinue.agents.definition_files import load_file  # noqa: PLC0415 - loaders are heavy, and most orders name no file

    if not file.exists():
        raise MissingFile(f"There is no file {str(file)!r}.", hint="Name a definition, JSON or Markdown.")
    loaded = load_file(file)
    there = [each.definition for each in loaded.agents]
    chosen = next((each for each in there if agent is None or each.name == fold(agent)), None)
    if chosen is None:
        what = f"no agent called {agent[:80]!r}" if agent and there else "no definition that can be used"
        raise InvalidDefinition(
            f"{str(file)!r} holds {what}.",
            hint=f"See `retinue lint {file}`.",
            detail={"findings": [each.to_json() for each in loaded.errors]},
        )
    return chosen


async def _named(order: Order, definition: Definition | None) -> Named:
    if order.is_command:
        return command_named(order.words, environment=order.environment)
    if order.environment:
        raise InvalidInput("Variables are for commands.", hint="Say that it is a command, or name no variables.")
    if order.words.startswith(("http://", "https://")):
        raise InvalidInput(
            f"{order.words[:200]!r} is a URL, and `check` judges modules, Markdown agents and commands.",
            hint="Judge it through a program that sends the request: "
            f"`--command 'curl --silent --data-binary @- {order.words[:200]}'`.",
        )
    if order.words.lower().endswith(".md"):
        from retinue.agents.load.operations import with_operations  # noqa: PLC0415 - likewise

        path = Path(order.words)
        own = definition or with_operations(_definition(path, order.agent))
        return instructions_named(path, own, models=order.models, purse=order.purse)
    return await module_apart(order.words, dialect=order.dialect or (definition.dialect if definition else None))


def _asking(order: Order, named: Named, definition: Definition | None) -> Asking:
    """As the definition says, and before that as the order does.

    Raises:
        InvalidInput: No task can be made of it.
    """
    if definition is not None:
        asking = asking_of(definition, skill=order.operation)
    else:
        skill = fold(order.operation) if order.operation else None
        asking = Asking(agent=fold(order.agent or "") or named.name, skill=skill)
    asking = asking.about(target=order.target, instruction=order.instruction)
    parameters = {**asking.parameters, **order.parameters}
    asking = replace(asking, parameters=parameters, partial_target=order.partial_target)
    try:
        asking.task("check")
    except ValidationError as error:
        wrong = findings_of(error, rule="conformance/asking")
        raise InvalidInput(
            f"Invalid request: {in_short(wrong)}.",
            hint="Names are of letters, digits and dashes, begin with a letter, and have at most 64 characters.",
            detail=dict(as_detail(wrong)),
        ) from None
    return asking


def _shown(asking: Asking) -> str:
    facts = {
        "agent": asking.agent,
        "operation": asking.skill,
        "target": asking.target,
        "parameters": ", ".join(asking.parameters),
    }
    return ", ".join(f"{name} {value}" for name, value in facts.items() if value)
