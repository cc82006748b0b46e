"""Slash commands (`.claude/commands/**/*.md`): a prompt with placeholders, front matter optional.

A command `/git:sync` becomes the agent `command_git_sync`, so that it and an agent or a skill of the same name live
side by side. What a command would have run or read when it is expanded is text here: nothing in it is executed, no
file is opened.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject, JsonValue

from .definition_keys import build_definition, build_skill, prompted_skill, read_model, read_tools, read_version
from .fields import Fields
from .front_matter import MarkdownDocument
from .loaded_agents import LoadedAgents
from .markdown import FILES, load_prompt

_FOLDER: Final = "commands"
COMMAND: Final = "command"
"""Where `extras` says what is typed: `/git:sync`."""

_MAX_REPORTED: Final = 20
_LONGEST_DESCRIPTION: Final = 200
_SHELL: Final = re.compile(r"!`([^`\n]{1,1000})`")
_REFERENCE: Final = re.compile(r"(?<![\w`@/.])@((?:\.{1,2}/|~/|/)?[A-Za-z0-9_][A-Za-z0-9_./-]{0,200})")


def command_name(file: str) -> str:
    """What is typed to call the command in `file`: its path below `commands`, folders before colons (`/git:sync`)."""
    parts = PurePosixPath(file).with_suffix("").parts
    homes = [at for at, part in enumerate(parts[:-1]) if part == _FOLDER]
    # Below `.claude` the first such folder counts; elsewhere the nearest.
    home = next((at for at in homes if at and parts[at - 1] == ".claude"), homes[-1] if homes else len(parts) - 2)
    return "/" + ":".join(parts[home + 1 :])


def load_command(data: bytes, *, file: str) -> LoadedAgents:
    """Read the command in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it; its path below `commands` is the command's name.
    """
    typed = command_name(file)

    def read(fields: Fields, front: MarkdownDocument) -> Definition | None:
        base_name = names.canonical_name(typed.removeprefix("/").replace(":", "-"))
        hint = " ".join(fields.texts("argument_hint") or ())
        # Without a description, programs show the first line of the prompt that says something.
        lines = (line.strip().lstrip("#").strip() for line in front.body.split("\n"))
        first = next(filter(None, lines), "")
        first = first if len(first) <= _LONGEST_DESCRIPTION else f"{first[: _LONGEST_DESCRIPTION - 1].rstrip()}…"
        description = fields.text("description") or first or f"Does what `{typed}` says."
        tier, model = read_model(fields)
        arguments = parse_arguments(hint, front.body)
        name = f"{COMMAND}_{base_name}" if base_name else None
        if name is None:
            message = f"The file's name {typed[:100]!r} is not a valid name."
            fields.report("load/bad-name", message, fix="Use letters, digits and hyphens.")
        more = prompted_skill(arguments.schema, instruction_name=arguments.free)
        skill = build_skill(fields, name, description, more)
        facts = fields.read(Definition, "category", "tags", "source") | {
            "version": read_version(fields),
            "tier": tier,
            "model": model,
            "tools": read_tools(fields, "allowed_tools", by_spaces=True),
            "instructions": front.body or None,
            "skills": (skill,),
        }
        fields.keep_remaining(kebab=True)
        paths = (match[1].rstrip("./-") for match in _REFERENCE.finditer(front.body))
        # A word without a slash or a dot is a person's name.
        files = list[JsonValue](dict.fromkeys(path for path in paths if "/" in path or "." in path))
        extras = {**fields.extras, COMMAND: typed, "argument-hint": hint or None, FILES: files or None}
        definition = build_definition(fields, name, description, facts, extras) if skill else None
        if definition is not None and not front.body:
            message, fix = "The command says nothing to do.", "Write below the front matter what is to be done."
            fields.report("load/no-instructions", message, fix=fix)
        for match in islice(_SHELL.finditer(front.body), _MAX_REPORTED):
            message = f"{match[0][:100]!r} is text here: Retinue runs no command out of a file."
            fix = "Give the agent a tool for it, or put the output into the request."
            fields.add_finding(front.body_finding("load/shell-text", message, offset=match.start(), fix=fix))
        return definition

    return load_prompt(data, file=file, read=read, required=False, keys="`description:` and so on")


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
    tokens = _TOKEN.findall(hint) if _HINT.fullmatch(hint) else []
    placeholders = [_Placeholder(each[1:-1].strip(), required=each[0] == "<") for each in tokens]
    positions = {int(match[1]) for match in _POSITION.finditer(body)}
    properties: JsonObject = {}
    required: list[JsonValue] = []
    if not positions or _ALL.search(body):
        only = placeholders[0] if len(placeholders) == 1 else None
        value = properties[ARGUMENTS] = _text(only, f"{_ANYTHING} As in: {hint}" if hint else _ANYTHING)
        required = [ARGUMENTS] if placeholders and placeholders[0].required else []
        return CommandArguments(_object(properties, required), None if "enum" in value else ARGUMENTS)
    # One parameter a position: named and typed by the hint as far as that goes.
    for position in range(max(*positions, len(placeholders))):
        placeholder = placeholders[position] if position < len(placeholders) else None
        name = placeholder.name if placeholder else ""
        if not name or name in properties:
            name = f"argument_{position + 1}"
        properties[name] = _text(placeholder, f"Argument {position + 1} of the command.")
        if placeholder is None or placeholder.required:
            required.append(name)
    only = next(iter(properties)) if len(properties) == 1 and not (placeholders and placeholders[0].words) else None
    return CommandArguments(_object(properties, required), only)


def expand_command(body: str, parameters: Sequence[str], arguments: Mapping[str, str]) -> str:
    """The body with what follows the command in its place, as programs do that know such commands.

    Args:
        body: The command's body.
        parameters: The names of its parameters, in their order.
        arguments: What was given for them.
    """
    values = [arguments.get(name, "") for name in parameters if name != ARGUMENTS]
    everything = arguments.get(ARGUMENTS, " ".join(filter(None, values)))
    values = values or everything.split()

    def value_of(match: re.Match[str]) -> str:
        if match[1] is None:
            return everything
        position = int(match[1])
        return values[position - 1] if position <= len(values) else ""

    return re.sub(f"{_POSITION.pattern}|{_ALL.pattern}", value_of, body)


def _text(placeholder: _Placeholder | None, about: str) -> JsonObject:
    value: JsonObject = {"type": "string", "description": about}
    if placeholder and placeholder.words:
        value["enum"] = list[JsonValue](dict.fromkeys(placeholder.words))
    return value


def _object(properties: JsonObject, required: list[JsonValue]) -> JsonObject:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
