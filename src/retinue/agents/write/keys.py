"""A definition as the keys of a file: what `agents.load.definition` reads, and nothing that it would add by itself."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from retinue.agents.instruction import instruction_field
from retinue.agents.load.definition_keys import TASK_SCHEMA
from retinue.agents.load.fields import CODE_KEYS, snake_key
from retinue.agents.load.unavailable import NEEDS_MODEL
from retinue.contract import names
from retinue.contract.definition import Definition, Deprecation, ModelUse, Sample, Skill, ThinkingBounds
from retinue.contract.json import JsonObject, JsonValue

_RESERVED: Final = frozenset(
    {*Definition.model_fields, *Skill.model_fields, *Sample.model_fields, *ThinkingBounds.model_fields}
    | {"max_turns", "permission_mode", "effort", "memory", "since", "use", "note"} - {"extras", "source"}
)
"""Keys that mean something to the loader: an extra of the same name would be read as that."""


def display_name(definition: Definition) -> tuple[str, tuple[str, ...]]:
    """The name as its author spelled it, which is the last alias, and the other aliases."""
    *others, last = definition.aliases or ("",)
    spelled = names.fold(last) == definition.name != last and last == last.strip() and last not in others
    return (last, tuple(others)) if spelled else (definition.name, definition.aliases)


def file_stem(definition: Definition) -> str:
    """What its file is called: its name in kebab-case, with the major unless that is the first."""
    return names.to_kebab(definition.name) + (f"-v{definition.major}" if definition.major > 1 else "")


def keys_of(definition: Definition, *, schema_required: bool) -> JsonObject:
    """The definition as one flat object; the instructions are left out.

    Args:
        definition: What to write.
        schema_required: Whether the format wants an input schema said that is the usual one.
    """
    name, aliases = display_name(definition)
    keys: dict[str, object] = {
        "name": name,
        "description": definition.description,
        "version": definition.version if definition.version != "1.0" else None,
        "aliases": list(aliases) or None,
        "wire_names": dict(definition.wire_names) or None,
        "category": definition.category,
        "tags": list(definition.tags) or None,
        "tier": definition.tier,
        "model": definition.model,
        "tools": None if definition.tools is None else list(definition.tools),
        "dialect": definition.dialect,
        "composes": definition.composes or None,
        "deprecated": deprecation_keys(definition.deprecated),
    }
    has_skill_list = not _is_the_agent(definition)
    runner = {key: value for key, value in definition.runner.to_json().items() if value != []}
    if has_skill_list and "skills" in runner:  # the key means the skills of the agent here
        keys["runner"] = {"skills": runner.pop("skills")}
    keys |= runner
    if has_skill_list:
        keys["skills"] = [
            {
                "name": skill.name,
                "description": skill.description,
                **skill_keys(skill, schema_required=True, model_use="must"),
            }
            for skill in definition.skills
        ]
    else:
        keys |= skill_keys(definition.skills[0], schema_required=schema_required, model_use="must")
    values = {key: value for key, value in keys.items() if value is not None}
    return with_extras(cast("JsonObject", values), definition.extras)


def _is_the_agent(definition: Definition) -> bool:
    """Whether the agent has one skill, which is the agent itself."""
    (first, *more) = definition.skills
    return not more and (first.name, first.description) == (definition.name, definition.description)


def skill_keys(skill: Skill, *, schema_required: bool, model_use: ModelUse) -> JsonObject:
    """What there is to say of a skill beside its name and its description.

    Args:
        skill: What to write.
        schema_required: Whether the format wants an input schema said that is the usual one.
        model_use: What a reader takes it for where nothing is said.
    """
    input_schema = skill.input_schema
    keys: dict[str, object] = {
        "input_schema": input_schema if schema_required or input_schema != TASK_SCHEMA else None,
        "output_schema": skill.output_schema,
        "instruction_field": skill.instruction_field
        if skill.instruction_field != instruction_field(input_schema)
        else None,
        "target_field": skill.target_field,
        "defaults": skill.defaults or None,
        "timeout_s": skill.timeout_s,
        "effects": None if skill.effects is None else list(skill.effects),
        "method": skill.method,
        "path": skill.path,
        "examples": list(skill.examples) or None,
        "samples": [_sample_keys(sample) for sample in skill.samples] or None,
        "unavailable": skill.unavailable if skill.unavailable != NEEDS_MODEL else None,
        "thinks": skill.thinks if skill.thinks != model_use else None,
        "thinks_within": skill.thinks_within and skill.thinks_within.to_json(),
    }
    return cast("JsonObject", copy.deepcopy({key: value for key, value in keys.items() if value is not None}))


def _sample_keys(sample: Sample) -> JsonObject:
    return {key: value for key, value in sample.to_json().items() if key != "source" and value != ""}


def deprecation_keys(deprecated: Deprecation | None) -> JsonObject | bool | None:
    """`true`, or what there is to say about it."""
    if deprecated is None:
        return None
    return {key: value for key, value in deprecated.to_json().items() if value != ""} or True


# Extras.


def with_extras(keys: JsonObject, extras: Mapping[str, Any], *, reserved_keys: Iterable[str] = _RESERVED) -> JsonObject:
    """`keys` with what the format it came from had no other word for, each where it stood.

    What the loader would read as something else stays out: it comes back as a loss.
    """
    whole = copy.deepcopy(keys)
    reserved = {*reserved_keys, *CODE_KEYS}
    for key, value in extras.items():
        place, last = _place(whole, key)
        name = snake_key(last)
        if value is not None and name not in reserved and name not in map(snake_key, place):
            place[last] = copy.deepcopy(value)
    return whole


def _place(whole: JsonObject, key: str) -> tuple[JsonObject, str]:
    """The object that `key` belongs into, and its name there: `/skills/0/inputModes` belongs to the first skill."""
    if not key.startswith("/"):
        return whole, key
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in key[1:].split("/"))
    place: JsonValue = whole
    for part in parents:
        if isinstance(place, dict):
            place = place.get(part)
        elif isinstance(place, list) and part.isascii() and part.isdigit() and int(part) < len(place):
            place = place[int(part)]
        else:
            place = None
    return (place, last) if parents and isinstance(place, dict) and last else (whole, key)
