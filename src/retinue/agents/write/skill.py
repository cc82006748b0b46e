"""Agents as skills (`<name>/SKILL.md`): six keys and no more; what else can be said as a text goes into `metadata`."""

from functools import partial
from typing import Final, cast

from retinue.agents.load.fields import split_list
from retinue.agents.load.skill import FACTS, FILES, load_skill
from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject, JsonValue

from .round_trip import WrittenDefinition, check_round_trip
from .yaml import write_yaml

_WHY: Final = {
    FILES: "the files beside a skill are no part of its text: copy them",
    "input_schema": "a skill takes a task in words",
}


def write_skill(definition: Definition) -> WrittenDefinition:
    """Write an agent as a skill.

    Raises:
        InvalidInput: No such file can hold it: a blank description.
    """
    name = names.to_kebab(definition.name)
    extras = definition.extras
    keys: dict[str, object] = {
        "name": name,
        "description": definition.description,
        "license": extras.get("license"),
        "compatibility": extras.get("compatibility"),
        "allowed-tools": _tools(definition.tools),
        "metadata": _metadata(definition) or None,
    }
    front = cast("JsonObject", {key: value for key, value in keys.items() if value is not None})
    text = f"---\n{write_yaml(front)}\n---\n"
    if definition.instructions:
        text += f"\n{definition.instructions.strip().replace(chr(0), '')}\n"
    file = f"{name}/SKILL.md"
    return check_round_trip(definition, text, file=file, load=partial(load_skill, file=file), why=_WHY)


def _tools(tools: tuple[str, ...] | None) -> str | list[str] | None:
    """Tools between spaces; a list where that would say something else."""
    if tools is None:
        return None
    text = " ".join(tools)
    return text if tools and tuple(split_list(text, by_spaces=True)) == tools else list(tools)


def _metadata(definition: Definition) -> JsonObject:
    """What has no key of its own: our words first, then what the file itself said there."""
    facts = {
        "version": definition.version if definition.version != "1.0" else None,
        "category": definition.category,
        "tags": ", ".join(definition.tags) or None,
        # The name itself counts as one when nothing is said.
        "aliases": ", ".join(definition.aliases) if definition.aliases != (names.to_kebab(definition.name),) else None,
        "tier": definition.tier,
        "model": definition.model,
    }
    metadata: JsonObject = {key: value for key, value in facts.items() if value}
    rest: object = definition.extras.get("metadata")
    more = cast("dict[str, JsonValue]", rest) if isinstance(rest, dict) else {}
    # Whether it means nothing to the loader.
    return {
        **metadata,
        **{
            key: value
            for key, value in more.items()
            if key not in metadata and (not (key in FACTS and isinstance(value, str)))
        },
    }
