"""Agents as A2A cards, protocol 1.0 (C28): what others may know of them.

What the card has no word for, the schemas above all, rides in an extension that others may ignore. What is nobody
else's business stays out: instructions, tools, and how it is run.
"""

import copy
from functools import partial
from typing import Final, cast

from retinue.agents.load.a2a_card import EXTENSION, MODES, load_a2a_card
from retinue.contract.definition import Definition, Skill
from retinue.contract.json import JsonObject

from .keys import deprecation_keys, display_name, file_stem, skill_keys
from .round_trip import WrittenDefinition, check_round_trip, json_text

PROTOCOL: Final = "1.0"
BINDING: Final = "JSONRPC"

_PRIVATE: Final = "a card is for everybody, and this is for the agent alone"
_WHY: Final = dict.fromkeys(("instructions", "tools", "runner", "max_turns", "permission_mode", "memory"), _PRIVATE) | {
    "signatures": "a signature holds for the card it was made for"
}
_ABOUT: Final = "What Retinue knows of the agent beside this card; safe to ignore."
_EXTRA_KEYS: Final = ("provider", "documentationUrl", "iconUrl", "securitySchemes", "securityRequirements")
_SKILL_EXTRA_KEYS: Final = ("id", "name", "tags", "inputModes", "outputModes", "securityRequirements", "security")
"""What `extras` hold of a card that was read, and the card has a word for."""


def write_a2a_card(definition: Definition, *, url: str | None = None) -> WrittenDefinition:
    """Write an agent as a card.

    Args:
        definition: What to write.
        url: Where it answers, by JSON-RPC in protocol 1.0; absent, the card says what it was read with, or nothing.

    Raises:
        InvalidInput: No card can hold it: a blank description.
    """
    if url is not None:
        here = {"url": url, "protocolBinding": BINDING, "protocolVersion": PROTOCOL}
        definition = definition.model_copy(
            update={"extras": {**definition.extras, "supportedInterfaces": [here]}},
        )
    text = json_text(_card(definition))
    file = f"{file_stem(definition)}.agent-card.json"
    return check_round_trip(definition, text, file=file, load=partial(load_a2a_card, file=file), why=_WHY)


def _card(definition: Definition) -> JsonObject:
    name, aliases = display_name(definition)
    extras = definition.extras
    card: dict[str, object] = {
        "name": name,
        "description": definition.description,
        "version": definition.version,
        "supportedInterfaces": extras.get("supportedInterfaces", []),
        "capabilities": _capabilities(definition, aliases),
        "defaultInputModes": extras.get("defaultInputModes", [*MODES]),
        "defaultOutputModes": extras.get("defaultOutputModes", [*MODES]),
        "skills": [_skill(skill, definition, position) for position, skill in enumerate(definition.skills)],
    }
    card |= {key: extras[key] for key in _EXTRA_KEYS if extras.get(key) is not None}
    return cast("JsonObject", copy.deepcopy(card))


def _skill(skill: Skill, definition: Definition, position: int) -> JsonObject:
    stored = {key: definition.extras.get(f"/skills/{position}/{key}") for key in _SKILL_EXTRA_KEYS}
    keys: dict[str, object] = {
        "id": skill.name,
        "name": stored["id"] or skill.name,
        "description": skill.description,
        "tags": list(definition.tags),
        "examples": list(skill.examples) or None,
    }
    keys |= {key: value for key, value in stored.items() if value is not None}
    return cast("JsonObject", {key: value for key, value in keys.items() if value is not None})


def _capabilities(definition: Definition, aliases: tuple[str, ...]) -> object:
    """What the card was read with, and our extension when there is something to say in it."""
    facts: dict[str, object] = {
        "aliases": list(aliases) or None,
        "wire_names": definition.wire_names or None,
        "category": definition.category,
        "tier": definition.tier,
        "model": definition.model,
        "dialect": definition.dialect,
        "composes": definition.composes or None,
        "deprecated": deprecation_keys(definition.deprecated),
        "skills": {skill.name: keys for skill in definition.skills if (keys := _extension_keys(skill))} or None,
    }
    params = {key: value for key, value in facts.items() if value is not None}
    capabilities: object = definition.extras.get("capabilities", {})
    if not params or not isinstance(capabilities, dict):
        return capabilities
    members = cast("JsonObject", capabilities)
    others = members.get("extensions", [])
    ours = {"uri": EXTENSION, "description": _ABOUT, "required": False, "params": params}
    return {**members, "extensions": [*(others if isinstance(others, list) else []), ours]}


def _extension_keys(skill: Skill) -> JsonObject:
    """What the card has no word for."""
    keys = skill_keys(skill, schema_required=False, model_use="never")
    return {key: value for key, value in keys.items() if key not in {"examples", "unavailable"}}
