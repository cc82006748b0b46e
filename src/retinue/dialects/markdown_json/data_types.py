"""What the insides of an answer say by their names: scores, counts, lists, truth values, paths (K10, K11, K12).

The fields of `result` are each agent's own, so a name decides what is looked at, and only what can have no second
meaning is a finding. Not the validation against a skill's schema: that is the boundary's.
"""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias, cast

from retinue.contract.json import JsonValue, pointer
from retinue.contract.names import fold
from retinue.dialects.diagnostics import Diagnostics

_Meaning: TypeAlias = Literal["score", "count", "path", "paths", "list", ""]
_Place: TypeAlias = "tuple[_Place, str | int] | None"

_SCORES: Final = frozenset(
    {
        "score",
        "scores",
        "percent",
        "percentage",
        "percentages",
        "pct",
        "completeness",
        "coverage",
        "confidence",
        "ratio",
    }
)
_COUNTS: Final = frozenset({"count", "counts", "total", "totals"})
_MEASURED: Final = frozenset(
    {"amount", "cost", "costs", "days", "duration", "eur", "hours", "minutes", "ms", "price", "revenue", "sales"}
    | {"seconds", "size", "time", "usd", "value", "weight"}
)
"""Totals of these are measured, not counted."""
_PATHS: Final = frozenset({"path", "file", "filename", "folder", "directory"})
_NO_PLURALS: Final = frozenset(
    {"status", "analysis", "basis", "bias", "bonus", "bus", "canvas", "cost_basis", "diagnosis", "emphasis", "focus"}
    | {"gas", "hypothesis", "lens", "news", "previous", "radius", "series", "synopsis", "synthesis", "thesis"}
    | {"this", "various", "virus", "was", "is", "has", "as", "us", "yes", "plus", "minus", "versus", "census", "locus"}
    | {"details", "notes", "remarks"}
)
_ASK_WHETHER: Final = frozenset({"allows", "has", "is", "needs", "supports", "uses", "was", "were"})
"""What such a word begins is true or false, whatever it ends in."""
_NUMBER: Final = re.compile(r"\s*[-+]?[0-9]+(?:\.[0-9]+)?\s*%?\s*")
_TRUTHS: Final = {"true": True, "false": False}
_MAX_FINDINGS: Final = 500


@lru_cache(maxsize=4096)
def _meaning(name: str) -> _Meaning:
    """What a field of this name holds."""
    words = fold(name[:100]).split("_")
    if not _SCORES.isdisjoint(words):
        return "score"
    if not _COUNTS.isdisjoint(words) and _MEASURED.isdisjoint(words):
        return "count"
    last = words[-1]
    if last in _PATHS:
        return "path"
    if last.removesuffix("s") in _PATHS:
        return "paths"
    single = last in _NO_PLURALS or last in _MEASURED or words[0] in _ASK_WHETHER
    plural = len(last) > 2 and last.endswith("s") and not last.endswith("ss") and not single
    return "list" if plural or last == "list" else ""


def check_data_types(root: JsonValue, notes: Diagnostics, *, path: str, words: str = "") -> None:
    """Find what breaks the data types or the paths anywhere inside `root`; when lenient, decode it in place.

    Linear in the size of `root`. After so many findings as `_MAX_FINDINGS` the rest is only counted.

    Args:
        root: The data.
        notes: Where findings go.
        path: Where `root` stands in the message.
        words: A member of `root` whose list holds what somebody says in words: a question may well read "true".
    """
    if not isinstance(root, dict | list):
        return
    severity = notes.severity("standard")
    waiting: list[tuple[dict[str, JsonValue] | list[JsonValue], _Place, str]] = [(root, None, "")]
    count = 0
    for container, place, outer in waiting:
        members = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in cast("list[tuple[str | int, JsonValue]]", list(members)):
            kind = type(value)
            name = key if type(key) is str else outer
            if kind is list and container is root and key == words:
                continue
            if kind is dict or kind is list:
                waiting.append((cast("list[JsonValue]", value), (place, key), name))
                continue
            problem = _problem(value, name)
            if problem is None or (value is None and type(key) is int):  # an empty cell is no missing list
                continue
            count += 1
            if count <= _MAX_FINDINGS:
                rule, what, fix = problem
                where = path + _pointer((place, key))
                notes.add(rule, f"{what}.", path=where, fix=fix, severity=severity)
            if notes.level == "lenient":
                _decode(container, key, value)
    if count > _MAX_FINDINGS:
        notes.add("many", f"Of such findings there are {count - _MAX_FINDINGS} more.", path=path, severity=severity)


def _problem(value: JsonValue, name: str) -> tuple[str, str, str] | None:
    """Rule, what is wrong and what to do, for one scalar; None when nothing is."""
    if isinstance(value, str):
        return _text_problem(value, name)
    meaning = _meaning(name)
    if value is None and meaning in {"list", "paths"}:
        return "null_list", f"{name[:80]!r} is null where a list belongs", "Write `[]` for an empty list."
    if value is None or isinstance(value, dict | list) or meaning != "count":
        return None
    if isinstance(value, bool) and not name.startswith(("is_", "has_")):
        return "count", f"{name[:80]!r} is a truth value, not a count", "Write a whole number."
    if value < 0 or isinstance(value, float):
        return "count", f"{value!r} is not a count", "Write a whole number, 0 or more."
    return None


def _text_problem(value: str, name: str) -> tuple[str, str, str] | None:
    if len(value) <= 5 and value.lower() in _TRUTHS:
        return "boolean", f"{value!r} is text, not a truth value", f"Write `{value.lower()}` without quotes."
    meaning = _meaning(name)
    if meaning in {"score", "count"} and len(value) < 40 and _NUMBER.fullmatch(value):
        return "number", f"{value!r} is text, not a number", f"Write `{value.strip(' %')}` without quotes."
    if meaning in {"path", "paths"}:
        problem = path_problem(value)
        if problem:
            return "path", problem, "Write the path absolute, or relative to the root of the repository."
    return None


_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")


def path_problem(path: str) -> str:
    """Why `path` is neither absolute nor relative to the repository's root, as a clause; empty when it is (K11)."""
    if ".." in path and ".." in path.replace("\\", "/").split("/"):
        return f"{path[:80]!r} climbs out with `..`"
    if path.startswith("~"):
        return f"{path[:80]!r} depends on whose home `~` is"
    if _DRIVE.match(path):
        return f"{path[:80]!r} names a drive"
    if "\\" in path:
        return f"{path[:80]!r} holds a backslash"
    return ""


def _pointer(place: _Place) -> str:
    parts: list[str | int] = []
    while place is not None:
        place, part = place
        parts.append(part)
    return pointer(reversed(parts))


def _decode(container: dict[str, JsonValue] | list[JsonValue], key: str | int, value: JsonValue) -> None:
    """Put what the text says in its place, where it has one meaning."""
    decoded: JsonValue = value
    if value is None:
        decoded = []
    elif isinstance(value, str) and value.lower() in _TRUTHS:
        decoded = _TRUTHS[value.lower()]
    elif isinstance(value, str) and len(value) < 40 and _NUMBER.fullmatch(value):
        digits = value.strip().rstrip("%").strip()
        decoded = float(digits) if "." in digits else int(digits)
    cast("dict[str | int, JsonValue]", container)[key] = decoded
