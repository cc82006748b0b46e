"""Agents in the words of a dialect: tools of spec 000 (A4), cards of spec 004 (P5)."""

from collections.abc import Callable
from functools import partial

from retinue.agents.load.by_dialect import load_agent_json, load_tool_use
from retinue.agents.load.loaded_agents import LoadedAgents
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.dialects import agent_http, tool_use
from retinue.dialects.port import RenderedMessage

from .keys import file_stem
from .round_trip import WrittenDefinition, check_round_trip, json_text


def write_tool_use(definition: Definition) -> WrittenDefinition:
    """Write an agent as a tool, or as an array of one a skill.

    Raises:
        InvalidInput: No such file can hold it.
    """
    rendered = tool_use.render_definition(definition)
    return _write(definition, rendered, file=f"{file_stem(definition)}.json", load=load_tool_use)


def write_agent_json(definition: Definition, *, url: str | None = None) -> WrittenDefinition:
    """Write an agent as a card of spec 004.

    Args:
        definition: What to write.
        url: What stands before every path: scheme, host and prefix; nothing when absent.

    Raises:
        InvalidInput: No card can hold it.
    """
    rendered = agent_http.render_card((definition,), base=(url or "").rstrip("/"))
    return _write(definition, rendered, file=f"{file_stem(definition)}.agent.json", load=load_agent_json)


def _write(
    definition: Definition, rendered: RenderedMessage, *, file: str, load: Callable[..., LoadedAgents]
) -> WrittenDefinition:
    why = {loss.field: loss.why for loss in rendered.losses}
    text = json_text(json.loads(rendered.text))
    return check_round_trip(definition, text, file=file, load=partial(load, file=file), why=why)
