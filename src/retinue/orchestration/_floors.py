"""How good is good enough: the least share of a request that a skill must know, found on the registry's own examples.

Raw scores do not transfer from one registry to another, so each finds its own floor. Ranking is not for here: whoever
ranks says, for an example, what its own skill and the best of the others would get.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

__all__ = ["FALLBACK_FLOOR", "Floors", "Shares"]

FALLBACK_FLOOR: Final = 0.06
"""The floor of a registry with too few examples to find its own: it keeps 9 of 10 of the answerable and refuses 2 of 3
of the unanswerable requests of a public tool-routing set (`bench/router.py`)."""

Shares: TypeAlias = Callable[[int, str], tuple[float, float]]
"""For the skill at a place and one of its examples: its own share, had its definition not held that example, and the
best of all other agents'."""

_LEAST_FLOOR: Final = 0.05
"""A small registry with examples of many kinds finds a floor near nothing. Below this only parts of words agree."""

_KEPT_SHARE: Final = 0.9
_OPEN_SHARE: Final = 0.4
_LEAST_EXAMPLES: Final = 8
_LEAST_OF_ONE: Final = 3
_MOST_EXAMPLES: Final = 64


class Floors:
    """The floors of one registry.

    Args:
        examples: Those of every skill, in the skills' order.
        shares: What an example gets.
        floor: The floor to use instead of one that is found.

    Attributes:
        floor: The least share that is good enough for most skills. It is found on the registry's own examples, each
            left out in turn of its own agent's text: at most the share that keeps nine of ten of them, at least what
            the best of the *other* agents gets for half of them. A registry with fewer than eight examples uses
            `FALLBACK_FLOOR`.
        calibrated: Whether the floor was found on examples.
    """

    def __init__(self, examples: Sequence[Sequence[str]], shares: Shares, *, floor: float | None) -> None:
        self._examples, self._shares = examples, shares
        self._of: dict[int, float] = {}
        found = self._found() if floor is None else floor
        self.calibrated = floor is None and found is not None
        self.floor = FALLBACK_FLOOR if found is None else found

    def of(self, place: int, share: float) -> float:
        """The share that is good enough for the skill at `place`, which reaches `share`.

        It is less for one whose examples have no topic in common. Whoever is asked about anything ("how does the
        parser work", "what is a blueprint") cannot name its topics. It shows in the examples, each left out in turn:
        many of them are nearer to another agent. Nine of ten of them tell how little of a request such a skill may
        know and still be meant.
        """
        if share >= self.floor or not self.calibrated:
            return self.floor
        if place not in self._of:
            shares = [self._shares(place, one) for one in self._examples[place][:_MOST_EXAMPLES]]
            own = sorted(one for one, _ in shares)
            kept = max(own[int(len(own) * (1 - _KEPT_SHARE))], _LEAST_FLOOR) if _is_open(shares) else self.floor
            self._of[place] = min(self.floor, kept)
        return self._of[place]

    def _found(self) -> float | None:
        """The floor by leaving one example out, or None when there are too few."""
        examples = [
            (place, example)
            for place, said in enumerate(self._examples)
            if len(said) >= _LEAST_OF_ONE
            for example in said
        ]
        if len(examples) < _LEAST_EXAMPLES:
            return None
        seen: dict[int, list[tuple[float, float]]] = {}
        for place, example in examples[:: math.ceil(len(examples) / _MOST_EXAMPLES)]:
            seen.setdefault(place, []).append(self._shares(place, example))
        # Whoever is asked about anything has a floor of its own, and does not lower that of the others.
        told = [pairs for pairs in seen.values() if not _is_open(pairs)] or list(seen.values())
        own = sorted(share for pairs in told for share, _ in pairs)
        others = sorted(share for pairs in seen.values() for _, share in pairs)
        keeps = own[int(len(own) * (1 - _KEPT_SHARE))]
        wanted = min(keeps, max(others[len(others) // 2], FALLBACK_FLOOR))
        return round(max(wanted, _LEAST_FLOOR), 4)


def _is_open(shares: Sequence[tuple[float, float]]) -> bool:
    """Whether many of a skill's examples are nearer to another agent, so that it cannot be told by its topics.

    Args:
        shares: For some of its examples its own share without that example, and the best of another agent.
    """
    return len(shares) >= _LEAST_EXAMPLES and sum(own < other for own, other in shares) > _OPEN_SHARE * len(shares)
