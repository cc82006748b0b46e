"""Slash commands as prompts, with what follows them in its place."""

from collections.abc import Iterable, Mapping
from typing import cast

import mcp_types as types

from retinue.agents.load.command import COMMAND, expand_command
from retinue.contract.definition import Definition
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput


def commands(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """The slash commands among these agents, by what is typed, without the slash."""
    by_name: dict[str, Definition] = {}
    for definition in definitions:
        typed: object = definition.extras.get(COMMAND)
        if isinstance(typed, str) and definition.instructions:
            by_name.setdefault(typed.removeprefix("/"), definition)
    return by_name


def describe_prompt(name: str, definition: Definition) -> types.Prompt:
    """A command as clients list it."""
    schema = definition.skills[0].input_schema
    required = cast("list[str]", schema.get("required", []))
    arguments = [
        types.PromptArgument(name=key, description=_description(each), required=key in required)
        for key, each in cast("JsonMapping", schema.get("properties", {})).items()
    ]
    return types.Prompt(name=name, description=definition.description, arguments=arguments)


def expand_prompt(definition: Definition, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """What is said to the model when the command is typed.

    Raises:
        InvalidInput: An argument is missing.
    """
    schema = definition.skills[0].input_schema
    missing = [key for key in cast("list[str]", schema.get("required", [])) if key not in arguments]
    if missing:
        raise InvalidInput(f"The argument `{missing[0]}` is missing.", path=f"/arguments/{missing[0]}")
    names = list(cast("JsonMapping", schema.get("properties", {})))
    text = expand_command(definition.instructions or "", names, arguments)
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=definition.description, messages=[message])


def complete_argument(definition: Definition, name: str, value: str) -> types.Completion:
    """The words that an argument may be, where the command says them."""
    field: object = cast("JsonMapping", definition.skills[0].input_schema.get("properties", {})).get(name)
    words = cast("list[str]", cast("JsonMapping", field).get("enum", [])) if isinstance(field, dict) else []
    return types.Completion(values=[word for word in words if word.startswith(value)][:100])


def _description(schema: object) -> str | None:
    value: object = cast("JsonMapping", schema).get("description") if isinstance(schema, dict) else None
    return value if isinstance(value, str) else None
