"""`retinue agents`: who there is, and who was passed over."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from retinue.cli.options import agent_names, json_option, workspace_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retinue.agents.registry import Registry, Skipped
    from retinue.cli.project import Project
    from retinue.contract.definition import Definition, Skill

_EXAMPLES = 5
_MODEL_USE = {
    "can": "asks a model where one is configured",
    "must": "asks a model",
    "by_others": "answers with a plan, whose agents ask a model where one is configured",
}


@click.command("agents")
@click.argument("name", required=False, shell_complete=agent_names)
@click.option("--light", is_flag=True, help="Short form: one line per agent and skill.")
@json_option
@workspace_option
def command(*, name: str | None, light: bool, as_json: bool, workspace: Path | None) -> None:
    """List the available agents; with NAME, show one in full."""
    from retinue.cli.output import echo, echo_json, wrap
    from retinue.cli.project import open_project

    project = open_project(workspace)
    registry = project.registry
    if light:
        _print_light_schema(registry, name, as_json=as_json)
    elif name is not None:
        definition = registry.get(name).definition
        if as_json:
            echo_json(definition.to_json())
        else:
            echo("\n".join(map(wrap, _agent_lines(definition, project))))
    elif as_json:
        _list_json(project)
    else:
        _list(project)


def _print_light_schema(registry: "Registry", name: str | None, *, as_json: bool) -> None:
    from retinue.agents.registry import light_schema
    from retinue.cli.output import echo, echo_json

    definitions = registry.definitions() if name is None else (registry.get(name).definition,)
    text = light_schema(definitions)
    if as_json:
        echo_json({"light_schema": text})
    else:
        echo(text)


def _list_json(project: "Project") -> None:
    from retinue.cli.output import echo_json

    registry = project.registry
    facts = [
        {"path": each.path, "reason": each.reason, "line": each.line, "hint": each.hint} for each in registry.skipped
    ]
    skipped = [{name: value for name, value in each.items() if value} for each in facts]
    echo_json(
        {
            "agents": [definition.to_json() for definition in registry.definitions()],
            "skipped": skipped,
            "findings": [finding.to_json() for finding in registry.findings],
        }
    )


def _list(project: "Project") -> None:
    """Every agent with its skills, one a line, then what was passed over."""
    from retinue.cli.output import cut_to_screen, echo, echo_err, findings_text, safe

    definitions = project.registry.definitions()
    width = max((len(skill.name) for each in definitions for skill in each.skills), default=0)
    for number, definition in enumerate(definitions):
        echo(f"{'' if number == 0 else chr(10)}{_title(definition, project)}")
        for skill in definition.skills:
            about = (
                f"unavailable: {skill.unavailable}"
                if skill.unavailable
                else skill.description.partition(". ")[0].removesuffix(".")
            )
            line = cut_to_screen(f"  {safe(skill.name):<{width}}  {safe(about)}")
            echo(click.style(line, dim=True) if skill.unavailable else line)
        if added := _model_skills(definition, project):
            echo(click.style(cut_to_screen(f"  with a model it thinks: {', '.join(added)}"), dim=True))
    if definitions and (project.registry.skipped or project.registry.findings):
        echo_err("")
    for skipped in project.registry.skipped:
        echo_err(_skipped_line(skipped))
    # The warnings about agents that are there; why a file was passed over has been said.
    pairs = {(each.path, each.reason) for each in project.registry.skipped}
    warned = [
        each
        for each in project.registry.findings
        if each.severity == "warning" and (each.file, each.message) not in pairs
    ]
    if warned:
        echo_err(findings_text(warned))


def _title(definition: "Definition", project: "Project") -> str:
    facts = [definition.version, definition.tier or "", _origin(definition, project)]
    facts.append("deprecated" if definition.deprecated else "")
    # One whose own name belongs to an agent of the project is asked by the name with `retinue:` before it.
    name = definition.aliases[0] if definition.name in project.registry.hidden else definition.name
    return f"{click.style(name, bold=True)} {click.style(' · '.join(filter(None, facts)), dim=True)}"


def _model_skills(definition: "Definition", project: "Project") -> list[str]:
    """The skills that can be called as it is and for which a model would be asked; none when one is configured."""
    if project.models.configured:
        return []
    return [skill.name for skill in definition.skills if skill.thinks != "never" and not skill.unavailable]


def _origin(definition: "Definition", project: "Project") -> str:
    """Where an agent comes from, as short as possible."""
    from retinue.cli.output import safe

    if definition.source is None:
        return "built in"
    file = Path(definition.source.file)
    if file.is_absolute() and file.is_relative_to(project.root):
        file = file.relative_to(project.root)
    return safe(file) + (f":{definition.source.line}" if definition.source.line else "")


def _skipped_line(skipped: "Skipped") -> str:
    from retinue.cli.output import safe

    place = f"{safe(skipped.path)}{f':{skipped.line}' if skipped.line else ''}"
    hint = f"\n   {click.style('next', bold=True)}: {safe(skipped.hint)}" if skipped.hint else ""
    return f"{click.style('skipped', fg='yellow', bold=True)} {place}: {safe(skipped.reason)}{hint}"


# One agent, whole.


def _agent_lines(definition: "Definition", project: "Project") -> "Iterator[str]":
    from retinue.cli.output import safe, safe_lines
    from retinue.contract.names import fold

    yield _title(definition, project)
    yield safe_lines(definition.description)
    facts = {
        "aliases": ", ".join(definition.aliases),
        "category": definition.category or "",
        "tags": ", ".join(definition.tags),
        "model": definition.model or "",
        "tools": ", ".join(definition.tools or ()),
        "composes": "it delegates to others" if definition.composes else "",
        "deprecated": definition.deprecated.note or f"use {definition.deprecated.use}" if definition.deprecated else "",
        "not understood": ", ".join(key for key in definition.extras if fold(key) != "disallowed_tools"),
    }
    yield from (f"{name}: {safe(value)}" for name, value in facts.items() if value)
    for skill in definition.skills:
        yield ""
        yield from _skill_lines(skill)


def _skill_lines(skill: "Skill") -> "Iterator[str]":
    from retinue.cli.output import safe, safe_lines

    yield f"{click.style(safe(skill.name), fg='cyan', bold=True)}  {safe_lines(skill.description)}"
    if skill.unavailable:
        yield f"  {click.style('unavailable', fg='yellow')}: {safe(skill.unavailable)}"
    if skill.thinks != "never":
        yield f"  {_MODEL_USE[skill.thinks]}"
    # Instructions without effects of their own touch what their tools do.
    if skill.effects or (skill.effects is None and skill.thinks != "must"):
        undeclared = " (it does not say what it touches)" if skill.effects is None else ""
        yield f"  may {', '.join(skill.possible_effects)}{undeclared}"
    yield from _fields("takes", skill.input_schema, skill.defaults)
    yield from _fields("gives", skill.output_schema or {}, {})
    if skill.examples:
        yield "  for example"
        yield from (f"    {safe(example)}" for example in skill.examples[:_EXAMPLES])


def _fields(title: str, schema: dict[str, Any], defaults: dict[str, Any]) -> "Iterator[str]":
    """The members of an object, one a line."""
    from retinue.cli.output import safe

    members = cast("dict[str, object]", _mapping(schema.get("properties")))
    required = cast("list[object]", schema.get("required") or [])
    if members:
        yield f"  {title}"
    for name, member in members.items():
        facts = _mapping(member)
        notes = [
            _kind(facts),
            "required" if name in required and name not in defaults else "",
            _default(name, facts, defaults),
        ]
        about = safe(facts.get("description", ""))
        yield f"    {safe(name)} ({safe(', '.join(filter(None, notes)))}){f': {about}' if about else ''}"


def _kind(facts: dict[str, Any]) -> str:
    """What may stand there: the words to choose from, else the type."""
    words = facts.get("enum") or _mapping(facts.get("items")).get("enum")
    if isinstance(words, list):
        choices = " | ".join(str(word) for word in cast("list[object]", words))
        return f"list of {choices}" if facts.get("type") == "array" else choices
    kind: object = facts.get("type", "any")
    return " | ".join(str(each) for each in cast("list[object]", kind)) if isinstance(kind, list) else str(kind)


def _default(name: str, facts: dict[str, Any], defaults: dict[str, Any]) -> str:
    value = defaults.get(name, facts.get("default"))
    return "" if value in (None, "", []) else f"default {value}"


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
