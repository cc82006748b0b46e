"""Dates that people write: `2024-03-01`, "yesterday", "the last two weeks", "since March", "between … and …".

Every reading says which words it read. What is relative needs to be told what today is; nothing here asks a clock.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from retinue.orchestration.routing.reading._amounts import NUMBER_WORDS, number_of

__all__ = ["Span", "spans_of_time"]

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("january", "jan"), ("february", "feb"), ("march", "mar"), ("april", "apr"), ("may",), ("june", "jun"),
            ("july", "jul"), ("august", "aug"), ("september", "sept", "sep"), ("october", "oct"),
            ("november", "nov"), ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY: Final = (
    (
        r"\d{4}-\d{2}-\d{2}|QUARTER\s(?:of\s)?(?:19|20)\d{2}\b|(?:19|20)\d{2}[-\s]Q[1-4]\b|\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:MONTH)\.?,?(?:\s\d{4})?"
        r"|(?:MONTH)\.?\s\d{1,2}(?:st|nd|rd|th)?\b(?:,?\s\d{4})?|(?:MONTH)\b\.?(?:\s\d{4})?"
        r"|today|yesterday|(?:19|20)\d{2}\b"
    )
    .replace("MONTH", _MONTH)
    .replace("QUARTER", r"(?:Q[1-4]|(?:first|second|third|fourth)\squarter)")
)
_SPAN: Final = re.compile(
    rf"\b(?:between\s(?P<low>{_DAY})\sand\s(?P<high>{_DAY})"
    rf"|from\s(?P<first>{_DAY})\s(?:to|until|till|through)\s(?P<final>{_DAY})"
    rf"|(?P<edge>since|after|before|until|till|by)\s(?:the\s)?(?P<day>{_DAY})"
    r"|(?P<whole>(?:this|last|past|previous)\s(?:week|month|quarter|year))\b"
    rf"|(?:in\s|over\s|during\s|for\s|within\s)?(?:the\s)?(?:last|past|previous)\s(?P<count>\d{{1,4}}|{NUMBER_WORDS})\s"
    r"(?P<unit>day|week|month|quarter|year)s?\b"
    r"|(?P<ago>\d{1,4}|a|an)\s(?P<back>day|week|month|year)s?\sago\b"
    rf"|(?:(?:in|on|during|of|for)\s)(?:the\s)?(?P<at>{_DAY})|(?P<bare>\d{{4}}-\d{{2}}-\d{{2}}|today|yesterday)\b)",
    re.IGNORECASE,
)
_QUARTERS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1": 1, "2": 2, "3": 3, "4": 4}
_YEAR: Final = re.compile(r"\b\d{4}\b")
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}


@dataclass(frozen=True, slots=True)
class Span:
    """Some days, the last one included.

    Attributes:
        first: None when it has no beginning ("until March").
        last: None when it has no end ("since March").
        start: Where its words begin in the text.
    """

    first: date | None
    last: date | None
    words: str
    start: int


def spans_of_time(text: str, *, today: date | None) -> Iterator[Span]:
    """Every time that `text` speaks of, in order. Without `today` only what is not relative to it."""
    for match in _SPAN.finditer(text):
        if (days := _read(match, today)) is not None:
            yield Span(days[0], days[1], match.group(), match.start())


_Days = tuple[date | None, date | None]


def _read(match: re.Match[str], today: date | None) -> _Days | None:
    said = {name: words.lower() for name, words in match.groupdict().items() if words}
    if "edge" in said:
        return _edge(said["edge"], _day(said["day"], today))
    for low, high in (("low", "high"), ("first", "final")):
        if low in said:
            first, last = _day(_with_year_of(said[high], said[low]), today), _day(said[high], today)
            return (first[0], last[1]) if first and last and first[0] <= last[1] else None
    if day := said.get("at") or said.get("bare"):
        return _day(day, today)
    return None if today is None else _relative(said, today)


def _with_year_of(later: str, earlier: str) -> str:
    """`earlier` with the year that stands once, at the end: "from January to February 2024"."""
    year = _YEAR.search(later)
    return (
        f"{earlier} {year.group()}"
        if year and earlier not in {"today", "yesterday"} and not _YEAR.search(earlier)
        else earlier
    )


def _edge(word: str, days: tuple[date, date] | None) -> _Days | None:
    if days is None:
        return None
    first, last = days
    if word == "after":
        return _shifted(last, 1), None
    if word == "before":
        return None, _shifted(first, -1)
    return (first, None) if word == "since" else (None, last)


def _relative(said: dict[str, str], today: date) -> _Days | None:
    if "whole" in said:
        which, _, unit = said["whole"].partition(" ")
        if which == "this":
            return _BEGINNING[unit](today), today
        return _shifted(today, -_DAYS[unit]), today
    if "count" in said:
        return _shifted(today, -_DAYS[said["unit"]] * int(number_of(said["count"]) or 0)), today
    back = 1 if said["ago"] in {"a", "an"} else int(said["ago"])
    day = _shifted(today, -_DAYS[said["back"]] * back)
    return day, day


_BEGINNING: Final[dict[str, Callable[[date], date]]] = {
    "week": lambda today: today - timedelta(days=today.weekday()),
    "month": lambda today: today.replace(day=1),
    "quarter": lambda today: today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1),
    "year": lambda today: today.replace(month=1, day=1),
}


def _day(words: str, today: date | None) -> tuple[date, date] | None:
    """The first and last day that `words` name: a day, a month, a year."""
    try:
        return _exact(words, today)
    except ValueError:  # 31 February, year 0
        return None


def _exact(words: str, today: date | None) -> tuple[date, date] | None:
    if words in {"today", "yesterday"}:
        day = None if today is None else _shifted(today, -1 if words == "yesterday" else 0)
        return (day, day) if day else None
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", words):
        day = date.fromisoformat(words)
        return day, day
    if re.fullmatch(r"\d{4}", words):
        return date(int(words), 1, 1), date(int(words), 12, 31)
    if quarter := re.search(r"q([1-4])|(first|second|third|fourth)\squarter", words):
        year, number = int(re.findall(r"\d{4}", words)[0]), _QUARTERS[quarter[1] or quarter[2]]
        last = date(year + number // 4, 3 * number % 12 + 1, 1) - timedelta(days=1)
        return date(year, 3 * number - 2, 1), last
    return _in_a_month(words, today)


def _in_a_month(words: str, today: date | None) -> tuple[date, date] | None:
    """What "March", "5 March" and "March 2024" name: without a year the latest there was."""
    named = re.search(_MONTH, words)
    year_said = _YEAR.search(words)
    if named is None or (year_said is None and today is None):
        return None
    month = _MONTHS[named.group()]
    day_said = re.search(r"\b\d{1,2}(?=\D|$)", words)
    day = int(day_said.group()) if day_said else None
    year = int(year_said.group()) if year_said else _latest_year(month, day or 1, today)
    if day is not None:
        that = date(year, month, day)
        return that, that
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def _latest_year(month: int, day: int, today: date | None) -> int:
    """The year in which that day last was, seen from today."""
    if today is None:
        return 1
    return today.year if (month, day) <= (today.month, today.day) else today.year - 1


def _shifted(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.min if days < 0 else date.max
