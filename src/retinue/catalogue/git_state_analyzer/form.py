"""The form of a commit message: its type and scope, and the tasks it names. Pure; it reads one message at a time."""

import re
from typing import Final

__all__ = ["PATTERN", "has_form", "tasks_in"]

PATTERN: Final = r"^(feat|fix|docs|test|refactor|style|chore)\([^()\s][^()]*\)!?: \S.*$"
"""What `has_form` asks of a subject: one of the seven types, a scope, and what was done (G12)."""

_FORM: Final = re.compile(PATTERN)
_TASK: Final = re.compile(
    r"(?<![\w-])(?:(?:STORY|TASK|EPIC|INIT|BUG)-[0-9]+(?:\.[0-9]+)*(?!\w)|(?<![/&#])#[0-9]{1,9}\b)", re.ASCII
)


def has_form(subject: str) -> bool:
    """Whether a subject is `type(scope): what was done`."""
    return _FORM.fullmatch(subject) is not None


def tasks_in(message: str) -> tuple[str, ...]:
    """The tickets (`STORY-`, `TASK-`, `EPIC-`, `INIT-`, `BUG-`) and issues (`#12`) a message names, each once."""
    return tuple(dict.fromkeys(_TASK.findall(message)))
