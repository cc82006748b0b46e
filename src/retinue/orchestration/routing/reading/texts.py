"""Texts: what has the form that the schema asks for, names of columns, and what stands in quotes."""

import re
from typing import Final

from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said
from retinue.orchestration.routing.words import word_tokens

__all__ = ["read_column", "read_only_quote", "read_quoted", "read_shaped"]

_CHUNK: Final = re.compile(r"[^\s,;()\"'`]{2,200}")
_NO_PLAIN_WORD: Final = re.compile(r"[0-9_/@:.-]")
_COLUMN: Final = re.compile(
    r"\b(?:by|column|columns|field|fields|per)\s(?:the\s)?[`'\"]?(?P<name>[A-Za-z_]\w*)[`'\"]?", re.IGNORECASE
)
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


def read_shaped(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """A word that passes the schema's pattern or format: a ticket id, an address."""
    shaped = "pattern" in parameter.schema or parameter.schema.get("format", "date") not in {
        "date",
        "date-time",
        "time",
    }
    if parameter.type != "string" or parameter.choices or not shaped:
        return None
    for match in said.matches(_CHUNK):
        text = match.group().rstrip(".?!:")
        if _NO_PLAIN_WORD.search(text) and parameter.accepts(text):
            return Reading(text, match.start(), match.start() + len(text))
    return None


def read_column(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """The columns that the clause names: those there are, when that is known, else what stands behind "by" or "per"."""
    if parameter.type not in {"string", "array"} or not parameter.says("column", "columns", "field", "fields", "group"):
        return None
    if around.columns:
        known = {column.lower(): column for column in around.columns}
        names = ((match.group(), *match.span()) for match in said.matches(_IDENTIFIER))
        found = [Reading(known[text.lower()], start, end) for text, start, end in names if text.lower() in known]
    else:
        found = [Reading(match["name"], *match.span("name")) for match in said.matches(_COLUMN)]
    if not found:
        return None
    if parameter.items is None:
        return found[0]
    return Reading(list(dict.fromkeys(reading.value for reading in found)), found[0].start, found[-1].end)


def read_quoted(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """What is quoted right behind the parameter's own word."""
    if parameter.type != "string" or parameter.choices:
        return None
    own = set(word_tokens(" ".join(parameter.words)))
    for reading in said.quoted():
        if not own.isdisjoint(word_tokens(" ".join(said.before(reading.start, most=2)))):
            return reading
    return None


def read_only_quote(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The one thing in quotes that is left, for a parameter that must be given."""
    if parameter.type != "string" or parameter.choices or not parameter.required:
        return None
    found = list(said.quoted())
    return found[0] if len(found) == 1 else None
