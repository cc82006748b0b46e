"""Which commits a query is about, and all that is counted of them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal

from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery, Grouping
from retinue.catalogue.git_state_analyzer.repository import has_form, tasks_in
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded, InvalidInput
from retinue.tools.git import Commit, Git
from retinue.tools.git.commit_index import CommitIndex, Cut, FileCount, PersonCount, Selection, Sizes

__all__ = ["MEASURED", "TASKS", "History", "Person", "Scope", "read_history", "read_scope"]

LISTED: Final = 50
"""Most commits of a kind (badly formed, without a task) that are named one by one."""
MEASURED: Final = 500
"""Of so many commits, the newest, git is asked how many lines they changed: that costs it a hundred times the rest."""
TASKS: Final = 500
"""Most tickets and issues that are named, those of the newest commits."""
_FOLLOWED: Final = 3
_SHOWN_FILES: Final = 100
_YEAR_S: Final = 365 * 24 * 3600
_PERIODS: Final = {"year": "%Y", "month": "%Y-%m", "week": "%Y-W%W", "day": "%Y-%m-%d"}
_MONTHLY_DAYS: Final = 36 * 31
"""A longer time is counted by year, unless something else is wanted."""
_MOST_PERIODS: Final = 240


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
        merges = {} if query.merges == "all" else {"merges": query.merges == "only"}
        return {"revision": self.revision, "paths": list(self.selection.paths), **told, **merges}


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
class Person:
    """One author. Two addresses of the same full name are one person.

    Attributes:
        recent: Commits of the year before the newest commit that was counted.
    """

    name: str
    emails: Counter[str]
    commits: int
    first: str
    last: str
    recent: int
    insertions: int
    deletions: int

    @property
    def email(self) -> str:
        """The address used most."""
        return self.emails.most_common(1)[0][0]


@dataclass(slots=True)
class History:
    """What was counted.

    Attributes:
        merges: Commits with several parents. Git writes their messages, so their form is not judged.
        newest: The newest commits, newest first; the oldest ones when those are wanted, oldest first.
        authored: The newest without merges, which only join what others wrote; merges if there is nothing else.
        cut: Why more commits may exist: `time`, `cap`, or empty.
    """

    count: int
    cut: Cut
    merges: int = 0
    formed: int = 0
    violations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    with_tasks: int = 0
    tasks: dict[str, None] = field(default_factory=dict[str, None])
    without_task: list[str] = field(default_factory=list[str])
    people: list[Person] = field(default_factory=list[Person])
    newest: list[Commit] = field(default_factory=list[Commit])
    authored: list[Commit] = field(default_factory=list[Commit])
    oldest: list[Commit] = field(default_factory=list[Commit])
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

    def periods(self, by: Grouping) -> tuple[str, dict[str, int]]:
        """The unit of time, and the commits of each, those without one included; none when they are too many."""
        if not self.days:
            return "month", {}
        first, last = date.fromisoformat(min(self.days)), date.fromisoformat(max(self.days))
        span = (last - first).days
        unit = by if by in _PERIODS else "month" if span <= _MONTHLY_DAYS else "year"
        for wanted in (unit, "year"):
            days = (first + timedelta(days=number) for number in range(span + 1))
            counts = dict.fromkeys((day.strftime(_PERIODS[wanted]) for day in days), 0)
            if len(counts) <= _MOST_PERIODS:
                for day, count in self.days.items():
                    counts[date.fromisoformat(day).strftime(_PERIODS[wanted])] += count
                return wanted, counts
        return "year", {}


def read_history(index: CommitIndex, scope: Scope, watch: Watch, *, cut: Cut) -> History:
    """Count the commits of `scope`; `cut` says why some of them may be missing in `index`."""
    history = History(index.select(scope.selection), cut)
    if not history.count:
        return history
    most = max(scope.query.limit, LISTED)
    history.merges = index.merges()
    history.newest = index.commits(most, oldest=scope.query.order == "oldest")
    history.authored = index.commits(most, merges=False) or index.commits(most)
    history.oldest = index.commits(LISTED, oldest=True)
    _read_messages(index, history)
    try:
        watch.check()
        history.sizes = index.sizes(MEASURED)
    except DeadlineExceeded:
        history.cut = history.cut or "time"
    newest = history.authored[0].committer_date if scope.query.order == "oldest" else history.newest[0].committer_date
    people = index.people(recent_since=_seconds(newest) - _YEAR_S, with_lines=history.is_measured)
    history.people = _joined(people)
    history.files, history.file_count = index.files(_SHOWN_FILES)
    history.days = index.days()
    return history


def _read_messages(index: CommitIndex, history: History) -> None:
    for sha, subject, body in index.messages():
        if has_form(subject):
            history.formed += 1
        elif len(history.violations) < LISTED:
            history.violations.append((sha, subject))
        tasks = tasks_in(f"{subject}\n{body}")
        for task in tasks if len(history.tasks) < TASKS else ():
            history.tasks.setdefault(task)
        if tasks:
            history.with_tasks += 1
        elif len(history.without_task) < LISTED:
            history.without_task.append(sha)


def _joined(counts: list[PersonCount]) -> list[Person]:
    """The people, those of one address or of one full name as one, the most commits first."""
    found: dict[str, Person] = {}
    by_email: dict[str, Person] = {}
    for one in counts:
        full = " ".join(one.name.casefold().split())
        email = one.email.casefold() or one.name
        # One word ("root", "alex") is no proof that two addresses are one person.
        key = full if " " in full else f"{full} <{email}>"
        person = by_email.get(email) or found.get(key)
        if person is None:
            person = Person(
                one.name, Counter({one.email: one.commits}), one.commits, one.first, one.last, one.recent,
                one.insertions, one.deletions,
            )  # fmt: skip
        else:
            person.emails[one.email] += one.commits
            person.commits += one.commits
            person.first = min(person.first, one.first, key=_seconds)
            person.last = max(person.last, one.last, key=_seconds)
            person.recent += one.recent
            person.insertions += one.insertions
            person.deletions += one.deletions
        found.setdefault(key, person)
        by_email.setdefault(email, person)
    people = {id(person): person for person in found.values()}.values()
    return sorted(people, key=lambda one: (-one.commits, one.name, one.email))


def _seconds(date: str) -> float:
    """Seconds since 1970 of an ISO date of git's; a date no calendar has counts as the beginning."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0
