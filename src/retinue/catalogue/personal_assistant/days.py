"""Days that somebody speaks of when they plan: "tomorrow", "next Friday", "in three days", "2026-05-04"."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

__all__ = ["Day", "find_day"]

_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS: Final = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_DAY: Final = re.compile(
    rf"""\b(?:
      (?P<iso>\d{{4}}-\d{{2}}-\d{{2}})
    | (?P<near>the\ day\ after\ tomorrow|the\ day\ before\ yesterday|today|tonight|tomorrow|yesterday)
    | in\ (?P<count>\d{{1,3}}|{"|".join(_COUNTS)})\ (?P<unit>day|week)s?
    | (?P<which>next|last|this|on|by)?\ ?(?P<weekday>{"|".join(_WEEKDAYS)})
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NEAR: Final = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "the day after tomorrow": 2, "the day before yesterday": -2,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and the words that say it."""

    day: date
    words: str


def find_day(text: str, *, today: date) -> Day | None:
    """The first day that `text` speaks of. A bare weekday is the next one to come."""
    for match in _DAY.finditer(text):
        if (day := _day(match, today)) is not None:
            return Day(day, match.group())
    return None


def _day(match: re.Match[str], today: date) -> date | None:
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        if match["near"]:
            return today + timedelta(days=_NEAR[match["near"].lower()])
        if match["count"]:
            said = match["count"].lower()
            days = (int(said) if said.isdigit() else _COUNTS[said]) * (7 if match["unit"].lower() == "week" else 1)
            return today + timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    ahead = (_WEEKDAYS.index(match["weekday"].lower()) - today.weekday()) % 7
    if (match["which"] or "").lower() == "last":
        return today - timedelta(days=(7 - ahead) % 7 or 7)
    return today + timedelta(days=ahead or 7)
