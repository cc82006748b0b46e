"""From the keys of a definition file to a `Definition`: the same words in JSON and in front matter.

Judges form only. Whether a definition is a good one is the business of `contract.lint`.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

from retinue.agents.grants import mode_from
from retinue.agents.tool_references import parse_tool_reference, rule_warnings, write_loophole
from retinue.contract import json, names, schema
from retinue.contract.definition import (
    TASK_SCHEMA,
    Definition,
    Deprecation,
    ModelUse,
    Runner,
    Skill,
    Tier,
    instruction_field,
    read_tier,
)
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.version import is_version, split_versioned_name
from retinue.errors import InvalidInput, ParseError, RetinueError

from .document import Document, finding_of, read_json
from .fields import BUILT_IN, Fields, snake_key, split_list
from .loaded_agents import NEEDS_MODEL, InstructionsAgent, LoadedAgents

_DISALLOWED: Final = "disallowed_tools"
_TOOL_KEYS: Final = ("tools", "allowed_tools", "tool")
_INPUT: Final = "input_schema"
_OUTPUT: Final = "output_schema"
_SKILL_KEYS: Final = tuple(key for key in Skill.model_fields if key not in {"name", "description", _INPUT, _OUTPUT})


def read_definition(
    document: Document,
    value: JsonValue,
    *,
    path: str = "",
    findings: list[Finding],
    instructions: str | None = None,
    schema_required: bool = True,
    file_name: str | None = None,
) -> Definition | None:
    """Read one definition; None when something is wrong with it, and then `findings` says what.

    Args:
        document: What `value` is part of.
        value: What should be a definition.
        path: JSON Pointer of `value` in the document.
        findings: Where to say what is wrong.
        instructions: The body of a Markdown file.
        schema_required: Whether an agent without skills must say its `input_schema` (A6); else it takes a `task`.
        file_name: What the file is called, where callers refer to the agent by it (H2).
    """
    if not isinstance(value, dict):
        message = "A definition must be an object with `name`, `description` and so on."
        findings.append(document.finding("load/wrong-type", message, path=path, fix="Write an object."))
        return None
    if "name" not in value and (key := _wrapping_key(value)):
        message = f"The definition is not here, but in `{key}`."
        fix = "Write the list that `tools` holds by itself."
        if key == "function":
            fix = "Write what `function` holds by itself, and call its `parameters` `input_schema`."
        findings.append(document.finding("load/missing-key", message, path=path, fix=fix))
        return None
    own_findings: list[Finding] = []
    fields = Fields(document, value, path=path, findings=own_findings)
    description = fields.text("description", required=True)
    name, version, aliases = read_name(fields, snake_case=schema_required)
    tier, model = read_model(fields)
    runner = _runner(fields)
    # A program answers for itself; whatever else is read from data follows instructions, and that takes a model.
    model_use: ModelUse = "never" if isinstance(fields.peek("command"), list) else "must"
    facts = fields.read(Definition, "category", "tags", "dialect", "composes", "source") | {
        "version": version,
        "aliases": aliases,
        "wire_names": wire_names(fields, file_name, own_names=(name, *aliases)),
        "tier": tier,
        "model": model,
        "tools": read_tools(fields, "tools"),
        "instructions": fields.text("instructions") or instructions,
        "runner": runner,
        "deprecated": read_deprecation(fields),
    }
    if fields.holds_objects("skills"):
        skills: list[Skill | None] = []
        for place, each in fields.objects("skills"):
            inner = fields.child(each, path=place)
            raw_name = inner.text("name", required=True)
            about = inner.text("description", required=True)
            skill_name = names.canonical_name(raw_name) if raw_name else None
            more = skill_facts(inner, schema_required=True, model_use=model_use)
            skills.append(build_skill(inner, skill_name, about, more))
            inner.keep_remaining()
        facts["skills"] = tuple(skill for skill in skills if skill)
    else:  # the agent itself is its only skill
        more = skill_facts(fields, schema_required=schema_required, model_use=model_use)
        skill = build_skill(fields, name, description, more)
        facts["skills"] = (skill,) if skill else ()
    fields.keep_extras(snake_key(BUILT_IN))
    fields.keep_remaining()
    # A stand-in for what is missing, so that whatever else is wrong is reported too.
    facts["skills"] = facts["skills"] or (Skill(name="unnamed", description="-", input_schema={}),)
    definition = build_definition(fields, name, description, facts, fields.extras)
    findings += sorted(own_findings, key=lambda finding: (finding.line or 0, finding.column or 0))
    return None if fields.has_errors else definition


def _wrapping_key(value: JsonObject) -> str:
    """The key under which other programs keep what should stand here; empty when there is none."""
    if isinstance(value.get("function"), dict):
        return "function"
    tools = value.get("tools")
    return "tools" if isinstance(tools, list) and tools and all(isinstance(each, dict) for each in tools) else ""


def build_definition(
    fields: Fields, name: str | None, description: str | None, facts: Mapping[str, Any], extras: Mapping[str, JsonValue]
) -> Definition | None:
    """The definition of a file; None when it is refused.

    A name or a description that is missing has been reported, and has a stand-in here. What is None in `extras` is left
    out.
    """
    more = {"extras": {key: value for key, value in extras.items() if value is not None}}
    return fields.build(Definition, {**facts, "name": name or "unnamed", "description": description or "-", **more})


def build_skill(fields: Fields, name: str | None, description: str | None, facts: Mapping[str, Any]) -> Skill | None:
    """One skill; None when it is refused."""
    return fields.build(Skill, {**facts, "name": name or "unnamed", "description": description or "-"})


def prompted_skill(input_schema: JsonObject, *, instruction_name: str | None = None) -> JsonMapping:
    """What the one skill of an agent is whose file declares none.

    Args:
        input_schema: What it takes.
        instruction_name: The parameter that takes a free instruction, when it has none of the usual names.
    """
    return {
        "input_schema": copy.deepcopy(input_schema),
        "instruction_field": instruction_name or instruction_field(input_schema),
        "unavailable": NEEDS_MODEL,
        "thinks": "must",
    }


def skill_facts(fields: Fields, *, schema_required: bool, model_use: ModelUse) -> JsonMapping:
    """What an object says of a skill beside its name and its description.

    Args:
        fields: The object.
        schema_required: Whether it must say what the skill takes; else it takes a `task` if nothing is said.
        model_use: Whether a skill of which that is not said asks a model.
    """
    facts = fields.read(Skill, *_SKILL_KEYS)
    schemas: dict[str, Any] = {
        key: fields.object(key, required=schema_required and key == _INPUT) for key in (_INPUT, _OUTPUT)
    }
    for key, value in schemas.items():
        if key == _INPUT and value is not None and value.get("type") != "object":
            message, fix = f"`{key}` must describe an object.", 'Add `"type": "object"`.'
            fields.report("load/input-schema", message, at=key, fix=fix)
        for each in () if value is None else schema.check_schema(value):
            fields.report(each.rule, each.message, at=key, below=each.path, severity=each.severity, fix=each.fix)
    if schemas[_INPUT] is None:
        schemas[_INPUT] = {} if schema_required else copy.deepcopy(TASK_SCHEMA)
    return {
        **facts,
        **schemas,
        "instruction_field": facts["instruction_field"] or instruction_field(schemas[_INPUT]),
        "unavailable": facts["unavailable"] or NEEDS_MODEL,
        "thinks": facts["thinks"] or model_use,
    }


def _runner(fields: Fields) -> Runner | None:
    """How it wants to be run: keys beside the others or, as `skills` may mean something else there, in `runner`."""
    keys = tuple(key for key in Runner.model_fields if key != "skills" or not fields.holds_objects("skills"))
    facts = fields.read(Runner, *keys)
    _check_mode(fields, facts["permission_mode"])
    if isinstance(fields.peek("runner"), dict):
        inner = fields.child(fields.object("runner") or {}, path=fields.path("runner"))
        more = inner.read(Runner)
        _check_mode(inner, more["permission_mode"])
        facts |= {key: value for key, value in more.items() if value is not None}
        inner.keep_remaining()
    return fields.build(Runner, facts)


def _check_mode(fields: Fields, mode: str | None) -> None:
    """A permission mode that does not exist would leave the agent the user's, which may be wider."""
    try:
        mode_from(mode or "default")
    except InvalidInput as error:
        fields.report("load/value", error.message, at="permission_mode", fix=error.hint)


def read_deprecation(fields: Fields) -> Deprecation | None:
    """`deprecated: true`, or an object with `since`, `use` and `note`."""
    if isinstance(fields.peek("deprecated"), dict):
        return fields.read(Definition, "deprecated")["deprecated"]
    return Deprecation() if fields.value("deprecated", bool) else None


def read_name(
    fields: Fields, *, snake_case: bool = False, is_display_name: bool = False
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Canonical name, version and aliases: `x_v2` is major 2 of `x` (C11); other conventions become aliases (C46).

    Args:
        fields: The definition.
        snake_case: The format asks for snake_case (A6): another convention is a warning.
        is_display_name: The format's name is for people, as in an A2A card: any visible ASCII may stand in it.
    """
    raw_name, version = fields.text("name", required=True), fields.text("version")
    aliases = fields.texts("aliases") or ()
    if not raw_name:
        return None, version, aliases
    is_plain = is_display_name and raw_name.isascii() and raw_name.isprintable()
    name, major = split_versioned_name(names.fold(raw_name) if is_plain else names.canonical_name(raw_name))
    if not name:
        message, fix = f"{raw_name!r} is not a valid name."[:300], "Use letters a-z, digits and `_`."
        fields.report("load/bad-name", message, at="name", fix=fix)
    elif snake_case and (folded_name := names.fold(raw_name)) != raw_name:
        message = f"{raw_name!r} is read as {folded_name!r}."
        fields.report("load/name-folded", message, at="name", fix=f"Write `{folded_name}`.")
    if major is not None and version and version.partition(".")[0] != str(major):
        message = f"The name {raw_name!r} says major {major}, but `version` says {version!r}."
        fields.report("load/version-differs", message, at="version", fix="Make them the same.")
    if major is not None and not version:
        version = f"{major}.0"
    return name, version, tuple(dict.fromkeys((*aliases, *((raw_name,) if names.fold(raw_name) != raw_name else ()))))


def wire_names(fields: Fields, file_name: str | None, *, own_names: tuple[str | None, ...]) -> JsonObject:
    """What each dialect calls it. Spec 002 refers to an agent by its file, so a file of another name is one of them."""
    declared = fields.object("wire_names") or {}
    own_bases = {split_versioned_name(names.fold(name))[0] for name in own_names if name}
    if file_name is None or split_versioned_name(names.fold(file_name))[0] in own_bases:
        return declared
    return {"task_signal": file_name, **declared}


def read_version(fields: Fields) -> str | None:
    """The version, where the format has no rule for it: what we cannot compare is kept aside, with a warning (C35)."""
    value = fields.peek("version")
    if value is None or (isinstance(value, str) and is_version(value.strip())):
        return fields.text("version")
    message = f"{value!r} is not a version we can compare; it is kept in `extras`."[:300]
    fix = 'Write `MAJOR.MINOR` or `MAJOR.MINOR.PATCH` in quotes, as in "1.0".'
    fields.report("load/version", message, at="version", fix=fix)
    fields.keep_extras("version")
    return None


def read_model(fields: Fields) -> tuple[Tier | None, str | None]:
    """Tier and full model id. `haiku`, `sonnet`, `opus` are tiers, `inherit` leaves both open, else it is an id."""
    model, word = fields.text("model"), fields.text("tier")
    tier = read_tier(word) if word else None
    if word and not tier:
        message = f"`tier` must be `small`, `medium` or `large`, not {word!r}."
        fields.report("load/value", message, at="tier", fix="A model id goes into `model`.")
    if not model or model.lower() == "inherit":
        return tier, None
    alias_tier = read_tier(model)
    return (tier or alias_tier, None) if alias_tier else (tier, model)


def read_tools(fields: Fields, key: str, *, by_spaces: bool = False) -> tuple[str, ...] | None:
    """The tools that an agent may use; what is denied it stays in `extras`, and is judged here too.

    Other programs say the same in other keys. One that was only kept would leave the agent all tools.

    Args:
        fields: The definition.
        key: The key of this format.
        by_spaces: Its parts may also stand between spaces.
    """
    keys = [name for name in _TOOL_KEYS if fields.peek(name) is not None]
    used = key if key in keys or not keys else keys[0]
    for other in keys:
        if other != used:
            message = f"`{other}` and `{used}` both say which tools there are."
            fields.report("load/key-twice", message, at=other, fix=f"Keep `{key}`.")
    if used != key:
        message = f"`{used}` is read as `{key}`; other programs ignore it here."
        fields.report("load/other-key", message, at=used, fix=f"Write `{key}`.")
    deny_list = fields.peek(_DISALLOWED)
    fields.keep_extras(_DISALLOWED)
    words = split_list(deny_list) if isinstance(deny_list, str) else deny_list if isinstance(deny_list, list) else []
    if deny_list is not None and (not words or not all(isinstance(word, str) for word in words)):
        message = f"`{_DISALLOWED}` must be a list of tools."
        fields.report("load/wrong-type", message, at=_DISALLOWED, fix="Write a list of texts.")
    for word in words:
        if isinstance(word, str):
            _check_rule(fields, word, key=_DISALLOWED)
    tools = fields.texts(used, split=not by_spaces, by_spaces=by_spaces)
    for word in tools or ():
        _check_rule(fields, word, key=used)
    return tools


def _check_rule(fields: Fields, text: str, *, key: str) -> None:
    """Say what is odd about one word for a tool. What denies nothing is an error; what allows nothing is safe."""
    denies = key == _DISALLOWED
    try:
        word = parse_tool_reference(text)
    except RetinueError as error:
        if denies:
            fields.report("load/denies-nothing", error.message, at=key, fix=error.hint)
        return  # what cannot be read among `tools` is said when they are looked up
    if denies:
        for remark in () if word.is_foreign else rule_warnings(word):
            fields.report("load/denies-nothing", remark, at=key, fix="Correct it, or remove it.")
        return
    if word.patterns:
        for remark in rule_warnings(word):
            fields.report("load/fits-nothing", remark, at=key, fix="Correct the pattern.")
    for pattern in word.patterns if word.tool == "shell" else ():
        if by := write_loophole(pattern):
            message = f"{text[:100]!r} can write: by {by}."
            fix = "Name the tool `git` instead, which only reads." if pattern.startswith("git") else "Allow less."
            fields.report("load/can-write", message, at=key, fix=fix)


MAX_ENTRIES: Final = 1_000
"""Most definitions in one file."""


def load_json(data: bytes, *, file: str) -> LoadedAgents:
    """Read the definitions in `data`. What is wrong becomes findings; a definition with an error is left out (A4, A6).

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    value = document.value
    findings = list[Finding]()
    entries = value if isinstance(value, list) else [value]
    if len(entries) > MAX_ENTRIES:
        message = f"The array has {len(entries)} entries; {MAX_ENTRIES} are allowed."
        return LoadedAgents(findings=(document.finding("load/too-many", message, fix="Split the file."),))
    if not entries:
        findings.append(document.finding("load/none", "The array is empty.", fix="Put a definition into it."))
    definitions = [
        read_definition(
            document, entry, path=json.pointer([position]) if isinstance(value, list) else "", findings=findings
        )
        for position, entry in enumerate(entries)
    ]
    agents = tuple(InstructionsAgent(definition) for definition in definitions if definition)
    return LoadedAgents(agents=agents, findings=tuple(findings))
