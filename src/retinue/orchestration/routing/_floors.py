"""How good is good enough: the least share of a request that a skill must know.

The floor of a skill comes from its own text and examples and from nothing else, so that nobody's floor moves when
another agent joins. Ranking is not for here: whoever ranks says what an example would get without itself.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

__all__ = ["FALLBACK_FLOOR", "Floors", "Share"]

FALLBACK_FLOOR: Final = 0.07
"""The floor of a skill with too few examples to find its own: it keeps 9 of 10 of the answerable and refuses 6 of 10
of the unanswerable requests of a public tool-routing set (`bench/router.py`)."""

Share: TypeAlias = Callable[[int, str], float]
"""For the skill at a place and one of its examples: its share, had its definition not held that example."""

_PART: Final = 0.6
"""So much of a request must usually be known, as if each of its words stood in the skill's text once."""
_LEAST_FLOOR: Final = 0.05
"""Below this only parts of words agree."""
_LEFT_OUT: Final = 0.1
_ENOUGH: Final = 3
_MOST_EXAMPLES: Final = 64


class Floors:
    """The floors of some skills.

    Args:
        examples: Those of every skill, in the skills' order.
        once: What share each skill would have of a request whose every word stood once in its text; the longer the
            text, the less.
        share: What an example gets.
        floor: The floor to use for all instead of those that are found.
    """

    def __init__(
        self, examples: Sequence[Sequence[str]], once: Sequence[float], share: Share, *, floor: float | None
    ) -> None:
        self._examples, self._once, self._share, self._given = examples, once, share, floor
        self._found: dict[int, float] = {}

    def of(self, place: int, share: float, *, asked: bool) -> float:
        """The share that is good enough for the skill at `place`, which reaches `share`.

        Args:
            place: Which skill it is.
            share: What it reaches; a better one needs less looking up.
            asked: It is a question. Whoever is asked about anything ("how does the parser work", "what is a blueprint")
                cannot name its topics. So a question may know as little of a skill as nine of ten of its examples do,
                each left out in turn; what is told it must know as much as is usual.
        """
        if self._given is not None:
            return self._given
        if len(self._examples[place]) < _ENOUGH:
            return FALLBACK_FLOOR
        usual = max(_PART * self._once[place], _LEAST_FLOOR)
        if not asked or not _LEAST_FLOOR <= share < usual:
            return usual
        if place not in self._found:
            shares = sorted(self._share(place, one) for one in self._examples[place][:_MOST_EXAMPLES])
            self._found[place] = max(shares[int(len(shares) * _LEFT_OUT)], _LEAST_FLOOR)
        return min(self._found[place], usual)
