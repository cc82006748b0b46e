"""Definitions as tools: exactly `name`, `description` and `input_schema` (A4).

Each skill is a tool. A major version other than 1 stands in the name (C11); deprecation stands in the description and
in the schema, as the spec and JSON Schema want it (A27, C34). What makes a good definition is for `contract.lint`.
"""

from dataclasses import dataclass
from typing import Final, cast

from pydantic import ValidationError

from retinue.contract import json, schema
from retinue.contract.definition import Definition, Deprecation, Skill
from retinue.contract.finding import Finding, Level, Loss, findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.dialects.port import Parsed, Rendered
from retinue.dialects.reading import Notes, object_in, refuse
from retinue.dialects.writing import Losses
from retinue.errors import InvalidInput, ParseError

from .deprecation import read_deprecation, write_deprecation
from .names import ToolName, read_tool_name, write_tool_name
from .rest import Rest
from .wire import Tool

__all__ = ["parse_definition", "parse_definitions", "render_definition", "render_definitions"]


@dataclass(frozen=True, slots=True)
class _Said:
    """One tool, understood, and what it has beside the three keys."""

    name: ToolName
    tool: Tool
    rest: JsonMapping

    @property
    def skill(self) -> str:
        return self.name.skill or self.name.agent


# Reading


def parse_definition(text: str | bytes, *, level: Level = "standard") -> Parsed[Definition]:
    """Read the one agent whose tools `text` holds.

    Raises:
        ParseError: The text is no JSON object or array.
        InvalidInput: It holds no definition, or those of several agents.
    """
    read = parse_definitions(text, level=level)
    if len(read.value) != 1:
        names = ", ".join(f"{one.name} {one.version}" for one in read.value[:20])
        raise InvalidInput(
            f"There are {len(read.value)} agents: {names}.", hint="Read them with `parse_definitions`, or send one."
        )
    return Parsed(read.value[0], read.form, read.findings)


def parse_definitions(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Definition, ...]]:
    """Read one tool, or an array of them. Tools named `agent__skill` are the skills of one agent.

    Raises:
        ParseError: The text is no JSON object or array.
        InvalidInput: It holds something that is no definition.
    """
    notes = Notes("tool_use", level)
    value = _tools(text, notes)
    agents: dict[tuple[str, int | None], list[_Said]] = {}
    seen = set[ToolName]()
    for at, item in enumerate(value if isinstance(value, list) else [value]):
        path = pointer([at]) if isinstance(value, list) else ""
        said = _understood(item, path, notes)
        if said is None:
            continue
        if said.name in seen:
            notes.add("twice", f"{said.tool.name[:100]!r} appears twice.", path=path, fix="Keep one.", severity="error")
        seen.add(said.name)
        agents.setdefault(said.name[:2], []).append(said)
    if not agents and not notes.wrong:
        notes.add("none", "The array is empty.", fix="Send at least one definition.", severity="error")
    if notes.wrong:
        refuse(notes, InvalidInput)
    return Parsed(tuple(map(_definition, agents.values())), "tools", tuple(notes.findings))


def _tools(text: str | bytes, notes: Notes) -> JsonValue:
    try:
        value = json.loads(text)
    except ParseError:
        return object_in(text, notes)
    return value if isinstance(value, list) else object_in(text, notes)


def _understood(item: JsonValue, path: str, notes: Notes) -> _Said | None:
    """One tool; None when something is wrong with it, and then `notes` says what."""
    rest = Rest()
    if notes.level != "strict" and isinstance(item, dict):
        rest.take(item, Tool, notes, path=path)
    try:
        tool = Tool.model_validate(item)
    except ValidationError as error:
        found = findings_of(error, rule="tool_use/shape")
        notes.take(Finding(rule=one.rule, message=one.message, path=path + one.path) for one in found)
        return None
    _judge_schema(tool.input_schema, f"{path}/input_schema", notes)
    name = read_tool_name(tool.name)
    if name is None or name.spelled != tool.name:
        severity = "error" if name is None or notes.level == "strict" else "warning"
        message = f"The name {tool.name[:100]!r} is not snake_case."
        fix = f"Call it {name.spelled!r}." if name else "Use small letters, digits and single underscores."
        notes.add("name", message, path=f"{path}/name", fix=fix, severity=severity)
    return None if name is None else _Said(name, tool, rest.kept)


def _judge_schema(takes: JsonObject, path: str, notes: Notes) -> None:
    """That it is a JSON Schema of an object; when strict, with all that §2.2 wants of it (A6)."""
    for wrong in schema.findings_in(takes):
        rule = wrong.rule.rpartition("/")[2]
        notes.add(rule, wrong.message, path=path + wrong.path, fix=wrong.fix, severity=wrong.severity)
    if takes.get("type") != "object":
        fix = 'Add `"type": "object"`.'
        notes.add("input-schema", "It describes no object.", path=path, fix=fix, severity="error")
    if notes.level != "strict":
        return
    for key in ("properties", "required", "additionalProperties"):
        if key not in takes:
            notes.add("input-schema", f"It has no `{key}`.", path=path, fix=f"Add `{key}`.", severity="error")
    if takes.get("additionalProperties", False) is not False:
        fix = "Say `false`."
        notes.add(
            "input-schema", "It lets any key through.", path=f"{path}/additionalProperties", fix=fix, severity="error"
        )


def _definition(tools: list[_Said]) -> Definition:
    """The agent whose skills these are; deprecated where all of them are."""
    name = tools[0].name
    read = [read_deprecation(said.tool.description, said.tool.input_schema) for said in tools]
    deprecated = read[0].deprecated if all(one.deprecated is not None for one in read) else None
    skills = tuple(
        Skill(
            name=said.skill,
            description=one.description if deprecated else said.tool.description,
            input_schema=one.input_schema if deprecated else said.tool.input_schema,
        )
        for said, one in zip(tools, read, strict=True)
    )
    rest = {said.skill: said.rest for said in tools if said.rest}
    return Definition(
        name=name.agent,
        version=f"{1 if name.major is None else name.major}.0",
        description=next((skill.description for skill in skills if skill.name == name.agent), skills[0].description),
        skills=skills,
        deprecated=deprecated,
        extras={"tool_use": rest} if rest else {},
    )


# Writing


def render_definition(definition: Definition) -> Rendered:
    """Write the agent's tools: one object, or an array where it has several skills.

    Raises:
        InvalidInput: Something in it is no JSON.
    """
    tools, losses = _written(definition)
    return Rendered(json.dumps(tools[0] if len(tools) == 1 else tools), "tools", tuple(losses))


def render_definitions(definitions: tuple[Definition, ...]) -> Rendered:
    """Write the tools of several agents. Losses say first which agent they are of.

    Raises:
        InvalidInput: Something in them is no JSON.
    """
    tools = list[JsonMapping]()
    losses = list[Loss]()
    for at, definition in enumerate(definitions):
        mine, lost = _written(definition)
        tools += mine
        losses += [Loss(field=f"/{at}{loss.field}", why=loss.why) for loss in lost]
    return Rendered(json.dumps(tools[0] if len(tools) == 1 else tools), "tools", tuple(losses))


def _written(definition: Definition) -> tuple[list[JsonMapping], list[Loss]]:
    major = None if definition.major == 1 else definition.major
    own: object = definition.extras.get("tool_use")
    riders = cast("JsonMapping", own) if isinstance(own, dict) else {}
    called = definition.wire_names.get("tool_use", "")
    tools = list[JsonMapping]()
    for skill in definition.skills:
        described = definition.description if len(definition.skills) == 1 else skill.description
        description, takes = write_deprecation(described, skill.input_schema, definition.deprecated)
        name = write_tool_name(definition.name, major=major, skill=skill.name)
        if read_tool_name(called) is not None:
            name = called + name.removeprefix(definition.name)
        mine: object = riders.get(skill.name)
        rest = cast("JsonMapping", mine) if isinstance(mine, dict) else {}
        tools.append({**rest, "name": name, "description": description, "input_schema": takes})
    return tools, _losses(definition, _definition([_said(tool) for tool in tools]))


def _said(tool: JsonMapping) -> _Said:
    name = read_tool_name(tool["name"]) or ToolName(tool["name"])
    known = {key: tool[key] for key in Tool.model_fields}
    return _Said(name, Tool(**known), {key: value for key, value in tool.items() if key not in known})


def _losses(definition: Definition, back: Definition) -> list[Loss]:
    """What `back`, which is what will be read, says otherwise than `definition`."""
    losses = Losses("tool_use")
    for name in ("name", "version", "description"):
        if getattr(back, name) != getattr(definition, name):
            losses.add(f"/{name}", "a tool has a name, a description and a schema")
    losses.unsaid(definition, *_UNSAID)
    _count_deprecation(definition.deprecated, back.deprecated, losses)
    for at, (skill, read) in enumerate(zip(definition.skills, back.skills, strict=True)):
        path = f"/skills/{at}"
        for name in ("name", "description", "input_schema"):
            if getattr(skill, name) != getattr(read, name):
                losses.add(f"{path}/{name}", "it reads otherwise")
        losses.unsaid(skill, *_UNSAID_OF_SKILLS, path=path)
    losses.foreign(definition.extras)
    if {key: value for key, value in definition.extras.items() if key == "tool_use"} != back.extras:
        losses.add("/extras/tool_use", "a skill's keys stand under its name")
    return losses.found


_UNSAID: Final = (
    "aliases", "wire_names", "category", "tags", "tier", "model", "tools", "instructions", "dialect", "composes",
    "runner", "source",
)  # fmt: skip
_UNSAID_OF_SKILLS: Final = (
    "output_schema", "instruction_field", "target_field", "defaults", "timeout_s", "effects", "method", "path",
    "examples", "samples", "unavailable", "thinks", "thinks_within",
)  # fmt: skip


def _count_deprecation(mine: Deprecation | None, read: Deprecation | None, losses: Losses) -> None:
    if mine is None or read is None:
        if mine is not read:
            losses.add("/deprecated", "it reads as deprecated")
        return
    for name in Deprecation.model_fields:
        if getattr(mine, name) != getattr(read, name):
            losses.add(f"/deprecated/{name}", "it does not fit into the description")
