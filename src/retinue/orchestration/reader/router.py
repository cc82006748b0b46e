"""Which skill a clause of a goal is for: ranking among all skills there are, and the right to say "none of them".

What a skill is asked for is taken from its definition alone: names, descriptions, parameters, the meanings of choices,
and `examples`. There is no rule here for any one agent. Whether a skill can be *called* with the words is the business
of `bind` and `planner`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, groupby, pairwise
from typing import Final, TypeAlias

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration.reader.index import SkillIndex, z_scores
from retinue.orchestration.reader.parameters import parameters_of
from retinue.orchestration.reader.text_tokens import (
    FUNCTION_STEMS,
    FUNCTION_WORDS,
    NEGATIONS,
    content_words,
    correct_spelling,
    is_generic,
    ngram_tokens,
    word_tokens,
)

THRESHOLD: Final = 0.5
"""So much of a clause must be known, as if each of its words stood in the skill's text once."""
THRESHOLD_WITHOUT_EXAMPLES: Final = 0.1
"""The share that is good enough for a skill with fewer than three examples."""
_ENOUGH_EXAMPLES: Final = 3

_BARE_NEGATIONS: Final = NEGATIONS | {word.partition("'")[0] for word in NEGATIONS}
_MAX_CHARS: Final = 2_000
_BOILERPLATE: Final = re.compile(r"\bnot for [^.;]*|\bReturns:?(?= )|\bUse it\b")
"""What a description says that a skill does not do, and how the sentences begin that each description has."""
_VALUE: Final = re.compile(
    r"`[^`\n]+`|\{\w+\}|(?<![\w/.-])[\w-]*(?:[/\\._]+\w[\w-]*)+(?:\(\))?|\b[a-z]+(?:[A-Z]\w*)+|(?<![\w.-])v?\d[\d.:/-]*(?!\w)"
)


Likeness: TypeAlias = Callable[[str], Sequence[float]]
"""How like each skill is to a clause by meaning, -1 to 1, in the order in which they were given (see `embedding`)."""

Embedder: TypeAlias = Callable[[Sequence[Sequence[str]]], Likeness]
"""Embeds the texts of each skill, and gives what tells how like each is to a clause."""


@dataclass(frozen=True, slots=True)
class Routing:
    """Who could do a clause: whoever is good enough, best first, and after them the nearest of the others.

    Attributes:
        abstained: Nobody is good enough, and `candidates` are only the nearest.
        reason: Why, in words a person can judge.
        fit_count: How many of `candidates` are good enough.
    """

    candidates: tuple[Candidate, ...]
    abstained: bool
    reason: str
    fit_count: int = 0

    @property
    def alternatives(self) -> tuple[Candidate, ...]:
        """Those that are good enough: they may be asked when the best found nothing."""
        return self.candidates[: self.fit_count]


class Router:
    """Ranks the skills of some agents for a clause: by BM25 over words and over 4-grams, and by meaning if it may.

    Ranking compares skills with each other (the sum of z-scores). Whether one is good enough does not: it must know
    its *share* of the clause.

    Args:
        definitions: The agents.
        threshold: The least share that is good enough, for all of them.
        likeness: Makes the third score, of the texts of each skill; None does without.
    """

    def __init__(
        self,
        definitions: Iterable[Definition],
        *,
        threshold: float | None = None,
        likeness: Embedder | None = None,
    ) -> None:
        self.skills: list[tuple[Definition, Skill]] = [
            (definition, skill) for definition in definitions for skill in definition.skills if not skill.unavailable
        ]
        self._indexes = {(one.name, skill.name): place for place, (one, skill) in enumerate(self.skills)}
        self._threshold = threshold
        texts = _skill_texts(self.skills)
        self._words = SkillIndex(
            (chain.from_iterable(map(word_tokens, pieces)) for pieces in texts), common=FUNCTION_STEMS
        )
        self._grams = SkillIndex(
            (chain.from_iterable(map(ngram_tokens, pieces)) for pieces in texts),
            common=frozenset(ngram_tokens(FUNCTION_WORDS)),
        )
        self._likeness = (
            None
            if likeness is None
            else likeness(
                [[f"{skill.name.replace('_', ' ')}. {skill.description}", *skill.examples] for _, skill in self.skills]
            )
        )
        self._vocabularies: dict[int, frozenset[str]] = {}
        self._topics: dict[int, frozenset[str]] = {}
        self._examples = [
            {frozenset(word_tokens(strip_values(one))) for one in skill.examples} for _, skill in self.skills
        ]

    def route(
        self, clause: str, *, limit: int = 5, allows: Callable[[Definition, Skill], bool] | None = None
    ) -> Routing:
        """The best `limit` skills for `clause`, of which only the first 2,000 characters are read.

        Args:
            clause: What is asked.
            limit: How many candidates are given.
            allows: Which skills may be given at all; all, unless said.
        """
        whole, clause = clause[:_MAX_CHARS], strip_values(clause[:_MAX_CHARS])
        words, grams = (list(dict.fromkeys(tokens)) for tokens in (word_tokens(clause), ngram_tokens(clause)))
        scores = [sum(z) for z in zip(*map(z_scores, self._scores(whole, words, grams)), strict=True)]
        places = [place for place in range(len(scores)) if allows is None or allows(*self.skills[place])]
        query = frozenset(words)
        ranked = nlargest(
            max(limit, 1), places, key=lambda place: (query in self._examples[place], scores[place], -place)
        )
        if not ranked:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        shares = {place: self._share(words, grams, place) for place in ranked}
        fits = [place for place, share in shares.items() if share >= self.threshold(place)]
        chosen = [*fits, *(place for place in shares if place not in fits)][:limit]
        candidates = tuple(self._candidate(clause, place, scores[place], shares[place]) for place in chosen)
        name = f"`{candidates[0].agent}.{candidates[0].skill}`"
        if fits:
            reason = f"{name} fits to {candidates[0].share:.2f}: it {candidates[0].reason}."
        else:
            needed = self.threshold(chosen[0])
            reason = f"The nearest, {name}, fits to {candidates[0].share:.2f} where {needed:.2f} is needed."
        return Routing(candidates, abstained=not fits, reason=reason, fit_count=len(fits))

    def _scores(self, whole: str, words: Sequence[str], grams: Sequence[str]) -> list[Sequence[float]]:
        scores: list[Sequence[float]] = [self._words.scores(words), self._grams.scores(grams)]
        return scores if self._likeness is None else [*scores, self._likeness(whole)]

    def _share(self, words: Sequence[str], grams: Sequence[str], index: int) -> float:
        if frozenset(words) in self._examples[index]:
            return 1.0
        return (self._words.share(words, index) + self._grams.share(grams, index)) / 2

    def threshold(self, index: int) -> float:
        """The least share that is good enough for the skill at `index`; the longer its text, the less."""
        if self._threshold is not None:
            return self._threshold
        if len(self.skills[index][1].examples) < _ENOUGH_EXAMPLES:
            return THRESHOLD_WITHOUT_EXAMPLES
        return THRESHOLD * self._words.single_share(index)

    def index_of(self, candidate: Candidate) -> int:
        """Where the skill of `candidate` stands in `skills`."""
        return self._indexes[candidate.agent, candidate.skill]

    def is_on_topic(self, text: str, index: int) -> bool:
        """Whether `text` has a word of the topic of the skill at `index`, or every word of one of its examples.

        The topic is the words of its name and description; it is anything where most of its examples have none of them.
        """
        if index not in self._topics:
            skill = self.skills[index][1]
            words = content_words(f"{skill.name} {_BOILERPLATE.sub(' ', skill.description)}")
            topic = frozenset(word_tokens(word)[0] for word in words if not is_generic(word))
            matches = [not topic.isdisjoint(example) for example in self._examples[index]]
            self._topics[index] = topic if 2 * sum(matches) > len(matches) else frozenset()
        topic, stems = self._topics[index], frozenset(word_tokens(text))
        return not topic or not topic.isdisjoint(stems) or any(one and one <= stems for one in self._examples[index])

    def unknown_words(self, text: str, index: int) -> list[str]:
        """The words of `text` that tell something, and that the skill at `index` does not use, nor a word like them.

        A "not" is known only in front of the word before which the skill has it itself.
        """
        if index not in self._vocabularies:
            definition, skill = self.skills[index]
            names = [skill.name, definition.name, *definition.aliases, *definition.tags]
            descriptions = (_BOILERPLATE.sub("", one.description) for one in (definition, skill))
            pieces = [*names, *descriptions, *_parameter_texts(skill.input_schema)]
            pieces += map(strip_values, skill.examples)
            self._vocabularies[index] = frozenset(chain.from_iterable(map(word_tokens, pieces))).union(
                *map(_negated_pairs, pieces)
            )
        vocabulary = self._vocabularies[index]
        words = ((word, word_tokens(word)[0]) for word in content_words(text) if not is_generic(word))
        words = ((word, token) for word, token in words if word.lower() not in _BARE_NEGATIONS)
        unknown = [word for word, token in words if token not in vocabulary and not _is_similar(token, vocabulary)]
        return unknown + [pair for pair in _negated_pairs(text) if pair not in vocabulary]

    def _candidate(self, clause: str, index: int, score: float, share: float) -> Candidate:
        definition, skill = self.skills[index]
        shared = [word for word in content_words(clause) if self._words.weight(word_tokens(word)[0], index)]
        reason = f"shares {', '.join(dict.fromkeys(shared[:6]))}" if shared else "shares parts of words only"
        if like := similar_example(skill, clause):
            reason += f"; is asked like “{like}”"
        return Candidate(
            agent=definition.name, skill=skill.name, score=round(score, 4), share=round(share, 4), reason=reason
        )


def _is_similar(token: str, vocabulary: frozenset[str]) -> bool:
    if token.isdigit():
        return False
    asking = [one for one in FUNCTION_STEMS if one[0] == token[0]]  # "wich"
    return correct_spelling(token, vocabulary) is not None or correct_spelling(token, asking, shortest=4) is not None


def _negated_pairs(text: str) -> list[str]:
    """Each "not" of `text` with the word behind it."""
    words = text.lower().replace("\u2019", "'").split()
    pairs = ((one, *word_tokens(other)) for one, other in pairwise([*words, ""]) if one.strip(",;:") in NEGATIONS)
    return [f"not {pair[1]}" for pair in pairs if len(pair) > 1]


def strip_values(text: str) -> str:
    """`text` without names of files and code, numbers, dates and quotes: what is asked about, and no topic."""
    return _VALUE.sub(" ", text)


def similar_example(skill: Skill, clause: str) -> str:
    """The example of `skill` that has most of the telling words of `clause`; empty when none has two."""
    tokens = {word_tokens(word)[0] for word in content_words(clause)}
    shared = {one: len(tokens.intersection(word_tokens(one))) for one in skill.examples}
    best = max(shared, key=shared.__getitem__, default="")
    return best if shared.get(best, 0) > 1 else ""


def _skill_texts(skills: Iterable[tuple[Definition, Skill]]) -> list[list[str]]:
    """What each skill says of itself, piece by piece; its name counts twice.

    What all skills of an agent say alike tells none of them from another, and is left out.
    """
    texts: list[list[str]] = []
    for _, several in groupby(skills, key=lambda one: id(one[0])):
        same_agent = list(several)
        parameters = [list(_parameter_texts(skill.input_schema)) for _, skill in same_agent]
        shared = frozenset(parameters[0]).intersection(*parameters) if len(parameters) > 1 else frozenset[str]()
        for (definition, skill), own in zip(same_agent, parameters, strict=True):
            pieces = [skill.name, skill.name, definition.name, *definition.aliases, *definition.tags]
            pieces += [definition.description, skill.description, *map(strip_values, skill.examples)]
            texts.append([*pieces, *(text for text in own if text not in shared)])
    return texts


def _parameter_texts(schema: Mapping[str, object]) -> Iterable[str]:
    for parameter in parameters_of(schema):
        if parameter.schema.get("type") == "boolean":  # its words are told only where it is bound
            continue
        yield f"{parameter.name} {strip_values(parameter.description)}"
        for inside in (parameter, parameter.items):
            if inside is not None:
                yield from (f"{choice} {meaning}" for choice, meaning in inside.meanings.items())
