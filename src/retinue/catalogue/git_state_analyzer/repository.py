"""What every skill starts from: the repository of the workspace, what bounds its answers, and how a commit is told.

And who has committed here, and which branches and tags there are: what parameters can name.
"""

import re
import shlex
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import ExternalText, code, name, one_line, title
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_deadline import RunDeadline, in_cancellable_thread
from retinue.contract.event import Progress
from retinue.contract.facts import Facts
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.git import Commit, Git, HeadRef
from retinue.tools.git.commit_index import CommitIndex
from retinue.tools.workspace import Workspace

SUBJECT_PATTERN: Final = r"^(feat|fix|docs|test|refactor|style|chore)\([^()\s][^()]*\)!?: \S.*$"
"""What `is_conventional` asks of a subject: one of the seven types, a scope, and what was done (G12)."""

_COMMAND_S: Final = 120.0
_NAMES: Final = 2000
"""Most names of a kind."""
_MAX_NAME: Final = 200
_SECONDS: Final = 2.0
_SUBJECT: Final = re.compile(SUBJECT_PATTERN)
# A pattern that begins with letters is searched for ten times as fast as one that begins by looking back.
_TASK: Final = re.compile(
    r"(?a)(?:S(?<![\w-]S)TORY|T(?<![\w-]T)ASK|E(?<![\w-]E)PIC|I(?<![\w-]I)NIT|B(?<![\w-]B)UG)"
    r"-[0-9]+(?:\.[0-9]+)*(?!\w)|#(?<![\w/&#-]#)[0-9]{1,9}\b"
)


async def run_on_repository(
    run: RunContext, skill: str, work: Callable[[Git, HeadRef, SkillReport, RunDeadline], None]
) -> Reply:
    """Do `work` in a thread, over the repository that the workspace is in; its commands are told as well (G9).

    No command may take longer than there is time.
    """
    deadline, report = RunDeadline(run), SkillReport()

    def build_reply() -> Reply:
        remaining = deadline.remaining_s()
        git = Git(
            run.workspace.root, timeout_s=_COMMAND_S if remaining is None else max(0.05, min(remaining, _COMMAND_S))
        )
        head = git.head()
        if git.is_shallow():
            report.warn(
                "incomplete_context",
                "This is a shallow clone: its history was cut off when it was cloned.",
                impact="Every count and every “first” is of the part that is here.",
                recovery="git fetch --unshallow",
            )
            report.note("The clone is shallow: older commits are not counted.")
        if head.sha and head.branch is None:
            report.note("HEAD is detached at {}.", code(short_sha(head.sha)))
        work(git, head, report, deadline)
        report.figures["metadata"] = {"git_commands_run": [shlex.join(words) for words in git.commands]}
        return report.reply()

    run.emit(Progress("reading the repository", skill))
    return await in_cancellable_thread(deadline, build_reply)


def is_conventional(subject: str) -> bool:
    """Whether a subject is `type(scope): what was done`."""
    return _SUBJECT.fullmatch(subject) is not None


def tasks_in(message: str) -> tuple[str, ...]:
    """The tickets (`STORY-`, `TASK-`, `EPIC-`, `INIT-`, `BUG-`) and issues (`#12`) a message names, each once."""
    return tuple(dict.fromkeys(_TASK.findall(message)))


def commit_data(commit: Commit) -> JsonMapping:
    """A commit as G9 describes it."""
    return {
        "sha": commit.sha,
        "author": one_line(commit.author),
        "email": one_line(commit.email),
        "date": commit.date,
        "subject": one_line(commit.subject),
        "body": one_line(commit.body, limit=2000),
        "task_references": list(tasks_in(f"{commit.subject}\n{commit.body}")),
    }


def commit_pieces(commit: Commit) -> tuple[ExternalText, str, ExternalText]:
    """Who, when and what, for a sentence about a commit."""
    return name(commit.author), day_of(commit.date), title(commit.subject)


def day_of(date: str) -> str:
    """The day of an ISO date of git's, where its author was."""
    return date[:10]


def commit_source(commit: Commit | str) -> str:
    """A commit as a source."""
    return f"commit {short_sha(commit if isinstance(commit, str) else commit.sha)}"


def short_sha(sha: str) -> str:
    """The beginning of an id, as people write it."""
    return sha[:10]


def read_facts(workspace: Workspace, cache_dir: Path | None = None) -> Facts:
    """The authors, branches and tags of the repository that the workspace is in; nothing when it is in none.

    Of a long history that was never read, only those are told who committed what can be read in two seconds.
    """
    end = time.monotonic() + _SECONDS

    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the history took too long.", hint="Ask again.")

    try:
        git = Git(workspace.root, timeout_s=_SECONDS)
        branches, tags = [one.name for one in git.branches()], [one.name for one in git.tags()]
        with CommitIndex(git, cache_dir, check=check) as index:
            truncation = index.refresh()
            authors = index.authors(_NAMES + 1)
    except RetinueError as error:
        return Facts(is_complete=not isinstance(error, DeadlineExceeded))
    names = {
        "author": _printable_names(authors),
        "branch": _printable_names(branches),
        "tag": _with_versions(_printable_names(tags)),
    }
    is_whole = not truncation and max(map(len, (authors, *names.values()))) <= _NAMES
    return Facts(names={kind: tuple(each[:_NAMES]) for kind, each in names.items()}, is_complete=is_whole)


def _printable_names(names: Iterable[str]) -> list[str]:
    """Names that can be said: one with a line break, or with what steers a terminal, is not offered at all."""
    return [
        name
        for name in names
        if name.strip() and name.isprintable() and len(name) <= _MAX_NAME and "\N{REPLACEMENT CHARACTER}" not in name
    ]


def _with_versions(names: list[str]) -> list[str]:
    """Tags, and behind them the versions that people call them by: `v1.2.0` is 1.2.0, and 1.2 too."""
    versions = [name.removeprefix("v") for name in names if name.removeprefix("v")[:1].isdecimal()]
    short_versions = [name.removesuffix(".0") for name in versions if name.count(".") > 1]
    return list(dict.fromkeys([*names, *versions, *short_versions]))
