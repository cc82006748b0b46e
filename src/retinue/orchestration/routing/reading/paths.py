"""Paths: whatever exists in the workspace or, with no workspace to look into, whatever looks like a path.

A bare file name ("access.log") is the file of that name that there is; when there are several, a person says which.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said

__all__ = ["PATH_NAMES", "looks_into", "mentioned_in", "named_in", "read_one", "read_several", "without_paths"]

PATH_NAMES: Final = (
    "path", "paths", "file", "files", "filename", "dir", "directory", "directories", "folder", "folders",
)  # fmt: skip
"""A parameter with one of these in its name takes paths."""

_PATH: Final = re.compile(r"(?<![\w/.:@-])[\w.@+~-]{1,200}(?:/[\w.@+-]{1,200}){0,50}/?(?![\w/]|:\S)")
_LOOKS_LIKE_A_PATH: Final = re.compile(
    r"/|(?<=\w)\.[A-Za-z][A-Za-z0-9]{0,7}\Z|\A(?:Makefile|Dockerfile|LICENSE|README)\Z"
)
_MOST_LOOKED_UP: Final = 20
_INTO: Final = re.compile(
    r"\b(?:in|from|of|inside|within|into|across|using|per|by|according\s+to)\s+(?:(?:the|our|my|file|log|table)\s+)*[`'\"]?\Z",
    re.IGNORECASE,
)
_A_FILE: Final = re.compile(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}\Z")


def named_in(text: str, around: Surroundings) -> tuple[str, ...]:
    """The paths of the files that `text` names, as far as they are known: nothing that is only a word."""
    return tuple(
        path
        for reading in _paths(_PATH.finditer(text), around)
        for path in reading.options or (str(reading.value),)
        if _A_FILE.search(path)
    )


def without_paths(text: str, around: Surroundings) -> str:
    """`text` without the names of files in it."""
    rest, place = "", 0
    for reading in _paths(_PATH.finditer(text), around):
        if _A_FILE.search(text[reading.start : reading.end]):
            rest += text[place : reading.start]
            place = reading.end
    return rest + text[place:]


def mentioned_in(text: str) -> tuple[str, ...]:
    """Whatever in `text` is written like the name of a file, wherever it may be."""
    return tuple(
        match.group().rstrip(".") for match in _PATH.finditer(text) if _A_FILE.search(match.group().rstrip("."))
    )


def looks_into(text: str, around: Surroundings) -> bool:
    """Whether what `text` asks stands in a file that it names ("in orders.csv"), which is more than a mention."""
    return any(_INTO.search(text, max(0, one.start - 40), one.start) for one in _paths(_PATH.finditer(text), around))


def read_one(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """The first path in the clause that the parameter takes."""
    if parameter.type != "string" or not parameter.says(*PATH_NAMES):
        return None
    return next((one for one in _paths(said.matches(_PATH), around) if _fits(one, parameter)), None)


def read_several(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """Every path in the clause that the parameter takes."""
    inside = parameter.items
    if inside is None or inside.type != "string" or not parameter.says(*PATH_NAMES):
        return None
    found = [one for one in _paths(said.matches(_PATH), around) if _fits(one, inside)]
    if not found:
        return None
    if (unclear := next((one for one in found if one.options), None)) is not None:
        return unclear
    values = list(dict.fromkeys(reading.value for reading in found))
    return Reading(values, found[0].start, found[-1].end)


def _fits(reading: Reading, parameter: Parameter) -> bool:
    return any(map(parameter.accepts, reading.options or (reading.value,)))


def _paths(matches: Iterable[re.Match[str]], around: Surroundings) -> Iterator[Reading]:
    looked_up = 0
    for match in matches:
        text = match.group().rstrip(".")
        start, end = match.start(), match.start() + len(text)
        if not text:
            continue
        if _LOOKS_LIKE_A_PATH.search(text) if around.exists is None else around.exists(text):
            yield Reading(text, start, end)
        elif around.find is not None and looked_up < _MOST_LOOKED_UP and _A_FILE.search(text):
            looked_up += 1
            if meant := tuple(around.find(text)):
                yield Reading(meant[0], start, end, options=meant if len(meant) > 1 else ())
