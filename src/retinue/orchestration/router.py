"""Which skill a clause of a goal is for: ranking among all agents there are, and the right to say "none of them".

What an agent is asked for is taken from its definition alone: names, descriptions, parameters and `examples`. There is
no rule here for any one agent, and no model.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from itertools import chain
from operator import mul
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration._opening import Openings
from retinue.orchestration._view import FUNCTION_WORDS, View, gram_tokens, word_tokens
from retinue.orchestration.reading.parameter import parameters_of

__all__ = ["FALLBACK_FLOOR", "Router", "Routing"]

FALLBACK_FLOOR: Final = 0.06
"""The floor of a registry with too few examples to find its own: it keeps 9 of 10 of the answerable and refuses 2 of 3
of the unanswerable requests of a public tool-routing set (`bench/router.py`)."""

_LEAST_FLOOR: Final = 0.05
"""A small registry with examples of many kinds finds a floor near nothing. Below this only parts of words agree."""

_KEPT_SHARE: Final = 0.9
_LEAST_EXAMPLES: Final = 8
_LEAST_OF_ONE: Final = 3
_MOST_EXAMPLES: Final = 64
_SHORTLIST: Final = 128
_OPENING_SCORE: Final = 2.0
_OPENING_SHARE: Final = 0.15
"""What an opening that belongs to one skill alone adds: two standard deviations, and enough to pass the usual floor,
since whoever answers "how do I …" can say best that it found nothing."""
_QUERY_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Routing:
    """Who could do a clause, best first.

    Attributes:
        abstained: The best is below the floor: nobody here does this, and `candidates` are only the nearest.
        reason: Why, in words a person can judge.
    """

    candidates: tuple[Candidate, ...]
    abstained: bool
    reason: str


class Router:
    """Ranks the skills of some agents for a clause.

    Two views, words and character 4-grams, are each scored by BM25; the sum of their z-scores ranks, with a bonus for
    requests that begin as the examples of that skill alone do ("who …", "how do …"). Whether the best
    is good enough is decided on its *share*: its score over the best that this clause could reach, which is comparable
    between clauses as the scores themselves are not.

    Attributes:
        floor: The least share that is good enough. It is found on the registry's own examples, each left out in turn
            of its own agent's text: at most the share that keeps nine of ten of them, at least what the best of the
            *other* agents gets for half of them. A registry with fewer than eight examples uses `FALLBACK_FLOOR`.
        calibrated: Whether the floor was found on examples.
    """

    def __init__(self, definitions: Iterable[Definition], *, floor: float | None = None) -> None:
        self._skills = [
            (definition, skill) for definition in definitions for skill in definition.skills if not skill.unavailable
        ]
        texts = [_texts(definition, skill) for definition, skill in self._skills]
        self._words = View((_tokens(word_tokens, text) for text in texts), background=word_tokens(FUNCTION_WORDS))
        self._grams = View((_tokens(gram_tokens, text) for text in texts), background=gram_tokens(FUNCTION_WORDS))
        self._openings = Openings(skill.examples for _, skill in self._skills)
        found = self._calibrate() if floor is None else floor
        self.calibrated = floor is None and found is not None
        self.floor = FALLBACK_FLOOR if found is None else found

    def route(self, clause: str, *, limit: int = 5) -> Routing:
        """The best `limit` skills for `clause`, of which only the first 2,000 characters are read."""
        query = _Query(clause)
        ranked = self._rank(query, limit=limit)
        if ranked and ranked[0].topic < self.floor:  # nobody knows the topic, so how it begins is all there is
            ranked.sort(key=lambda one: -one.share)
        candidates = tuple(self._candidate(query, found) for found in ranked)
        if not candidates:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        best = candidates[0]
        name = f"`{best.agent}.{best.skill}`"
        if best.share < self.floor or not best.share:
            reason = f"The nearest, {name}, fits to {best.share:.2f} where {self.floor:.2f} is needed."
            return Routing(candidates, abstained=True, reason=reason)
        return Routing(candidates, abstained=False, reason=f"{name} fits to {best.share:.2f}: it {best.reason}.")

    def _rank(self, query: "_Query", *, limit: int) -> list["_Found"]:
        if not self._skills:
            return []
        words, common_words = self._words.scores(query.words)
        grams, common_grams = self._grams.scores(query.grams)
        word_mean, word_scale = _spread(words)
        gram_mean, gram_scale = _spread(grams)
        summed = [word * word_scale + gram * gram_scale for word, gram in zip(words, grams, strict=True)]
        shift = word_mean * word_scale + gram_mean * gram_scale
        word_reach = self._words.reach(query.words) or 1.0
        gram_reach = self._grams.reach(query.grams) or 1.0
        begins = self._openings.shares(query.text)
        for place, share in begins.items():
            summed[place] += _OPENING_SCORE * share
        found: list[_Found] = []
        for place in nlargest(max(limit, _SHORTLIST), range(len(summed)), key=summed.__getitem__):
            word = words[place] + self._words.add(common_words, place)
            gram = grams[place] + self._grams.add(common_grams, place)
            begun = begins.get(place, 0.0)
            score = word * word_scale + gram * gram_scale - shift + _OPENING_SCORE * begun
            topic = (word / word_reach + gram / gram_reach) / 2
            found.append(_Found(place, score, topic, topic + _OPENING_SHARE * begun))
        return nlargest(limit, found, key=lambda one: (one.score, -one.place))

    def _candidate(self, query: "_Query", found: "_Found") -> Candidate:
        definition, skill = self._skills[found.place]
        shared = [word for word, token in query.spelled.items() if self._words.holds(token, found.place)]
        return Candidate(
            agent=definition.name,
            skill=skill.name,
            score=round(found.score, 4),
            share=round(min(1.0, found.share), 4),
            reason=f"shares {', '.join(shared[:6])}" if shared else "shares parts of words only",
        )

    def _calibrate(self) -> float | None:
        """The floor by leaving one example out, or None when there are too few.

        Openings do not count here: they help a request over the floor, and must not raise it for those without one.
        """
        examples = [
            (place, example)
            for place, (_, skill) in enumerate(self._skills)
            if len(skill.examples) >= _LEAST_OF_ONE
            for example in skill.examples
        ]
        if len(examples) < _LEAST_EXAMPLES:
            return None
        own: list[float] = []
        others: list[float] = []
        for place, example in examples[:: math.ceil(len(examples) / _MOST_EXAMPLES)]:
            query = _Query(example)
            own.append(self._share_without(query, place, example))
            agent = self._skills[place][0].name
            rivals = (one.topic for one in self._rank(query, limit=20) if self._skills[one.place][0].name != agent)
            others.append(next(rivals, 0.0))
        keeps = sorted(own)[int(len(own) * (1 - _KEPT_SHARE))]
        wanted = min(keeps, max(sorted(others)[len(others) // 2], FALLBACK_FLOOR))
        return round(max(wanted, _LEAST_FLOOR), 4)

    def _share_without(self, query: "_Query", place: int, example: str) -> float:
        """The share that the skill at `place` would have, had its definition not held `example`."""
        texts = _texts(*self._skills[place])
        texts.remove(example)
        words = self._words.score_of(query.words, Counter(_tokens(word_tokens, texts)))
        grams = self._grams.score_of(query.grams, Counter(_tokens(gram_tokens, texts)))
        return (words / (self._words.reach(query.words) or 1.0) + grams / (self._grams.reach(query.grams) or 1.0)) / 2


@dataclass(frozen=True, slots=True)
class _Found:
    place: int
    score: float
    topic: float
    share: float


class _Query:
    """A clause as each view reads it: every token once, in order."""

    __slots__ = ("grams", "spelled", "text", "words")

    def __init__(self, clause: str) -> None:
        self.text = text = clause[:_QUERY_CHARS]
        self.words = list(dict.fromkeys(word_tokens(text)))
        self.grams = list(dict.fromkeys(gram_tokens(text)))
        function = _function_words()
        self.spelled = {
            word: token
            for word in dict.fromkeys(text.lower().split())
            for token in word_tokens(word)[:1]
            if token not in function
        }


@cache
def _function_words() -> frozenset[str]:
    return frozenset(word_tokens(FUNCTION_WORDS))


def _texts(definition: Definition, skill: Skill) -> list[str]:
    """What a skill says of itself, piece by piece; its name counts twice."""
    pieces = [skill.name, skill.name, definition.name, *definition.aliases, *definition.tags]
    pieces += [definition.description, skill.description, *skill.examples]
    pieces += [f"{parameter.name} {parameter.description}" for parameter in parameters_of(skill.input_schema)]
    return pieces


def _tokens(read: Callable[[str], list[str]], texts: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(map(read, texts))


def _spread(scores: Sequence[float]) -> tuple[float, float]:
    """Mean and inverse standard deviation: what makes z-scores of `scores`."""
    mean = sum(scores) / len(scores)
    variance = sum(map(mul, scores, scores)) / len(scores) - mean * mean
    return mean, variance**-0.5 if variance > 1e-12 else 0.0
