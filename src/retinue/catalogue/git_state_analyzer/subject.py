"""Finds what a question's words mean in a repository: paths whose names say them, else commits whose subjects do.

It matches names, never contents: who wants to know where a word stands in a file asks another agent.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.tools.git import Commit
from retinue.tools.search import terms
from retinue.tools.search.kinds import kind_of
from retinue.tools.search.words import expand, fold

__all__ = ["Places", "find_places", "says", "subject_words"]

_MOST: Final = 8
_BESIDE: Final = frozenset({"bench", "benchmark", "exampl", "fixtur", "spec", "test", "vendor"})
_CHANGELOGS: Final = ("changes", "history", "news")
_PARTIAL: Final = 4
_WORD: Final = re.compile(r"[^\W_]+")
_SPOKEN: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Places:
    """The paths that some words were read as.

    Attributes:
        words: Those words.
        paths: Files, and folders with a `/` at their end; at most eight.
        more: How many others the words fit as well.
        partial: The paths have only some of the words, or lie beside the product, which was not asked for.
    """

    words: str
    paths: tuple[str, ...]
    more: int = 0
    partial: bool = False


def find_places(words: str, files: Sequence[str]) -> Places:
    """The paths among `files` (and the folders they are in) that `words` name: the closest kind of match only."""
    said = words.strip().removeprefix("./")
    exact = _exact(said, files)
    rank, found = (1, exact) if exact else _named(said, files)
    for name in _CHANGELOGS if said.casefold() == "changelog" else ():
        rank, found = (rank, found) if found else _named(name, files)
    is_beside = not exact and bool(found) and all(map(is_aside, found)) and _parts(said).isdisjoint(_BESIDE)
    return Places(words, tuple(found[:_MOST]), max(0, len(found) - _MOST), partial=is_beside or rank == _PARTIAL)


def subject_words(text: str) -> frozenset[str]:
    """The words that a commit's subject must have to speak of `text`; an identifier must stand there as a whole."""
    return frozenset(word.casefold() if "_" in word else fold(word.casefold()) for word in _SPOKEN.findall(text))


def says(commit: Commit, wanted: frozenset[str]) -> bool:
    """Whether the subject of `commit` holds all these words (see `subject_words`)."""
    return wanted <= subject_words(commit.subject)


def _exact(said: str, files: Sequence[str]) -> list[str]:
    """`said` as a path, the end of one, or a file's whole name."""
    folder = said.rstrip("/")
    if not folder or " " in folder:
        return []
    if folder in files:
        return [folder]
    if any(file.startswith(f"{folder}/") for file in files):
        return [f"{folder}/"]
    if "/" in folder or "." in folder:
        return _ordered(file for file in files if file.endswith(f"/{folder}"))
    return []


def _named(said: str, files: Sequence[str]) -> tuple[int, list[str]]:
    """The best rank that any file reaches, and the files and folders that do."""
    wanted = _parts(said)
    if not wanted:
        return 0, []
    beside = not wanted.isdisjoint(_BESIDE)
    ranked: dict[int, set[str]] = {}
    for file in files:
        rank, place = _rank(wanted, file)
        if rank:
            ranked.setdefault(rank, set()).add(place)
    for rank in sorted(ranked):
        places = ranked[rank]
        folders = [place for place in places if place.endswith("/")]
        kept = [place for place in places if not any(place != above and place.startswith(above) for above in folders)]
        plain = [place for place in kept if not _is_hidden(place) and (beside or not is_aside(place))]
        return rank, _ordered(plain or kept)
    return 0, []


def _rank(wanted: frozenset[str], file: str) -> tuple[int, str]:
    """How close a file's name comes to the words (1 closest, 0 not at all), and the file or folder meant."""
    path = PurePosixPath(file)
    above = ""
    around = set[str]()
    for part in file.split("/")[:-1]:
        above += f"{part}/"
        own = _parts(part)
        if own == wanted:
            return 1, above
        around |= own
    stem = _parts(path.name.lstrip(".").partition(".")[0] or path.name)
    if stem == wanted:
        return 1, file
    if wanted <= stem:
        return 2, file
    if not wanted.isdisjoint(stem) and wanted <= stem | around | set(terms(path.suffix)):
        return 3, file
    if stem and len(wanted) > 1 and stem < wanted and len(stem) * 2 >= len(wanted):
        return _PARTIAL, file
    return 0, ""


def _parts(name: str) -> frozenset[str]:
    """The terms of a name's words, without the whole that the words of an identifier make together."""
    found: set[str] = set()
    for word in _WORD.findall(name):
        whole, *parts = expand(word) or ("",)
        found.update(parts or [whole])
    return frozenset(found - {""})


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _ordered(paths: Iterable[str]) -> list[str]:
    """Code before documents, shallow before deep."""
    return sorted(paths, key=lambda path: (kind_of(path) == "docs", path.count("/"), path))
