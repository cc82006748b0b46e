"""A definition, written; and what its text does not say, found by reading it back."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.agents.load.fields import CODE_KEYS, snake_key
from retinue.agents.load.loaded_agents import NEEDS_MODEL, LoadedAgents
from retinue.contract import json as strict, names
from retinue.contract.definition import (
    TASK_SCHEMA,
    Definition,
    ModelUse,
    Sample,
    Skill,
    ThinkingBounds,
    instruction_field,
)
from retinue.contract.finding import Loss, as_detail, summarise_findings
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.dialects.a2a.card import deprecation_keys, display_name
from retinue.dialects.losses import NO_EQUIVALENT
from retinue.errors import InvalidInput

_CHANGED: Final = "the format cannot say it in this form"
_REASONS: Final = {
    "unavailable": "whether a skill can be called is not for a file to say",
    "thinks": "the format cannot say whether a skill asks a model",
}
_DEEP: Final = ("runner", "wire_names", "extras")
"""Fields whose members are told apart in a report."""


@dataclass(frozen=True, slots=True)
class WrittenDefinition:
    """A definition as one text of some format.

    Attributes:
        file: What the file is usually called, relative to the folder for such files.
        losses: Every field that the text does not say, or says less of, as JSON Pointers into the definition. Where it
            was said before (`source`) is no part of what is said.
    """

    text: str
    file: str
    losses: tuple[Loss, ...] = ()


def check_round_trip(
    definition: Definition,
    text: str,
    *,
    file: str,
    load: Callable[[bytes], LoadedAgents],
    why: Mapping[str, str] | None = None,
) -> WrittenDefinition:
    """Judge `text` by reading it: what comes back otherwise than it went in is a loss.

    Args:
        definition: What was written.
        text: What it became.
        file: What the file is called.
        load: Reads the format.
        why: Reasons that are better than the general one, by the loss's path or by the field's name.

    Raises:
        InvalidInput: The text cannot be read back, so no text of this format can hold the definition.
    """
    try:
        loaded = load(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(
            f"`{definition.name}` holds half of a surrogate pair, which no file can hold.", hint="Remove it."
        ) from None
    if len(loaded.agents) != 1:
        raise InvalidInput(
            f"No text of this format can hold `{definition.name}`: {summarise_findings(loaded.errors)}.",
            hint="Fix the definition, or write it in another format.",
            path=loaded.errors[0].path if loaded.errors else "",
            detail=dict(as_detail(loaded.errors)),
        )
    after = loaded.agents[0].definition
    reasons = {**_REASONS, **(why or {})}
    losses: list[Loss] = []
    for path, is_missing in _differences(definition, after):
        _, first, *_, last = f"{path}/{path}".split("/")
        general = NO_EQUIVALENT if is_missing else _CHANGED
        reason = next((reasons[each] for each in (path, last, first) if each in reasons), general)
        losses.append(Loss(field=path, why=reason))
    return WrittenDefinition(text, file, tuple(losses))


def json_text(value: JsonValue) -> str:
    """`value` as a file of indented JSON.

    Raises:
        InvalidInput: It holds something JSON cannot say.
    """
    strict.dumps(value)
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _differences(before: Definition, after: Definition) -> Iterator[tuple[str, bool]]:
    """Where the two differ, and whether nothing of it is left."""
    one, other = _comparable(before), _comparable(after)
    for key, old in one.items():
        new = other[key]
        if key == "skills" and len(old) == len(new):
            for at, (skill, new_skill) in enumerate(zip(old, new, strict=True)):
                yield from _member_differences(skill, new_skill, path=f"/skills/{at}")
        elif key in _DEEP:
            yield from _member_differences(old, new, path=f"/{key}")
        elif not _is_same(old, new):
            yield f"/{key}", not new


def _member_differences(one: Mapping[str, Any], other: Mapping[str, Any], *, path: str) -> Iterator[tuple[str, bool]]:
    for key in {**one, **other}:
        if key not in one or key not in other or not _is_same(one[key], other[key]):
            yield path + pointer([key]), not other.get(key)


def _is_same(one: object, other: object) -> bool:
    """Whether two JSON values are the same: 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _comparable(definition: Definition) -> dict[str, Any]:
    """The definition as JSON data, without its places."""
    value = definition.model_dump(mode="json", exclude={"source": True})
    for skill in value["skills"]:
        for sample in skill["samples"]:
            del sample["source"]
    return value


_RESERVED: Final = frozenset(
    {*Definition.model_fields, *Skill.model_fields, *Sample.model_fields, *ThinkingBounds.model_fields}
    | {"max_turns", "permission_mode", "effort", "memory", "since", "use", "note", *CODE_KEYS} - {"extras", "source"}
)
"""Keys that mean something to the loader: an extra of the same name would be read as that."""
_OTHERWISE: Final = frozenset({"skills", "instructions", "runner", "deprecated", "source", "extras"})
"""Fields that are no keys of the same form."""


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
    (first, *more) = definition.skills
    is_only_skill = not more and (first.name, first.description) == (definition.name, definition.description)
    dump = definition.model_dump(mode="json", exclude_defaults=True)
    keys: dict[str, object] = {"name": name, "description": definition.description, "version": dump.get("version")}
    keys |= {"aliases": list(aliases) or None}
    keys |= {key: value for key, value in dump.items() if key not in {*keys, *_OTHERWISE}}
    keys["deprecated"] = deprecation_keys(definition.deprecated)
    runner = {key: value for key, value in definition.runner.to_json().items() if value != []}
    if not is_only_skill and "skills" in runner:  # the key means the skills of the agent here
        keys["runner"] = {"skills": runner.pop("skills")}
    keys |= runner
    if is_only_skill:
        keys |= skill_keys(first, schema_required=schema_required, model_use="must")
    else:
        keys["skills"] = [
            {
                "name": skill.name,
                "description": skill.description,
                **skill_keys(skill, schema_required=True, model_use="must"),
            }
            for skill in definition.skills
        ]
    values = {key: value for key, value in keys.items() if value is not None}
    return with_extras(cast("JsonObject", values), definition.extras)


def skill_keys(skill: Skill, *, schema_required: bool, model_use: ModelUse) -> JsonObject:
    """What there is to say of a skill beside its name and its description.

    Args:
        skill: What to write.
        schema_required: Whether the format wants an input schema said that is the usual one.
        model_use: What a reader takes it for where nothing is said.
    """
    keys = skill.model_dump(mode="json", exclude_defaults=True, exclude={"name": True, "description": True})
    # What a reader would add by itself is not written.
    usual: dict[str, object] = {"unavailable": NEEDS_MODEL, "instruction_field": instruction_field(skill.input_schema)}
    if not schema_required:
        usual["input_schema"] = TASK_SCHEMA
    keys = {key: value for key, value in keys.items() if key not in usual or value != usual[key]}
    keys |= {"thinks": skill.thinks}
    if skill.thinks == model_use:
        del keys["thinks"]
    if skill.samples:
        keys["samples"] = [
            {key: value for key, value in sample.to_json().items() if key != "source" and value != ""}
            for sample in skill.samples
        ]
    return copy.deepcopy(keys)


# Extras.


def with_extras(keys: JsonObject, extras: Mapping[str, Any]) -> JsonObject:
    """`keys` with what the format it came from had no other word for, each where it stood.

    What the loader would read as something else stays out: it comes back as a loss.
    """
    whole = copy.deepcopy(keys)
    for key, value in extras.items():
        place, last = whole, key
        if key.startswith("/"):  # `/skills/0/inputModes` belongs to the first skill
            *parents, inner = (part.replace("~1", "/").replace("~0", "~") for part in key[1:].split("/"))
            parent: JsonValue = whole
            for part in parents:
                if isinstance(parent, dict):
                    parent = parent.get(part)
                elif isinstance(parent, list) and part.isascii() and part.isdigit() and int(part) < len(parent):
                    parent = parent[int(part)]
                else:
                    parent = None
            if parents and inner and isinstance(parent, dict):
                place, last = parent, inner
        name = snake_key(last)
        if value is not None and name not in _RESERVED and name not in map(snake_key, place):
            place[last] = copy.deepcopy(value)
    return whole
