"""Definitions as texts: the formats, by name, and one writer for each.

The keys of a file are the fields of `Definition` and `Skill`, so what is written is what they hold beside their
defaults. What a text does not say, `check_round_trip` finds by reading it back.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from retinue.agents.load.a2a_card import load_a2a_card
from retinue.agents.load.by_dialect import load_agent_json, load_tool_use
from retinue.agents.load.definition_keys import load_json
from retinue.agents.load.fields import split_list
from retinue.agents.load.loaded_agents import LoadedAgents
from retinue.agents.load.markdown import FACTS, FILES, load_markdown, load_skill
from retinue.contract import json, names
from retinue.contract.definition import Definition, Tier
from retinue.contract.json import JsonObject
from retinue.dialects import agent_http, tool_use
from retinue.dialects.a2a.card import CARD_REASONS, build_card
from retinue.dialects.port import RenderedMessage

from .round_trip import (
    WrittenDefinition,
    check_round_trip,
    file_stem,
    json_text,
    keys_of,
)
from .yaml import write_yaml

Format: TypeAlias = Literal["markdown", "skill", "tool_use", "json", "agent_json", "a2a"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)

TIER_WORDS: Final[dict[Tier, str]] = {"small": "haiku", "medium": "sonnet", "large": "opus"}
"""What other readers of Markdown agents call our tiers."""
PROTOCOL: Final = "1.0"
BINDING: Final = "JSONRPC"

_SPELLED: Final = {"max_turns": "maxTurns", "permission_mode": "permissionMode"}
"""How Markdown agents spell keys of two words."""
_SKILL_REASONS: Final = {
    FILES: "the files beside a skill are no part of its text: copy them",
    "input_schema": "a skill takes a task in words",
}


def write(definition: Definition, form: Format, *, url: str | None = None) -> WrittenDefinition:
    """Write `definition` in one format.

    Args:
        definition: What to write.
        form: The format.
        url: Where the agent answers, for the cards: by JSON-RPC in protocol 1.0, or for spec 004 what stands before
            every path. Absent, a card says nothing of it or what it was read with.

    Raises:
        InvalidInput: No text of that format can hold it.
    """
    match form:
        case "markdown":
            return _write_markdown(definition)
        case "skill":
            return _write_skill(definition)
        case "json":
            keys = keys_of(definition, schema_required=True)
            if definition.instructions:
                keys["instructions"] = definition.instructions
            return _check(definition, json_text(keys), load_json, ending=".json")
        case "tool_use":
            return _write_by_dialect(definition, tool_use.render_definition(definition), load_tool_use, ".json")
        case "agent_json":
            rendered = agent_http.render_card((definition,), base=(url or "").rstrip("/"))
            return _write_by_dialect(definition, rendered, load_agent_json, ".agent.json")
        case "a2a":
            if url is not None:
                here = {"url": url, "protocolBinding": BINDING, "protocolVersion": PROTOCOL}
                extras = {**definition.extras, "supportedInterfaces": [here]}
                definition = definition.model_copy(update={"extras": extras})
            text = json_text(build_card(definition, definition.extras))
            return _check(definition, text, load_a2a_card, ending=".agent-card.json", why=CARD_REASONS)
    assert_never(form)


def format_of_file(name: str) -> Format | None:
    """The format that a file of this name usually has; None when the name says nothing."""
    lower = name.lower()
    if lower == "skill.md":
        return "skill"
    if lower.endswith("agent-card.json"):
        return "a2a"
    if lower.endswith("agent.json"):
        return "agent_json"
    return "markdown" if lower.endswith(".md") else "json" if lower.endswith(".json") else None


def _check(
    definition: Definition,
    text: str,
    load: Callable[..., LoadedAgents],
    *,
    ending: str,
    why: dict[str, str] | None = None,
) -> WrittenDefinition:
    file = file_stem(definition) + ending
    return check_round_trip(definition, text, file=file, load=partial(load, file=file), why=why)


def _write_by_dialect(
    definition: Definition, rendered: RenderedMessage, load: Callable[..., LoadedAgents], ending: str
) -> WrittenDefinition:
    """An agent in the words of a dialect: a tool of spec 000 (A4), or a card of spec 004 (P5)."""
    why = {loss.field: loss.why for loss in rendered.losses}
    return _check(definition, json_text(json.loads(rendered.text)), load, ending=ending, why=why)


def _write_markdown(definition: Definition) -> WrittenDefinition:
    """Front matter for what the agent is, the body for how it behaves."""
    keys = keys_of(definition, schema_required=False)
    if "model" not in keys and definition.tier:
        keys = {("model" if key == "tier" else key): value for key, value in keys.items()}
        keys["model"] = TIER_WORDS[definition.tier]
    tools = keys.get("tools")
    text = ", ".join(map(str, tools)) if isinstance(tools, list) else ""
    # Between commas, as everybody writes them; a list where that would say something else.
    if text and [part.strip() for part in split_list(text)] == tools:
        keys["tools"] = text
    front = {_SPELLED.get(key, key): value for key, value in keys.items()}
    return _check(definition, _markdown(front, definition), load_markdown, ending=".md")


def _markdown(front: JsonObject, definition: Definition) -> str:
    text = f"---\n{write_yaml(front)}\n---\n"
    body = (definition.instructions or "").strip().replace(chr(0), "")
    return f"{text}\n{body}\n" if definition.instructions else text


def _write_skill(definition: Definition) -> WrittenDefinition:
    """Six keys and no more; what else can be said as a text goes into `metadata`."""
    name, extras = names.to_kebab(definition.name), definition.extras
    tools = None if definition.tools is None else list(definition.tools)
    text = " ".join(tools or ())
    facts = {
        "version": definition.version if definition.version != "1.0" else None,
        "category": definition.category,
        "tags": ", ".join(definition.tags) or None,
        # The name itself counts as one when nothing is said.
        "aliases": ", ".join(definition.aliases) if definition.aliases != (name,) else None,
        "tier": definition.tier,
        "model": definition.model,
    }
    metadata: JsonObject = {key: value for key, value in facts.items() if value}
    more: object = extras.get("metadata")
    for key, value in cast("JsonObject", more).items() if isinstance(more, dict) else ():
        if not (key in FACTS and isinstance(value, str)):  # it would be read as one of ours
            metadata.setdefault(key, value)
    keys: dict[str, object] = {
        "name": name,
        "description": definition.description,
        "license": extras.get("license"),
        "compatibility": extras.get("compatibility"),
        # Between spaces; a list where that would say something else.
        "allowed-tools": text if tools and split_list(text, by_spaces=True) == tools else tools,
        "metadata": metadata or None,
    }
    front = cast("JsonObject", {key: value for key, value in keys.items() if value is not None})
    file = f"{name}/SKILL.md"
    load = partial(load_skill, file=file)
    return check_round_trip(definition, _markdown(front, definition), file=file, load=load, why=_SKILL_REASONS)
