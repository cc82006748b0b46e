"""Periods of whole days, half open inside: the day after the last one is `end`. Nothing here knows today."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Self

from retinue.errors import InvalidInput

_DAY: Final = timedelta(days=1)
_LABEL: Final = re.compile(r"(\d{4})(?:-(?:Q([1-4])|(0[1-9]|1[0-2])))?", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1000, 9000
"""Far enough from the ends of the calendar that no shift by a year or by the period itself leaves it."""


@dataclass(frozen=True, slots=True)
class DateRange:
    """From `start`, up to and without `end`."""

    start: date
    end: date

    @classmethod
    def of_days(cls, first: date, last: date) -> Self:
        """The days from `first` to `last`, both included.

        Raises:
            InvalidInput: `last` is before `first`, or a year is outside of 1000 to 9000.
        """
        if last < first:
            raise InvalidInput(f"The last day, {last}, is before the first, {first}.", hint="Swap them.")
        for day in (first, last):
            if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
                raise InvalidInput(
                    f"{day} is outside of what can be asked about.", hint="Name a year from 1000 to 9000."
                )
        return cls(first, last + _DAY)

    @property
    def last(self) -> date:
        """The last day."""
        return self.end - _DAY

    def __str__(self) -> str:
        return f"{self.start} to {self.last}"

    def common(self, other: "DateRange") -> "DateRange | None":
        """The days of both; None when there is none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return DateRange(start, end) if start < end else None

    def previous(self) -> "DateRange":
        """What came before, as long: as many months where these are whole months, else as many days."""
        if self.start.day == self.end.day == 1:
            months = 12 * (self.end.year - self.start.year) + self.end.month - self.start.month
            return DateRange(_shift_months(self.start, months=-months), self.start)
        return DateRange(self.start - (self.end - self.start), self.start)

    def year_before(self) -> "DateRange":
        """The same days a year earlier; February stays whole in leap years and before them."""
        return DateRange(_shift_months(self.start, months=-12), _shift_months(self.end, months=-12))

    def year_to_date(self) -> "DateRange":
        """From the beginning of the year in which it ends."""
        return DateRange(date(self.last.year, 1, 1), self.end)


def period_of_label(label: str) -> DateRange | None:
    """The period that `1997`, `1997-Q2` or `1997-03` names; None when it names none."""
    match = _LABEL.fullmatch(label)
    if match is None or not _FIRST_YEAR <= int(match[1]) <= _LAST_YEAR:
        return None
    year, quarter, month = match.groups()
    first, months = (int(month), 1) if month else (3 * int(quarter) - 2, 3) if quarter else (1, 12)
    start = date(int(year), first, 1)
    return DateRange(start, _shift_months(start, months=months))


def _shift_months(day: date, *, months: int) -> date:
    """The same day some months away; the last of that month where it is shorter."""
    years, month = divmod(day.month - 1 + months, 12)
    _, days = monthrange(day.year + years, month + 1)
    return date(day.year + years, month + 1, min(day.day, days))
