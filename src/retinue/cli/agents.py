"""`retinue agents`: the available agents, and the files that were skipped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click

from retinue.agents.registry import light_schema
from retinue.cli.output import (
    cut_to_screen,
    echo,
    echo_err,
    echo_json,
    findings_text,
    label,
    present,
    safe,
    safe_lines,
    wrap,
)
from retinue.cli.project import Project
from retinue.cli.remote import mcp_servers, with_named
from retinue.contract.definition import Definition
from retinue.contract.names import fold

_EXAMPLES = 5
_MODEL_USE = {
    "can": "asks a model where one is configured",
    "must": "asks a model",
    "by_others": "answers with a plan, whose agents ask a model where one is configured",
}


def list_agents(*, name: str | None, light: bool, as_json: bool, project: Project) -> None:
    """List the available agents; with NAME, show one in full."""
    if name is not None:
        project, name = with_named(project, name, quiet=as_json, shows_findings=True)
    registry = project.registry
    chosen = None if name is None else registry.get(name).definition
    if light:
        text = light_schema(registry.definitions() if chosen is None else (chosen,))
        if as_json:
            echo_json({"light_schema": text})
        else:
            echo(text)
    elif chosen is not None and as_json:
        echo_json(chosen.to_json())
    elif chosen is not None:
        echo("\n".join(map(wrap, _agent_lines(chosen, project))))
    elif as_json:
        skipped = [
            {"path": each.path, "reason": each.reason, "line": each.line or None, "hint": each.hint or None}
            for each in registry.skipped
        ]
        echo_json({
            "agents": [definition.to_json() for definition in registry.definitions()],
            "skipped": [present(each) for each in skipped],
            "findings": [finding.to_json() for finding in registry.findings],
            "remote": [{"name": name, "url": place} for name, place in _remote_places(project).items()],
        })  # fmt: skip
    else:
        _show_all(project)


def _show_all(project: Project) -> None:
    """Every agent with its skills, one a line, then what was skipped."""
    definitions, registry = project.registry.definitions(), project.registry
    width = max((len(skill.name) for each in definitions for skill in each.skills), default=0)
    for number, definition in enumerate(definitions):
        echo(f"{chr(10) if number else ''}{_title(definition, project)}")
        for skill in definition.skills:
            about = skill.description.partition(". ")[0].removesuffix(".")
            if skill.unavailable:
                about = f"unavailable: {skill.unavailable}"
            line = cut_to_screen(f"  {safe(skill.name):<{width}}  {safe(about)}")
            echo(click.style(line, dim=True) if skill.unavailable else line)
        added = [skill.name for skill in definition.skills if skill.thinks != "never" and not skill.unavailable]
        if added and not project.models.configured:
            echo(click.style(cut_to_screen(f"  with a model it thinks: {', '.join(added)}"), dim=True))
    if places := _remote_places(project):
        echo("\nremote, see `retinue agents NAME`")
        width = max(map(len, places))
        for name, place in places.items():
            routed = "  (goals are routed to it)" if name in project.settings.get("remote.route") else ""
            echo(cut_to_screen(f"  {safe(name):<{width}}  {safe(place)}{routed}"))
    if definitions and (registry.skipped or registry.findings):
        echo_err("")
    for skipped in registry.skipped:
        place = f"{safe(skipped.path)}{f':{skipped.line}' if skipped.line else ''}"
        echo_err(f"{label('skipped', 'yellow')} {place}: {safe(skipped.reason)}")
        if skipped.hint:
            echo_err(f"   {label('next')}: {safe(skipped.hint)}")
    # The warnings about agents that are there; why a file was skipped is said above.
    pairs = {(each.path, each.reason) for each in registry.skipped}
    warnings = [each for each in registry.findings if each.severity == "warning"]
    if warnings := [each for each in warnings if (each.file, each.message) not in pairs]:
        echo_err(findings_text(warnings))


def _remote_places(project: Project) -> dict[str, str]:
    """Where the agents at a URL and the MCP servers are that have a name: nobody is asked."""
    config = mcp_servers(project)
    servers = {each.name: f"mcp:{each.name}" for each in (config.servers if config is not None else ())}
    return {**servers, **project.settings.get("remote.urls")}


def _title(definition: Definition, project: Project) -> str:
    origin = "built in"
    if definition.source is not None:
        file = Path(definition.source.file)
        if definition.is_remote:
            file = definition.source.file
        elif file.is_absolute() and file.is_relative_to(project.root):
            file = file.relative_to(project.root)
        origin = safe(file) + (f":{definition.source.line}" if definition.source.line else "")
    facts = [definition.version, definition.tier or "", origin, "deprecated" if definition.deprecated else ""]
    # An agent whose own name belongs to an agent of the project is asked by the name with `retinue:` before it.
    name = definition.aliases[0] if definition.name in project.registry.hidden else definition.name
    return f"{click.style(name, bold=True)} {click.style(' · '.join(filter(None, facts)), dim=True)}"


# One agent, whole.


def _agent_lines(definition: Definition, project: Project) -> Iterator[str]:
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
        yield f"{label(safe(skill.name), 'cyan')}  {safe_lines(skill.description)}"
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


def _fields(title: str, schema: dict[str, Any], defaults: dict[str, Any]) -> Iterator[str]:
    """The members of an object, one a line."""
    members: dict[str, Any] = schema.get("properties") or {}
    if members:
        yield f"  {title}"
    for name, member in members.items():
        facts = cast("dict[str, Any]", member) if isinstance(member, dict) else {}
        default = defaults.get(name, facts.get("default"))
        # What it takes: the words to choose from, else the type.
        items: object = facts.get("items")
        words = facts.get("enum") or (cast("dict[str, Any]", items).get("enum") if isinstance(items, dict) else None)
        kind = words or facts.get("type", "any")
        text = " | ".join(map(str, cast("list[object]", kind))) if isinstance(kind, list) else str(kind)
        notes = [
            f"list of {text}" if words and facts.get("type") == "array" else text,
            "required" if name in schema.get("required", ()) and name not in defaults else "",
            "" if default in (None, "", []) else f"default {default}",
        ]
        about = safe(facts.get("description", ""))
        yield f"    {safe(name)} ({safe(', '.join(filter(None, notes)))}){f': {about}' if about else ''}"
