"""From the keys of a definition file to a `Definition`: the same words in JSON and in front matter.

Judges form only. Whether a definition is a good one is the business of `contract.lint`.
"""

import copy
from typing import Final

from retinue.agents.instruction import instruction_field
from retinue.contract import names, schema
from retinue.contract.definition import Definition, Deprecation, Runner, Sample, Skill, Tier, read_tier
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.version import split_versioned_name

from .document import Document
from .fields import Fields
from .prompted import NEEDS_MODEL

__all__ = ["TASK_SCHEMA", "read_definition"]

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
    mine: list[Finding] = []
    fields = Fields(document, value, path=path, findings=mine)
    definition = _definition(fields, instructions=instructions, schema_required=schema_required, file_name=file_name)
    findings += sorted(mine, key=lambda finding: (finding.line or 0, finding.column or 0))
    return None if fields.failed else definition


def _definition(
    fields: Fields, *, instructions: str | None, schema_required: bool, file_name: str | None
) -> Definition | None:
    description = fields.text("description", required=True)
    name, version, aliases = _name(fields)
    tier, model = _model(fields)
    runner = fields.build(
        Runner,
        {
            "max_turns": fields.whole("max_turns"),
            "permission_mode": fields.text("permission_mode"),
            "effort": fields.text("effort"),
            "skills": None if fields.holds_objects("skills") else fields.texts("skills", split=True),
            "memory": fields.text("memory"),
        },
    )
    skills = _skills(fields, name=name, description=description, schema_required=schema_required)
    facts: dict[str, object] = {
        "version": version,
        "aliases": aliases,
        "wire_names": _wire_names(fields, file_name, known=(name, *aliases)),
        "category": fields.text("category"),
        "tags": fields.texts("tags", split=True),
        "tier": tier,
        "model": model,
        "tools": fields.texts("tools", split=True),
        "instructions": fields.text("instructions") or instructions,
        "dialect": fields.text("dialect"),
        "composes": fields.flag("composes"),
        "runner": runner,
        "deprecated": _deprecated(fields),
        "source": fields.source,
    }
    fields.keep_rest()
    # Stand-ins for what is missing, which was said, so that whatever else is wrong is said too.
    facts |= {"name": name or "unnamed", "description": description or "-", "extras": fields.extras}
    facts["skills"] = skills or (Skill(name="unnamed", description="-", input_schema={}),)
    return fields.build(Definition, facts)


def _name(fields: Fields) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Canonical name, version and aliases: `x_v2` is major 2 of `x` (C11); other conventions become aliases (C46)."""
    said, version = fields.text("name", required=True), fields.text("version")
    aliases = fields.texts("aliases") or ()
    if not said:
        return None, version, aliases
    name, major = split_versioned_name(names.fold(said))
    if not name:
        fields.say(
            "load/bad-name", f"{said!r} is no name.", path=fields.path("name"), fix="Use letters, digits and `_`."
        )
    if major is not None and version and version.partition(".")[0] != str(major):
        message = f"The name {said!r} says major {major}, but `version` says {version!r}."
        fields.say("load/version-differs", message, path=fields.path("version"), fix="Let both say the same.")
    if major is not None and not version:
        version = f"{major}.0"
    return name, version, tuple(dict.fromkeys((*aliases, *((said,) if names.fold(said) != said else ()))))


def _wire_names(fields: Fields, file_name: str | None, *, known: tuple[str | None, ...]) -> JsonObject:
    """What each dialect calls it. Spec 002 refers to an agent by its file, so a file of another name is one of them."""
    said = fields.object("wire_names") or {}
    if file_name is None or _bare(file_name) in {_bare(name) for name in known if name}:
        return said
    return {"task_signal": file_name, **said}


def _bare(name: str) -> str:
    return split_versioned_name(names.fold(name))[0]


def _model(fields: Fields) -> tuple[Tier | None, str | None]:
    """Tier and full model id. `haiku`, `sonnet`, `opus` are tiers, `inherit` leaves both open, else it is an id."""
    said, word = fields.text("model"), fields.text("tier")
    tier = read_tier(word) if word else None
    if word and not tier:
        message = f"`tier` must be `small`, `medium` or `large`, not {word!r}."
        fields.say("load/value", message, path=fields.path("tier"), fix="A model id goes into `model`.")
    if not said or said.lower() == "inherit":
        return tier, None
    named = read_tier(said)
    return (tier or named, None) if named else (tier, said)


def _deprecated(fields: Fields) -> Deprecation | None:
    """`deprecated: true`, or an object with `since`, `use` and `note`."""
    if not fields.holds_object("deprecated"):
        return Deprecation() if fields.flag("deprecated") else None
    path = fields.path("deprecated")
    inner = fields.inside(fields.object("deprecated") or {}, path=path)
    facts = {"since": inner.text("since"), "use": inner.text("use"), "note": inner.text("note")}
    inner.keep_rest()
    return inner.build(Deprecation, facts)


# Skills


def _skills(
    fields: Fields, *, name: str | None, description: str | None, schema_required: bool
) -> tuple[Skill, ...] | None:
    """The skills a file lists, else the one that is the agent itself."""
    if not fields.holds_objects("skills"):
        skill = _skill(fields, name=name, description=description, schema_required=schema_required)
        return (skill,) if skill else None
    skills: list[Skill | None] = []
    for path, value in fields.objects("skills") or ():
        inner = fields.inside(value, path=path)
        said = inner.text("name", required=True)
        about = inner.text("description", required=True)
        skills.append(_skill(inner, name=names.fold(said) if said else None, description=about, schema_required=True))
        inner.keep_rest()
    return tuple(skill for skill in skills if skill)


def _skill(fields: Fields, *, name: str | None, description: str | None, schema_required: bool) -> Skill | None:
    takes = _schema(fields, "input_schema", required=schema_required)
    if takes is None and not schema_required:
        takes = copy.deepcopy(TASK_SCHEMA)
    facts = {
        "name": name or "unnamed",
        "description": description or "-",
        "input_schema": takes or {},
        "output_schema": _schema(fields, "output_schema"),
        "instruction_field": fields.text("instruction_field") or instruction_field(takes or {}),
        "target_field": fields.text("target_field"),
        "defaults": fields.object("defaults"),
        "timeout_s": fields.number("timeout_s"),
        "effects": fields.texts("effects", split=True),
        "method": fields.text("method"),
        "path": fields.text("path"),
        "examples": fields.texts("examples"),
        "samples": _samples(fields),
        "unavailable": fields.text("unavailable") or NEEDS_MODEL,
    }
    return fields.build(Skill, facts)


def _schema(fields: Fields, key: str, *, required: bool = False) -> JsonObject | None:
    """A JSON Schema that compiles; an input schema must be one of an object."""
    value = fields.object(key, required=required)
    if value is None:
        return None
    if key == "input_schema" and value.get("type") != "object":
        message = f"`{key}` must describe an object."
        fields.say("load/input-schema", message, path=fields.path(key), fix='Add `"type": "object"`.')
    for wrong in schema.findings_in(value):
        fields.say(
            wrong.rule, wrong.message, path=fields.path(key) + wrong.path, severity=wrong.severity, fix=wrong.fix
        )
    return value


def _samples(fields: Fields) -> tuple[Sample, ...] | None:
    samples: list[Sample | None] = []
    for path, value in fields.objects("samples") or ():
        inner = fields.inside(value, path=path)
        facts = {
            "title": inner.text("title"),
            "parameters": inner.object("parameters"),
            "answer": inner.object("answer"),
        }
        inner.keep_rest()
        samples.append(inner.build(Sample, {**facts, "source": inner.source}))
    return tuple(sample for sample in samples if sample)
