"""What spec 003 asks of the data inside an envelope: its types (K10) and its quality (K11).

An agent's results are its own, so what a member is meant to be is told by its name; where the name leaves it open,
nothing is said.
"""

import re
from collections.abc import Iterator
from typing import Final

from retinue.conformance.members import is_uninformative, objects_at, quote, values_in
from retinue.contract.json import JsonObject, JsonValue

_SCORE: Final = re.compile(r"(?:^|_)(?:score|percent|percentage|completeness|confidence)$")
_COUNT: Final = re.compile(r"(?:^|_)(?:count|total)$|^(?:count|total|number)_(?:of_)?\w+$|^files_(?:read|written)$")
_MEASURED: Final = re.compile(
    r"(?:^|_)(?:amount|average|bytes|cost|coverage|days|distance|duration|eur|hours|minutes|mean|ms|ns|price|rate|ratio|revenue|s|sales|seconds|time|usd|value|weight)(?:_|$)"
)
"""Totals of these are measured, not counted."""
_NUMBER: Final = re.compile(r"\s*[-+]?[0-9]+(?:[.,][0-9]+)?\s*%?\s*")
_PLURAL: Final = re.compile(r"(?:[a-z]s|_list|children)$")
_NOT_PLURAL: Final = re.compile(
    r"(?:ss|us|is|as|^does|details|notes|remarks|series|^news)$|^(?:allows|has|is|needs|supports|uses|was|were)(?:_|$)"
)
"""Ends in an s, and may be one thing: a text, or whether something is so."""
_PATH: Final = re.compile(r"(?:^|_)(?:path|paths|file|files|filename|directory|folder)$")


def text_for_number(body: JsonObject) -> Iterator[str]:
    """Scores and percentages that are text, or something else than a number."""
    for place, name, value in values_in(body):
        wrong = isinstance(value, bool) or (isinstance(value, str) and _NUMBER.fullmatch(value))
        if _SCORE.search(name) and wrong:
            yield f"`{place}` is {quote(value)}"


def wrong_array(body: JsonObject) -> Iterator[str]:
    """Nulls where a name in the plural says that there is an array."""
    for place, name, value in values_in(body):
        is_item = place.rpartition("/")[2].isdecimal()  # an empty cell of a row is no missing array
        single = any(one.search(name) for one in (_NOT_PLURAL, _COUNT, _MEASURED))
        plural = _PLURAL.search(name) and not single
        if value is None and plural and not is_item:
            yield f"`{place}` is null"


def text_for_boolean(body: JsonObject) -> Iterator[str]:
    """Text that says true or false and nothing else."""
    for place, _, value in values_in(body):
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            yield f"`{place}` is {quote(value)}"


def wrong_count(body: JsonObject) -> Iterator[str]:
    """Counts and totals that are negative, broken, boolean or text."""
    for place, name, value in values_in(body):
        measured = _MEASURED.search(name) or _SCORE.search(name)
        if _COUNT.search(name) and not measured and _is_no_count(value):
            yield f"`{place}` is {quote(value)}"


def _is_no_count(value: JsonValue) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    if isinstance(value, bool):
        return True
    return isinstance(value, int | float) and (value < 0 or isinstance(value, float))


def outside_path(body: JsonObject) -> Iterator[str]:
    """Paths that are neither absolute nor relative to the root of a repository."""
    for place, name, value in values_in(body.get("result")):
        if isinstance(value, str) and _PATH.search(name) and (why := _path_fault(value)):
            yield f"`/result{place}` {why}: {quote(value)}"


def _path_fault(path: str) -> str:
    if not path.strip():
        return "is empty"
    if any(mark in path for mark in "\0\n\r"):
        return "has a line break or NUL"
    if path.startswith("~"):
        return "leads to somebody's home"
    if ".." in re.split(r"[/\\]", path):
        return "leads upwards"
    return "is a URL" if re.match(r"[a-z][a-z0-9+.-]+://", path, re.IGNORECASE) else ""


def generic_message(body: JsonObject) -> Iterator[str]:
    """Messages of errors and warnings that say nothing."""
    if body.get("status") == "error" and is_uninformative(body.get("message"), words=2):
        yield f"`message` is {quote(body.get('message'))}"
    for at, warning in objects_at(body, "warnings"):
        if is_uninformative(warning.get("message"), words=2):
            yield f"`warnings[{at}].message` is {quote(warning.get('message'))}"


def generic_suggestion(body: JsonObject) -> Iterator[str]:
    """Ways out that are none."""
    suggestions = body.get("recovery_suggestions")
    for at, suggestion in enumerate(suggestions if isinstance(suggestions, list) else ()):
        if _is_unhelpful(suggestion):
            yield f"`recovery_suggestions[{at}]` is {quote(suggestion)}"
    for at, warning in objects_at(body, "warnings"):
        if "recovery" in warning and _is_unhelpful(warning["recovery"]):
            yield f"`warnings[{at}].recovery` is {quote(warning['recovery'])}"


def _is_unhelpful(value: JsonValue) -> bool:
    """Whether a way out says nothing, or is a single word: a name alone does not say what to do with it."""
    return is_uninformative(value) or (isinstance(value, str) and value.isascii() and len(value.split()) == 1)
