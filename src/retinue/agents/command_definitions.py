"""Definition files that say which program answers: `"command": ["./my-agent", "--json"]` (design: agents).

Only in `.retinue/agents`, and only in a folder that its user trusts: naming a program is naming code. Which files do,
is asked by `agents.code_files` too, so that a change of one is a change of trust.
"""

from dataclasses import replace
from typing import Any, Final, cast

from retinue.agents.code_files import AGENTS_FOLDER
from retinue.agents.load import NEEDS_MODEL, LoadedAgents
from retinue.agents.port import Agent
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, RetinueError

_COMMAND: Final = "command"
_ENVIRONMENT: Final = "environment"
_NOT_TRUSTED: Final = "It names a program to run, and this folder is not trusted."


def with_commands(loaded: LoadedAgents, *, file: str, trusted: bool) -> LoadedAgents:
    """`loaded`, with the program in place of each agent whose definition names one.

    `environment` beside `command` lists the variables that the program may see. Relative paths are from the workspace.

    Args:
        loaded: What a definition file came to.
        file: The file, relative to the project's folder; only JSON in `.retinue/agents` can name a program.
        trusted: Whether the folder may bring code of its own; if not, such agents are left out, with a finding.
    """
    if not file.startswith(f"{AGENTS_FOLDER}/") or not file.endswith(".json"):
        return loaded
    agents = list[Agent]()
    findings = [finding for finding in loaded.findings if not _is_command_key(finding)]
    for agent in loaded.agents:
        definition = agent.definition
        if _COMMAND not in definition.extras:
            agents.append(agent)
        elif not trusted:
            fix = "Review it, then run `retinue trust` in the folder."
            findings.append(_finding("not-trusted", _NOT_TRUSTED, definition, file, fix, warning=True))
        else:
            try:
                agents.append(_command_agent(definition))
            except RetinueError as error:
                message = f"`{definition.name}` names no program: {error.message}"
                findings.append(_finding("bad-command", message, definition, file, error.hint))
    return replace(loaded, agents=tuple(agents), findings=tuple(findings))


def _command_agent(definition: Definition) -> Agent:
    from retinue.agents.wrapped import CommandAgent  # noqa: PLC0415 - most projects name no program

    extras: JsonMapping = dict(definition.extras)
    argv, environment = extras.pop(_COMMAND), extras.pop(_ENVIRONMENT, [])
    skills = tuple(
        skill.model_copy(update={"unavailable": ""}) if skill.unavailable == NEEDS_MODEL else skill
        for skill in definition.skills
    )
    agent_definition = definition.model_copy(update={"extras": extras, "skills": skills})
    return CommandAgent(
        _string_list(argv, _COMMAND), definition=agent_definition, environment=_string_list(environment, _ENVIRONMENT)
    )


def _string_list(value: object, key: str) -> tuple[str, ...]:
    """The words under `key`.

    Raises:
        InvalidInput: They are no list of texts.
    """
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in items):
        raise InvalidInput(f"`{key}` is not a list of texts.", hint=f'Write "{key}": ["one", "two"].')
    return tuple(items)


def _is_command_key(finding: Finding) -> bool:
    """Whether it says that a key of ours has no effect, for here it has."""
    return finding.rule == "load/unknown-key" and finding.path.rpartition("/")[2] in {_COMMAND, _ENVIRONMENT}


def _finding(rule: str, message: str, definition: Definition, file: str, fix: str, *, warning: bool = False) -> Finding:
    line = definition.source.line if definition.source else None
    severity = "warning" if warning else "error"
    return Finding(rule=f"discovery/{rule}", message=message, severity=severity, file=file, line=line, fix=fix)
