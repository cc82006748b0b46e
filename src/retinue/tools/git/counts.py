"""What is counted of commits: people, files, lines and periods, as plain values. Pure; no repository is asked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from retinue.tools.git.records import Commit

_PERIODS: Final = {"year": "%Y", "month": "%Y-%m", "week": "%Y-W%W", "day": "%Y-%m-%d"}
_MONTHLY_DAYS: Final = 36 * 31
"""A longer time is counted by year, unless something else is wanted."""
_MOST_PERIODS: Final = 240


@dataclass(slots=True)
class AuthorCount:
    """What one author committed. Two addresses of the same full name are one person.

    Attributes:
        first: The author's date of the first commit.
        recent: Commits that are not older than a moment.
        insertions: Lines added, where they were measured.
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

    def add(self, other: "AuthorCount") -> None:
        """Count what another one committed as this one's."""
        self.emails += other.emails
        self.commits += other.commits
        self.first = min(self.first, other.first, key=epoch_seconds)
        self.last = max(self.last, other.last, key=epoch_seconds)
        self.recent += other.recent
        self.insertions += other.insertions
        self.deletions += other.deletions


@dataclass(frozen=True, slots=True)
class FileCount:
    """In how many commits a file was touched; lines are of those that were measured."""

    path: str
    commits: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class CommitStats:
    """What the newest commits did to files: no merges, and none at the edge of a shallow clone.

    Attributes:
        measured: How many they are.
        largest: With the most lines, largest first: the commit, its lines, its files.
        is_whole: All that could be measured were.
    """

    measured: int = 0
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    largest: tuple[tuple[Commit, int, int], ...] = ()
    is_whole: bool = False


def merge_people(people: Iterable[AuthorCount]) -> list[AuthorCount]:
    """The people, those of one address or of one full name as one, the most commits first."""
    by_key: dict[str, AuthorCount] = {}
    merged: list[AuthorCount] = []
    for one in people:
        full, email = " ".join(one.name.casefold().split()), one.email.casefold() or one.name
        # One word ("root", "alex") is no proof that two addresses are one person.
        keys = [f"<{email}>", *([full] if " " in full else [])]
        match = next((by_key[key] for key in keys if key in by_key), None)
        if match is None:
            merged.append(one)
        else:
            match.add(one)
        for key in keys:
            by_key.setdefault(key, match or one)
    return sorted(merged, key=lambda one: (-one.commits, one.name, one.email))


def periods(days: Mapping[str, int], by: str = "") -> tuple[str, dict[str, int]]:
    """The unit of time, and the counts of each, those without one included; none when they are too many.

    Args:
        days: Counts by ISO day.
        by: The unit that is wanted: `year`, `month`, `week` or `day`; else months, for a longer time years.
    """
    if not days:
        return "month", {}
    first, last = date.fromisoformat(min(days)), date.fromisoformat(max(days))
    span = (last - first).days
    unit = by if by in _PERIODS else "month" if span <= _MONTHLY_DAYS else "year"
    for each in (unit, "year"):
        form = _PERIODS[each]
        counts = {(first + timedelta(days=number)).strftime(form): 0 for number in range(span + 1)}
        if len(counts) <= _MOST_PERIODS:
            for day, count in days.items():
                counts[date.fromisoformat(day).strftime(form)] += count
            return each, counts
    return "year", {}


def epoch_seconds(date: str) -> float:
    """Seconds since 1970 of an ISO date of git's; a date no calendar has counts as the beginning."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0
