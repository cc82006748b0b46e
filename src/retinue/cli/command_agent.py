"""A command line that somebody types, asked like an agent (`retinue ask --command`): their own word, and trusted.

What was said of it is kept with the run, so that `retinue runs resume` asks the same program again.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.agents.wrapped import CommandAgent, split_command
from retinue.cli.project import Project
from retinue.contract.model import DialectName, JsonMapping
from retinue.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence


def command_spec(
    line: str,
    *,
    name: str | None,
    skill: str | None,
    dialect: str | None,
    environment: "Sequence[str]",
    folder: Path | None,
) -> JsonMapping:
    """What somebody typed, as it is kept with the run.

    Args:
        line: The command line.
        name: What the agent is called in its contract.
        skill: Which of its skills is meant.
        dialect: What it speaks.
        environment: Names of the variables that it may see.
        folder: Where it runs; where the person stands when absent. Its program is always found from there.

    Raises:
        InvalidInput: It is no command.
    """
    program, *words = split_command(line)
    here = Path.cwd()
    if "/" in program:
        program = str(here / Path(program).expanduser())
    facts: dict[str, Any] = {
        "argv": [program, *words],
        "name": name,
        "skill": skill,
        "dialect": dialect,
        "environment": list(environment),
        "cwd": str(folder.resolve() if folder else here),
    }
    return {key: value for key, value in facts.items() if value}


def with_command(project: Project, spec: JsonMapping) -> tuple[Project, Agent]:
    """`project` with the agent behind a command line in place of its own, and that agent.

    Raises:
        InvalidInput: What was said of it makes no agent.
    """
    agent = CommandAgent(
        _texts(spec, "argv"),
        name=_text(spec, "name"),
        skill=_text(spec, "skill"),
        dialect=cast("DialectName | None", _text(spec, "dialect")),
        environment=_texts(spec, "environment"),
        cwd=_text(spec, "cwd"),
    )
    return replace(project, registry=Registry([agent])), agent


_DAMAGED: Final = "The saved command is damaged."


def _text(spec: JsonMapping, name: str) -> str | None:
    value: object = spec.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(_DAMAGED, hint="Run it again.")
    return value


def _texts(spec: JsonMapping, name: str) -> tuple[str, ...]:
    value: object = spec.get(name, [])
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in items):
        raise InvalidInput(_DAMAGED, hint="Run it again.")
    return tuple(cast("list[str]", items))
