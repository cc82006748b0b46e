"""Okapi BM25 over an inverted index in memory, for some ten thousand short documents.

A document is a list of tokens of any kind (words, character runs, both); what its number stands for is its caller's
matter. It holds no text, learns nothing and forgets nothing: build a new one when the documents change.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log


class Bm25:
    """Scores documents, numbered from 0 in the order given, against queries.

    A token's weight in a document is `idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average))` with
    `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`. All weights are computed once, so a query only adds them up.

    Args:
        documents: Their tokens.
        k1: How soon repeats of a token stop counting.
        b: How much a long document is held back, from 0 to 1.
    """

    def __init__(self, documents: Iterable[Iterable[str]], *, k1: float = 1.2, b: float = 0.75) -> None:
        lengths = array("L")
        ids: dict[str, array[int]] = {}
        counts: dict[str, array[int]] = {}
        for number, document in enumerate(documents):
            token_counts = Counter(document)
            lengths.append(token_counts.total())
            for token, count in token_counts.items():
                if token not in ids:
                    ids[token], counts[token] = array("L"), array("L")
                ids[token].append(number)
                counts[token].append(count)
        average = sum(lengths) / len(lengths) if lengths else 0.0
        # What is added to tf below the line depends on the document alone.
        damping = [k1 * (1 - b + b * length / average) if average else k1 for length in lengths]
        self._size = len(lengths)
        self._ids = ids
        self._weights = {
            token: array(
                "d",
                (
                    self._idf(len(where)) * count * (k1 + 1) / (count + damping[number])
                    for number, count in zip(where, counts[token], strict=True)
                ),
            )
            for token, where in ids.items()
        }
        self._best = {token: max(weights) for token, weights in self._weights.items()}

    def __len__(self) -> int:
        return self._size

    def idf(self, token: str) -> float:
        """How telling `token` is: high when few documents hold it, highest when none does."""
        return self._idf(len(self._ids.get(token, ())))

    def scores(self, query: Iterable[str]) -> dict[int, float]:
        """The score of every document that holds a token of `query`; a token asked twice counts twice."""
        query_counts = {token: count for token, count in Counter(query).items() if token in self._ids}
        posting_count = sum(len(self._ids[token]) for token in query_counts)
        if posting_count * 4 > self._size:
            return self._dense(query_counts)
        scores: dict[int, float] = {}
        for token, times in query_counts.items():
            for number, weight in zip(self._ids[token], self._weights[token], strict=True):
                scores[number] = scores.get(number, 0.0) + weight * times
        return scores

    def best(self, query: Iterable[str], *, limit: int = 10) -> list[tuple[int, float]]:
        """The documents with the highest scores, best first; of equals the one with the lower number."""
        return sorted(self.scores(query).items(), key=lambda item: (-item[1], item[0]))[:limit]

    def max_score(self, query: Sequence[str]) -> float:
        """What a document would reach that held each token of `query` as well as any document does.

        A token that no document holds counts as if one of average length held it once, so that a query of mostly
        unknown words can come near its own maximum with none of the documents.
        """
        times = Counter(query)
        return sum(self._best.get(token, self._idf(0)) * count for token, count in times.items())

    def _dense(self, query_counts: Mapping[str, int]) -> dict[int, float]:
        totals = [0.0] * self._size
        for token, times in query_counts.items():
            weights = self._weights[token]
            for number, weight in zip(self._ids[token], weights, strict=True):
                totals[number] += weight * times
        return {number: total for number, total in enumerate(totals) if total}

    def _idf(self, holders: int) -> float:
        return log(1 + (self._size - holders + 0.5) / (holders + 0.5))
