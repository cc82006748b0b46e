"""`retinue agents`: who there is, and who was passed over."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.options import json_option, workspace_option
from retinue.cli.output import console, echo_json, findings_text, safe, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.agents.registry import Registry
    from retinue.contract.definition import Definition, Skill

__all__ = ["command"]


@click.command("agents")
@click.argument("name", required=False)
@json_option
@workspace_option
def command(*, name: str | None, as_json: bool, workspace: Path | None) -> None:
    """List the agents at hand; with NAME, show all that one says of itself."""
    from retinue.cli.project import open_project

    registry = open_project(workspace).registry
    if name is not None:
        definition = registry.get(name).definition
        if as_json:
            echo_json(definition.to_json())
        else:
            _show(definition)
        return
    if as_json:
        _list_json(registry)
        return
    _table(registry.definitions())
    for skipped in registry.skipped:
        place = f"{safe(skipped.path)}{f':{skipped.line}' if skipped.line else ''}"
        tell(f"skipped {place}: {safe(skipped.reason)} {safe(skipped.hint)}")
    warned = [finding for finding in registry.findings if finding.severity == "warning"]
    if warned:
        tell(findings_text(warned))


def _list_json(registry: "Registry") -> None:
    skipped = [
        {"path": each.path, "reason": each.reason, "line": each.line, "hint": each.hint} for each in registry.skipped
    ]
    echo_json(
        {
            "agents": [definition.to_json() for definition in registry.definitions()],
            "skipped": skipped,
            "findings": [finding.to_json() for finding in registry.findings],
        }
    )


def _table(definitions: "Sequence[Definition]") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("agent", "version", "skill", "what it does"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "version")
    for definition in definitions:
        for index, skill in enumerate(definition.skills):
            first = (safe(definition.name), definition.version) if index == 0 else ("", "")
            about = f"[dim]unavailable: {_plain(skill.unavailable)}[/]" if skill.unavailable else _first(skill)
            table.add_row(*first, safe(skill.name), about)
    console().print(table)


def _first(skill: "Skill") -> str:
    """The first sentence of a skill's description."""
    return _plain(skill.description.partition(". ")[0])


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(safe(text))


def _show(definition: "Definition") -> None:
    lines = [f"{click.style(definition.name, bold=True)} {definition.version}", safe(definition.description), ""]
    facts = {
        "aliases": ", ".join(definition.aliases),
        "tier": definition.tier or "",
        "model": definition.model or "",
        "tools": ", ".join(definition.tools or ()),
        "source": definition.source.file if definition.source else "",
    }
    lines += [f"{name}: {safe(value)}" for name, value in facts.items() if value]
    for skill in definition.skills:
        lines += ["", *_skill_lines(skill)]
    click.echo("\n".join(lines))


def _skill_lines(skill: "Skill") -> list[str]:
    lines = [f"{click.style(skill.name, fg='cyan', bold=True)}: {safe(skill.description)}"]
    if skill.unavailable:
        lines.append(f"  unavailable: {safe(skill.unavailable)}")
    required = skill.input_schema.get("required", [])
    for name, schema in skill.input_schema.get("properties", {}).items():
        allowed = schema.get("enum") or schema.get("items", {}).get("enum")
        kind = " | ".join(map(str, allowed)) if allowed else str(schema.get("type", "any"))
        default = skill.defaults.get(name, schema.get("default"))
        notes = [kind, "required" if name in required else "", f"default {default}" if default is not None else ""]
        lines.append(f"  {safe(name)} ({safe(', '.join(filter(None, notes)))}): {safe(schema.get('description', ''))}")
    lines += [f'  e.g. "{safe(example)}"' for example in skill.examples[:3]]
    return lines
