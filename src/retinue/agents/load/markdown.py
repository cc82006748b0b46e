"""Definitions as Markdown: front matter in YAML says what the agent is, the body how it behaves (H8).

Agents (`.claude/agents/*.md`) may have all keys of a definition. Unless these declare more, an agent has one skill,
named like itself, that takes a `task`; operations that the body lists become skills when it is used (`operations`).
Skills (`<name>/SKILL.md`) have six keys in kebab-case. The files beside a skill are listed, not read.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import ParseError

from .behaviour import read_behaviour
from .call_sites import find_call_sites
from .definition_keys import (
    TASK_SCHEMA,
    build_definition,
    build_skill,
    prompted_skill,
    read_definition,
    read_model,
    read_name,
    read_tools,
    read_version,
)
from .document import decode, finding_of
from .fields import Fields
from .front_matter import MarkdownDocument, read_front
from .loaded_agents import InstructionsAgent, LoadedAgents

SKILL_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500

FILES: Final = "files"
"""Where `extras` lists the files beside a skill, and those that a command refers to."""

FACTS: Final = ("version", "category", "tags", "aliases", "tier", "model")
"""What the free `metadata` of a skill may say that we have a word for; lists stand between commas."""

DefinitionReader: TypeAlias = Callable[[Fields, MarkdownDocument], Definition | None]
"""Makes the definition out of the keys of the front matter and the body, and reports in the keys what is wrong."""


def load_markdown(data: bytes, *, file: str) -> LoadedAgents:
    """Read the agent in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        front = read_front(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    findings = list[Finding](front.findings)
    definition = read_definition(
        front.document,
        front.value,
        findings=findings,
        instructions=front.body or None,
        schema_required=False,
        file_name=PurePosixPath(file).stem,
    )
    if definition is None:
        return LoadedAgents(findings=tuple(findings))
    # What a behaviour should hold (H8) is never an error: the agent can still be asked.
    if not front.body:
        message = "The body is empty: the agent has no instructions."
        fix = "Say its role, its steps, its output format and its quality criteria."
        findings.append(front.document.finding("load/no-instructions", message, severity="warning", fix=fix))
    elif missing := read_behaviour(front.body).missing:
        message = f"No section of the behaviour is about {natural_list(missing, last='or')}."
        fix = "Add one for each." if len(missing) > 1 else "Add one."
        findings.append(front.document.finding("load/thin-behaviour", message, severity="info", fix=fix))
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings))


def load_skill(data: bytes, *, file: str, files: Sequence[str] = ()) -> LoadedAgents:
    """Read the skill in `data`. What is wrong becomes findings; with an error there is no agent.

    What breaks a rule of the format and can still be used is a warning: other programs take it too.

    Args:
        data: The content of `SKILL.md`.
        file: What findings and the definition's `source` call it; the folder in it should have the skill's name.
        files: The files beside it, relative to its folder.
    """

    def read(fields: Fields, front: MarkdownDocument) -> Definition | None:
        _check_form(fields, folder=PurePosixPath(file).parent.name)
        raw_metadata = fields.object("metadata") or {}
        for key, each in raw_metadata.items():
            if not isinstance(each, str):
                message = f"The value of {key!r} in `metadata` is not a text."
                path, fix = fields.path("metadata"), "Put it in quotes."
                fields.report("load/skill-metadata", message, path=path, severity="warning", fix=fix)
        metadata: JsonObject = {
            key: each for key, each in raw_metadata.items() if key in FACTS and isinstance(each, str)
        }
        rest = {key: each for key, each in raw_metadata.items() if key not in metadata}
        more = fields.child(metadata, path=fields.path("metadata"))
        version = read_version(fields) or read_version(more)
        name, major, spellings = read_name(fields)
        description = fields.text("description", required=True)
        tier, model = read_model(more if fields.peek("model") is None else fields)
        skill = build_skill(fields, name, description, prompted_skill(TASK_SCHEMA))
        facts = more.read(Definition, "category", "tags") | {
            "version": version or major,
            "aliases": more.texts("aliases", split=True) or spellings,
            "tier": tier,
            "model": model,
            "tools": read_tools(fields, "allowed_tools", by_spaces=True),
            "instructions": front.body or None,
            "source": fields.source,
            "skills": (skill,),
        }
        fields.keep_extras("license", "compatibility")
        fields.keep_remaining(kebab=True)
        extras = {**fields.extras, "metadata": rest or None, FILES: list[JsonValue](files) or None}
        definition = build_definition(fields, name, description, facts, extras) if skill else None
        if definition is not None and not front.body:
            message, fix = "The body is empty: the skill has no instructions.", "Say in the body how it is done."
            fields.report("load/no-instructions", message, path="", severity="warning", fix=fix)
        return definition

    return load_prompt(data, file=file, read=read, required=True, keys="`name:`, `description:` and so on")


def _check_form(fields: Fields, *, folder: str) -> None:
    """What the format asks of its keys, beyond their types."""
    values = {key: fields.peek(key) for key in ("name", "description", "compatibility")}
    texts = {key: value.strip() for key, value in values.items() if isinstance(value, str)}
    name, path = texts.get("name", ""), fields.path("name")
    if name and (not SKILL_NAME.fullmatch(name) or len(name) > MAX_NAME):
        rule = f"lower-case letters, digits and single hyphens, at most {MAX_NAME}"
        message = f"{name[:100]!r} is not a valid skill name: {rule}."
        kebab = names.to_kebab(name)[:MAX_NAME].strip("-")
        fix = f"Call it {kebab!r}." if kebab else "Use lower-case letters, digits and hyphens."
        fields.report("load/skill-name", message, path=path, severity="warning", fix=fix)
    if name and folder and folder != name:
        message = f"The skill is called {name[:100]!r} and its folder {folder!r}."
        fields.report("load/skill-folder", message, path=path, severity="warning", fix="Give both the same name.")
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        if (length := len(texts.get(key, ""))) > most:
            message = f"The {key} has {length:,} characters; {most:,} are allowed in a skill."
            fix = "Move the details into the body."
            fields.report(f"load/skill-{key}", message, path=fields.path(key), severity="warning", fix=fix)


def load_prompt(data: bytes, *, file: str, read: DefinitionReader, required: bool, keys: str) -> LoadedAgents:
    """Read a skill or a slash command, which may call others (K23). With an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings call it.
        read: Makes the definition.
        required: Whether there must be front matter.
        keys: What it should hold, as part of a sentence.
    """
    try:
        front = read_front(data, file=file, required=required, quote_hint=True)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    if not isinstance(front.value, dict):
        message, fix = f"The front matter must be lines with {keys}.", "Write `key: value` lines."
        return LoadedAgents(findings=(front.document.finding("load/wrong-type", message, fix=fix),))
    findings = list(front.findings)
    fields = Fields(front.document, front.value, path="", findings=findings)
    definition = read(fields, front)
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if fields.has_errors or definition is None:
        return LoadedAgents(findings=tuple(findings))
    calls = find_call_sites(decode(data), file=file)
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings), calls=calls)
