"""Branches as a question names them: by their last part, and two of them for what one has and the other has not."""

import re
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue.git_state_analyzer.report import Report
from retinue.tools.git import Git

__all__ = ["Lacking", "read_lacking", "spelled"]

_NAME: Final = r"(?:the\s+|branch\s+)*`?(?P<{}>[\w./-]*\w)`?"
_LACKING: Final = re.compile(
    rf"\b(?:on|in)\s+{_NAME.format('branch')}(?:\s+branch)?,?\s+(?:(?:but|and|that|which|yet)\s+)?(?:are\s+)?"
    rf"not\s+(?:yet\s+)?(?:on|in|merged into)\s+{_NAME.format('base')}",
    re.IGNORECASE,
)
_VAGUE: Final = frozenset({"base", "origin", "remote", "server", "upstream"})
"""Words that are read as a branch and only name the usual one."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """The words that ask for what `branch` has and `base` has not."""

    words: str
    branch: str
    base: str


def read_lacking(question: str) -> Lacking | None:
    """Read "which commits are on the branch x but not on main"."""
    found = _LACKING.search(question)
    return Lacking(found.group(), found["branch"], found["base"]) if found else None


def spelled(git: Git, name: str, report: Report) -> str:
    """`name` as git knows it: a branch that only a remote has is called by its last part, too."""
    branches = git.branches() if name else []
    if any(one.name == name for one in branches):
        return name
    if name.casefold() in _VAGUE:
        return ""
    remote = [one.name for one in branches if one.is_remote and one.name.partition("/")[2] == name]
    if len(remote) != 1 or any(tag.name == name for tag in git.tags()):
        return name
    report.note("Read {} as {}.", code(name), code(remote[0]))
    return remote[0]
