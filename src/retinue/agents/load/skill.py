"""Skills (`<name>/SKILL.md`): YAML front matter with six keys in kebab-case, the body as the instructions.

A skill becomes an agent of one skill that takes a `task`. The files beside it are listed, not read.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject, JsonValue

from .definition_keys import TASK_SCHEMA, prompted_skill
from .fields import Fields
from .front_matter import MarkdownDocument
from .loaded_agents import LoadedAgents
from .naming import read_model, read_name, read_tools, read_version
from .prompt_file import load_prompt

SKILL_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500

FILES: Final = "files"
"""Where `extras` lists the files beside a skill, and those that a command refers to."""

FACTS: Final = ("version", "category", "tags", "aliases", "tier", "model")
"""What the free `metadata` of a skill may say that we have a word for; lists stand between commas."""


def load_skill(data: bytes, *, file: str, files: Sequence[str] = ()) -> LoadedAgents:
    """Read the skill in `data`. What is wrong becomes findings; with an error there is no agent.

    What breaks a rule of the format and can still be used is a warning: other programs take it too.

    Args:
        data: The content of `SKILL.md`.
        file: What findings and the definition's `source` call it; the folder in it should have the skill's name.
        files: The files beside it, relative to its folder.
    """

    def read(fields: Fields, front: MarkdownDocument) -> Definition | None:
        _check_keys(fields, folder=PurePosixPath(file).parent.name)
        metadata, rest = _metadata(fields)
        more = fields.child(metadata, path=fields.path("metadata"))
        version = read_version(fields) or read_version(more)
        name, major, spellings = read_name(fields)
        description = fields.text("description", required=True)
        tier, model = read_model(more if fields.peek("model") is None else fields)
        skill = prompted_skill(fields, name=name, description=description, input_schema=TASK_SCHEMA)
        facts: dict[str, object] = {
            "name": name or "unnamed",
            "version": version or major,
            "description": description or "-",
            "aliases": more.texts("aliases", split=True) or spellings,
            "category": more.text("category"),
            "tags": more.texts("tags", split=True),
            "tier": tier,
            "model": model,
            "tools": read_tools(fields, "allowed_tools", by_spaces=True),
            "instructions": front.body or None,
            "source": fields.source,
            "skills": (skill,) if skill else None,
        }
        fields.keep_extras("license", "compatibility")
        fields.keep_remaining(kebab=True)
        extras = {**fields.extras, "metadata": rest or None, FILES: list[JsonValue](files) or None}
        facts["extras"] = {key: value for key, value in extras.items() if value is not None}
        definition = fields.build(Definition, facts) if skill else None
        if definition is not None and not front.body:
            message, fix = "The body is empty: the skill has no instructions.", "Say in the body how it is done."
            fields.report("load/no-instructions", message, path="", severity="warning", fix=fix)
        return definition

    return load_prompt(data, file=file, read=read, required=True, keys="`name:`, `description:` and so on")


def _metadata(fields: Fields) -> tuple[JsonObject, JsonObject]:
    """What the metadata says that we have a word for, and the rest of it."""
    value = fields.object("metadata") or {}
    for key, each in value.items():
        if not isinstance(each, str):
            message = f"`metadata` holds texts, and {key!r} is none."
            path, fix = fields.path("metadata"), "Put it in quotes."
            fields.report("load/skill-metadata", message, path=path, severity="warning", fix=fix)
    metadata: JsonObject = {key: each for key, each in value.items() if key in FACTS and isinstance(each, str)}
    return metadata, {key: each for key, each in value.items() if key not in metadata}


def _check_keys(fields: Fields, *, folder: str) -> None:
    """What the format asks of its keys, beyond their types."""
    values = {key: fields.peek(key) for key in ("name", "description", "compatibility")}
    texts = {key: value.strip() for key, value in values.items() if isinstance(value, str)}
    _check_name(fields, texts, folder=folder)
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        length = len(texts.get(key, ""))
        if length > most:
            message = f"The {key} has {length:,} characters; {most:,} are allowed in a skill."
            fix = "Move the details into the body."
            fields.report(f"load/skill-{key}", message, path=fields.path(key), severity="warning", fix=fix)


def _check_name(fields: Fields, texts: Mapping[str, str], *, folder: str) -> None:
    name = texts.get("name")
    if not name:
        return
    path = fields.path("name")
    if not SKILL_NAME.fullmatch(name) or len(name) > MAX_NAME:
        rule = f"lower-case letters, digits and single hyphens, at most {MAX_NAME}"
        message = f"{name[:100]!r} is not a valid skill name: {rule}."
        kebab = names.to_kebab(name)[:MAX_NAME].strip("-")
        fix = f"Call it {kebab!r}." if kebab else "Use small letters, digits and hyphens."
        fields.report("load/skill-name", message, path=path, severity="warning", fix=fix)
    if folder and folder != name:
        message = f"The skill is called {name[:100]!r} and its folder {folder!r}."
        fields.report("load/skill-folder", message, path=path, severity="warning", fix="Give both the same name.")
