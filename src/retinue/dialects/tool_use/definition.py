"""Definitions as tools: exactly `name`, `description` and `input_schema` (A4).

Each skill is a tool. A major version other than 1 stands in the name (C11); deprecation stands in the description and
in the schema, as the spec and JSON Schema want it (A27, C34). What makes a good definition is for `contract.lint`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from pydantic import ValidationError

from retinue.contract import json, schema
from retinue.contract.definition import Definition, Deprecation, Skill
from retinue.contract.finding import Finding, Level, Loss, findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.dialects.diagnostics import Diagnostics, parse_object, refuse
from retinue.dialects.losses import find_losses, own_extras
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import InvalidInput, ParseError

from .extras import UnknownKeys
from .tool_name import ToolName, read_tool_name, write_tool_name
from .wire import ToolDefinition


@dataclass(frozen=True, slots=True)
class _ToolEntry:
    """One tool, understood, and what it has beside the three keys."""

    name: ToolName
    tool: ToolDefinition
    extras: JsonMapping

    @property
    def skill(self) -> str:
        return self.name.skill or self.name.agent


# Reading


def parse_definitions(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Definition, ...]]:
    """Read one tool, or an array of them. Tools named `agent__skill` are the skills of one agent.

    Raises:
        ParseError: The text is no JSON object or array.
        InvalidInput: It holds something that is no definition.
    """
    notes = Diagnostics("tool_use", level)
    try:
        value = json.loads(text)
    except ParseError:
        value = None
    if not isinstance(value, list):
        value = parse_object(text, notes)
    agents: dict[tuple[str, int | None], list[_ToolEntry]] = {}
    names = set[ToolName]()
    for at, item in enumerate(value if isinstance(value, list) else [value]):
        path = pointer([at]) if isinstance(value, list) else ""
        entry = _read_tool(item, path, notes)
        if entry is None:
            continue
        if entry.name in names:
            notes.add(
                "twice", f"{entry.tool.name[:100]!r} appears twice.", path=path, fix="Keep one.", severity="error"
            )
        names.add(entry.name)
        agents.setdefault(entry.name[:2], []).append(entry)
    if not agents and not notes.has_errors:
        notes.add("none", "The array is empty.", fix="Send at least one definition.", severity="error")
    if notes.has_errors:
        refuse(notes, InvalidInput)
    return Parsed(tuple(map(_definition, agents.values())), "tools", tuple(notes.findings))


def _read_tool(item: JsonValue, path: str, notes: Diagnostics) -> _ToolEntry | None:
    """One tool; None when something is wrong with it, and then `notes` says what."""
    unknown_keys = UnknownKeys()
    if notes.level != "strict" and isinstance(item, dict):
        unknown_keys.extract(item, ToolDefinition, notes, path=path)
    try:
        tool = ToolDefinition.model_validate(item)
    except ValidationError as error:
        findings = findings_of(error, rule="tool_use/shape")
        notes.extend(Finding(rule=one.rule, message=one.message, path=path + one.path) for one in findings)
        return None
    _check_schema(tool.input_schema, f"{path}/input_schema", notes)
    name = read_tool_name(tool.name)
    if name is None or name.canonical != tool.name:
        severity = "error" if name is None or notes.level == "strict" else "warning"
        message = f"The name {tool.name[:100]!r} is not snake_case."
        fix = f"Call it {name.canonical!r}." if name else "Use small letters, digits and single underscores."
        notes.add("name", message, path=f"{path}/name", fix=fix, severity=severity)
    return None if name is None else _ToolEntry(name, tool, unknown_keys.keys)


def _check_schema(input_schema: JsonObject, path: str, notes: Diagnostics) -> None:
    """That it is a JSON Schema of an object; when strict, with all that §2.2 wants of it (A6)."""
    for finding in schema.check_schema(input_schema):
        rule = finding.rule.rpartition("/")[2]
        notes.add(rule, finding.message, path=path + finding.path, fix=finding.fix, severity=finding.severity)
    if input_schema.get("type") != "object":
        fix = 'Add `"type": "object"`.'
        notes.add("input-schema", "It describes no object.", path=path, fix=fix, severity="error")
    if notes.level != "strict":
        return
    for key in ("properties", "required", "additionalProperties"):
        if key not in input_schema:
            notes.add("input-schema", f"It has no `{key}`.", path=path, fix=f"Add `{key}`.", severity="error")
    if input_schema.get("additionalProperties", False) is not False:
        fix = "Say `false`."
        notes.add(
            "input-schema", "It lets any key through.", path=f"{path}/additionalProperties", fix=fix, severity="error"
        )


def _definition(entries: list[_ToolEntry]) -> Definition:
    """The agent whose skills these are; deprecated where all of them are."""
    name = entries[0].name
    read = [read_deprecation(entry.tool.description, entry.tool.input_schema) for entry in entries]
    deprecated = read[0].deprecated if all(one.deprecated is not None for one in read) else None
    skills = tuple(
        Skill(
            name=entry.skill,
            description=one.description if deprecated else entry.tool.description,
            input_schema=one.input_schema if deprecated else entry.tool.input_schema,
        )
        for entry, one in zip(entries, read, strict=True)
    )
    rest = {entry.skill: entry.extras for entry in entries if entry.extras}
    return Definition(
        name=name.agent,
        version=f"{1 if name.major is None else name.major}.0",
        description=next((skill.description for skill in skills if skill.name == name.agent), skills[0].description),
        skills=skills,
        deprecated=deprecated,
        extras={"tool_use": rest} if rest else {},
    )


# Writing


def render_definition(definition: Definition) -> RenderedMessage:
    """Write the agent's tools: one object, or an array where it has several skills.

    Raises:
        InvalidInput: Something in it is no JSON.
    """
    tools = _render_tools(definition)
    return RenderedMessage(_tools_text(tools), "tools", lambda: _losses(definition, tools))


def render_definitions(definitions: tuple[Definition, ...]) -> RenderedMessage:
    """Write the tools of several agents. Losses say first which agent they are of.

    Raises:
        InvalidInput: Something in them is no JSON.
    """
    tools = [_render_tools(definition) for definition in definitions]

    def losses() -> Iterator[Loss]:
        for at, (definition, own_tools) in enumerate(zip(definitions, tools, strict=True)):
            for loss in _losses(definition, own_tools):
                yield Loss(field=f"/{at}{loss.field}", why=loss.why)

    return RenderedMessage(_tools_text([tool for own_tools in tools for tool in own_tools]), "tools", losses)


def _tools_text(tools: list[JsonMapping]) -> str:
    return json.dumps(tools[0] if len(tools) == 1 else tools)


def _render_tools(definition: Definition) -> list[JsonMapping]:
    major = None if definition.major == 1 else definition.major
    extras = own_extras(definition.extras, "tool_use")
    wire_name = definition.wire_names.get("tool_use", "")
    tools = list[JsonMapping]()
    for skill in definition.skills:
        text = definition.description if len(definition.skills) == 1 else skill.description
        description, input_schema = write_deprecation(text, skill.input_schema, definition.deprecated)
        name = write_tool_name(definition.name, major=major, skill=skill.name)
        if read_tool_name(wire_name) is not None:
            name = wire_name + name.removeprefix(definition.name)
        mine: object = extras.get(skill.name)
        rest = cast("JsonMapping", mine) if isinstance(mine, dict) else {}
        tools.append({**rest, "name": name, "description": description, "input_schema": input_schema})
    return tools


def _losses(definition: Definition, tools: list[JsonMapping]) -> Iterator[Loss]:
    """What `tools` say otherwise. They are understood without being judged: a reader may refuse a poor schema."""
    entries: list[_ToolEntry] = []
    for tool in tools:
        name = read_tool_name(tool["name"]) or ToolName(tool["name"])
        fields = {key: tool[key] for key in ToolDefinition.model_fields}
        rest = {key: value for key, value in tool.items() if key not in fields}
        entries.append(_ToolEntry(name, ToolDefinition(**fields), rest))
    return find_losses(definition, _definition(entries), dialect="tool_use", reasons=_REASONS)


_REASONS: Final = {
    **dict.fromkeys(("/name", "/version", "/description"), "a tool has a name, a description and a schema"),
    "/deprecated": "it does not fit into the description",
    "/extras/tool_use": "a skill's keys stand under its name",
}

_ENDING: Final = re.compile(r" ?\(deprecated: true(?:; since ([^;()\n]*))?(?:; use ([^;()\n]*))?(?:; ([^;()\n]*))?\)\Z")
_DEPRECATED: Final = re.compile(r"\bdeprecated\s*[:=]\s*true\b", re.IGNORECASE)
_KEYWORD: Final = "deprecated"


class DeprecationSplit(NamedTuple):
    """A description and a schema without what they said of deprecation."""

    description: str
    input_schema: JsonMapping
    deprecated: Deprecation | None


def read_deprecation(description: str, input_schema: JsonMapping) -> DeprecationSplit:
    """Part what is said of deprecation from the rest; of a description that says it in other words nothing is cut."""
    schema = {key: value for key, value in input_schema.items() if key != _KEYWORD or value is not True}
    ending = _ENDING.search(description)
    if ending is not None:
        since, use, note = ending.groups()
        return DeprecationSplit(
            description[: ending.start()], schema, Deprecation(since=since, use=use, note=note or "")
        )
    is_deprecated = len(schema) < len(input_schema) or _DEPRECATED.search(description) is not None
    return (
        DeprecationSplit(description, schema, Deprecation())
        if is_deprecated
        else DeprecationSplit(description, input_schema, None)
    )


def write_deprecation(
    description: str, input_schema: JsonMapping, deprecated: Deprecation | None
) -> tuple[str, JsonMapping]:
    """The description and the schema that say so. Details that would be read otherwise are left out."""
    if deprecated is None:
        return description, input_schema
    parts = [
        "deprecated: true",
        *([f"since {deprecated.since}"] if deprecated.since is not None else []),
        *([f"use {deprecated.use}"] if deprecated.use is not None else []),
        *([deprecated.note] if deprecated.note else []),
    ]
    schema = {**input_schema, _KEYWORD: True}
    space = " " if description else ""
    full = f"{description}{space}({'; '.join(parts)})"
    reads_back = read_deprecation(full, schema)[::2] == (description, deprecated)
    return (full if reads_back else f"{description}{space}(deprecated: true)"), schema
