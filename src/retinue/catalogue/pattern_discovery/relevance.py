"""How well things fit some words: BM25 over small texts made of names, and how much of the words they cover.

The weight of a word is BM25's inverse document frequency among the things themselves, so a word that none of them has
weighs most: it is what would be new.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from retinue.tools.search import Bm25, terms
from retinue.tools.search.words import STOP_WORDS, WORD, fold

__all__ = ["Ranked", "Ranking", "asked_words", "weighted"]

_ASKING_WORDS: Final = """
    already an another any anything available best build by can check checked checks code combine compose composed
    context could cover covered covers create existing exist exists find finding fixture fixtures focus for gives
    give given giving help helper helpers how i information instead into kind like list look lookup made make me my
    need needed needs new nothing object offer offers one or pattern patterns please project provide provides
    providing pytest ready return returns reuse reusable set setup should show similar some someone something suite
    survey test tested testing tests that thing things want way we what where which with without work would write
    writing yield yields you
"""
_ASKING: Final = frozenset(form for word in _ASKING_WORDS.split() for form in (word, fold(word)))
"""Words that ask for a pattern, but need not stand in one."""


_SHORTEST: Final = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """One thing and how well it fits.

    Attributes:
        score: Its BM25 over the most that these words could reach, those that nothing has included; 0 to 1.
        words: The words it has, as they were asked.
    """

    number: int
    score: float
    words: tuple[str, ...]


class Ranking:
    """Things to be found by words.

    Args:
        documents: The words of each thing, repeats counting.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        held = list(documents)
        self._bm25 = Bm25(held)
        self._words = [frozenset(one) for one in held]
        self._vocabulary = sorted(frozenset[str]().union(*self._words))

    def best(self, asked: Mapping[str, str], *, limit: int) -> list[Ranked]:
        """The things that fit best; none that has none of the words."""
        forms = self._forms(asked)
        most = self._bm25.max_score([term for terms_of in forms.values() for term in terms_of])
        found = self._bm25.best([term for terms_of in forms.values() for term in terms_of], limit=limit)
        return [
            Ranked(
                number,
                score / most,
                tuple(word for word, terms_of in forms.items() if not self._words[number].isdisjoint(terms_of)),
            )
            for number, score in found
        ]

    def coverage(self, asked: Mapping[str, str], numbers: Iterable[int]) -> tuple[float, tuple[str, ...]]:
        """How much of the words' weight some things have together, 0 to 1, and the words that none of them has."""
        held = frozenset[str]().union(*(self._words[number] for number in numbers))
        forms = self._forms(asked)
        weights = {word: max(map(self._bm25.idf, terms_of)) for word, terms_of in forms.items()}
        whole = sum(weights.values())
        missing = tuple(word for word, terms_of in forms.items() if held.isdisjoint(terms_of))
        covered = whole - sum(weights[word] for word in missing)
        return (covered / whole if whole else 0.0), missing

    def _forms(self, asked: Mapping[str, str]) -> dict[str, list[str]]:
        """Each word asked for with the terms it may stand as: itself, and what begins it (`auth`, `authenticated`)."""
        forms: dict[str, list[str]] = {}
        for term, word in asked.items():
            own = forms.setdefault(word, [])
            own.append(term)
            if term not in self._known(term):
                own += self._known(term)
        return forms

    def _known(self, term: str) -> list[str]:
        """The known terms that `term` begins with, or that begin with it, none shorter than four letters."""
        if len(term) < _SHORTEST:
            return []
        place = bisect_left(self._vocabulary, term)
        longer = takewhile(lambda one: one.startswith(term), islice(self._vocabulary, place, place + 8))
        shorter = (term[:end] for end in range(len(term) - 1, _SHORTEST - 1, -1))
        return [*longer, *(one for one in shorter if self._has(one))]

    def _has(self, term: str) -> bool:
        place = bisect_left(self._vocabulary, term)
        return place < len(self._vocabulary) and self._vocabulary[place] == term


def asked_words(text: str) -> dict[str, str]:
    """The words of a request that may stand in a pattern, as search terms, each with the word it came from."""
    found: dict[str, str] = {}
    for word in WORD.findall(text[:2000]):
        folded = word.casefold()
        if folded in STOP_WORDS or folded in _ASKING or len(folded) < 2:
            continue
        for term in terms(word):
            if term not in _ASKING:
                found.setdefault(term, word)
    return dict(list(found.items())[:32])


def weighted(*parts: tuple[str, int]) -> list[str]:
    """The terms of some texts, each as often as it counts."""
    return [term for text, times in parts for term in terms(text) * times]
