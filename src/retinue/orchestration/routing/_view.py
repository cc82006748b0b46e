"""One view of a set of documents, scored by BM25: by their words, or by their character 4-grams.

Made for routing: many short documents, one short query, the best few wanted within milliseconds. It is not a text
search: it keeps no text, no places, and nothing on disk.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain
from operator import add
from typing import Final

from retinue.orchestration.routing._background import Background, read
from retinue.orchestration.routing.words import FUNCTION_WORDS, gram_tokens, word_tokens

__all__ = ["View", "gram_background", "word_background"]

_K1: Final = 1.5
_B: Final = 0.9
_COMMON: Final = 400
_DENSE: Final = 16
"""A token in more than 400 documents and more than a sixteenth of all is kept as one number for each document."""

_WORK: Final = 60_000
"""About so many numbers are added up to find the best documents. What does not fit in, the commonest tokens, is added
for those alone: five times quicker among ten thousand documents and, measured, as good."""


@cache
def word_background() -> Background:
    """How common words are anywhere."""
    return read("words", function=word_tokens(FUNCTION_WORDS))


@cache
def gram_background() -> Background:
    """How common 4-grams are anywhere."""
    return read("grams", function=gram_tokens(FUNCTION_WORDS))


class View:
    """BM25 over the documents' tokens, with weights computed once.

    What a document scores depends on it and the background alone, and not on the other documents.

    Args:
        documents: The tokens of each. They are read once, one document at a time, so that only counts are in memory.
        background: How telling each token is.
        usual_length: How many tokens a document usually has; those of longer ones weigh less.
    """

    __slots__ = ("_background", "_common", "_lengths", "_rare", "_usual_length", "size")

    def __init__(self, documents: Iterable[Iterable[str]], *, background: Background, usual_length: float) -> None:
        self._background = background
        self._usual_length = usual_length
        postings: dict[str, tuple[array[int], array[float]]] = {}
        lengths = array("i")
        for place, document in enumerate(documents):
            counts = Counter(document)
            lengths.append(counts.total())
            for token, times in counts.items():
                places, weights = postings.setdefault(token, (array("i"), array("f")))
                places.append(place)
                weights.append(times)
        self.size = len(lengths)
        self._lengths = lengths
        self._rare: dict[str, tuple[array[int], array[float]]] = {}
        self._common: dict[str, array[float]] = {}
        common = max(_COMMON, self.size // _DENSE)
        for token, (places, weights) in postings.items():
            rarity = background.rarity(token)
            for position, place in enumerate(places):
                weights[position] = rarity * self._weight(weights[position], lengths[place])
            if len(places) <= common:
                self._rare[token] = (places, weights)
                continue
            dense = self._common[token] = array("f", bytes(4 * self.size))
            for place, weight in zip(places, weights, strict=True):
                dense[place] = weight

    def _weight(self, times: float, length: int) -> float:
        return times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * length / self._usual_length))

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
        dense.sort(key=self._background.rarity, reverse=True)
        fitting = max(_WORK - spent, 0) // self.size if self.size else 0
        for token in dense[:fitting]:
            found = list(map(add, found, self._common[token]))
        return found, dense[fitting:]

    def add(self, tokens: Iterable[str], place: int) -> float:
        """What the tokens left over by `scores` add to the score of the document at `place`."""
        return sum(self._common[token][place] for token in tokens)

    def reach(self, tokens: Iterable[str]) -> float:
        """The best score that any document could have for `tokens`: each of them, as often as you like."""
        return sum(map(self._background.rarity, tokens)) * (_K1 + 1)

    def once(self, place: int) -> float:
        """The share of `reach` that the document at `place` scores for tokens that it holds once each."""
        return self._weight(1, self._lengths[place]) / (_K1 + 1)

    def weight(self, token: str, place: int) -> float:
        """What `token` adds to the score of the document at `place`; 0 when it is not in there."""
        if (common := self._common.get(token)) is not None:
            return common[place]
        if (rare := self._rare.get(token)) is None:
            return 0.0
        position = bisect_left(rare[0], place)
        return rare[1][position] if position < len(rare[0]) and rare[0][position] == place else 0.0

    def holds(self, token: str, place: int) -> bool:
        """Whether the document at `place` holds `token`."""
        return self.weight(token, place) > 0

    def holders(self, token: str) -> Iterable[int]:
        """The places of the documents that hold `token`."""
        if (common := self._common.get(token)) is not None:
            return (place for place, weight in enumerate(common) if weight)
        return self._rare[token][0] if token in self._rare else ()

    def tokens(self) -> Iterable[str]:
        """Every token that some document holds."""
        return chain(self._rare, self._common)

    def score_of(self, tokens: Iterable[str], document: Counter[str], *, without: Counter[str]) -> float:
        """The score that a document with these token counts would have here, less those of `without`."""
        length = document.total() - without.total()
        left = ((token, document[token] - without[token]) for token in tokens if token in document)
        return sum(self._background.rarity(token) * self._weight(times, length) for token, times in left if times > 0)
