"""Paths: whatever exists in the workspace or, with no workspace to look into, whatever looks like a path."""

import re
from collections.abc import Iterator
from typing import Final

from retinue.orchestration.reading.around import Surroundings
from retinue.orchestration.reading.parameter import Parameter
from retinue.orchestration.reading.said import Reading, Said

__all__ = ["read_one", "read_several"]

_NAMES: Final = (
    "path", "paths", "file", "files", "filename", "dir", "directory", "directories", "folder", "folders",
)  # fmt: skip
_PATH: Final = re.compile(r"(?<![\w/.:@-])[\w.@+~-]{1,200}(?:/[\w.@+-]{1,200}){0,50}/?(?![\w/:])")
_LOOKS_LIKE_A_PATH: Final = re.compile(
    r"/|(?<=\w)\.[A-Za-z][A-Za-z0-9]{0,7}\Z|\A(?:Makefile|Dockerfile|LICENSE|README)\Z"
)


def read_one(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """The first path in the clause."""
    if parameter.type != "string" or not parameter.says(*_NAMES):
        return None
    return next(_paths(said, around), None)


def read_several(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """Every path in the clause."""
    if parameter.items is None or parameter.items.type != "string" or not parameter.says(*_NAMES):
        return None
    found = list(_paths(said, around))
    values = list(dict.fromkeys(reading.value for reading in found))
    return Reading(values, found[0].start, found[-1].end) if found else None


def _paths(said: Said, around: Surroundings) -> Iterator[Reading]:
    for match in said.matches(_PATH):
        text = match.group().rstrip(".")
        if not text:
            continue
        if _LOOKS_LIKE_A_PATH.search(text) if around.exists is None else around.exists(text):
            yield Reading(text, match.start(), match.start() + len(text))
