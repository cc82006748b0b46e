"""Agents of ours as files of Claude Code: what `.claude` needs to ask them by the contract of spec 003 (K21 to K27).

An agent file says how its agent is asked and what its results hold; a command asks it by the input block and says what
to do with each kind of answer; the contract they share says once what is the same for all. Everything follows from the
definitions. The files are for Claude Code: Retinue knows them by `builtIn` and goes on using the agents themselves.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Final

from retinue.agents.load.fields import BUILT_IN
from retinue.contract import json
from retinue.contract.definition import Definition, Skill
from retinue.contract.fault import Fault
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonObject, as_mapping
from retinue.contract.model import JsonMapping
from retinue.contract.names import to_kebab
from retinue.contract.result import Result, Warned
from retinue.dialects.markdown_json import render_result

from .round_trip import json_text
from .yaml import write_yaml

_VERSION: Final = "1.0"
"""Of the contract that they all follow."""
_DIALECT: Final = "markdown_json"
_MAX_MEMBERS: Final = 12
_SEAL: Final = "<!-- Written by `retinue init --claude`, and brought up to date by it until changed: {} -->"
_SEALED: Final = re.compile(re.escape(_SEAL).replace(re.escape("{}"), "([0-9a-f]{16})"))
_EXAMPLE_NS: Final = 1_250_000_000
_BLOCK: Final = """### {operation}

```markdown
**Agent:** {name}
**Operation:** {operation}
**Target:** $2
**Context:** $ARGUMENTS

Execute per AGENT_CONTRACT.md.
```"""


def claude_files(definitions: Sequence[Definition]) -> dict[str, str]:
    """The files for those of `definitions` that have a name in the dialect of spec 003, by their paths in `.claude`."""
    rows: list[str] = []
    files: dict[str, str] = {}
    for one in definitions:
        if (name := one.wire_names.get(_DIALECT)) is None:
            continue
        operations = [to_kebab(skill.name) for skill in one.skills]
        rows.append(f"| `{name}` | {', '.join(f'`{each}`' for each in operations)} |")
        front: JsonObject = {"name": name, "description": one.description, "version": one.version, "tools": "Bash"}
        files[f"agents/{name}.md"] = _front({**front, BUILT_IN: one.name}) + _fill(
            "agent",
            name=name,
            agent=one.name,
            operations="\n\n".join("\n".join(_operation(skill)) for skill in one.skills),
            examples="\n\n".join(
                f"### {each.outcome}\n\n```json\n{json_text(json.loads(render_result(each).text))}```"
                for each in _examples(one, name)
            ),
        )
        front = {
            "description": f"Ask {name}: {natural_list(operations, last='or')}.",
            "argument-hint": "<operation> [target]",
            "allowed-tools": "Task, Bash(retinue parse:*)",
        }
        blocks = "\n\n".join(_BLOCK.format(name=name, operation=each) for each in operations)
        files[f"commands/{name}.md"] = _front(front) + _fill("command", name=name, blocks=blocks)
    files["AGENT_CONTRACT.md"] = _fill("contract", operations="\n".join(rows))
    return {path: text.replace(_SEAL, _SEAL.format(_digest(text))) for path, text in files.items()}


def _front(keys: JsonObject) -> str:
    return f"---\n{write_yaml(keys)}\n---\n\n"


def _fill(template: str, **parts: str) -> str:
    text = Path(__file__).with_name(f"claude_{template}.txt").read_text(encoding="utf-8")
    return Template(text).safe_substitute(version=_VERSION, seal=_SEAL, **parts)


def is_as_written(text: str) -> bool:
    """Whether `text` is as `claude_files` of this or an earlier version wrote it."""
    seal = _SEALED.search(text)
    return seal is not None and _digest(text.replace(seal[0], _SEAL)) == seal[1]


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:16]


def _operation(skill: Skill) -> Iterator[str]:
    """What one operation is for, what it takes, and the members of its `result`."""
    yield f"### `{to_kebab(skill.name)}`\n\n{skill.description}\n"
    schema, target = skill.input_schema, skill.target_field
    for name, facts in as_mapping(schema.get("properties")).items():
        if name == target:
            yield f"- Target: {facts.get('description', 'what to look at')}"
        elif name != skill.instruction_field:
            word = "required" if name in schema.get("required", ()) and "default" not in facts else "optional"
            yield f"- Parameter {name} ({_kind(schema, facts)}, {word}): {facts.get('description', '')}".rstrip(": ")
    output = skill.output_schema or {}
    for name, facts in as_mapping(output.get("properties")).items():
        about = f": {facts['description']}" if "description" in facts else ""
        yield f"- Result {name} ({_kind(output, facts)}){about}"


def _kind(schema: JsonMapping, facts: JsonMapping) -> str:
    """What kind of value a schema describes, in a few words."""
    for part in facts.get("anyOf", ()):
        if part != {"type": "null"}:
            return _kind(schema, part)
    if "$ref" in facts:
        facts = as_mapping(as_mapping(schema.get("$defs")).get(facts["$ref"].rpartition("/")[2]))
    if "enum" in facts:
        return f"one of {', '.join(map(str, facts['enum']))}"
    members = list(as_mapping(facts.get("properties")))
    if members:
        more = ", …" if len(members) > _MAX_MEMBERS else ""
        return f"object of {', '.join(members[:_MAX_MEMBERS])}{more}"
    items = as_mapping(facts.get("items"))
    return f"list of {_kind(schema, items)}" if items else str(facts.get("type", "any"))


def _examples(definition: Definition, name: str) -> Iterator[Result]:
    """An answer of each kind; the first is a sample of the definition."""
    samples = ((skill, one) for skill in definition.skills for one in skill.samples if one.answer is not None)
    skill, sample = next(samples, (definition.skills[0], None))
    answer = Result(
        task_id="t", agent=name, skill=skill.name, outcome="success", duration_ns=_EXAMPLE_NS,
        data=sample.answer if sample else {},
    )  # fmt: skip
    yield answer
    warning = Warned(
        type="missing_data",
        message="docs/guide.md could not be read: it is no text.",
        impact="What it says is missing here.",
        recovery="Save docs/guide.md as UTF-8, and ask again.",
    )
    yield answer.model_copy(update={"outcome": "partial", "warnings": (warning,), "completeness": 90})
    fault = Fault(
        code="missing_file",
        message="There is no file docs/guide.md.",
        hint="Check the path docs/guide.md, or name another target.",
        operation=skill.name,
        target="docs/guide.md",
        failed_at="reading",
        timestamp_ns=1_759_937_400_000_000_000,
    )
    yield answer.model_copy(update={"outcome": "error", "fault": fault, "data": None})
