"""What the format says when the task says nothing of its own, so that reading it back adds nothing to the task."""

import re
from typing import Final

from retinue.contract.formatting import truncate
from retinue.contract.names import canonical_name, to_kebab
from retinue.contract.version import split_versioned_name

from .lines import one_line

SUBAGENT: Final = "general-purpose"
"""The type that every request names; who is meant stands in the behaviour file (H1, H2)."""

_FOLDER: Final = ".claude/agents"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FILE: Final = re.compile(r"[^\s`'\"]+\.md(?![\w.])", re.IGNORECASE)
_DESCRIPTION_CHARS: Final = 60


def behaviour_of(agent: str, major: int | None) -> str:
    """The behaviour file of an agent: `researcher_analyst`, 2 is `.claude/agents/researcher-analyst-v2.md` (C11).

    A major version that no name can hold is left out.
    """
    version = f"-v{major}" if major is not None and major < 10**9 else ""
    return f"{_FOLDER}/{to_kebab(agent)}{version}.md"


def agent_in(reference: str) -> tuple[str, int | None] | None:
    """The agent and its major version that a behaviour file is named after (C10, C11); None when it is no name."""
    match = _FILE.search(reference) if any(mark.isspace() for mark in reference) else None
    path = (match[0] if match else reference).replace("\\", "/").rstrip("/")
    stem = path.rpartition("/")[2]
    stem = stem[:-3] if stem.lower().endswith(".md") else stem
    # `[agent-type]` is a place to be filled: it has a finding of its own.
    name, major = split_versioned_name(canonical_name(stem.strip("[]{}")))
    return (name, major) if len(name) <= 64 and _NAME.fullmatch(name) else None


def description_of(instruction: str) -> str:
    """A few words for a request that brings no description."""
    return truncate(one_line(instruction), _DESCRIPTION_CHARS) or "Task"


def expected_of(path: str | None) -> str:
    """The line that names the signal to return (H5)."""
    return "Return: STATUS: complete" if path is None else "Return: CREATED: [path of the file]"
