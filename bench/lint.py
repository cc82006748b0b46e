"""Lint over 1,000 definitions of the kinds that real trees hold: Markdown agents, skills, commands, JSON tools.

Made up by `bench.prose`, the same on every machine: half of them Markdown agents of some 4 kB that call each other, the
rest skills, commands and tool definitions with schemas.
"""

import json
import tempfile
import time
from pathlib import Path

from bench.prose import SUBSYSTEMS, Chance
from bench.table import Row, median_of
from retinue.agents.lint import collect_files, lint_tree

__all__ = ["measure"]

_DEFINITIONS = 1_000


def measure() -> list[Row]:
    """Seconds for 1,000 definitions, and how they grow: half as many must take about half as long."""
    with tempfile.TemporaryDirectory(prefix="retinue-bench-") as name:
        folder = Path(name)
        for part, start in (("first", 0), ("second", _DEFINITIONS // 2)):
            for number in range(start, start + _DEFINITIONS // 2):
                _write(folder / part, number)
        whole = median_of(3, lambda: _seconds(folder))
        half = median_of(3, lambda: _seconds(folder / "first"))
    return [
        Row(f"lint of {_DEFINITIONS:,} definitions", whole, "s", goal=3, note="files read, judged and compared"),
        Row("lint: growth from half of them to all", whole / half, "times", goal=2.5),
    ]


def _seconds(folder: Path) -> float:
    start = time.perf_counter()
    linted = lint_tree(collect_files([folder]))
    spent = time.perf_counter() - start
    if not linted.names:
        raise RuntimeError("lint found nothing to judge")
    return spent


def _name(number: int) -> str:
    return f"{SUBSYSTEMS[number % len(SUBSYSTEMS)]}-{number}"


def _write(folder: Path, number: int) -> None:
    """One definition: of ten, five agents, two skills, one command, two tools."""
    chance = Chance(f"lint {number}")
    name = _name(number)
    kind = number % 10
    if kind < 5:
        path, text = folder / ".claude" / "agents" / f"{name}.md", _markdown(chance, f"name: {name}\n", number)
    elif kind < 7:
        path, text = folder / ".claude" / "skills" / name / "SKILL.md", _markdown(chance, f"name: {name}\n", number)
    elif kind < 8:
        path, text = folder / ".claude" / "commands" / f"{name}.md", _markdown(chance, "", number)
    else:
        path, text = folder / "agents" / f"{name}.json", json.dumps(_tool(chance, name), indent=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _markdown(chance: Chance, named: str, number: int) -> str:
    """An agent, a skill or a command that calls another; one in ten calls somebody who is not there."""
    called = chance.filled("{a}-{n}") if number % 10 == 0 else _name(number - number % 10)
    description = json.dumps(f"{chance.sentence()} Use when {chance.sentence()}")
    sections = [
        f"## {heading}\n\n" + "\n\n".join(chance.paragraph() for _ in range(3))
        for heading in ("Role", "Steps", "Output format", "Quality criteria")
    ]
    call = f"```markdown\n**Agent:** {called}\n**Operation:** {chance.filled('{v}-{n}')}\n```\n"
    return "\n\n".join([f"---\n{named}description: {description}\n---", *sections, call])


def _tool(chance: Chance, name: str) -> dict[str, object]:
    fields = {
        chance.filled("{a}_{n}"): {"type": "string", "description": chance.sentence(), "minLength": 1} for _ in range(6)
    }
    return {
        "name": name.replace("-", "_"),
        "description": f"{chance.sentence()} Use when {chance.sentence()} Returns: {chance.sentence()}",
        "input_schema": {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        },
    }
