"""Slash commands (`.claude/commands/**/*.md`): a prompt with placeholders, front matter optional.

A command `/git:sync` becomes the agent `command_git_sync`, so that it and an agent or a skill of the same name live
side by side. What a command would have run or read when it is expanded is text here: nothing in it is executed, no
file is opened.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.json import JsonValue

from .arguments import parse_arguments
from .definition_keys import prompted_skill
from .fields import Fields
from .front_matter import MarkdownDocument
from .loaded_agents import LoadedAgents
from .naming import read_model, read_tools, read_version
from .prompt_file import load_prompt
from .skill import FILES

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

    def read(fields: Fields, front: MarkdownDocument) -> Definition | None:
        definition = _definition(fields, front, command_name(file))
        if definition is not None and not front.body:
            message, fix = "The command says nothing to do.", "Write below the front matter what is to be done."
            fields.report("load/no-instructions", message, path="", severity="warning", fix=fix)
        fields.add_findings(_check_shell(front))
        return definition

    return load_prompt(data, file=file, read=read, required=False, keys="`description:` and so on")


def _definition(fields: Fields, front: MarkdownDocument, typed: str) -> Definition | None:
    base_name = names.canonical_name(typed.removeprefix("/").replace(":", "-"))
    hint = " ".join(fields.texts("argument_hint") or ())
    description = fields.text("description") or _first_line(front.body) or f"Does what `{typed}` says."
    tier, model = read_model(fields)
    arguments = parse_arguments(hint, front.body)
    name = f"{COMMAND}_{base_name}" if base_name else None
    if name is None:
        message = f"The file's name {typed[:100]!r} is not a valid name."
        fields.report("load/bad-name", message, path="", fix="Use letters, digits and hyphens.")
    skill = prompted_skill(
        fields, name=name, description=description, input_schema=arguments.schema, instruction_name=arguments.free
    )
    facts: dict[str, object] = {
        "name": name or "unnamed",
        "version": read_version(fields),
        "description": description,
        "category": fields.text("category"),
        "tags": fields.texts("tags", split=True),
        "tier": tier,
        "model": model,
        "tools": read_tools(fields, "allowed_tools", by_spaces=True),
        "instructions": front.body or None,
        "source": fields.source,
        "skills": (skill,) if skill else None,
    }
    fields.keep_remaining(kebab=True)
    files = list(dict.fromkeys(_files(front.body)))
    extras = {**fields.extras, COMMAND: typed, "argument-hint": hint or None, FILES: list[JsonValue](files) or None}
    facts["extras"] = {key: value for key, value in extras.items() if value is not None}
    return fields.build(Definition, facts) if skill else None


def _first_line(body: str) -> str:
    """The first line of the prompt that says something, as a description; what programs show without one."""
    lines = (line.strip().lstrip("#").strip() for line in body.split("\n"))
    line = next(filter(None, lines), "")
    return line if len(line) <= _LONGEST_DESCRIPTION else f"{line[: _LONGEST_DESCRIPTION - 1].rstrip()}…"


def _files(body: str) -> Iterator[str]:
    """The files that the prompt refers to with `@`; a word without a stroke or a dot is somebody's name."""
    for match in _REFERENCE.finditer(body):
        path = match[1].rstrip("./-")
        if "/" in path or "." in path:
            yield path


def _check_shell(front: MarkdownDocument) -> Iterator[Finding]:
    for count, match in enumerate(_SHELL.finditer(front.body)):
        if count == _MAX_REPORTED:
            return
        yield front.body_finding(
            "load/shell-text",
            f"{match[0][:100]!r} is text here: Retinue runs no command out of a file.",
            offset=match.start(),
            fix="Give the agent a tool for it, or put the output into the request.",
        )
