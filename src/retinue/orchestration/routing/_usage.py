"""How usual the words of a request are in the examples of each skill: naive Bayes over example utterances.

BM25 asks how rare a word is; here it counts how steadily a skill is asked in such words, function words included. So a
topic that stands in one example of a skill by chance weighs less than the words that all its examples share.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from retinue.orchestration.routing.words import word_tokens

__all__ = ["Usage"]

_IMAGINED: Final = 1.2
"""As if every word had been seen about once with every skill."""
_VOCABULARY: Final = 1_500
"""So many words people use when they ask for something. It is not counted among the skills at hand, since what is
usual for one must not depend on the others."""


class Usage:
    """The words of the examples of some skills.

    Args:
        examples: The examples of every skill, in the skills' order.
    """

    def __init__(self, examples: Iterable[Iterable[str]]) -> None:
        self._seen = [Counter(token for text in texts for token in set(word_tokens(text))) for texts in examples]
        imagined = _IMAGINED * _VOCABULARY
        self._unseen = [math.log(imagined / (seen.total() + imagined)) for seen in self._seen]

    def weigh(self, tokens: Collection[str], place: int) -> float:
        """How much likelier than anybody the skill at `place` is asked with these words, as a natural logarithm.

        0 for a skill without examples, about which nothing is known.
        """
        seen = self._seen[place]
        known = sum(math.log(1 + seen[token] / _IMAGINED) for token in tokens if token in seen)
        return known + len(tokens) * self._unseen[place]
