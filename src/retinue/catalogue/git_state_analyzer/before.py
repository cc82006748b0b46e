"""What was said and found before a question: earlier clauses of the goal, and what this agent answered to them."""

import re
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.task import Task

__all__ = ["NOTHING_BEFORE", "Before", "read_before"]

_BY: Final = re.compile(r"\bby (?P<name>[^`()\n]{2,80}?) on \d{4}-\d\d-\d\d\b")
_COMMIT: Final = re.compile(r"\(`?commit (?P<sha>[0-9a-f]{7,40})`?\)")
_ESCAPE: Final = re.compile(r"\\(?=[^\w\s])")


@dataclass(frozen=True, slots=True)
class Before:
    """What a question may lean on.

    Attributes:
        said: The goal up to the question.
        person: Whom the answer handed on names first as the author of something.
        commit: The commit it names first.
    """

    said: str = ""
    person: str = ""
    commit: str = ""


NOTHING_BEFORE: Final = Before()


def read_before(task: Task, question: str) -> Before:
    """Read what the task says of the goal, and what answers of the same agent were handed on with it."""
    goal = task.context.what
    place = goal.casefold().find(question.casefold().rstrip("?. ")) if question else -1
    person = commit = ""
    for handed in task.context.inputs.values():
        if not isinstance(handed, dict):
            continue
        given = cast("dict[str, object]", handed)
        text = given.get("summary")
        if given.get("agent") == task.agent and isinstance(text, str):
            by, sha = _BY.search(text), _COMMIT.search(text)
            person = person or (_ESCAPE.sub("", by["name"]) if by else "")
            commit = commit or (sha["sha"] if sha else "")
    return Before(goal[: max(0, place)], person, commit)
