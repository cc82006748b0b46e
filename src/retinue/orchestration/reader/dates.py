"""Days that people write: `2024-03-01`, "yesterday", "the last two weeks", "since March", "between … and …".

`dateparser` reads a day; here it is seen where the words of one begin and end, and what beside them says that it is a
beginning or an end. What is relative needs to be told what today is.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

_NUMBER: Final = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNIT: Final = r"(?:day|week|month|quarter|year)s?"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAY: Final = r"(?:last )?(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_YEAR: Final = r"(?:19|20)\d\d"
_QUARTERS: Final = {"first": "q1", "second": "q2", "third": "q3", "fourth": "q4", "last": "q4"}
_ORDINAL: Final = "(?:" + "|".join(_QUARTERS) + ")"
_EXACT: Final = (
    rf"\d{{4}}-\d\d(?:-\d\d)?|{_YEAR}[- ]q[1-4]|(?:q[1-4]|{_ORDINAL} quarter) (?:of )?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},?(?: {_YEAR})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b,?(?: {_YEAR})?|{_MONTH}(?: {_YEAR})?|{_YEAR}|today|yesterday|{_WEEKDAY}"
    rf"|{_NUMBER} {_UNIT} ago|(?:this|last) {_UNIT}"
)
_SPAN: Final = re.compile(
    rf"(?i)\b(?:(?:between|from) (?P<first>{_EXACT}) (?:and|to|until|till|through) (?P<last>{_EXACT})"
    rf"|(?P<edge>since|after|before|until|till|by) (?:the )?(?P<day>{_EXACT})"
    rf"|(?:in |over |during |for |within )?(?:the )?(?:last|past|previous) (?P<back>{_NUMBER} {_UNIT}|{_UNIT})"
    rf"|(?:in|on|during|of|for) (?:the )?(?P<at>{_EXACT})"
    rf"|(?P<bare>\d{{4}}-\d\d-\d\d|today|yesterday|{_WEEKDAY}|{_NUMBER} {_UNIT} ago|(?:this|last) {_UNIT}))(?![\w-])"
)
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}


@dataclass(frozen=True, slots=True)
class TimeSpan:
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


def time_spans(text: str, *, today: date | None) -> Iterator[TimeSpan]:
    """Every time that `text` speaks of, in order. Without `today` only what is not relative to it."""
    for match in _SPAN.finditer(text):
        first, last = _parse_span(match, today)
        if (first or last) and not (first and last and first > last):
            yield TimeSpan(first, last, match.group(), match.start())


def _parse_span(match: re.Match[str], today: date | None) -> tuple[date | None, date | None]:
    if match["first"]:
        year = re.search(_YEAR, match["last"])  # "from January to February 2024"
        has_own = year is None or re.search(r"\d{4}|day", match["first"])
        start_words = match["first"] if has_own or year is None else f"{match['first']} {year.group()}"
        first, last = _day_range(start_words, today), _day_range(match["last"], today)
        return (first[0], last[1]) if first and last else (None, None)
    if match["back"]:
        return (None, None) if today is None else _lookback(match["back"].lower(), today)
    days = _day_range(match["day"] or match["at"] or match["bare"], today)
    edge = (match["edge"] or "").lower()
    if days is None or not edge:
        return days or (None, None)
    if edge in {"since", "after"}:
        return (days[0] if edge == "since" else days[1] + timedelta(days=1)), None
    return None, (days[0] - timedelta(days=1) if edge == "before" else days[1])


def _lookback(words: str, today: date) -> tuple[date | None, date | None]:
    """The last so many days, weeks, months or years, up to today."""
    number, _, unit = words.rpartition(" ")
    if number in {"", "a", "an", "one", "1"}:
        return today - timedelta(days=_DAYS[unit.rstrip("s")]), today
    days = _day_range(f"{words} ago", today)
    return (days[0], today) if days else (date.min, today)


def _day_range(words: str, today: date | None) -> tuple[date, date] | None:
    """The first and the last day that `words` name: of a day, a month, a quarter, a year."""
    words, months = words.lower().replace(" of ", " ").rstrip(".,"), 1
    words = re.sub(rf"({_ORDINAL}) quarter(?= {_YEAR})", lambda match: _QUARTERS[match[1]], words)
    if (quarter := re.search(r"q([1-4])", words)) and (year := re.search(_YEAR, words)):
        words, months = f"{year.group()}-{3 * int(quarter[1]) - 2:02}", 3
    if words.isdigit():
        return date(int(words), 1, 1), date(int(words), 12, 31)
    with suppress(ValueError):
        day = date.fromisoformat(words)
        return day, day
    if today is None and not re.search(r"\d{4}", words):
        return None
    if today is not None and words.startswith("this "):
        return _period_start(words[5:].rstrip("s"), today), today
    parsed = _parser(today or date(2000, 1, 1)).get_date_data(words)
    day = None if parsed.date_obj is None else parsed.date_obj.date()
    if day is None or parsed.period != "month" or "ago" in words or words.startswith("last "):
        return None if day is None else (day, day)
    month = day.month - 1 + months
    return day.replace(day=1), date(day.year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _period_start(unit: str, today: date) -> date:
    match unit:
        case "week":
            return today - timedelta(days=today.weekday())
        case "month":
            return today.replace(day=1)
        case "quarter":
            return today.replace(month=(today.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return today.replace(month=1, day=1)
        case _:
            return today


@lru_cache(maxsize=4)
def _parser(today: date) -> "DateDataParser":
    from dateparser.date import DateDataParser  # noqa: PLC0415 - a fifth of a second, for texts that name a day

    return DateDataParser(
        languages=["en"],
        settings={
            "RELATIVE_BASE": datetime(today.year, today.month, today.day),  # noqa: DTZ001 - a day has no zone
            "PREFER_DATES_FROM": "past",
            "PREFER_DAY_OF_MONTH": "first",
        },
    )
