"""How telling each word of a question is in one tree: counted in an even sample of its files.

A word that every other file has says little; a word no file has says that the question may be about something else.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Final

from retinue.catalogue._watch import Watch
from retinue.errors import RetinueError
from retinue.tools.encoding import decode
from retinue.tools.search.words import plain
from retinue.tools.tree import FileEntry
from retinue.tools.workspace import Workspace

__all__ = ["weights_of"]

_SAMPLE: Final = 200
_SHORT: Final = 4
_READ: Final = 64 * 1024
_WEAK_SHARE: Final = 0.35
_NAME_SHARE: Final = 1.5


def weights_of(
    words: Iterable[str],
    *,
    workspace: Workspace,
    files: Sequence[FileEntry],
    watch: Watch,
    weak: frozenset[str] = frozenset(),
    names: frozenset[str] = frozenset(),
) -> Mapping[str, float]:
    """The weight of each term: its inverse document frequency; less for `weak` ones, more for exact `names`."""
    wanted = list(dict.fromkeys(words))
    sample = files[:: max(1, -(-len(files) // _SAMPLE))]
    holders = dict.fromkeys(wanted, 0)
    alone = {term: re.compile(rf"(?<![^\W_]){re.escape(term)}(?![^\W_])") for term in wanted if len(term) < _SHORT}
    read = 0
    for entry in sample:
        watch.check()
        text = _head(workspace, entry)
        read += text is not None
        for term in wanted:
            if text is not None and term in text:
                # A short term is part of many words, which says nothing; a long one is the beginning of its own.
                holders[term] += term not in alone or alone[term].search(text) is not None
    return {term: _idf(holders[term], read) * _share(term, weak, names) for term in wanted}


def _share(term: str, weak: frozenset[str], names: frozenset[str]) -> float:
    return _NAME_SHARE if term in names else _WEAK_SHARE if term in weak else 1.0


def _head(workspace: Workspace, entry: FileEntry) -> str | None:
    try:
        with workspace.open(entry.path) as file:
            return plain(decode(file.read(_READ)).text)
    except RetinueError:
        return None


def _idf(holders: int, files: int) -> float:
    return log(1 + (files - holders + 0.5) / (holders + 0.5)) + 0.1
