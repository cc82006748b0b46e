"""Which commits a query is about, and all that is counted of them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal

from retinue.catalogue._prose import one_line
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery
from retinue.catalogue.git_state_analyzer.repository import has_form, tasks_in
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded, InvalidInput
from retinue.tools.git import Commit, Git
from retinue.tools.git.commit_index import CommitIndex, Cut, Selection
from retinue.tools.git.counts import FileCount, Person, Sizes, seconds

__all__ = ["MEASURED", "TASKS", "History", "Scope", "read_history", "read_scope"]

_LISTED: Final = 50
"""Most commits of a kind (badly formed, without a task) that are named one by one."""
MEASURED: Final = 500
"""Of so many commits, the newest, git is asked how many lines they changed: that costs it a hundred times the rest."""
TASKS: Final = 500
"""Most tickets and issues that are named, those of the newest commits."""
_FOLLOWED: Final = 3
_SHOWN_FILES: Final = 100
_YEAR_S: Final = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Scope:
    """Which commits are looked at.

    Attributes:
        earlier: The names that files had before they were renamed, by the path that had them.
    """

    query: CommitQuery
    revision: str = "HEAD"
    since: datetime | None = None
    until: datetime | None = None
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def is_of_words(self) -> bool:
        """Whether the commits are told by what they say, not by which files they touch."""
        return bool(self.query.subject or self.query.task or self.query.text)

    @property
    def selection(self) -> Selection:
        """The commits, as the index picks them."""
        query, task = self.query, self.query.task
        return Selection(
            revision=self.revision,
            since=self.since,
            until=self.until,
            authors=(query.author,) if query.author else (),
            not_by=tuple(query.not_by),
            paths=(*query.paths, *(name for names in self.earlier.values() for name in names)),
            merges=query.merges,
            words=tuple(query.subject.split()),
            message=(lambda message: task in tasks_in(message)) if task else None,
            text=query.text,
        )

    def facts(self) -> JsonMapping:
        """The scope as data."""
        query = self.query
        found: JsonMapping = {
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
            "author": query.author,
            "task": query.task,
            "not_by": list(query.not_by),
            "text": query.text,
            "subject_words": query.subject.split(),
        }
        told = {key: value for key, value in found.items() if value}
        told |= {} if query.merges else {"merges": False}
        return {"revision": self.revision, "paths": list(self.selection.paths), **told}


def read_scope(git: Git, index: CommitIndex, query: CommitQuery, revision: str) -> Scope:
    """The commits that `query` is about, the earlier names of its files included.

    Raises:
        InvalidInput: A date is none, or a path cannot be one.
    """
    followed = query.paths if revision == "HEAD" and len(query.paths) <= _FOLLOWED else ()
    names = {path: tuple(index.earlier_names(git.inside(path))) for path in followed}
    return Scope(
        query,
        revision,
        _edge(query.since, "since"),
        _edge(query.until, "until"),
        {path: earlier for path, earlier in names.items() if earlier},
    )


def _edge(text: str, edge: Literal["since", "until"]) -> datetime | None:
    """The moment a parameter names: a day from its first second, or up to its last; None for an empty text."""
    if not text:
        return None
    try:
        if len(text) == len("2024-03-01"):
            begin = datetime.combine(date.fromisoformat(text), time(), UTC)
            return begin if edge == "since" else begin + timedelta(days=1, seconds=-1)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"`{edge}` is {text[:60]!r}, and that is not a valid date.",
            hint="Write a day such as '2024-03-01', or a moment such as '2024-03-01T12:00:00Z'.",
            path=f"/parameters/{edge}",
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(slots=True)
class History:
    """What was counted.

    Attributes:
        merges: Commits with several parents. Git writes their messages, so their form is not judged.
        newest: The newest commits, newest first.
        authored: The newest without merges, which only join what others wrote; merges if there is nothing else.
        named: Those that are listed: the newest, or the oldest when those are wanted.
        cut: Why more commits may exist: `time`, `cap`, or empty.
    """

    count: int
    cut: Cut
    merges: int = 0
    formed: int = 0
    with_tasks: int = 0
    violations: list[JsonMapping] = field(default_factory=list[JsonMapping])
    tasks: list[str] = field(default_factory=list[str])
    without_task: list[str] = field(default_factory=list[str])
    people: list[Person] = field(default_factory=list[Person])
    newest: list[Commit] = field(default_factory=list[Commit])
    authored: list[Commit] = field(default_factory=list[Commit])
    oldest: list[Commit] = field(default_factory=list[Commit])
    named: list[Commit] = field(default_factory=list[Commit])
    days: dict[str, int] = field(default_factory=dict[str, int])
    sizes: Sizes = field(default_factory=Sizes)
    files: list[FileCount] = field(default_factory=list[FileCount])
    file_count: int = 0

    @property
    def judged(self) -> int:
        """How many commits have a message of their author's own."""
        return self.count - self.merges

    @property
    def is_measured(self) -> bool:
        """The lines of all of them are known."""
        return self.sizes.is_whole and self.sizes.measured == self.judged and not self.cut


def read_history(index: CommitIndex, scope: Scope, watch: Watch, *, cut: Cut) -> History:
    """Count the commits of `scope`; `cut` says why some of them may be missing in `index`."""
    count, most = index.select(scope.selection), max(scope.query.limit, _LISTED)
    if not count:
        return History(0, cut)
    # Of the commits of HEAD the messages say the same as long as it stays where it is.
    is_kept = scope.revision == "HEAD" and not cut
    judged = index.remembered(("messages", scope.facts()), lambda: _judged(index)) if is_kept else _judged(index)
    history = History(count, cut, index.merges(), **judged)
    history.newest = index.commits(most)
    history.authored = index.commits(most, merges=False) or history.newest
    history.oldest = index.commits(most, oldest=True)
    history.named = history.oldest if scope.query.order == "oldest" else history.newest
    with suppress(DeadlineExceeded):  # without sizes the rest is as exact
        watch.check()
        history.sizes = index.sizes(MEASURED)
    last = seconds(history.newest[0].committer_date)
    history.people = index.people(recent_since=last - _YEAR_S, with_lines=history.is_measured)
    history.files, history.file_count = index.files(_SHOWN_FILES)
    history.days = index.days()
    return history


def _judged(index: CommitIndex) -> JsonMapping:
    """What the messages say, but those of merges: their form and their tasks, as the fields of `History`."""
    formed, with_tasks = 0, 0
    violations, without_task, named = list[JsonMapping](), list[str](), dict[str, None]()
    for sha, subject, body in index.messages():
        if has_form(subject):
            formed += 1
        elif len(violations) < _LISTED:
            violations.append({"sha": sha, "subject": one_line(subject)})
        tasks = tasks_in(f"{subject}\n{body}")
        named |= dict.fromkeys(tasks if len(named) < TASKS else ())
        if tasks:
            with_tasks += 1
        elif len(without_task) < _LISTED:
            without_task.append(sha)
    return {
        "formed": formed,
        "with_tasks": with_tasks,
        "violations": violations,
        "tasks": list(named),
        "without_task": without_task,
    }
