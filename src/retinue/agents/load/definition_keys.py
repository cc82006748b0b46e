"""From the keys of a definition file to a `Definition`: the same words in JSON and in front matter.

Judges form only. Whether a definition is a good one is the business of `contract.lint`.
"""

import copy
from typing import Final

from retinue.agents.grants import mode_from
from retinue.agents.instruction import instruction_field
from retinue.contract import names, schema
from retinue.contract.definition import Definition, Deprecation, ModelUse, Runner, Sample, Skill, ThinkingBounds
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import InvalidInput

from .document import Document
from .fields import Fields
from .naming import read_model, read_name, read_tools, wire_names
from .unavailable import NEEDS_MODEL

TASK_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"task": {"type": "string", "minLength": 1, "description": "What to do, in full sentences."}},
    "required": ["task"],
    "additionalProperties": False,
}
"""What an agent takes whose file declares no schema: most Markdown definitions."""


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
    if nested := _nested_definition(value):
        key, fix = nested
        message = f"The definition does not stand here, but in `{key}`."
        findings.append(document.finding("load/missing-key", message, path=path, fix=fix))
        return None
    own_findings: list[Finding] = []
    fields = Fields(document, value, path=path, findings=own_findings)
    definition = _definition(fields, instructions=instructions, schema_required=schema_required, file_name=file_name)
    findings += sorted(own_findings, key=lambda finding: (finding.line or 0, finding.column or 0))
    return None if fields.has_errors else definition


def _nested_definition(value: JsonObject) -> tuple[str, str] | None:
    """The key under which other programs keep what should stand here, and what to do about it."""
    if "name" in value:
        return None
    if isinstance(value.get("function"), dict):
        return "function", "Write what `function` holds by itself, and call its `parameters` `input_schema`."
    tools = value.get("tools")
    if isinstance(tools, list) and tools and all(isinstance(each, dict) for each in tools):
        return "tools", "Write the list that `tools` holds by itself."
    return None


def _definition(
    fields: Fields, *, instructions: str | None, schema_required: bool, file_name: str | None
) -> Definition | None:
    description = fields.text("description", required=True)
    name, version, aliases = read_name(fields, snake_case=schema_required)
    tier, model = read_model(fields)
    runner = _runner(fields)
    # A program answers for itself; whatever else is read from data follows instructions, and that takes a model.
    model_use: ModelUse = "never" if isinstance(fields.peek("command"), list) else "must"
    skills = _skills(fields, name=name, description=description, schema_required=schema_required, model_use=model_use)
    facts: dict[str, object] = {
        "version": version,
        "aliases": aliases,
        "wire_names": wire_names(fields, file_name, own_names=(name, *aliases)),
        "category": fields.text("category"),
        "tags": fields.texts("tags", split=True),
        "tier": tier,
        "model": model,
        "tools": read_tools(fields, "tools"),
        "instructions": fields.text("instructions") or instructions,
        "dialect": fields.text("dialect"),
        "composes": fields.flag("composes"),
        "runner": runner,
        "deprecated": read_deprecation(fields),
        "source": fields.source,
    }
    fields.keep_remaining()
    # Stand-ins for what is missing, which was said, so that whatever else is wrong is said too.
    facts |= {"name": name or "unnamed", "description": description or "-", "extras": fields.extras}
    facts["skills"] = skills or (Skill(name="unnamed", description="-", input_schema={}),)
    return fields.build(Definition, facts)


def _runner(fields: Fields) -> Runner | None:
    """How it wants to be run: keys beside the others or, as `skills` may mean something else there, in `runner`."""
    facts = _runner_keys(fields, with_skills=not fields.holds_objects("skills"))
    if fields.holds_object("runner"):
        inner = fields.child(fields.object("runner") or {}, path=fields.path("runner"))
        facts |= {key: value for key, value in _runner_keys(inner, with_skills=True).items() if value is not None}
        inner.keep_remaining()
    return fields.build(Runner, facts)


def _runner_keys(fields: Fields, *, with_skills: bool) -> dict[str, object]:
    return {
        "max_turns": fields.integer("max_turns"),
        "permission_mode": _mode(fields),
        "effort": fields.text("effort"),
        "skills": fields.texts("skills", split=True) if with_skills else None,
        "memory": fields.text("memory"),
    }


def _mode(fields: Fields) -> str | None:
    """The permission mode it asks for. One that means none would leave the agent the user's, which may be wider."""
    mode, path = fields.text("permission_mode"), fields.path("permission_mode")
    if mode is not None:
        try:
            mode_from(mode)
        except InvalidInput as error:
            fields.report("load/value", error.message, path=path, fix=error.hint)
    return mode


def read_deprecation(fields: Fields) -> Deprecation | None:
    """`deprecated: true`, or an object with `since`, `use` and `note`."""
    if not fields.holds_object("deprecated"):
        return Deprecation() if fields.flag("deprecated") else None
    path = fields.path("deprecated")
    inner = fields.child(fields.object("deprecated") or {}, path=path)
    facts = {"since": inner.text("since"), "use": inner.text("use"), "note": inner.text("note")}
    inner.keep_remaining()
    return inner.build(Deprecation, facts)


# Skills


def _skills(
    fields: Fields, *, name: str | None, description: str | None, schema_required: bool, model_use: ModelUse
) -> tuple[Skill, ...] | None:
    """The skills a file lists, else the one that is the agent itself."""
    if not fields.holds_objects("skills"):
        skill = _skill(fields, name=name, description=description, schema_required=schema_required, model_use=model_use)
        return (skill,) if skill else None
    skills: list[Skill | None] = []
    for path, value in fields.objects("skills") or ():
        inner = fields.child(value, path=path)
        raw_name = inner.text("name", required=True)
        about = inner.text("description", required=True)
        skill_name = names.canonical_name(raw_name) if raw_name else None
        skills.append(_skill(inner, name=skill_name, description=about, schema_required=True, model_use=model_use))
        inner.keep_remaining()
    return tuple(skill for skill in skills if skill)


def prompted_skill(
    fields: Fields,
    *,
    name: str | None,
    description: str | None,
    input_schema: JsonObject,
    instruction_name: str | None = None,
) -> Skill | None:
    """The one skill of an agent whose file declares none: it is named like the agent.

    Args:
        fields: Where to say what is wrong.
        name: The agent's name; None when that is wrong, and has been said to be.
        description: What the agent does.
        input_schema: What it takes.
        instruction_name: The parameter that takes a free instruction, when it has none of the usual names.
    """
    facts: dict[str, object] = {
        "name": name or "unnamed",
        "description": description or "-",
        "input_schema": copy.deepcopy(input_schema),
        "instruction_field": instruction_name or instruction_field(input_schema),
        "unavailable": NEEDS_MODEL,
        "thinks": "must",
    }
    return fields.build(Skill, facts)


def _skill(
    fields: Fields, *, name: str | None, description: str | None, schema_required: bool, model_use: ModelUse
) -> Skill | None:
    facts = skill_facts(fields, schema_required=schema_required, model_use=model_use)
    return fields.build(Skill, {**facts, "name": name or "unnamed", "description": description or "-"})


def skill_facts(fields: Fields, *, schema_required: bool, model_use: ModelUse) -> dict[str, object]:
    """What an object says of a skill beside its name and its description.

    Args:
        fields: The object.
        schema_required: Whether it must say what the skill takes.
        model_use: Whether a skill of which that is not said asks a model.
    """
    input_schema = _schema(fields, "input_schema", required=schema_required)
    if input_schema is None and not schema_required:
        input_schema = copy.deepcopy(TASK_SCHEMA)
    return {
        "input_schema": input_schema or {},
        "output_schema": _schema(fields, "output_schema"),
        "instruction_field": fields.text("instruction_field") or instruction_field(input_schema or {}),
        "target_field": fields.text("target_field"),
        "defaults": fields.object("defaults"),
        "timeout_s": fields.number("timeout_s"),
        "effects": fields.texts("effects", split=True),
        "method": fields.text("method"),
        "path": fields.text("path"),
        "examples": fields.texts("examples"),
        "samples": _samples(fields),
        "unavailable": fields.text("unavailable") or NEEDS_MODEL,
        "thinks": fields.text("thinks") or model_use,
        "thinks_within": _bounds(fields),
    }


def _bounds(fields: Fields) -> ThinkingBounds | None:
    """What one call asks of models at most, where it is said."""
    if (value := fields.object("thinks_within")) is None:
        return None
    inner = fields.child(value, path=fields.path("thinks_within"))
    facts = {name: inner.integer(name) for name in ThinkingBounds.model_fields}
    inner.keep_remaining()
    return inner.build(ThinkingBounds, facts)


def _schema(fields: Fields, key: str, *, required: bool = False) -> JsonObject | None:
    """A JSON Schema that compiles; an input schema must be one of an object."""
    value = fields.object(key, required=required)
    if value is None:
        return None
    if key == "input_schema" and value.get("type") != "object":
        message = f"`{key}` must describe an object."
        fields.report("load/input-schema", message, path=fields.path(key), fix='Add `"type": "object"`.')
    for finding in schema.check_schema(value):
        fields.report(
            finding.rule,
            finding.message,
            path=fields.path(key) + finding.path,
            severity=finding.severity,
            fix=finding.fix,
        )
    return value


def _samples(fields: Fields) -> tuple[Sample, ...] | None:
    samples: list[Sample | None] = []
    for path, value in fields.objects("samples") or ():
        inner = fields.child(value, path=path)
        facts = {
            "title": inner.text("title"),
            "parameters": inner.object("parameters"),
            "answer": inner.object("answer"),
        }
        inner.keep_remaining()
        samples.append(inner.build(Sample, {**facts, "source": inner.source}))
    return tuple(sample for sample in samples if sample)
