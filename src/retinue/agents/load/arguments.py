"""What a slash command takes: read from its `argument-hint` and from the `$1` … `$9` and `$ARGUMENTS` of its body.

Typed only where the hint says so plainly; else what follows the command is one free text, as whoever types it means.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract import names
from retinue.contract.json import JsonObject, JsonValue

ARGUMENTS: Final = "arguments"
"""The parameter for all that follows the command."""

_POSITION: Final = re.compile(r"(?<![\\$\w])\$([1-9])(?![0-9A-Za-z_]|[.,][0-9])")
_ALL: Final = re.compile(r"(?<!\\)\$ARGUMENTS\b")
_HINT: Final = re.compile(r"[ \t]*(?:(<[^<>\n]{1,200}>|\[[^\[\]\n]{1,200}\])[ \t]*)+")
_TOKEN: Final = re.compile(r"<[^<>\n]{1,200}>|\[[^\[\]\n]{1,200}\]")
_WORDS: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}(?:\|[A-Za-z0-9_.-]{1,64})+")
_ANYTHING: Final = "What follows the command."


@dataclass(frozen=True, slots=True)
class CommandArguments:
    """What a command takes.

    Attributes:
        schema: JSON Schema of its parameters.
        free: The parameter that takes a free instruction; None when each has its own meaning.
    """

    schema: JsonObject
    free: str | None


@dataclass(frozen=True, slots=True)
class _Placeholder:
    """One part of a hint: `<name>` must be given, `[name]` may be; `<a|b>` is one of these words."""

    text: str
    required: bool

    @property
    def words(self) -> list[str]:
        return self.text.split("|") if _WORDS.fullmatch(self.text) else []

    @property
    def name(self) -> str:
        """A name for the parameter; empty when the hint gives none."""
        head = self.text.partition("=")[0]
        return "" if self.words or head.startswith("-") else names.fold(head)


def parse_arguments(hint: str, body: str) -> CommandArguments:
    """What a command with this `argument-hint` and this body takes."""
    placeholders = _placeholders(hint)
    positions = {int(match[1]) for match in _POSITION.finditer(body)}
    if positions and not _ALL.search(body):
        return _positional_arguments(placeholders, max(positions))
    only = placeholders[0] if len(placeholders) == 1 else None
    about = f"{_ANYTHING} As in: {hint}" if hint else _ANYTHING
    value = _text(only, about)
    must = bool(placeholders) and placeholders[0].required
    return CommandArguments(
        _object({ARGUMENTS: value}, [ARGUMENTS] if must else []), None if "enum" in value else ARGUMENTS
    )


def _placeholders(hint: str) -> list[_Placeholder]:
    """The parts of a hint that is made of placeholders and nothing else; else none."""
    if not _HINT.fullmatch(hint):
        return []
    return [_Placeholder(each[1:-1].strip(), required=each[0] == "<") for each in _TOKEN.findall(hint)]


def _positional_arguments(placeholders: Sequence[_Placeholder], most: int) -> CommandArguments:
    """One parameter a position: named and typed by the hint as far as that goes."""
    properties: JsonObject = {}
    required: list[JsonValue] = []
    for position in range(max(most, len(placeholders))):
        placeholder = placeholders[position] if position < len(placeholders) else None
        name = placeholder.name if placeholder else ""
        if not name or name in properties:
            name = f"argument_{position + 1}"
        properties[name] = _text(placeholder, f"Argument {position + 1} of the command.")
        if placeholder is None or placeholder.required:
            required.append(name)
    only = next(iter(properties)) if len(properties) == 1 and not (placeholders and placeholders[0].words) else None
    return CommandArguments(_object(properties, required), only)


def _text(placeholder: _Placeholder | None, about: str) -> JsonObject:
    value: JsonObject = {"type": "string", "description": about}
    if placeholder and placeholder.words:
        value["enum"] = list[JsonValue](dict.fromkeys(placeholder.words))
    return value


def _object(properties: JsonObject, required: list[JsonValue]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
