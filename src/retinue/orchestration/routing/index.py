"""BM25 over many short documents and one short query: by their words, or by their character 4-grams.

It is not a text search: it keeps no text, no places, and nothing on disk. What a document scores depends on it alone,
and not on the others: how telling a token is, is not counted among them.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Set as AbstractSet
from heapq import nlargest
from typing import Final

__all__ = ["Index"]

_K1: Final = 1.5
_B: Final = 0.9
_WORK: Final = 60_000
"""About so many numbers are added up to find the best documents. What does not fit in, the commonest tokens, is added
for the best alone: five times quicker among ten thousand documents and, measured, as good."""


class Index:
    """The documents' tokens, with weights computed once.

    Args:
        documents: The tokens of each. They are read once, one document at a time, so that only counts are in memory.
        common: Tokens that say nothing about a topic.
        discount: What one of these counts, where any other counts 1.
        usual_length: How many tokens a document usually has; those of longer ones weigh less.
    """

    def __init__(
        self, documents: Iterable[Iterable[str]], *, common: AbstractSet[str], discount: float, usual_length: float
    ) -> None:
        self._common, self._discount, self._usual_length = common, discount, usual_length
        self._lengths = array("i")
        self._held: dict[str, tuple[array[int], array[float]]] = {}
        for place, document in enumerate(documents):
            counts = Counter(document)
            self._lengths.append(counts.total())
            for token, times in counts.items():
                places, weights = self._held.setdefault(token, (array("i"), array("f")))
                places.append(place)
                weights.append(self._rarity(token) * self._share(times, place))

    def nearest(self, tokens: Iterable[str], *, limit: int) -> list[int]:
        """The places of the documents that hold most of `tokens`, the best first."""
        held = sorted((self._held[token] for token in tokens if token in self._held), key=lambda one: len(one[0]))
        found = [0.0] * len(self._lengths)
        spent = 0
        for places, weights in held:
            for place, weight in zip(places, weights, strict=True):
                found[place] += weight
            spent += len(places)
            if spent > _WORK:
                break
        return nlargest(limit, range(len(found)), key=found.__getitem__)

    def share(self, tokens: Collection[str], place: int) -> float:
        """What the document at `place` holds of `tokens`: 1 would be each of them, as often as you like."""
        whole = sum(map(self._rarity, tokens))
        return sum(self._weight(token, place) for token in tokens) / whole if whole else 0.0

    def once(self, place: int) -> float:
        """The share of a query whose every token the document at `place` holds once."""
        return self._share(1, place)

    def holds(self, token: str, place: int) -> bool:
        """Whether the document at `place` holds `token`."""
        return self._weight(token, place) > 0

    def _rarity(self, token: str) -> float:
        return self._discount if token in self._common else 1.0

    def _share(self, times: int, place: int) -> float:
        return times / (times + _K1 * (1 - _B + _B * self._lengths[place] / self._usual_length))

    def _weight(self, token: str, place: int) -> float:
        if (held := self._held.get(token)) is None:
            return 0.0
        position = bisect_left(held[0], place)
        return held[1][position] if position < len(held[0]) and held[0][position] == place else 0.0
