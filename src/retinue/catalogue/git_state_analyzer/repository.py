"""What the skills start from: the repository of the workspace, and the commits that a query is about, counted.

And who has committed here, and which branches and tags there are: what parameters can name.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import code, name, one_line, title
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.contract.event import Progress
from retinue.contract.facts import Facts
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.git.commit_index import (
    AuthorCount,
    CommitIndex,
    CommitStats,
    FileCount,
    Selection,
    TruncationReason,
    epoch_seconds,
)
from retinue.tools.git.records import Commit, HeadRef
from retinue.tools.git.repository import Git
from retinue.tools.workspace import Workspace

from .parameters import CommitQuery

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
    """Do `work` in a thread, over the repository that the workspace is in; the reply lists its commands (G9).

    No command may take longer than there is time.
    """
    deadline, report = RunDeadline(run), SkillReport()

    def build_reply() -> Reply:
        git, head = open_repository(run.workspace, report, deadline)
        work(git, head, report, deadline)
        report.figures["metadata"] = commands_run(git)
        return report.reply()

    run.emit(Progress("reading the repository", skill))
    return await in_cancellable_thread(deadline, build_reply)


def commands_run(git: Git | None) -> JsonMapping:
    """The commands that were run, as `metadata` has them (G9)."""
    return {"git_commands_run": [shlex.join(words) for words in git.commands] if git else []}


def open_repository(workspace: Workspace, report: SkillReport, deadline: RunDeadline) -> tuple[Git, HeadRef]:
    """The repository that the workspace is in, and where its HEAD points; what bounds an answer about it is reported.

    Raises:
        RetinueError: There is none, or it cannot be read.
    """
    remaining = deadline.remaining_s()  # git needs a moment to start at all, so it gets one
    git = Git(workspace.root, timeout_s=_COMMAND_S if remaining is None else max(0.05, min(remaining, _COMMAND_S)))
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
        report.note(f"HEAD is detached at {code(short_sha(head.sha))}.")
    return git, head


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


def commit_pieces(commit: Commit) -> tuple[str, str, str]:
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

    Of a long history that was never read, only the authors of what can be read in two seconds are named.
    """
    end = monotonic() + _SECONDS

    def check() -> None:
        if monotonic() > end:
            raise DeadlineExceeded("Reading the history took too long.", hint="Ask again.")

    try:
        git = Git(workspace.root, timeout_s=_SECONDS)
        branches, tags = [one.name for one in git.branches()], [one.name for one in git.tags()]
        with CommitIndex(git, cache_dir, check=check) as index:
            truncation = index.refresh()
            authors = index.authors(_NAMES + 1)
    except RetinueError as error:
        return Facts(is_complete=not isinstance(error, DeadlineExceeded))
    tags = _printable_names(tags)
    # People call tags by their versions too: `v1.2.0` is 1.2.0, and 1.2.
    versions = [tag.removeprefix("v") for tag in tags if tag.removeprefix("v")[:1].isdecimal()]
    short_versions = [version.removesuffix(".0") for version in versions if version.count(".") > 1]
    names = {
        "author": _printable_names(authors),
        "branch": _printable_names(branches),
        "tag": list(dict.fromkeys([*tags, *versions, *short_versions])),
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


_MAX_LISTED: Final = 50
"""Most commits of a kind (badly formed, without a task) that are named one by one."""
MAX_MEASURED: Final = 500
"""Of so many commits, the newest, git is asked how many lines they changed: that costs it a hundred times the rest."""
_MAX_TASKS: Final = 500
"""Most tickets and issues that are named, those of the newest commits."""
_MAX_FILES: Final = 100
_YEAR_S: Final = 365 * 24 * 3600


def parse_bound(text: str, bound: Literal["since", "until"]) -> datetime | None:
    """The moment a parameter names: a day from its first second, or up to its last; None for an empty text."""
    if not text:
        return None
    try:
        if len(text) == len("2024-03-01"):
            begin = datetime.combine(date.fromisoformat(text), time(), UTC)
            return begin if bound == "since" else begin + timedelta(days=1, seconds=-1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"`{bound}` is {text[:60]!r}, and that is not a valid date.",
            hint="Write a day such as '2024-03-01', or a moment such as '2024-03-01T12:00:00Z'.",
            path=f"/parameters/{bound}",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class CommitHistory:
    """Which commits are looked at, and what was counted of them.

    Attributes:
        selection: What the query is about, as the index picks it.
        earlier_names: The names that files had before they were renamed, by the path that had them.
        merges: Commits with several parents. Git writes their messages, so their form is not judged.
        messages: What the others say: `format_compliance` and `task_references`, as G12 has them.
        newest: The newest commits, newest first.
        authored: The newest without merges, which only join what others wrote; merges if there is nothing else.
        shown_commits: Those that are listed: the newest, or the oldest when those are wanted.
        truncation: Why more commits may exist: `time`, `cap`, or empty.
    """

    query: CommitQuery
    selection: Selection = field(default_factory=Selection)
    earlier_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    count: int = 0
    truncation: TruncationReason = ""
    merges: int = 0
    messages: JsonMapping = field(default_factory=lambda: _assess_messages(()))
    people: list[AuthorCount] = field(default_factory=list[AuthorCount])
    newest: list[Commit] = field(default_factory=list[Commit])
    authored: list[Commit] = field(default_factory=list[Commit])
    oldest: list[Commit] = field(default_factory=list[Commit])
    shown_commits: list[Commit] = field(default_factory=list[Commit])
    sizes: CommitStats = field(default_factory=CommitStats)
    files: list[FileCount] = field(default_factory=list[FileCount])
    file_count: int = 0

    @property
    def is_narrowed(self) -> bool:
        """Whether there may be other commits that touch the same files."""
        query = self.query
        filters = query.subject, query.task, query.text, query.author, query.not_by
        return any(filters) or self.selection.revision != "HEAD"

    @property
    def is_measured(self) -> bool:
        """The lines of all of them are known."""
        return self.sizes.is_whole and self.sizes.measured == self.count - self.merges and not self.truncation

    def read(self, index: CommitIndex, truncation: TruncationReason) -> None:
        """Count the commits; `truncation` says why some of them may be missing in `index`."""
        self.count, self.truncation = index.select(self.selection), truncation
        if not self.count:
            return

        def assess() -> JsonMapping:
            return _assess_messages(index.messages())

        # Of the commits of HEAD the messages say the same as long as it stays where it is.
        is_cacheable = self.selection.revision == "HEAD" and not truncation
        key = "judged", replace(self.selection, message=None), self.query.task
        self.messages = index.get_or_compute(key, assess) if is_cacheable else assess()
        self.merges, limit = index.merges(), max(self.query.limit, _MAX_LISTED)
        self.newest = index.commits(limit)
        self.authored = index.commits(limit, merges=False) or self.newest
        self.oldest = index.commits(limit, oldest=True)
        self.shown_commits = self.oldest if self.query.order == "oldest" else self.newest
        with suppress(DeadlineExceeded):  # without sizes the rest is as exact
            self.sizes = index.sizes(MAX_MEASURED)
        last = epoch_seconds(self.newest[0].committer_date)
        self.people = index.people(recent_since=last - _YEAR_S, with_lines=self.is_measured)
        self.files, self.file_count = index.files(_MAX_FILES)


def select_history(git: Git, index: CommitIndex, query: CommitQuery, revision: str) -> CommitHistory:
    """The commits that `query` is about, the earlier names of its files included; not counted yet.

    Raises:
        InvalidInput: A date or a path is not valid.
    """
    earlier_names = {path: tuple(index.earlier_names(git.inside(path))) for path in query.paths}
    task = query.task
    selection = Selection(
        revision=revision,
        since=parse_bound(query.since, "since"),
        until=parse_bound(query.until, "until"),
        authors=(query.author,) if query.author else (),
        not_by=tuple(query.not_by),
        paths=(*query.paths, *(name for names in earlier_names.values() for name in names)),
        merges=query.merges,
        words=tuple(query.subject.split()),
        message=(lambda message: task in tasks_in(message)) if task else None,
        text=query.text,
    )
    return CommitHistory(query, selection, earlier_names)


def _assess_messages(messages: Iterable[tuple[str, str, str]]) -> JsonMapping:
    """The form of messages and the tasks that they name, as G12 has them."""
    total = conventional = with_tasks = 0
    violations, without_task, task_ids = list[JsonMapping](), list[str](), dict[str, None]()
    for sha, subject, body in messages:
        total += 1
        tasks = tasks_in(f"{subject}\n{body}")
        task_ids |= dict.fromkeys(tasks if len(task_ids) < _MAX_TASKS else ())
        if tasks:
            with_tasks += 1
        elif len(without_task) < _MAX_LISTED:
            without_task.append(sha)
        if is_conventional(subject):
            conventional += 1
        elif len(violations) < _MAX_LISTED:
            violations.append({"sha": sha, "subject": one_line(subject)})
    return {
        "format_compliance": {
            "correct_format": conventional,
            "incorrect_format": total - conventional,
            "format_pattern": SUBJECT_PATTERN,
            "violations": violations,
        },
        "task_references": {
            "commits_with_refs": with_tasks,
            "commits_without_refs": total - with_tasks,
            "referenced_tasks": list(task_ids),
            "unreferenced_commits": without_task,
        },
    }
