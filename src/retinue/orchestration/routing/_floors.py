"""How good is good enough: the least share of a request that a skill must know.

The floor of a skill comes from its own text and examples and from nothing else, so that nobody's floor moves when
another agent joins. Ranking is not for here: whoever ranks says what an example would get without itself.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

__all__ = ["FALLBACK_FLOOR", "Floors", "Share"]

FALLBACK_FLOOR: Final = 0.095
"""The floor of a skill with too few examples to find its own: of the requests of two public sets (`bench/router.py`) it
keeps three quarters of those that can be answered, and refuses three quarters of those that cannot."""

Share: TypeAlias = Callable[[int, str], float]
"""For the skill at a place and one of its examples: its share, had its definition not held that example."""

_PART: Final = 0.63
"""So much of a request must usually be known, as if each of its words stood in the skill's text once."""
_LEAST_FLOOR: Final = 0.05
"""Below this only parts of words agree."""
_MOST_FLOOR: Final = 0.255
"""Above this requests are meant: found on 150 intents with 5 and with 20 examples each, where it is the same."""
_OPEN_SHARE: Final = 0.25
"""Examples that know less of each other than this, at the median, have no topic in common."""
_LEFT_OUT: Final = 0.1
_ENOUGH: Final = 3
_ENOUGH_TO_BE_OPEN: Final = 6
_ENOUGH_FOR_A_TENTH: Final = 16
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
        self._shares: dict[int, list[float]] = {}

    def of(self, place: int, share: float, *, asked: bool) -> float:
        """The share that is good enough for the skill at `place`, which reaches `share`.

        Args:
            place: Which skill it is.
            share: What it reaches; one that is far from any floor needs no looking up.
            asked: It is a question. Of a skill that `is_open` a question may know as little as nine of ten of its
                examples do, each left out in turn; what is told it must know as much as is usual.
        """
        if self._given is not None:
            return self._given
        examples = len(self._examples[place])
        if examples < _ENOUGH:
            return FALLBACK_FLOOR
        usual = min(max(_PART * self._once[place], _LEAST_FLOOR), _MOST_FLOOR)
        if not _LEAST_FLOOR <= share < _MOST_FLOOR:
            return usual
        if asked and self.is_open(place):
            return min(usual, max(self._tenth(place), _LEAST_FLOOR))
        if share >= usual and examples >= _ENOUGH_FOR_A_TENTH:
            return max(usual, min(self._tenth(place), _MOST_FLOOR))
        return usual

    def is_open(self, place: int) -> bool:
        """Whether the skill at `place` is asked about anything, as its examples show, each left out in turn.

        "How does the parser work", "what is a blueprint": such a skill cannot name its topics, and how a request begins
        tells more about it than what it speaks of.
        """
        if len(self._examples[place]) < _ENOUGH_TO_BE_OPEN:
            return False
        shares = self._left_out(place)
        return shares[len(shares) // 2] < _OPEN_SHARE

    def _tenth(self, place: int) -> float:
        """What nine of ten of its examples reach, each left out in turn."""
        shares = self._left_out(place)
        return shares[int(len(shares) * _LEFT_OUT)]

    def _left_out(self, place: int) -> list[float]:
        if place not in self._shares:
            self._shares[place] = sorted(self._share(place, one) for one in self._examples[place][:_MOST_EXAMPLES])
        return self._shares[place]
