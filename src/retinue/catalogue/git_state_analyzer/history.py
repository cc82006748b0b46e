"""Commits counted, one at a time: how many, by whom, in which form, how large.

However long the history is, what is kept of it does not grow beyond its authors and some lists with a fixed cap.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.form import has_form, tasks_in
from retinue.catalogue.git_state_analyzer.moments import moment, month_of
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Commit

__all__ = ["LISTED", "MEASURED", "TASKS", "WALKED", "History", "Person", "Sizes", "lines_of", "measure", "read_history"]

LISTED: Final = 50
"""Most commits of a kind (badly formed, without a task, the oldest) that are named one by one."""
MEASURED: Final = 500
"""Of so many commits, the newest, git is asked what they did to files: that costs it a hundred times the rest."""
WALKED: Final = 250_000
"""Most commits that are looked at."""

TASKS: Final = 500
"""Most tickets and issues that are named, those of the newest commits."""

_CHECKED_EVERY: Final = 100
_YEAR_S: Final = 365 * 24 * 3600


@dataclass(slots=True)
class Person:
    """One author. Two addresses of the same full name are one person.

    Attributes:
        recent: Commits of the year before the newest commit that was counted.
    """

    name: str
    first: str
    last: str
    commits: int = 0
    emails: Counter[str] = field(default_factory=Counter[str])
    recent: int = 0

    @property
    def email(self) -> str:
        """The address used most."""
        return self.emails.most_common(1)[0][0]


@dataclass(slots=True)
class History:
    """What was counted.

    Attributes:
        merges: Commits with several parents. Git writes their messages, so their form is not judged.
        newest: The newest commits, as many as were asked for, newest first.
        oldest: The commits seen last, oldest first.
        tasks: The tickets and issues their messages name, in that order.
        months: Commits of each year and month in UTC, by commit date.
        cut: Why more commits may exist: `time`, `cap`, or empty.
    """

    count: int = 0
    merges: int = 0
    formed: int = 0
    violations: list[Commit] = field(default_factory=list[Commit])
    with_tasks: int = 0
    tasks: dict[str, None] = field(default_factory=dict[str, None])
    without_task: list[str] = field(default_factory=list[str])
    people: list[Person] = field(default_factory=list[Person])
    newest: list[Commit] = field(default_factory=list[Commit])
    oldest: list[Commit] = field(default_factory=list[Commit])
    months: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    cut: str = ""

    @property
    def judged(self) -> int:
        """How many commits have a message of their author's own."""
        return self.count - self.merges


def read_history(commits: Iterator[Commit], watch: Watch, *, newest: int) -> History:
    """Count `commits`, which come newest first. When time is up, what was counted so far is given."""
    history = History()
    people: dict[str, Person] = {}
    tail: deque[Commit] = deque(maxlen=LISTED)
    try:
        for commit in islice(commits, WALKED):
            if history.count % _CHECKED_EVERY == 0:
                watch.check()
            _count(commit, history, newest)
            if (month := month_of(commit.committer_date)) is not None:
                history.months[month] += 1
            _count_author(commit, people, recent=moment(history.newest[0].committer_date) - _YEAR_S)
            tail.append(commit)
        if history.count >= WALKED and next(commits, None) is not None:
            history.cut = "cap"
    except DeadlineExceeded:
        history.cut = "time"
    history.oldest = list(reversed(tail))
    history.people = _joined(people.values())
    return history


def _count(commit: Commit, history: History, newest: int) -> None:
    history.count += 1
    if len(history.newest) < newest:
        history.newest.append(commit)
    if commit.is_merge:
        history.merges += 1
        return
    if has_form(commit.subject):
        history.formed += 1
    elif len(history.violations) < LISTED:
        history.violations.append(commit)
    tasks = tasks_in(f"{commit.subject}\n{commit.body}")
    for task in tasks if len(history.tasks) < TASKS else ():
        history.tasks.setdefault(task)
    if tasks:
        history.with_tasks += 1
    elif len(history.without_task) < LISTED:
        history.without_task.append(commit.sha)


def _count_author(commit: Commit, people: dict[str, Person], *, recent: float) -> None:
    key = commit.email.casefold() or commit.author
    person = people.get(key)
    if person is None:
        person = people[key] = Person(commit.author, commit.date, commit.date)
    _add(person, commit.date, commit.date, 1)
    person.emails[commit.email] += 1
    person.recent += moment(commit.committer_date) >= recent


def _add(person: Person, first: str, last: str, commits: int) -> None:
    person.first = min(person.first, first, key=moment)
    person.last = max(person.last, last, key=moment)
    person.commits += commits


def _joined(people: Iterable[Person]) -> list[Person]:
    """The people, those of one full name as one, the most commits first."""
    found: dict[str, Person] = {}
    for number, person in enumerate(sorted(people, key=lambda one: -one.commits)):
        full = " ".join(person.name.casefold().split())
        # One word ("root", "alex") is no proof that two addresses are one person.
        key = full if " " in full else f"{number}"
        known = found.setdefault(key, person)
        if known is not person:
            _add(known, person.first, person.last, person.commits)
            known.emails.update(person.emails)
            known.recent += person.recent
    return sorted(found.values(), key=lambda one: (-one.commits, one.name, one.email))


@dataclass(slots=True)
class Sizes:
    """What commits did to files.

    Attributes:
        measured: Of how many commits that is known: no merges, and none at the edge of a shallow clone.
        largest: With the most lines, largest first.
        files: For each path its commits, insertions and deletions.
    """

    measured: int = 0
    changed_files: int = 0
    changed_lines: int = 0
    largest: list[Commit] = field(default_factory=list[Commit])
    files: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    by_email: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    cut: str = ""

    def ranked(self) -> list[tuple[str, list[int]]]:
        """The files, those in the most commits first, then those with the most lines changed."""
        return sorted(self.files.items(), key=lambda item: (-item[1][0], -item[1][1] - item[1][2], item[0]))


def measure(commits: Iterable[Commit], watch: Watch, *, largest: int = 5) -> Sizes:
    """Measure `commits`, read with `stat`. When time is up, what was measured so far is given."""
    sizes = Sizes()
    try:
        for commit in commits:
            watch.check()
            if commit.changes is not None:
                _measure(commit, sizes, largest)
    except DeadlineExceeded:
        sizes.cut = "time"
    return sizes


def lines_of(commit: Commit) -> int:
    """Lines a commit added and removed."""
    return (commit.insertions or 0) + (commit.deletions or 0)


def _measure(commit: Commit, sizes: Sizes, largest: int) -> None:
    changes = commit.changes or ()
    sizes.measured += 1
    sizes.changed_files += len(changes)
    sizes.changed_lines += lines_of(commit)
    sizes.largest = sorted([*sizes.largest, commit], key=lambda one: -lines_of(one))[:largest]
    author = sizes.by_email.setdefault(commit.email, [0, 0])
    author[0] += commit.insertions or 0
    author[1] += commit.deletions or 0
    for change in changes:
        counts = sizes.files.setdefault(change.path, [0, 0, 0])
        counts[0] += 1
        counts[1] += change.insertions or 0
        counts[2] += change.deletions or 0
