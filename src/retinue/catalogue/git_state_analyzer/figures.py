"""The counts of a history as tables and charts: commits by year or month, by author, by file; releases; large commits.

What is drawn follows from what is to be shown, as the sentences do (`answers`). A sentence says the finding; a table
has the rest of it.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from retinue.catalogue._prose import one_line
from retinue.catalogue.git_state_analyzer.found import Found
from retinue.catalogue.git_state_analyzer.history import Person, lines_of
from retinue.catalogue.git_state_analyzer.moments import day_of
from retinue.catalogue.git_state_analyzer.parameters import Show
from retinue.catalogue.git_state_analyzer.releases import is_of_first
from retinue.catalogue.git_state_analyzer.report import short
from retinue.contract.table import Chart, Column, Series, Table

__all__ = ["draw"]

_BARS: Final = 10
_ROWS: Final = 20
_FEW: Final = 10
_MONTHS: Final = 36
"""A longer time is counted by year, unless the question says month."""
_PERIODS: Final = 240
_BY_MONTH: Final = re.compile(
    r"\b(?:per|by|each|every|a|of each) month\b|\bmonthly\b|\bmonth (?:by|to) month\b", re.IGNORECASE
)
_BY_YEAR: Final = re.compile(
    r"\b(?:per|by|each|every|a|of each) year\b|\byearly\b|\bannual\w*|\byear (?:by|to) year\b|\bover the years\b",
    re.IGNORECASE,
)


def draw(found: Found) -> None:
    """Put into the report what can be looked at."""
    for drawer in _DRAWN.get(found.scope.asked.show, ()):
        drawer(found)


# By time.


def _draw_periods(found: Found) -> None:
    unit, counts = _periods(found)
    if len(counts) < 2:
        return
    title = f"Commits by {unit}"
    rows = tuple(counts.items())
    values = tuple(counts.values())
    found.report.charts.append(
        Chart(title=title, kind="line", labels=tuple(counts), series=(Series(name="commits", values=values),))
    )
    note = "Days in UTC, by commit date."
    if found.history.cut:
        note += " Older commits were not read."
    columns = (Column(name=unit, kind="time"), Column(name="commits", kind="number"))
    found.report.tables.append(Table(title=title, columns=columns, rows=rows, note=note))


def _draw_periods_with_table(found: Found) -> None:
    """The picture, and the table too where each year or month was asked for."""
    tables = len(found.report.tables)
    _draw_periods(found)
    if not (_BY_MONTH.search(found.question) or _BY_YEAR.search(found.question)):
        del found.report.tables[tables:]


def _periods(found: Found) -> tuple[str, dict[str, int]]:
    """The unit of time, and the commits of each, those without one included; empty when they are too many to draw."""
    months = found.history.months
    if not months:
        return "month", {}
    first, last = min(months), max(months)
    span = (last[0] - first[0]) * 12 + last[1] - first[1] + 1
    by_month = span <= _MONTHS if not _BY_YEAR.search(found.question) else False
    if by_month or (_BY_MONTH.search(found.question) and span <= _PERIODS):
        each = (divmod(first[0] * 12 + first[1] - 1 + place, 12) for place in range(span))
        return "month", {f"{year:04}-{month + 1:02}": months[year, month + 1] for year, month in each}
    if last[0] - first[0] >= _PERIODS:
        return "year", {}
    years = Counter[int]()
    for (year, _), count in months.items():
        years[year] += count
    return "year", {f"{year:04}": years[year] for year in range(first[0], last[0] + 1)}


# By who and what.


def _draw_people(found: Found) -> None:
    people = found.history.people
    found.report.subjects += [one_line(one.name) for one in people]
    _chart(found, "Commits by author", [(one_line(one.name), one.commits) for one in people])
    _people_table(found, _ROWS)


def _draw_few_people(found: Found) -> None:
    _people_table(found, _FEW)


def _people_table(found: Found, most: int) -> None:
    people = found.history.people
    if len(people) < 2:
        return
    whole = found.sizes.measured == found.history.judged and not found.sizes.cut and not found.history.cut
    columns = [Column(name="author"), Column(name="commits", kind="number")]
    columns += [Column(name="first", kind="time"), Column(name="last", kind="time")]
    if whole:
        columns += [Column(name="lines added", kind="number"), Column(name="lines removed", kind="number")]
    rows = [
        (one_line(one.name), one.commits, day_of(one.first), day_of(one.last), *(_lines(found, one) if whole else ()))
        for one in people[:most]
    ]
    note = "Lines of merges are not counted." if whole and found.history.merges else ""
    found.report.tables.append(
        Table(title="Commits by author", columns=tuple(columns), rows=tuple(rows), total_rows=len(people), note=note)
    )


def _lines(found: Found, person: Person) -> tuple[int, int]:
    counts = [found.sizes.by_email.get(email, [0, 0]) for email in person.emails]
    return sum(pair[0] for pair in counts), sum(pair[1] for pair in counts)


def _draw_files(found: Found) -> None:
    ranked = found.sizes.ranked()
    if len(ranked) < 2:
        return
    found.report.subjects += [one_line(path) for path, _ in ranked[: found.limit]]
    _chart(found, "Commits by file", [(one_line(path), counts[0]) for path, counts in ranked])
    columns = (
        Column(name="file", kind="source"), Column(name="commits", kind="number"),
        Column(name="lines added", kind="number"), Column(name="lines removed", kind="number"),
    )  # fmt: skip
    rows = tuple((one_line(path), *counts) for path, counts in ranked[:_ROWS])
    note = f"Of the newest {found.sizes.measured:,} commits that could be measured; merges are not."
    found.report.tables.append(
        Table(title="Files by commits", columns=columns, rows=rows, total_rows=len(ranked), note=note)
    )


def _draw_largest(found: Found) -> None:
    if len(found.sizes.largest) < 2:
        return
    columns = (
        Column(name="commit", kind="source"), Column(name="date", kind="time"), Column(name="author"),
        Column(name="lines", kind="number"), Column(name="files", kind="number"), Column(name="subject"),
    )  # fmt: skip
    rows = tuple(
        (
            short(one.sha), day_of(one.date), one_line(one.author),
            lines_of(one), len(one.changes or ()), one_line(one.subject),
        )
        for one in found.sizes.largest
    )  # fmt: skip
    found.report.tables.append(Table(title="Largest commits", columns=columns, rows=rows))


def _draw_releases(found: Found) -> None:
    tags = found.git.tags()
    if len(tags) < 2:
        return
    if is_of_first(found.question):
        tags = tags[::-1]
    found.report.subjects += [one_line(tag.name) for tag in tags]
    columns = (Column(name="tag"), Column(name="date", kind="time"), Column(name="commit", kind="source"))
    rows = tuple((one_line(tag.name), day_of(tag.date), short(tag.sha)) for tag in tags[:_ROWS])
    found.report.tables.append(Table(title="Releases", columns=columns, rows=rows, total_rows=len(tags)))


def _chart(found: Found, title: str, ranked: Sequence[tuple[str, int]]) -> None:
    """A bar for each of the first; one alone says nothing."""
    if len(ranked) < 2:
        return
    labels, values = zip(*ranked[:_BARS], strict=True)
    found.report.charts.append(Chart(title=title, labels=labels, series=(Series(name="commits", values=values),)))


_DRAWN: Final[Mapping[Show, Sequence[Callable[[Found], None]]]] = {
    "largest": (_draw_largest,),
    "files": (_draw_files,),
    "releases": (_draw_releases,),
    "count": (_draw_periods_with_table,),
    "people": (_draw_people,),
    "changes": (_draw_periods_with_table,),
    "overview": (_draw_periods_with_table, _draw_few_people),
}
