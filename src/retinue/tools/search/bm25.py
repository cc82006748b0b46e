"""Okapi BM25 over an inverted index in memory, for some ten thousand short documents.

A document is a list of tokens of any kind (words, character runs, both); what its number stands for is its caller's
matter. It holds no text, learns nothing and forgets nothing: build a new one when the documents change. `terms` makes
tokens of a text.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import Final
from unicodedata import combining, normalize

_K1: Final = 1.2
"""How soon repeats of a token stop counting."""
_B: Final = 0.75
"""How much a long document is held back, from 0 to 1."""


class Bm25:
    """Scores documents, numbered from 0 in the order given, against queries.

    A token's weight in a document is `idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average))` with
    `idf = ln(1 + (n - df + 0.5) / (df + 0.5))`. All weights are computed once, so a query only adds them up.

    Args:
        documents: Their tokens.
    """

    def __init__(self, documents: Iterable[Iterable[str]]) -> None:
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
        damping = [_K1 * (1 - _B + _B * length / average) if average else _K1 for length in lengths]
        self._size = len(lengths)
        self._ids = ids
        self._weights = {
            token: array(
                "d",
                (
                    self._idf(len(where)) * count * (_K1 + 1) / (count + damping[number])
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
        # Once every fourth document has a posting, adding into a list is quicker than into a dict.
        if posting_count * 4 > self._size:
            totals = [0.0] * self._size
            for token, times in query_counts.items():
                weights = self._weights[token]
                for number, weight in zip(self._ids[token], weights, strict=True):
                    totals[number] += weight * times
            return {number: total for number, total in enumerate(totals) if total}
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

    def _idf(self, holders: int) -> float:
        return log(1 + (self._size - holders + 0.5) / (holders + 0.5))


WORD: Final = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL = re.compile(r"[aeiouy]")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_LONGEST = 64

_STOP_WORDS = """
    a about all also am an and any are as at be because been but by can could did do does doing done each for
    from get had has have he her here him his how i if in into is it its just let may me might must my need no
    not of on or our out over own please shall she should show so some such tell than that the their them then
    there these they this those to too up us use used using very want was we were what when where which who why
    will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""Words that say nothing about what a text is about; a query that has no others keeps them."""


def terms(text: str) -> list[str]:
    """All search terms of `text` in order, with repeats: `readAllLines` gives `readalllin`, `read`, `all`, `lin`."""
    return [term for word in WORD.findall(text) for term in expand(word)]


def strip_accents(text: str) -> str:
    """`text` in lower case, without accents and underscores: where the terms of `text` are found as substrings."""
    if text.isascii():
        return text.lower().replace("_", "")
    decomposed = normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not combining(character)).replace("_", "")


@lru_cache(maxsize=1 << 16)
def expand(word: str) -> tuple[str, ...]:
    """The terms of one word: itself as a whole, and its parts when it is an identifier of several."""
    if len(word) > _LONGEST:
        return ()  # a hash, a key or encoded bytes
    if not word.isascii():
        other = strip_accents(word)
        if _WITHOUT_SPACES.search(other) and len(other) > 2:  # pairs of characters, where a script has no spaces
            return tuple(dict.fromkeys(other[start : start + 2] for start in range(len(other) - 1)))
        return (fold(other),) if other else ()
    parts = _PARTS.findall(word)
    whole = fold(word.lower().replace("_", ""))
    if len(parts) < 2:
        return (whole,) if whole else ()
    return tuple(dict.fromkeys((whole, *(fold(part.lower()) for part in parts))))


def fold(word: str) -> str:
    """A lower-case word without plural, `-ed`, `-ing` and last `e`, `i`, `y`: `retries`, `retry`, `retried` meet."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    stem = word
    if word.endswith("ies") and len(word) > 5:
        stem = word[:-3]
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        stem = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        stem = word[:-1]
    for ending in ("ing", "ed"):
        if stem.endswith(ending) and len(stem) - len(ending) >= 3 and _VOWEL.search(stem, 0, len(stem) - len(ending)):
            stem = stem.removesuffix(ending)
            if stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]
            break
    while len(stem) > 3 and stem[-1] in "eiy":
        stem = stem[:-1]
    return stem
