"""One view of a set of documents, scored by BM25: by their words, or by their character 4-grams.

Made for routing: many short documents, one short query, the best few wanted within milliseconds. It is not a text
search: it keeps no text, no places, and nothing on disk.
"""

import math
import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import add
from typing import Final

__all__ = ["FUNCTION_WORDS", "View", "gram_tokens", "word_tokens"]

_K1: Final = 1.5
_B: Final = 0.9
_COMMON: Final = 400
_DENSE: Final = 16
"""A token in more than 400 documents and more than a sixteenth of all is kept as one number for each document."""

_WORK: Final = 60_000
"""About so many numbers are added up to find the best documents. What does not fit in, the commonest tokens, is added
for those alone: five times quicker among ten thousand documents and, measured, as good."""

_BACKGROUND: Final = 30
"""So many imagined documents hold nothing but function words. Without them three agents would make "the" a rare word
and every word of a goal's topic as telling as a word of its task."""

FUNCTION_WORDS: Final = """
a about after all also am an and any are as at be been before being but by can could did do does doing for from get
give had has have having he help her here him his i if in into is it its just know let like ll looking me my
need of on or our out please re s she should so some t tell than that the their them then there these they this those
to up us ve want what which who how where when why whose whom was we were will with would you your
"""

_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_ENDINGS: Final = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))


def word_tokens(text: str) -> list[str]:
    """The words of `text`, camelCase taken apart, lower case, without the commonest English endings."""
    return [_stem(word.lower()) for word in _HUMP.findall(text)]


def gram_tokens(text: str) -> list[str]:
    """Every four characters in a row of `text`, words joined by one space."""
    spaced = f" {' '.join(_WORD.findall(text.lower()))} "
    return [spaced[start : start + 4] for start in range(max(1, len(spaced) - 3))]


@lru_cache(maxsize=16_384)
def _stem(word: str) -> str:
    if len(word) < 4:
        return word
    word = word.replace("iz", "is")  # "summarize"
    for ending, instead in _ENDINGS:
        if word.endswith(ending):
            kept = len(word) - len(ending)
            if kept < 3 or (ending == "s" and word[-2] in "su"):
                continue
            word = word[:kept] + instead
            if ending in {"ing", "ed"} and len(word) > 4 and word[-1] == word[-2] and word[-1] not in "aeiouflsz":
                word = word[:-1]  # "committed"
            break
    # "change", "changes" and "changed" meet.
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


class _Shared:
    """How often a token stands again in a group of documents that all hold it."""

    __slots__ = ("_common", "_group", "_groups", "_repeated", "_size")

    def __init__(self, groups: Sequence[int]) -> None:
        self._groups = groups
        self._repeated: Counter[str] = Counter()
        self._group: int | None = None
        self._common: set[str] = set()
        self._size = 0

    def add(self, place: int, tokens: Iterable[str]) -> None:
        """Take in the document at `place`."""
        if not self._groups:
            return
        if self._groups[place] != self._group:
            self._close()
            self._group, self._common, self._size = self._groups[place], set(tokens), 1
        else:
            self._common.intersection_update(tokens)
            self._size += 1

    def repeated(self) -> Counter[str]:
        """By token, all its documents but one of each such group."""
        self._close()
        return self._repeated

    def _close(self) -> None:
        if self._size > 1:
            for token in self._common:
                self._repeated[token] += self._size - 1
        self._size = 0


class View:
    """BM25 over the documents' tokens, with weights computed once.

    `documents` is read once, one document at a time, so that only counts are in memory.

    Args:
        documents: The tokens of each.
        background: What the imagined documents hold.
        groups: For each document, which group it is of; the documents of a group stand in a row. What all of a group
            hold is one text that was written once, and counts as one document: else the words of whoever has many
            skills would tell nothing.
    """

    __slots__ = ("_common", "_df", "_mean_length", "_rare", "_unknown", "size")

    def __init__(
        self, documents: Iterable[Iterable[str]], *, background: Iterable[str], groups: Sequence[int] = ()
    ) -> None:
        shared = _Shared(groups)
        postings: dict[str, tuple[array[int], array[float]]] = {}
        lengths = array("i")
        for place, document in enumerate(documents):
            counts = Counter(document)
            lengths.append(counts.total())
            shared.add(place, counts)
            for token, times in counts.items():
                places, weights = postings.setdefault(token, (array("i"), array("f")))
                places.append(place)
                weights.append(times)
        self.size = len(lengths)
        self._mean_length = sum(lengths) / max(1, self.size) or 1.0
        imagined = frozenset(background)
        self._df = dict.fromkeys(imagined, _BACKGROUND)
        repeated = shared.repeated()
        for token, (places, _) in postings.items():
            self._df[token] = self._df.get(token, 0) + len(places) - repeated[token]
        self._unknown = self._rarity(0)
        self._rare: dict[str, tuple[array[int], array[float]]] = {}
        self._common: dict[str, array[float]] = {}
        common = max(_COMMON, self.size // _DENSE)
        for token, (places, weights) in postings.items():
            rarity = self._rarity(self._df[token])
            for position, place in enumerate(places):
                weights[position] = rarity * self._weight(weights[position], lengths[place])
            if len(places) <= common:
                self._rare[token] = (places, weights)
                continue
            dense = self._common[token] = array("f", bytes(4 * self.size))
            for place, weight in zip(places, weights, strict=True):
                dense[place] = weight

    def _rarity(self, documents: int) -> float:
        return math.log(1 + (self.size + _BACKGROUND - documents + 0.5) / (documents + 0.5))

    def _weight(self, times: float, length: int) -> float:
        return times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / self._mean_length))

    def scores(self, tokens: Iterable[str]) -> tuple[list[float], list[str]]:
        """The score of every document by the rarer tokens, and the common ones that were left for `add`."""
        found = [0.0] * self.size
        dense: list[str] = []
        spent = 0
        for token in tokens:
            if held := self._rare.get(token):
                spent += len(held[0])
                for place, weight in zip(*held, strict=True):
                    found[place] += weight
            elif token in self._common:
                dense.append(token)
        dense.sort(key=self._df.__getitem__)
        fitting = max(_WORK - spent, 0) // self.size if self.size else 0
        for token in dense[:fitting]:
            found = list(map(add, found, self._common[token]))
        return found, dense[fitting:]

    def add(self, tokens: Iterable[str], place: int) -> float:
        """What the tokens left over by `scores` add to the score of the document at `place`."""
        return sum(self._common[token][place] for token in tokens)

    def reach(self, tokens: Iterable[str]) -> float:
        """The best score that any document could have for `tokens`: each of them, as often as you like."""
        return sum(self._rarity(df) if (df := self._df.get(token)) else self._unknown for token in tokens) * (_K1 + 1)

    def holds(self, token: str, place: int) -> bool:
        """Whether the document at `place` holds `token`."""
        if (common := self._common.get(token)) is not None:
            return common[place] > 0
        if (rare := self._rare.get(token)) is None:
            return False
        position = bisect_left(rare[0], place)
        return position < len(rare[0]) and rare[0][position] == place

    def knows(self, token: str) -> bool:
        """Whether any document, or the background, holds `token`."""
        return token in self._df

    def tokens(self) -> Iterable[str]:
        """Every token that it knows."""
        return self._df.keys()

    def score_of(self, tokens: Iterable[str], document: Counter[str]) -> float:
        """The score that a document with these token counts would have here."""
        length = document.total()
        return sum(
            self._rarity(self._df.get(token, 1)) * self._weight(document[token], length)
            for token in tokens
            if token in document
        )
