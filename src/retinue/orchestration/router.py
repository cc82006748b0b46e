"""Which skill a clause of a goal is for: ranking among all agents there are, and the right to say "none of them".

What an agent is asked for is taken from its definition alone: names, descriptions, parameters and `examples`. There is
no rule here for any one agent, and no model.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from itertools import chain, groupby
from operator import mul
from typing import Final, Literal, TypeAlias

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration._files import Takers
from retinue.orchestration._floors import FALLBACK_FLOOR, Floors
from retinue.orchestration._naming import NAMED, nameless, names_code
from retinue.orchestration._opening import Openings, opening
from retinue.orchestration._spelling import Spellings
from retinue.orchestration._usage import Usage
from retinue.orchestration._view import FUNCTION_WORDS, View, gram_tokens, word_tokens
from retinue.orchestration.reading.dates import takes_days
from retinue.orchestration.reading.parameter import Parameter, parameters_of
from retinue.orchestration.reading.revisions import takes_ranges, takes_revisions

__all__ = ["FALLBACK_FLOOR", "Router", "Routing", "Typed"]

Typed: TypeAlias = Literal["days", "range", "revisions"]
"""Values that tell by their form what they are."""

_SHORTLIST: Final = 128
_OPENING_SCORE: Final = 3.0
_OPENING_SHARE: Final = 0.2
"""What an opening that belongs to one skill alone adds: three standard deviations, and enough to pass the usual floor,
since whoever answers "how do I …" can say best that it found nothing."""
_USUAL_SCORE: Final = 1.0
_FILE_SCORE: Final = 3.0
_NO_FILE_SCORE: Final = -4.0
_UNNAMED_SCORE: Final = -1.5
_TOLD_SCORE: Final = -4.0
_TOLD_SHARE: Final = -0.15
"""What it costs a skill that is only ever told to do something that it is asked a question: "who renamed the cart"."""
_FILE_SHARE: Final = 0.15
"""What it adds that a named file is one that the skill takes, twice when the answer stands in it; and what it costs
when it takes none of those named."""
_QUERY_CHARS: Final = 2_000
_TYPED: Final[Mapping[Typed, tuple[float, float]]] = {
    "days": (1.0, 0.0),
    "range": (2.5, 0.0),
    "revisions": (2.5, 0.15),
}
"""What it adds to score and share that a clause holds such a value and the skill takes it."""
_TAKES: Final[Mapping[Typed, Callable[[Parameter], bool]]] = {
    "days": takes_days,
    "range": takes_ranges,
    "revisions": takes_revisions,
}
_TELLING_OPENING: Final = 0.5
_LIKE_WORDS: Final = 2


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

    Two views, words and character 4-grams, are each scored by BM25; the sum of their z-scores ranks, with a malus for
    words that the skill's examples hold less often than those of another, and a bonus for requests that begin as the
    examples of that skill alone do ("who …", "how do …"), and for skills that take the files that are named. A word
    that nobody knows is read as the one known word that it misspells by a letter. Whether the best is good enough is
    decided on its *share*: its score over the best that this clause could reach, which is
    comparable between clauses as the scores themselves are not.

    Attributes:
        floor: The least share that is good enough for most skills, found on the registry's own examples where it has
            enough of them.
        calibrated: Whether the floor was found on examples.
    """

    def __init__(self, definitions: Iterable[Definition], *, floor: float | None = None) -> None:
        self._skills = [
            (definition, skill) for definition in definitions for skill in definition.skills if not skill.unavailable
        ]
        texts = self._texts = _texts(self._skills)
        groups = [id(definition) for definition, _ in self._skills]
        self._words, self._grams = (
            View((_tokens(read, text) for text in texts), background=read(FUNCTION_WORDS), groups=groups)
            for read in (word_tokens, gram_tokens)
        )
        self._usage = Usage(map(nameless, skill.examples) for _, skill in self._skills)
        self._openings = Openings(skill.examples for _, skill in self._skills)
        self._taking = {kind: self._who_take(takes) for kind, takes in _TAKES.items()}
        self._takers = Takers(skill for _, skill in self._skills)
        self._spellings: Spellings | None = None
        self._counted: tuple[int, Counter[str], Counter[str]] | None = None
        self._examples: dict[int, list[tuple[frozenset[str], str]]] = {}
        examples = [skill.examples for _, skill in self._skills]
        self._floors = Floors(examples, self._own_and_best_other, floor=floor)
        self.floor, self.calibrated = self._floors.floor, self._floors.calibrated

    def route(
        self,
        clause: str,
        *,
        limit: int = 5,
        files: Sequence[str] = (),
        within: bool = False,
        said: Collection[Typed] = (),
    ) -> Routing:
        """The best `limit` skills for `clause`, of which only the first 2,000 characters are read.

        Args:
            clause: What is asked.
            limit: How many candidates are given.
            files: Paths of files that it names, for those who take some files and not others.
            within: What is asked stands in these files.
            said: Values of which kinds it holds, for those who take such.
        """
        query = _Query(clause, files, within=within, said=said, names=self._words.knows(NAMED))
        self._spell(query)
        ranked = self._rank(query, limit=limit)
        if ranked and ranked[0].topic < self.floor:  # nobody knows the topic, so how it begins is all there is
            if not self._is_enough(ranked[0]):
                ranked.sort(key=lambda one: -one.share)
            if opening(query.text):  # a question; and there may be somebody who is asked about anything
                ranked.sort(key=lambda one: not self._is_enough(one))
        candidates = tuple(self._candidate(query, found) for found in ranked)
        if not candidates:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        best = candidates[0]
        name = f"`{best.agent}.{best.skill}`"
        if best.share < (needed := self._floors.of(ranked[0].place, ranked[0].share)) or not best.share:
            reason = f"The nearest, {name}, fits to {best.share:.2f} where {needed:.2f} is needed."
            return Routing(candidates, abstained=True, reason=reason)
        return Routing(candidates, abstained=False, reason=f"{name} fits to {best.share:.2f}: it {best.reason}.")

    def shares(self, candidate: Candidate, tokens: Iterable[str]) -> bool:
        """Whether the definition of `candidate` has any of these words (as `word_tokens` gives them)."""
        places = (
            place
            for place, (definition, skill) in enumerate(self._skills)
            if (definition.name, skill.name) == (candidate.agent, candidate.skill)
        )
        place = next(places, None)
        return place is not None and any(self._words.holds(token, place) for token in tokens)

    def _is_enough(self, found: "_Found") -> bool:
        return found.share >= self._floors.of(found.place, found.share)

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
        lifts = self._lifts(query)
        for place, (lift, _) in lifts.items():
            summed[place] += lift
        found: list[_Found] = []
        near = nlargest(max(limit, _SHORTLIST), range(len(summed)), key=summed.__getitem__)
        for place, usual in zip(near, self._usage.weigh(query.words, near), strict=True):
            word = words[place] + self._words.add(common_words, place)
            gram = grams[place] + self._grams.add(common_grams, place)
            lift, share = lifts.get(place, (0.0, 0.0))
            score = word * word_scale + gram * gram_scale - shift + lift + _USUAL_SCORE * usual
            topic = (word / word_reach + gram / gram_reach) / 2
            found.append(_Found(place, score, topic, max(0.0, topic + share)))
        return nlargest(limit, found, key=lambda one: (one.score, -one.place))

    def _lifts(self, query: "_Query") -> dict[int, tuple[float, float]]:
        """What the opening and the named files add to the score and to the share of some skills."""
        found = {
            place: (_OPENING_SCORE * share, _OPENING_SHARE * share)
            for place, share in self._openings.shares(query.text).items()
        }
        for place in self._openings.told if opening(query.text) else ():
            found[place] = (_TOLD_SCORE, _TOLD_SHARE)
        for kind in query.said:
            for place in self._taking[kind]:
                score, share = found.get(place, (0.0, 0.0))
                found[place] = (score + _TYPED[kind][0], share + _TYPED[kind][1])
        for place in () if query.files else self._takers.all:
            score, share = found.get(place, (0.0, 0.0))
            found[place] = (score + _UNNAMED_SCORE, share)
        for place, taken in self._takers.weigh(query.files).items():
            score, share = found.get(place, (0.0, 0.0))
            times = 2 if query.within else 1
            added = (times * _FILE_SCORE, times * _FILE_SHARE) if taken else (_NO_FILE_SCORE, -_FILE_SHARE)
            found[place] = (score + added[0], share + added[1])
        return found

    def _spell(self, query: "_Query") -> None:
        """Add to `query` the known words that its unknown ones misspell."""
        unknown = [token for token in query.words if not self._words.knows(token) and token.isalpha()]
        if not unknown:
            return
        if self._spellings is None:
            self._spellings = Spellings(self._words.tokens())
        for token in unknown:
            if (meant := self._spellings.nearest(token)) is not None and meant not in query.words:
                query.words[query.words.index(token)] = meant
                query.grams = list(dict.fromkeys([*query.grams, *gram_tokens(meant)]))
                query.meant[token] = meant

    def _who_take(self, takes: Callable[[Parameter], bool]) -> tuple[int, ...]:
        places = enumerate(self._skills)
        return tuple(place for place, (_, skill) in places if any(map(takes, parameters_of(skill.input_schema))))

    def _candidate(self, query: "_Query", found: "_Found") -> Candidate:
        definition, skill = self._skills[found.place]
        return Candidate(
            agent=definition.name,
            skill=skill.name,
            score=round(found.score, 4),
            share=round(min(1.0, found.share), 4),
            reason="; ".join(self._reasons(query, found.place)),
        )

    def _reasons(self, query: "_Query", place: int) -> Iterator[str]:
        """Why the skill at `place` was considered: words, examples, opening, files."""
        spelled = {word: query.meant.get(token, token) for word, token in query.spelled.items()}
        shared = [word for word, token in spelled.items() if self._words.holds(token, place)]
        yield f"shares {', '.join(shared[:6])}" if shared else "shares parts of words only"
        tokens = {spelled[word] for word in shared}
        if (like := self._like(tokens, place)) is not None:
            yield f"is asked like “{like}”"
        if self._openings.shares(query.text).get(place, 0.0) >= _TELLING_OPENING:
            yield f"is what “{opening(query.text)} …” asks for"
        if query.files and place in (weighed := self._takers.weigh(query.files)):
            taken = weighed[place]
            yield f"takes no such file as `{query.files[0]}`" if taken is None else f"takes files such as `{taken}`"

    def _like(self, tokens: set[str], place: int) -> str | None:
        """The example of the skill that has most of `tokens`, when it has at least two of them."""
        if len(tokens) < _LIKE_WORDS:
            return None
        if place not in self._examples:
            examples = self._skills[place][1].examples
            self._examples[place] = [(frozenset(word_tokens(example)), example) for example in examples]
        best = max(self._examples[place], key=lambda one: (len(tokens & one[0]), -len(one[0])), default=None)
        return best[1] if best is not None and len(tokens & best[0]) >= _LIKE_WORDS else None

    def _own_and_best_other(self, place: int, example: str) -> tuple[float, float]:
        """The share of a skill for one of its own examples without that, and the best of all other agents'.

        Openings do not count here: they help a request over the floor, and must not raise it for those without one.
        """
        query = _Query(example, names=self._words.knows(NAMED))
        agent = self._skills[place][0].name
        rivals = (one.topic for one in self._rank(query, limit=20) if self._skills[one.place][0].name != agent)
        return self._share_without(query, place, example), next(rivals, 0.0)

    def _share_without(self, query: "_Query", place: int, example: str) -> float:
        """The share that the skill at `place` would have, had its definition not held `example`."""
        if self._counted is None or self._counted[0] != place:  # examples of one skill come in a row
            texts = self._texts[place]
            self._counted = place, Counter(_tokens(word_tokens, texts)), Counter(_tokens(gram_tokens, texts))
        _, all_words, all_grams = self._counted
        gone = nameless(example)
        words = self._words.score_of(query.words, all_words - Counter(word_tokens(gone)))
        grams = self._grams.score_of(query.grams, all_grams - Counter(gram_tokens(gone)))
        return (words / (self._words.reach(query.words) or 1.0) + grams / (self._grams.reach(query.grams) or 1.0)) / 2


@dataclass(frozen=True, slots=True)
class _Found:
    place: int
    score: float
    topic: float
    share: float


class _Query:
    """A clause as each view reads it: every token once, in order."""

    __slots__ = ("files", "grams", "meant", "said", "spelled", "text", "within", "words")

    def __init__(
        self,
        clause: str,
        files: Sequence[str] = (),
        *,
        within: bool = False,
        said: Collection[Typed] = (),
        names: bool = False,
    ) -> None:
        self.within = within
        self.said = said
        self.text = text = clause[:_QUERY_CHARS]
        self.files = files
        self.meant: dict[str, str] = {}
        named = [NAMED] if names and names_code(text) else []
        self.words = list(dict.fromkeys(word_tokens(text) + named))
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


def _texts(skills: Iterable[tuple[Definition, Skill]]) -> list[list[str]]:
    """What each skill says of itself, piece by piece; its name counts twice.

    Parameters that all skills of an agent have tell none of them from another, and are left out.
    """
    found: list[list[str]] = []
    for _, several in groupby(skills, key=lambda one: id(one[0])):
        same_agent = list(several)
        parameters = [_parameters(skill) for _, skill in same_agent]
        shared = frozenset(parameters[0]).intersection(*parameters) if len(parameters) > 1 else frozenset[str]()
        for (definition, skill), own in zip(same_agent, parameters, strict=True):
            pieces = [skill.name, skill.name, definition.name, *definition.aliases, *definition.tags]
            pieces += [definition.description, skill.description, *map(nameless, skill.examples)]
            found.append([*pieces, *(said for said in own if said not in shared)])
    return found


def _parameters(skill: Skill) -> list[str]:
    return [f"{parameter.name} {parameter.description}" for parameter in parameters_of(skill.input_schema)]


def _tokens(read: Callable[[str], list[str]], texts: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(map(read, texts))


def _spread(scores: Sequence[float]) -> tuple[float, float]:
    """Mean and inverse standard deviation: what makes z-scores of `scores`."""
    mean = sum(scores) / len(scores)
    variance = sum(map(mul, scores, scores)) / len(scores) - mean * mean
    return mean, variance**-0.5 if variance > 1e-12 else 0.0
