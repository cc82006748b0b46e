"""How usual the words of a request are in the examples of each skill: naive Bayes over example utterances.

BM25 asks how rare a word is; here it counts how steadily a skill is asked in such words, function words included. So a
topic that stands in one example of a skill by chance weighs less than the words that all its examples share.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from retinue.orchestration._view import word_tokens

__all__ = ["Usage"]

_IMAGINED: Final = 0.8
"""As if every word had been seen nearly once with every skill."""


class Usage:
    """The words of the examples of some skills.

    Args:
        examples: The examples of every skill, in the skills' order.
    """

    def __init__(self, examples: Iterable[Iterable[str]]) -> None:
        self._seen = [Counter(token for text in texts for token in set(word_tokens(text))) for texts in examples]
        known = len({token for seen in self._seen for token in seen})
        self._lengths = [math.log(seen.total() + _IMAGINED * (known + 1)) for seen in self._seen]
        self._is_empty = not known

    def weigh(self, tokens: Collection[str], places: Sequence[int]) -> list[float]:
        """How likely each of `places` is asked with these words, as natural logarithms; 0 is the likeliest.

        All are equally likely where nobody gives an example.
        """
        if self._is_empty or not places:
            return [0.0] * len(places)
        found = [
            sum(math.log(self._seen[place].get(token, 0) + _IMAGINED) for token in tokens)
            - len(tokens) * self._lengths[place]
            for place in places
        ]
        best = max(found)
        return [one - best for one in found]
