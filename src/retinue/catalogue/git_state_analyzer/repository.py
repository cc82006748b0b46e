"""What every skill starts from: the repository of the workspace, what bounds its answers, and how a commit is told."""

import re
import shlex
from collections.abc import Callable
from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import Piece, code, name, one_line, title
from retinue.catalogue._report import Report
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.event import Progress
from retinue.contract.model import JsonMapping
from retinue.tools.git import Commit, Git, Head

__all__ = [
    "PATTERN", "by", "commit_source", "day_of", "described", "examine", "has_form", "short", "tasks_in",
]  # fmt: skip

PATTERN: Final = r"^(feat|fix|docs|test|refactor|style|chore)\([^()\s][^()]*\)!?: \S.*$"
"""What `has_form` asks of a subject: one of the seven types, a scope, and what was done (G12)."""

_COMMAND_S: Final = 120.0
_FORM: Final = re.compile(PATTERN)
# A pattern that begins with letters is searched for ten times as fast as one that begins by looking back.
_TASK: Final = re.compile(
    r"(?a)(?:S(?<![\w-]S)TORY|T(?<![\w-]T)ASK|E(?<![\w-]E)PIC|I(?<![\w-]I)NIT|B(?<![\w-]B)UG)"
    r"-[0-9]+(?:\.[0-9]+)*(?!\w)|#(?<![\w/&#-]#)[0-9]{1,9}\b"
)


async def examine(run: RunContext, skill: str, work: Callable[[Git, Head, Report, Watch], None]) -> Reply:
    """Do `work` in a thread, over the repository that the workspace is in; its commands are told as well (G9).

    No command may take longer than there is time.
    """
    watch, report = Watch(run), Report()

    def examined() -> Reply:
        left = watch.left_s()
        git = Git(run.workspace.root, timeout_s=_COMMAND_S if left is None else max(0.05, min(left, _COMMAND_S)))
        head = git.head()
        _say_bounds(git, head, report)
        work(git, head, report, watch)
        report.figures["metadata"] = {"git_commands_run": [shlex.join(words) for words in git.commands]}
        return report.reply()

    run.emit(Progress("reading the repository", skill))
    return await in_watched_thread(watch, examined)


def _say_bounds(git: Git, head: Head, report: Report) -> None:
    if git.is_shallow():
        report.warn(
            "incomplete_context",
            "This is a shallow clone: its history was cut off when it was cloned.",
            impact="Every count and every “first” is of the part that is here.",
            recovery="git fetch --unshallow",
        )
        report.note("The clone is shallow: older commits are not counted.")
    if head.sha and head.branch is None:
        report.note("HEAD is detached at {}.", code(short(head.sha)))


def has_form(subject: str) -> bool:
    """Whether a subject is `type(scope): what was done`."""
    return _FORM.fullmatch(subject) is not None


def tasks_in(message: str) -> tuple[str, ...]:
    """The tickets (`STORY-`, `TASK-`, `EPIC-`, `INIT-`, `BUG-`) and issues (`#12`) a message names, each once."""
    return tuple(dict.fromkeys(_TASK.findall(message)))


def described(commit: Commit) -> JsonMapping:
    """A commit as G9 describes it."""
    return {
        "sha": commit.sha,
        "author": one_line(commit.author),
        "email": one_line(commit.email),
        "date": commit.date,
        "subject": one_line(commit.subject),
        "body": one_line(commit.body, longest=2000),
        "task_references": list(tasks_in(f"{commit.subject}\n{commit.body}")),
    }


def by(commit: Commit) -> tuple[Piece, str, Piece]:
    """Who, when and what, for a sentence about a commit."""
    return name(commit.author), day_of(commit.date), title(commit.subject)


def day_of(date: str) -> str:
    """The day of an ISO date of git's, where its author was."""
    return date[:10]


def commit_source(commit: Commit | str) -> str:
    """A commit as a source."""
    return f"commit {short(commit if isinstance(commit, str) else commit.sha)}"


def short(sha: str) -> str:
    """The beginning of an id, as people write it."""
    return sha[:10]
