"""What is said of a wrapped agent that says nothing of itself: one skill, named like it, that takes a task in words."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from retinue.agents.port import NAME_GUESSED
from retinue.contract import names
from retinue.contract.definition import Definition, Effect, Skill
from retinue.contract.json import JsonObject
from retinue.contract.model import DialectName
from retinue.errors import InvalidInput

_INPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "minLength": 1, "description": "What to do, in full sentences."},
        "target": {"type": "string", "description": "What to do it on: a path, a name."},
        "context": {"type": "string", "description": "What to know beside it."},
    },
    "required": ["task"],
    "additionalProperties": True,
}
_LONGEST: Final = 64
_INTERPRETER: Final = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|lua|bash|dash|zsh|sh|deno|bun|uv|uvx|npx|env)[\d.]*"
)
_SCRIPT_WORDS: Final = frozenset({"run", "exec", "tool"})
"""Words that stand between an interpreter and its script: `uv run agent.py`."""


def default_definition(
    name: str,
    *,
    about: str,
    dialect: DialectName | None,
    skill: str | None = None,
    guessed: bool = False,
    effects: tuple[Effect, ...] | None = None,
) -> Definition:
    """The definition of an agent of which only the name and the dialect are known.

    Args:
        name: A canonical name.
        about: What it is, one sentence.
        dialect: What it speaks.
        skill: What its one skill is called; like the agent when absent.
        guessed: Nobody said that it has this name.
        effects: What it may touch outside itself; absent when nobody knows.
    """
    suffix = f" in `{dialect}`" if dialect else " as it gives it"
    description = f"{about} Use when it is asked for by name. Returns its answer{suffix}."
    default_skill = Skill(
        name=skill or name,
        description=description,
        input_schema=_INPUT_SCHEMA,
        instruction_field="task",
        target_field="target",
        effects=effects,
    )
    extras = {NAME_GUESSED: True} if guessed else {}
    return Definition(name=name, description=description, skills=(default_skill,), dialect=dialect, extras=extras)


def check_definition(definition: Definition, *, name: str | None, dialect: DialectName | None) -> None:
    """See that what was said beside a definition is what it says itself.

    Raises:
        InvalidInput: It is not.
    """
    if (name and canonical_agent_name(name) != definition.name) or dialect not in {None, definition.dialect}:
        raise InvalidInput(
            f"The definition of `{definition.name}` says another name or dialect.", hint="Say it in one place."
        )


def is_default_skill(skill: Skill) -> bool:
    """Whether nobody declared what `skill` takes."""
    return skill.input_schema == _INPUT_SCHEMA


def canonical_agent_name(name: str) -> str:
    """`name` as a canonical one.

    Raises:
        InvalidInput: Nothing of it can stand in a name.
    """
    result = names.canonical_name(name)[:_LONGEST].strip("_")
    if not result:
        raise InvalidInput(f"{name[:80]!r} is not a valid name.", hint="Use letters a-z, digits, spaces and `-_./`.")
    return result if result[0].isalpha() else f"agent_{result}"[:_LONGEST].strip("_")


def name_from_argv(argv: Sequence[str]) -> str:
    """What to call the agent behind a command line: its program, or the script that an interpreter is given."""
    program = PurePath(argv[0]).name
    script = _script(argv[1:]) if _INTERPRETER.fullmatch(program) else None
    for candidate in (script, PurePath(program).stem, "command"):
        if candidate and names.canonical_name(candidate):
            return canonical_agent_name(candidate)
    return "command"


def _script(words: Sequence[str]) -> str | None:
    """The script among the words of an interpreter; None when the code itself stands there."""
    for at, word in enumerate(words):
        if word in {"-c", "-e"}:
            return None
        if word == "-m":
            return words[at + 1].rpartition(".")[2] if at + 1 < len(words) else None
        if not word.startswith("-") and "=" not in word and word not in _SCRIPT_WORDS:
            nested = PurePath(word)
            if _INTERPRETER.fullmatch(nested.name):
                return _script(words[at + 1 :])
            return nested.stem
    return None
