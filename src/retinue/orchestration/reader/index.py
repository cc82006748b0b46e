"""BM25 over many short documents and one short query: by their words, or by their character 4-grams.

It is not a text search: it keeps no text, no places, and nothing on disk. `scores` rank documents among each other, and
`share` says how much of a query one document has, whatever the others say.
"""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set as AbstractSet
from heapq import nlargest
from math import log, sqrt
from operator import mul
from typing import Final

_K1: Final = 1.5
_B: Final = 0.9
_COMMON: Final = 0.3
"""What a function word, or a 4-gram of them, counts in a share where any other counts 1."""
_WORK: Final = 60_000
"""About so many numbers are added up to find the best documents. What does not fit in, the commonest tokens, is added
for the best alone: five times quicker among ten thousand documents and, measured, as good."""
_SHORTLIST: Final = 128


class SkillIndex:
    """The documents' tokens, with weights computed once.

    Args:
        documents: The tokens of each.
        common: Tokens that say nothing about a topic.
    """

    def __init__(self, documents: Iterable[Iterable[str]], *, common: AbstractSet[str]) -> None:
        self._common = common
        lengths = array("i")
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        for place, document in enumerate(documents):
            counts = Counter(document)
            lengths.append(counts.total())
            for token, times in counts.items():
                places, weights = self._postings.setdefault(token, (array("i"), array("f")))
                places.append(place)
                weights.append(times)
        mean_length = sum(lengths) / len(lengths) if lengths else 1.0
        self._length_norm = array("f", (_K1 * (1 - _B + _B * length / (mean_length or 1.0)) for length in lengths))
        for places, weights in self._postings.values():
            for number, place in enumerate(places):
                weights[number] /= weights[number] + self._length_norm[place]

    def __len__(self) -> int:
        return len(self._length_norm)

    def scores(self, tokens: Iterable[str]) -> list[float]:
        """What each document scores for a query; among thousands only the best are scored in full."""
        postings = [one for token in tokens if (one := self._postings.get(token)) is not None]
        postings.sort(key=lambda one: len(one[0]))
        total = [0.0] * len(self)
        spent = 0
        while postings and spent <= _WORK:
            places, weights = postings.pop(0)
            idf = self._idf(len(places))
            for place, weight in zip(places, weights, strict=True):
                total[place] += idf * weight
            spent += len(places)
        for place in nlargest(_SHORTLIST, range(len(total)), key=total.__getitem__) if postings else ():
            total[place] += sum(self._idf(len(one[0])) * _weight(one, place) for one in postings)
        return total

    def share(self, tokens: Collection[str], index: int) -> float:
        """What the document at `index` has of `tokens`: 1 would be each of them, as often as you like."""
        total = sum(map(self._token_weight, tokens))
        score = sum(self._token_weight(token) * self.weight(token, index) for token in tokens)
        return score / total if total else 0.0

    def single_share(self, index: int) -> float:
        """The share of a query whose every token the document at `index` has once."""
        return 1 / (1 + self._length_norm[index])

    def weight(self, token: str, index: int) -> float:
        """How much the document at `index` has of `token`, 0 to 1."""
        return _weight(self._postings[token], index) if token in self._postings else 0.0

    def _idf(self, holders: int) -> float:
        return log(1 + (len(self) - holders + 0.5) / (holders + 0.5))

    def _token_weight(self, token: str) -> float:
        return _COMMON if token in self._common else 1.0


def z_scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each value lies above the mean of them all and of nothing.

    Without that "nothing" the scores of two documents would be 1 and -1, however near they are.
    """
    count = len(values) + 1
    mean = sum(values) / count
    deviation = sqrt(max(0.0, sum(map(mul, values, values)) / count - mean * mean)) or 1.0
    return [(value - mean) / deviation for value in values]


def _weight(posting: tuple["array[int]", "array[float]"], index: int) -> float:
    places, weights = posting
    position = bisect_left(places, index)
    return weights[position] if position < len(places) and places[position] == index else 0.0
