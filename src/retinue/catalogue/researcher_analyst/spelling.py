"""Misspelled words of a question, read as the words that the project's own texts have."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from retinue.catalogue._watch import Watch
from retinue.catalogue.researcher_analyst.question import KNOWN_WORDS
from retinue.errors import RetinueError
from retinue.tools.encoding import decode
from retinue.tools.search.words import fold
from retinue.tools.tree import FileEntry
from retinue.tools.workspace import Workspace

__all__ = ["respelled"]

_SHORTEST: Final = 5
_FILES: Final = 200
_READ: Final = 64 * 1024
_VOWELS: Final = frozenset("aeiouy")
_ASKING: Final = ("what", "when", "where", "which", "whose")
_WORD: Final = re.compile(r"[a-z]{5,}")


def respelled(
    words: Iterable[str], *, workspace: Workspace, files: Sequence[FileEntry], watch: Watch
) -> Mapping[str, str]:
    """The words of `words` that are one slip away from a word in `files`, or one that questions are made of.

    Of the files an even sample is read; a word that stands in it, or differs only by its ending, is right as it is.
    """
    found = {word: right for word in words if (right := _asking(word.casefold()))}
    unknown = {
        word.casefold(): word
        for word in words
        if word.isalpha() and len(word) >= _SHORTEST and word not in found and word.casefold() not in KNOWN_WORDS
    }
    near: dict[str, Counter[str]] = {low: Counter(_slips(low, KNOWN_WORDS)) for low in unknown}
    for entry in files[:: max(1, -(-len(files) // _FILES))]:
        if not near:
            break
        watch.check()
        try:
            with workspace.open(entry.path) as file:
                here = set(_WORD.findall(decode(file.read(_READ)).text.casefold()))
        except RetinueError:
            continue
        for low in list(near):
            if any(fold(word) == fold(low) for word in here if word[:4] == low[:4]):
                del near[low]
            else:
                near[low].update(_slips(low, here))
    return found | {unknown[low]: counts.most_common(1)[0][0] for low, counts in near.items() if counts}


def _asking(word: str) -> str:
    return "" if word in KNOWN_WORDS or len(word) < 4 else next(iter(_slips(word, _ASKING)), "")


def _slips(word: str, known: Iterable[str]) -> list[str]:
    """Those of `known` that `word` misspells: a letter too few or too many, two swapped, or the wrong vowel."""
    return sorted(
        other for other in known if other[0] == word[0] and abs(len(other) - len(word)) <= 1 and _is_slip(word, other)
    )


def _is_slip(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    start = next((place for place, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    if start == len(short):
        return False
    if short[start : start + 2] == long[start : start + 2][::-1]:
        return short[start + 2 :] == long[start + 2 :]
    return {short[start], long[start]} <= _VOWELS and short[start + 1 :] == long[start + 1 :]
