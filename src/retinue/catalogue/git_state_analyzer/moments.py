"""Dates as git writes them and as people state them for `since` and `until`."""

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal

from retinue.errors import InvalidInput

__all__ = ["day_of", "moment", "month_of", "read_edge", "today"]

_SECOND: Final = 1_000_000_000
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@lru_cache(maxsize=1024)  # the same few dates are compared with each commit
def moment(text: str) -> float:
    """Seconds since 1970 of an ISO date of git's; a date no calendar has counts as the beginning."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def month_of(text: str) -> tuple[int, int] | None:
    """Year and month, in UTC, of an ISO date of git's; None for a date no calendar has."""
    try:
        at = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at.year, at.month


def day_of(text: str) -> str:
    """The day of an ISO date of git's, where its author was."""
    return text[:10]


def today(now_ns: int) -> date:
    """The day in UTC."""
    return datetime.fromtimestamp(now_ns // _SECOND, UTC).date()


def read_edge(text: str, edge: Literal["since", "until"]) -> datetime | None:
    """The moment a parameter names: a day from its first second, or up to its last; None for an empty text.

    Raises:
        InvalidInput: It is no ISO date.
    """
    if not text:
        return None
    try:
        if _DAY.fullmatch(text):
            day = date.fromisoformat(text)
            begin = datetime.combine(day, time(), UTC)
            return begin if edge == "since" else begin + timedelta(days=1, seconds=-1)
        said = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"`{edge}` is {text[:60]!r}, and that is not a valid date.",
            hint="Write a day such as '2024-03-01', or a moment such as '2024-03-01T12:00:00Z'.",
            path=f"/parameters/{edge}",
        ) from None
    return said if said.tzinfo else said.replace(tzinfo=UTC)
