"""Where the statements of a result come from: its citations, as places a person can go to."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, cast

from retinue.contract.sanitize import printable

__all__ = ["place_of", "sources_in"]

_LISTS: Final = ("citations", "sources", "findings", "evidence", "matches")
_PLACES: Final = ("source", "path", "file", "url", "sha")
_LINES: Final = ("line", "line_start", "lines")
_MOST: Final = 50
_LONGEST: Final = 300


def sources_in(data: object) -> tuple[str, ...]:
    """The places that `data` cites, each once, in order; at most fifty."""
    return tuple(islice(dict.fromkeys(islice(_all(data), _MOST * 4)), _MOST))


def place_of(item: object) -> str:
    """The place that one citation names (`path:line`, an address, a commit); empty when it names none."""
    if isinstance(item, str):
        return _shown(item)
    if not isinstance(item, dict):
        return ""
    fields = cast("dict[str, object]", item)
    place = next((fields[name] for name in _PLACES if isinstance(fields.get(name), str) and fields[name]), "")
    line = next((fields[name] for name in _LINES if isinstance(fields.get(name), int)), None)
    if not place:
        return ""
    has_line = "://" in str(place) or str(place).rpartition(":")[2].isdigit()
    return _shown(str(place) if line is None or has_line else f"{place}:{line}")


def _all(data: object) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    for name in _LISTS:
        items: object = cast("dict[str, object]", data).get(name)
        for item in cast("list[object]", items) if isinstance(items, list) else ():
            if place := _cited(item):
                yield place


def _cited(item: object) -> str:
    """The place that one entry of a list names. Bare words in it are kinds of sources ("docs", "code"), not places."""
    return "" if isinstance(item, str) and not any(mark in item for mark in "/.:") else place_of(item)


def _shown(text: str) -> str:
    return " ".join(printable(text).split())[:_LONGEST]
