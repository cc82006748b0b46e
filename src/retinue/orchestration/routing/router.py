"""Which skill a clause of a goal is for: ranking among all agents there are, and the right to say "none of them".

What an agent is asked for is taken from its definition alone: names, descriptions, parameters and `examples`. There is
no rule here for any one agent, and no model.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, groupby, islice
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration.reader.spelling import Spellings
from retinue.orchestration.routing._files import Takers
from retinue.orchestration.routing._floors import FALLBACK_FLOOR, Floors
from retinue.orchestration.routing._naming import nameless
from retinue.orchestration.routing._opening import Openings, opening
from retinue.orchestration.routing._query import Query, Typed
from retinue.orchestration.routing._usage import Usage
from retinue.orchestration.routing._view import View, gram_background, word_background
from retinue.orchestration.routing._wanted import is_particular, wanted
from retinue.orchestration.routing.reading.dates import takes_days, times_in
from retinue.orchestration.routing.reading.parameter import Parameter, parameters_of
from retinue.orchestration.routing.reading.revisions import takes_ranges, takes_revisions
from retinue.orchestration.routing.words import gram_tokens, word_tokens

__all__ = ["FALLBACK_FLOOR", "Router", "Routing", "Typed"]

_SHORTLIST: Final = 128
_WORDS_SCORE: Final = 16.0
_GRAMS_SCORE: Final = 20.0
_USUAL_SCORE: Final = 1.5
"""What it is worth that a skill knows all words of a clause, all parts of its words, and is usually asked in them:
found on the catalogue's examples, each left out in turn, and on goals."""
_WORDS_USUALLY: Final = 150
_GRAMS_USUALLY: Final = 1_400
"""How many words and parts of words a skill with examples says of itself."""
_OPENING_SCORE: Final = 1.5
_OPENING_SHARE: Final = 0.2
"""What an opening with which a skill is always asked adds at most, if it is asked about anything: enough to pass the
usual floor, since whoever answers "how do I …" can say best that it found nothing. For all others it decides only who
is nearest: that both begin with "what is" makes nobody know the topic."""
_FILE_SCORE: Final = 3.0
_NO_FILE_SCORE: Final = -4.0
_UNNAMED_SCORE: Final = -1.5
_TOLD_SCORE: Final = -4.0
_TOLD_SHARE: Final = -0.15
"""What it costs a skill that is only ever told to do something that it is asked a question: "who renamed the cart"."""
_FILE_SHARE: Final = 0.15
"""What it adds that a named file is one that the skill takes, twice when the answer stands in it; and what it costs
when it takes none of those named."""
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
    """Who could do a clause: whoever is good enough, best first, and after them the nearest of the others.

    Attributes:
        abstained: Nobody is good enough, and `candidates` are only the nearest.
        reason: Why, in words a person can judge.
        fitting: How many of `candidates` are good enough.
        stand_ins: Those of them that know most of the words that tell something, and would be good enough however it
            begins: only they may be asked when the best found nothing, for an answer to another question is none.
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

    Two views, words and character 4-grams, are each scored by BM25, as a share of what the clause could reach; to their
    sum comes how usual such words are in the skill's examples, how usually requests to it begin so ("who …", "how do
    …"), and whether it takes the files that are named. A word that a skill does not know is read as the one of its
    words that it misspells by a letter. Whether a skill is good enough is decided on its *share*: what of the clause it
    knows.

    All of this is evidence about one skill, held against what is common anywhere (`_background`) and never against the
    other skills. So who is best, and whether that is good enough, does not change when an agent joins that is not
    itself chosen. Among thousands the commonest tokens are left out of a first ranking, and this holds nearly.
    """

    def __init__(self, definitions: Iterable[Definition], *, floor: float | None = None) -> None:
        self._skills = [
            (definition, skill) for definition in definitions for skill in definition.skills if not skill.unavailable
        ]
        texts = self._texts = _texts(self._skills)
        self._words = View(
            (_tokens(word_tokens, text) for text in texts), background=word_background(), usual_length=_WORDS_USUALLY
        )
        self._grams = View(
            (_tokens(gram_tokens, text) for text in texts), background=gram_background(), usual_length=_GRAMS_USUALLY
        )
        examples = [skill.examples for _, skill in self._skills]
        self._usage = Usage(map(nameless, said) for said in examples)
        self._openings = Openings(examples)
        self._taking = {kind: self._who_take(takes) for kind, takes in _TAKES.items()}
        self._takers = Takers(skill for _, skill in self._skills)
        self._spellings: Spellings | None = None
        self._counted: tuple[int, Counter[str], Counter[str]] | None = None
        self._examples: dict[int, list[tuple[frozenset[str], str]]] = {}
        self._particular: dict[int, bool] = {}
        self._closed: dict[int, frozenset[str] | None] = {}
        once = [self._words.once(place) for place in range(len(self._skills))]
        self._floors = Floors(examples, once, self._share_without, floor=floor)
        self._is_given = floor is not None

    def route(
        self,
        clause: str,
        *,
        limit: int = 5,
        files: Sequence[str] = (),
        whole: str = "",
        within: bool = False,
        said: Collection[Typed] = (),
        only: Callable[[Skill], bool] | None = None,
    ) -> Routing:
        """The best `limit` skills for `clause`, of which only the first 2,000 characters are read.

        Args:
            clause: What is asked.
            limit: How many candidates are given.
            files: Paths of files that it names, for those who take some files and not others.
            whole: The clause with the days and files that `clause` may have been given without.
            within: What is asked stands in these files.
            said: Values of which kinds it holds, for those who take such.
            only: Which skills may be given at all; all, unless said.
        """
        query = Query(clause, files, whole=whole, within=within, said=said)
        query.meant = self._respelled(query)
        query.begun = self._openings.shares(query.text)
        ranked = self._rank(query, limit=limit)
        if only is not None:
            ranked = [one for one in ranked if only(self._skills[one.place][1])]
        if not ranked:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        fitting = list(islice((one for one in ranked if self._is_enough(query, one)), limit))
        fit = {one.place for one in fitting}
        others = list(islice((one for one in ranked if one.place not in fit), limit - len(fitting)))
        candidates = tuple(self._candidate(query, one) for one in (*fitting, *others))
        best = candidates[0]
        name = f"`{best.agent}.{best.skill}`"
        if fitting:
            reason = f"{name} fits to {best.share:.2f}: it {best.reason}."
        else:
            reason = f"The nearest, {name}, {self._why_not(query, others[0])}."
        able = tuple(
            one
            for one, found in zip(candidates, fitting, strict=False)
            if self._reaches(query, found, asked=False) and self._knows_most(query, found.place)
        )
        return Routing(candidates, abstained=not fitting, reason=reason, fitting=len(fitting), stand_ins=able)

    def shares(self, candidate: Candidate, tokens: Iterable[str]) -> bool:
        """Whether the definition of `candidate` has any of these words (as `word_tokens` gives them)."""
        places = (
            place
            for place, (definition, skill) in enumerate(self._skills)
            if (definition.name, skill.name) == (candidate.agent, candidate.skill)
        )
        place = next(places, None)
        return place is not None and any(self._words.holds(token, place) for token in tokens)

    def _is_enough(self, query: Query, found: "_Found") -> bool:
        fits = self._reaches(query, found, asked=query.asks) and self._speaks_of(query, found.place)
        return fits and not self._unread(query, found.place)

    def _unread(self, query: Query, place: int) -> list[str]:
        """The words of `query` that would be lost on the skill at `place`, where it takes no text.

        Whoever takes text is handed all words. Whoever takes numbers, days and choices only would answer without what
        the others ask for: "sales forecast for 1998" with the sales of 1998.
        """
        if place not in self._closed:
            skill = self._skills[place][1]
            own = (skill.name, skill.description, *skill.examples, *_parameters(skill))
            self._closed[place] = frozenset(_tokens(word_tokens, own)) if _takes_no_text(skill) else None
        known = self._closed[place]
        if known is None:
            return []
        text, unread = query.whole.lower(), list[str]()
        for words, is_year in times_in(text):
            if is_year or place in self._taking["days"]:
                text = text.replace(words, " ")
            elif not known.issuperset(word_tokens(words)):
                unread.append(words)
        meant = query.meant.get(place, {})
        rest = Query(text).spelled.items()
        return unread + [word for word, token in rest if not (token.isdigit() or token in known or token in meant)]

    def _reaches(self, query: Query, found: "_Found", *, asked: bool) -> bool:
        """Whether it is good enough; for what is not `asked`, without the help of how it begins."""
        share = self._share(query, found, asked=asked)
        return share > 0 and share >= self._floors.of(found.place, share, asked=asked)

    def _share(self, query: Query, found: "_Found", *, asked: bool) -> float:
        """What of `query` the skill knows; whoever is `asked` about anything knows how it begins."""
        lift = _OPENING_SHARE * query.begun.get(found.place, 0.0)
        helps = lift > 0 and asked and self._floors.is_open(found.place)
        return min(1.0, max(0.0, found.share + lift * helps))

    def _knows_most(self, query: Query, place: int) -> bool:
        """Whether the skill at `place` knows what `query` is about: most of its telling words, or a file it names."""
        if self._takers.weigh(query.files).get(place) is not None:
            return True
        meant = query.meant.get(place, {})
        rarity_of = word_background().rarity
        known = total = 0.0
        for token in query.spelled.values():
            rarity = rarity_of(token)
            total += rarity
            known += rarity if token in meant or self._words.holds(token, place) else 0.0
        return total > 0 and 2 * known >= total

    def _speaks_of(self, query: Query, place: int) -> bool:
        """Whether the skill at `place` knows what `query` wants to know, or is asked for anything."""
        stem = query.wanted
        if stem is None or self._is_given or self._words.holds(stem, place) or stem in query.meant.get(place, ()):
            return True
        if place not in self._particular:
            words, _ = self._counts(place)
            said = [one for one in self._skills[place][1].examples if wanted(one) is not None]
            self._particular[place] = is_particular((one, words - Counter(word_tokens(nameless(one)))) for one in said)
        return not self._particular[place]

    def _why_not(self, query: Query, found: "_Found") -> str:
        if not self._reaches(query, found, asked=query.asks):
            share = self._share(query, found, asked=query.asks)
            needed = self._floors.of(found.place, share, asked=query.asks)
            return f"fits to {share:.2f} where {needed:.2f} is needed"
        if unread := self._unread(query, found.place):
            return f"takes no text, and cannot be told of {', '.join(map(repr, unread[:3]))}"
        return f"is not asked for {query.word_of(query.wanted)!r}"

    def _rank(self, query: Query, *, limit: int) -> list["_Found"]:
        """The nearest skills, best first."""
        words, common_words = self._words.scores(query.words)
        grams, common_grams = self._grams.scores(query.grams)
        for place, meant in query.meant.items():
            more = set(chain.from_iterable(map(gram_tokens, meant.values()))).difference(query.grams)
            words[place] += sum(self._words.weight(token, place) for token in meant.values())
            grams[place] += sum(self._grams.weight(token, place) for token in more)
        word_reach = self._words.reach(query.words) or 1.0
        gram_reach = self._grams.reach(query.grams) or 1.0
        word_scale, gram_scale = _WORDS_SCORE / word_reach, _GRAMS_SCORE / gram_reach
        lifts = self._lifts(query)
        summed = [word * word_scale + gram * gram_scale for word, gram in zip(words, grams, strict=True)]
        for place, (lift, _) in lifts.items():
            summed[place] += lift
        found: list[_Found] = []
        for place in nlargest(max(limit, _SHORTLIST), range(len(summed)), key=summed.__getitem__):
            word = words[place] + self._words.add(common_words, place)
            gram = grams[place] + self._grams.add(common_grams, place)
            lift, share = lifts.get(place, (0.0, 0.0))
            usual = _USUAL_SCORE * self._usage.weigh(query.read_by(place), place)
            score = word * word_scale + gram * gram_scale + lift + usual
            topic = (word / word_reach + gram / gram_reach) / 2
            found.append(_Found(place, score, topic + share))
        return sorted(found, key=lambda one: (-one.score, one.place))

    def _lifts(self, query: Query) -> dict[int, tuple[float, float]]:
        """What the opening and the named files add to the score, and the files to the share, of some skills."""
        found = {place: (_OPENING_SCORE * share, 0.0) for place, share in query.begun.items()}
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

    def _respelled(self, query: Query) -> dict[int, dict[str, str]]:
        """By skill, what uncommon words of `query` mean that misspell the one word that it has like them."""
        found: dict[int, dict[str, str]] = {}
        common = word_background()
        for token in query.words:
            if common.knows(token) or not token.isalpha():
                continue
            if self._spellings is None:
                self._spellings = Spellings(self._words.tokens())
            alike: dict[int, list[str]] = {}
            for near in self._spellings.near(token):
                for place in self._words.holders(near):
                    alike.setdefault(place, []).append(near)
            for place, several in alike.items():
                if len(several) == 1 and not self._words.holds(token, place):
                    found.setdefault(place, {})[token] = several[0]
        return found

    def _who_take(self, takes: Callable[[Parameter], bool]) -> tuple[int, ...]:
        places = enumerate(self._skills)
        return tuple(place for place, (_, skill) in places if any(map(takes, parameters_of(skill.input_schema))))

    def _candidate(self, query: Query, found: "_Found") -> Candidate:
        definition, skill = self._skills[found.place]
        return Candidate(
            agent=definition.name,
            skill=skill.name,
            score=round(found.score, 4),
            share=round(self._share(query, found, asked=query.asks), 4),
            reason="; ".join(self._reasons(query, found.place)),
        )

    def _reasons(self, query: Query, place: int) -> Iterator[str]:
        """Why the skill at `place` was considered: words, examples, opening, files."""
        meant = query.meant.get(place, {})
        spelled = {word: meant.get(token, token) for word, token in query.spelled.items()}
        shared = [word for word, token in spelled.items() if self._words.holds(token, place)]
        yield f"shares {', '.join(shared[:6])}" if shared else "shares parts of words only"
        tokens = {spelled[word] for word in shared}
        if (like := self._like(tokens, place)) is not None:
            yield f"is asked like “{like}”"
        if query.begun.get(place, 0.0) >= _TELLING_OPENING:
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

    def _share_without(self, place: int, example: str) -> float:
        """The share that the skill at `place` would have for `example`, had its definition not held that.

        Openings do not count here: they help a request over the floor, and must not raise it for those without one.
        """
        query, gone = Query(example), nameless(example)
        words, grams = self._counts(place)
        word = self._words.score_of(query.words, words, without=Counter(word_tokens(gone)))
        gram = self._grams.score_of(query.grams, grams, without=Counter(gram_tokens(gone)))
        return (word / (self._words.reach(query.words) or 1.0) + gram / (self._grams.reach(query.grams) or 1.0)) / 2

    def _counts(self, place: int) -> tuple[Counter[str], Counter[str]]:
        """The words and the grams of all that the skill at `place` says of itself."""
        if self._counted is None or self._counted[0] != place:  # examples of one skill come in a row
            texts = self._texts[place]
            self._counted = place, Counter(_tokens(word_tokens, texts)), Counter(_tokens(gram_tokens, texts))
        return self._counted[1:]


@dataclass(frozen=True, slots=True)
class _Found:
    """A skill that was looked at; its share is without the help of how the request begins."""

    place: int
    score: float
    share: float


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


def _takes_no_text(skill: Skill) -> bool:
    """Whether a skill is called with numbers, days and choices only."""
    if skill.instruction_field or skill.input_schema.get("additionalProperties") is not False:
        return False
    inside = (parameter.items or parameter for parameter in parameters_of(skill.input_schema))
    return all(one.type in {"integer", "number", "boolean"} or one.choices or takes_days(one) for one in inside)


def _parameters(skill: Skill) -> list[str]:
    return [f"{parameter.name} {parameter.description}" for parameter in parameters_of(skill.input_schema)]


def _tokens(read: Callable[[str], list[str]], texts: Iterable[str]) -> Iterator[str]:
    return chain.from_iterable(map(read, texts))
