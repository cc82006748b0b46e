"""Dates: the beginning or the end of a time that the clause speaks of, or the one day it is."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from retinue.orchestration.routing.reading._spans import Span, spans_of_time
from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said

__all__ = ["read", "speaks_of_days", "takes_days", "times_in"]

_BEGINNINGS: Final = ("since", "after", "from", "start", "begin", "beginning", "newer")
_ENDS: Final = ("until", "before", "to", "end", "older", "through")
_OF_DAYS: Final = re.compile(r"\b(?:date|day|ISO)\b")


def read(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """A day as `YYYY-MM-DD`, or midnight UTC where the schema wants a date with a time."""
    if parameter.type != "string" or not takes_days(parameter):
        return None
    for span in spans_of_time(said.text, today=around.today):
        end = span.start + len(span.words)
        if said.free(span.start, end, sharing=True) and (day := _meant(span, parameter)) is not None:
            with_time = parameter.schema.get("format") == "date-time"
            text = f"{day.isoformat()}T00:00:00Z" if with_time else day.isoformat()
            return Reading(text, span.start, end, shared=True)
    return None


def speaks_of_days(text: str, *, today: date | None) -> bool:
    """Whether `text` speaks of a day or a time of several."""
    return next(spans_of_time(text, today=today), None) is not None


def times_in(text: str) -> Iterator[tuple[str, bool]]:
    """The words of every time that `text` speaks of, and whether it is one whole calendar year."""
    for span in spans_of_time(text, today=date(2000, 1, 1)):
        year = span.last.year if span.last is not None else 0
        yield span.words, year > 0 and (span.first, span.last) == (date(year, 1, 1), date(year, 12, 31))


def takes_days(parameter: Parameter) -> bool:
    """Whether a day is a value for `parameter`."""
    if parameter.schema.get("format") in {"date", "date-time"} or parameter.says("since", "until", "date", "day"):
        return True
    return _OF_DAYS.search(parameter.description) is not None


def _meant(span: Span, parameter: Parameter) -> date | None:
    if parameter.says(*_BEGINNINGS):
        return span.first
    if parameter.says(*_ENDS):
        return span.last
    return span.first if span.first == span.last else None
