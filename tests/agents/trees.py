"""Small trees of agents, and what lint says of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from retinue.agents.lint import collect_files, lint_tree
from retinue.contract.finding import Finding
from retinue.contract.lint import RULES, find_rule

DESCRIPTION = "Looks up the sky at a place. Use when a trip is planned. Returns: a forecast."


def put(file: Path, value: object) -> Path:
    """Write a file: a text as it stands, anything else as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def tool(**changes: Any) -> dict[str, Any]:
    """A sound tool definition."""
    field = {"type": "string", "description": "A town or a village.", "minLength": 1}
    takes = {"type": "object", "properties": {"place": field}, "required": ["place"], "additionalProperties": False}
    return {"name": "weather", "description": DESCRIPTION, "input_schema": takes, **changes}


def markdown(name: str, body: str = "You are careful.\n") -> str:
    """A Markdown agent."""
    return f"---\nname: {name}\ndescription: {json.dumps(DESCRIPTION)}\n---\n\n{body}"


def lint(*paths: Path, only: Iterable[str] = ()) -> list[Finding]:
    """What lint finds at `paths`, of rules that begin so; every finding has its place and a known rule."""
    found = lint_tree(collect_files(paths)).findings
    for each in found:
        assert each.file, each
        assert each.line, each
        assert each.column, each
        assert find_rule(each.rule) in RULES.values(), each
    return [each for each in found if each.rule.startswith(tuple(only) or "")]


def said(findings: Iterable[Finding], folder: Path) -> list[tuple[str, int, int, str, str]]:
    """Where, how severe, and which rule."""
    return [
        (
            (each.file or "").removeprefix(f"{folder.as_posix()}/"),
            each.line or 0,
            each.column or 0,
            each.severity,
            each.rule,
        )
        for each in findings
    ]
