"""How requests begin: "how do I", "who", "when was". What the words of a topic cannot tell, this often does.

Learned from the example utterances of each skill and from nothing else. An opening that begins most requests to a skill
("who changed …") says much for it, one that begins a few of them little; what others are asked does not count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from retinue.orchestration.reader.spelling import one_edit_from
from retinue.orchestration.routing.words import FUNCTION_WORDS

__all__ = ["Openings", "opening"]

_KINDS: Final = {
    word: kind
    for kind, words in {
        "be": "is are was were am be been",
        "do": "do does did",
        "have": "has have had",
        "can": "can could should would will may might must",
        "many": "many much often long far old frequently",
    }.items()
    for word in words.split()
}
_ASKING: Final = frozenset(["how", "what", "when", "where", "which", "who", "whom", "whose", "why"])
_DETERMINERS: Final = frozenset(["the", "a", "an", "this", "my", "our", "that"])
_PREPOSITIONS: Final = frozenset(
    ["about", "above", "at", "below", "by", "for", "from", "in", "of", "on", "since", "to", "under", "until", "with"]
)
_AMOUNTS: Final = frozenset(word for word, kind in _KINDS.items() if kind == "many")
_LONG_ASKING: Final = frozenset(word for word in _ASKING if len(word) > 3)
_COMMON: Final = frozenset(FUNCTION_WORDS.split())
"""No misspellings, however like a question word: "then", "that", "here"."""
_DOUBT: Final = 0.5
"""As if there were half an example more, that begins in another way."""
_FIRST: Final = 0.5
"""Of an opening only its first word known is worth half."""
_ANYBODYS: Final = 0.05
"""How often any opening begins a request to anybody, so that one that begins one of twenty examples says little."""
_TELLING_EXAMPLES: Final = 8
"""So many examples, and no question among them: such a skill is told to do something, and not asked."""


def opening(text: str) -> str:
    """How `text` begins: its question word and the kind of auxiliary after it; empty for anything but a question."""
    words = text.lower().split(maxsplit=6)[:6]
    if len(words) > 1 and words[0] in _PREPOSITIONS and words[1] in _ASKING:  # "in which unit", "by whom"
        del words[0]
    first, second = [word.strip(",?!.:;'\"") for word in (*words[:2], "", "")][:2]
    if first not in _COMMON:
        first = one_edit_from(first, _LONG_ASKING) or first
    if first in _ASKING and second in _DETERMINERS:  # "how the cache is kept up to date"
        second = next((word for word in words[2:] if word in _KINDS), second)
    if first in _ASKING:
        return f"{first} {_KINDS.get(second, '')}".strip()
    return _KINDS.get(first, "") if first not in _AMOUNTS else ""


class Openings:
    """Which skills are asked with which openings, by the skills' own examples.

    Args:
        examples: The examples of every skill, in the skills' order.

    Attributes:
        told: The skills that are never asked a question.
    """

    def __init__(self, examples: Iterable[Sequence[str]]) -> None:
        self._seen: dict[str, dict[int, float]] = {}
        self._first: dict[str, dict[int, float]] = {}
        self.told: list[int] = []
        for place, texts in enumerate(examples):
            openings = Counter(begun for begun in map(opening, texts) if begun)
            if not openings and len(texts) >= _TELLING_EXAMPLES:
                self.told.append(place)
            for begun, times in openings.items():
                self._seen.setdefault(begun, {})[place] = times / (len(texts) + _DOUBT)
            firsts = Counter(begun.partition(" ")[0] for begun in openings.elements())
            for first, times in firsts.items():
                self._first.setdefault(first, {})[place] = _FIRST * times / (len(texts) + _DOUBT)

    def shares(self, text: str) -> dict[int, float]:
        """For each skill that has such examples, how much this opening speaks for it, below 1.

        An opening that a skill has no example of is read by its first word: "why would" as "why".
        """
        begun = opening(text)
        rates = self._first.get(begun.partition(" ")[0], {}) | self._seen.get(begun, {})
        return {place: rate / (rate + _ANYBODYS) for place, rate in rates.items()}
