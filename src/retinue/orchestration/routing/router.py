"""Which skill a clause of a goal is for: ranking among all agents there are, and the right to say "none of them".

What an agent is asked for is taken from its definition alone: names, descriptions, parameters and `examples`. There is
no rule here for any one agent, and no model.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration.routing._files import Takers
from retinue.orchestration.routing._naming import NAMED, nameless, names_code, without_values
from retinue.orchestration.routing.index import Index
from retinue.orchestration.routing.reading.dates import takes_days, times_in
from retinue.orchestration.routing.reading.parameter import parameters_of
from retinue.orchestration.routing.words import FUNCTION_WORDS, gram_tokens, word_tokens

__all__ = ["FLOOR_WITHOUT_EXAMPLES", "Router", "Routing"]

FLOOR_WITHOUT_EXAMPLES: Final = 0.095
"""The floor of a skill with fewer than three examples."""

_PART: Final = 0.75
"""So much of a clause must be known, as if each of its words stood in the skill's text once: the floor of a skill."""
_MOST_FLOOR: Final = 0.26
_USUAL: Final = 0.03
"""What it adds to a score that a skill is asked in a word of the clause, for each power of e of its examples."""
_FILE: Final = 0.1
"""What it adds that a named file is one that the skill takes, twice when the answer stands in it; and what it costs
when it takes none of those named, or takes certain files only and none is named."""
_COMMON: Final = 0.3
"""What a function word, or a 4-gram of them, counts where any other counts 1."""
_WORDS_USUALLY: Final = 150
_GRAMS_USUALLY: Final = 1_400
"""How many words and 4-grams a skill with examples says of itself."""

_ENOUGH_EXAMPLES: Final = 3
_MOST_CHARS: Final = 2_000
_SHORTLIST: Final = 128
_LIKE_WORDS: Final = 2
_FUNCTION_WORDS: Final = frozenset(word_tokens(FUNCTION_WORDS))


@dataclass(frozen=True, slots=True)
class Routing:
    """Who could do a clause: whoever is good enough, best first, and after them the nearest of the others.

    Attributes:
        abstained: Nobody is good enough, and `candidates` are only the nearest.
        reason: Why, in words a person can judge.
        fitting: How many of `candidates` are good enough.
        stand_ins: Those of them that know all words that tell something, or one of them and take a file that is named:
            only they may be asked when the best found nothing, for an answer to another question is none.
    """

    candidates: tuple[Candidate, ...]
    abstained: bool
    reason: str
    fitting: int = 0
    stand_ins: tuple[Candidate, ...] = ()

    @property
    def fit(self) -> tuple[Candidate, ...]:
        """Those that are good enough."""
        return self.candidates[: self.fitting]


class Router:
    """Ranks the skills of some agents for a clause.

    Words and character 4-grams are each scored by BM25, as a share of what the clause could reach; the mean of both is
    the *share* that a skill knows of it, which must reach the skill's floor. To rank, it is added how usual such words
    are in the skill's examples, and whether it takes the files that are named.

    All of this is evidence about one skill and none about the others. So who is best, and whether that is good enough,
    does not change when an agent joins that is not itself chosen. Among thousands the commonest tokens are left out of
    a first ranking, and this holds nearly.

    Args:
        definitions: The agents.
        floor: The least share that is good enough, for all of them.
    """

    def __init__(self, definitions: Iterable[Definition], *, floor: float | None = None) -> None:
        self._skills = [
            (definition, skill) for definition in definitions for skill in definition.skills if not skill.unavailable
        ]
        self._floor = floor
        texts = _texts(self._skills)
        self._words = Index(
            (chain.from_iterable(map(word_tokens, pieces)) for pieces in texts),
            common=_FUNCTION_WORDS, discount=_COMMON, usual_length=_WORDS_USUALLY,
        )  # fmt: skip
        self._grams = Index(
            (chain.from_iterable(map(gram_tokens, pieces)) for pieces in texts),
            common=frozenset(gram_tokens(FUNCTION_WORDS)), discount=_COMMON, usual_length=_GRAMS_USUALLY,
        )  # fmt: skip
        self._examples = [
            frozenset(frozenset(word_tokens(nameless(one))) for one in skill.examples) for _, skill in self._skills
        ]
        self._asked = [Counter(chain.from_iterable(examples)) for examples in self._examples]
        self._open = {place for place, (_, skill) in enumerate(self._skills) if _is_asked_anything(skill)}
        self._takers = Takers(skill for _, skill in self._skills)

    def route(
        self,
        clause: str,
        *,
        limit: int = 5,
        files: Sequence[str] = (),
        whole: str = "",
        within: bool = False,
        only: Callable[[Skill], bool] | None = None,
    ) -> Routing:
        """The best `limit` skills for `clause`, of which only the first 2,000 characters are read.

        Args:
            clause: What is asked.
            limit: How many candidates are given.
            files: Paths of files that it names, for those who take some files and not others.
            whole: The clause with the days and files that `clause` may have been given without.
            within: What is asked stands in these files.
            only: Which skills may be given at all; all, unless said.
        """
        clause, whole = without_values(clause[:_MOST_CHARS]), (whole or clause)[:_MOST_CHARS]
        taken = self._takers.weigh(files)
        ranked = self._ranked(clause, taken, limit=limit, is_named=bool(files), within=within)
        ranked = [one for one in ranked if only is None or only(self._skills[one.place][1])]
        if not ranked:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        telling = set(_telling(clause).values())
        fitting = [
            one
            for one in ranked
            if one.share >= self._floor_of(one.place)
            and (taken.get(one.place) or self._speaks_of(telling, one.place))
            and not self._unread(whole, one)
        ][:limit]
        chosen = [*fitting, *(one for one in ranked if one not in fitting)][:limit]
        candidates = tuple(self._candidate(clause, one, files, taken) for one in chosen)
        name = f"`{candidates[0].agent}.{candidates[0].skill}`"
        if fitting:
            reason = f"{name} fits to {candidates[0].share:.2f}: it {candidates[0].reason}."
        else:
            reason = f"The nearest, {name}, {self._why_not(whole, chosen[0])}."
        able = tuple(
            candidate
            for candidate, found in zip(candidates, fitting, strict=False)
            if self._speaks_of(telling, found.place)
            and (taken.get(found.place) or self._knows_all(telling, found.place))
        )
        return Routing(candidates, abstained=not fitting, reason=reason, fitting=len(fitting), stand_ins=able)

    def shares(self, candidate: Candidate, tokens: Iterable[str]) -> bool:
        """Whether the definition of `candidate` has any of these words (as `word_tokens` gives them)."""
        names = [(definition.name, skill.name) for definition, skill in self._skills]
        place = names.index((candidate.agent, candidate.skill))
        return any(self._words.holds(token, place) for token in tokens)

    def _ranked(
        self, clause: str, taken: Mapping[int, str | None], *, limit: int, is_named: bool, within: bool
    ) -> list["_Found"]:
        """The nearest skills, best first."""
        named = [NAMED] if names_code(clause) else []
        words = list(dict.fromkeys(word_tokens(clause) + named))
        grams = list(dict.fromkeys(gram_tokens(clause)))
        most = max(limit, _SHORTLIST)
        near = {*self._words.nearest(words, limit=most), *self._grams.nearest(grams, limit=most), *taken}
        found: list[_Found] = []
        for place in near:
            share = (self._words.share(words, place) + self._grams.share(grams, place)) / 2
            share = 1.0 if frozenset(words) in self._examples[place] else share
            if place in taken:
                share += (2 * _FILE if within else _FILE) if taken[place] else -_FILE
            score = share + _USUAL * sum(math.log1p(self._asked[place][token]) for token in words)
            score -= _FILE if not is_named and place in self._takers.all else 0.0
            found.append(_Found(place, score, min(1.0, max(0.0, share))))
        return sorted(found, key=lambda one: (-one.score, one.place))

    def _floor_of(self, place: int) -> float:
        """The least share that is good enough for the skill at `place`; the longer its text, the less."""
        if self._floor is not None:
            return self._floor
        if len(self._skills[place][1].examples) < _ENOUGH_EXAMPLES:
            return FLOOR_WITHOUT_EXAMPLES
        return min(_PART * self._words.once(place), _MOST_FLOOR)

    def _unread(self, clause: str, found: "_Found") -> list[str]:
        """The words of `clause` that would be lost on a skill that takes no text.

        Whoever takes text is handed all words. Whoever takes numbers, days and choices only would answer without what
        the others ask for: "sales forecast for 1998" with the sales of 1998.
        """
        skill = self._skills[found.place][1]
        if not _takes_no_text(skill):
            return []
        own = (skill.name, skill.description, *skill.examples, *_parameters(skill))
        known = frozenset(chain.from_iterable(map(word_tokens, own)))
        takes_dates = any(takes_days(one) for one in parameters_of(skill.input_schema))
        text, unread = clause.lower(), list[str]()
        for words, is_year in times_in(text):
            if is_year or takes_dates:
                text = text.replace(words, " ")
            elif not known.issuperset(word_tokens(words)):
                unread.append(words)
        return unread + [word for word, token in _telling(text).items() if not (token.isdigit() or token in known)]

    def _knows_all(self, telling: Collection[str], place: int) -> bool:
        return all(self._words.holds(token, place) for token in telling)

    def _speaks_of(self, telling: Collection[str], place: int) -> bool:
        """Whether the skill at `place` knows a word that tells something, or is asked about anything."""
        return not telling or place in self._open or any(self._words.holds(token, place) for token in telling)

    def _why_not(self, clause: str, found: "_Found") -> str:
        if found.share < (floor := self._floor_of(found.place)):
            return f"fits to {found.share:.2f} where {floor:.2f} is needed"
        if not (unread := self._unread(clause, found)):
            return "knows none of its words that tell something"
        return f"takes no text, and cannot be told of {', '.join(map(repr, unread[:3]))}"

    def _candidate(
        self, clause: str, found: "_Found", files: Sequence[str], taken: Mapping[int, str | None]
    ) -> Candidate:
        definition, skill = self._skills[found.place]
        reasons = [*self._reasons(clause, found.place)]
        if found.place in taken:
            file = taken[found.place]
            reasons.append(f"takes no such file as `{files[0]}`" if file is None else f"takes files such as `{file}`")
        return Candidate(
            agent=definition.name,
            skill=skill.name,
            score=round(found.score, 4),
            share=round(found.share, 4),
            reason="; ".join(reasons),
        )

    def _reasons(self, clause: str, place: int) -> Iterator[str]:
        """Why the skill at `place` was considered: its words, and the example that has most of them."""
        shared = {word: token for word, token in _telling(clause).items() if self._words.holds(token, place)}
        yield f"shares {', '.join([*shared][:6])}" if shared else "shares parts of words only"
        tokens = set(shared.values())
        like = max(
            self._skills[place][1].examples, key=lambda one: len(tokens.intersection(word_tokens(one))), default=""
        )
        if len(tokens.intersection(word_tokens(like))) >= _LIKE_WORDS:
            yield f"is asked like “{like}”"


@dataclass(frozen=True, slots=True)
class _Found:
    """A skill that was looked at."""

    place: int
    score: float
    share: float


def _telling(text: str) -> dict[str, str]:
    """The words of `text` that say something, each with its stem."""
    stems = ((word, word_tokens(word)) for word in dict.fromkeys(text.lower().split()))
    return {word: found[0] for word, found in stems if found and found[0] not in _FUNCTION_WORDS}


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


def _is_asked_anything(skill: Skill) -> bool:
    """Whether a skill is mostly asked for what its name and description do not speak of, as its examples show."""
    own = {token for text in (skill.name, skill.description) for token in _telling(text.replace("_", " ")).values()}
    within = sum(not own.isdisjoint(_telling(nameless(one)).values()) for one in skill.examples)
    return 2 * within < len(skill.examples)


def _takes_no_text(skill: Skill) -> bool:
    """Whether a skill is called with numbers, days and choices only."""
    if skill.instruction_field or skill.input_schema.get("additionalProperties") is not False:
        return False
    inside = (parameter.items or parameter for parameter in parameters_of(skill.input_schema))
    return all(one.type in {"integer", "number", "boolean"} or one.choices or takes_days(one) for one in inside)


def _parameters(skill: Skill) -> list[str]:
    return [f"{parameter.name} {parameter.description}" for parameter in parameters_of(skill.input_schema)]
