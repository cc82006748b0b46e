"""Agents as tools (A4): exactly `name`, `description` and `input_schema`, one tool a skill."""

from functools import partial
from typing import cast

from retinue.agents.load.tool_use import load_tool_use
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject
from retinue.dialects.tool_use import render_definition

from .keys import file_stem
from .written import Written, json_text, written

__all__ = ["write_tool_use"]


def write_tool_use(definition: Definition) -> Written:
    """Write an agent as a tool, or as an array of them.

    Raises:
        InvalidInput: No such file can hold it.
    """
    text = json_text(cast("JsonObject", json.loads(render_definition(definition).text)))
    file = f"{file_stem(definition)}.json"
    return written(definition, text, file=file, load=partial(load_tool_use, file=file))
