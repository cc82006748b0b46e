"""Which skill a clause of a goal is for: ranking among all skills there are, and the right to say "none of them".

What a skill is asked for is taken from its definition alone: names, descriptions, parameters, the meanings of choices,
and `examples`. There is no rule here for any one agent. Whether a skill can be *called* with the words is the business
of `bind` and `planner`.
"""

import re
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import chain, groupby, pairwise
from math import log, sqrt
from operator import mul
from typing import Final, TypeAlias

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
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
_NUMBERED: Final = re.compile(r"`?\b([A-Z]{3,12})-[0-9][0-9.]*\b`?")
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
        # What all skills of an agent say alike tells none of them from another, and is left out; a name counts twice.
        texts: list[list[str]] = []
        for _, several in groupby(self.skills, key=lambda one: id(one[0])):
            same_agent = list(several)
            parameters = [list(_parameter_texts(skill.input_schema)) for _, skill in same_agent]
            shared = frozenset(parameters[0]).intersection(*parameters) if len(parameters) > 1 else frozenset[str]()
            for (definition, skill), own in zip(same_agent, parameters, strict=True):
                pieces = [skill.name, skill.name, definition.name, *definition.aliases, *definition.tags]
                pieces += [definition.description, skill.description, *map(strip_values, skill.examples)]
                texts.append([*pieces, *(text for text in own if text not in shared)])

        self._words, self._grams = _indexes(tuple(map(tuple, texts)))
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
        similarities: list[Sequence[float]] = [self._words.scores(words), self._grams.scores(grams)]
        if self._likeness is not None:
            similarities.append(self._likeness(whole))
        # Each measure has a scale of its own; in standard deviations they can be added.
        scores = [sum(z) for z in zip(*map(z_scores, similarities), strict=True)]
        places = [place for place in range(len(scores)) if allows is None or allows(*self.skills[place])]
        query = frozenset(words)
        ranked = nlargest(
            max(limit, 1), places, key=lambda place: (query in self._examples[place], scores[place], -place)
        )
        if not ranked:
            return Routing((), abstained=True, reason="There is no agent to ask.")
        shares = {
            place: 1.0
            if query in self._examples[place]
            else (self._words.share(words, place) + self._grams.share(grams, place)) / 2
            for place in ranked
        }
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
        unknown: list[str] = []
        for word in content_words(text):
            if is_generic(word) or word.lower() in _BARE_NEGATIONS or (token := word_tokens(word)[0]) in vocabulary:
                continue
            question_words = [one for one in FUNCTION_STEMS if one[0] == token[0]]  # "wich" is a word of no topic
            spelling = correct_spelling(token, vocabulary) or correct_spelling(token, question_words, shortest=4)
            if token.isdigit() or spelling is None:
                unknown.append(word)
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


def _negated_pairs(text: str) -> list[str]:
    """Each "not" of `text` with the word behind it."""
    words = text.lower().replace("\u2019", "'").split()
    pairs = ((one, *word_tokens(other)) for one, other in pairwise([*words, ""]) if one.strip(",;:") in NEGATIONS)
    return [f"not {pair[1]}" for pair in pairs if len(pair) > 1]


def strip_values(text: str) -> str:
    """`text` without names of files and code, numbers, dates and quotes: what is asked about, and no topic.

    Of an id such as STORY-0001.2 its word stays.
    """
    return _VALUE.sub(" ", _NUMBERED.sub(r"\1 ", text))


def similar_example(skill: Skill, clause: str) -> str:
    """The example of `skill` that has most of the telling words of `clause`; empty when none has two."""
    tokens = {word_tokens(word)[0] for word in content_words(clause)}
    shared = {one: len(tokens.intersection(word_tokens(one))) for one in skill.examples}
    best = max(shared, key=shared.__getitem__, default="")
    return best if shared.get(best, 0) > 1 else ""


@lru_cache(maxsize=4)
def _indexes(texts: tuple[tuple[str, ...], ...]) -> tuple["SkillIndex", "SkillIndex"]:
    """Over words and over 4-grams; every goal of a server asks about the same skills."""
    return (
        SkillIndex((chain.from_iterable(map(word_tokens, pieces)) for pieces in texts), common=FUNCTION_STEMS),
        SkillIndex(
            (chain.from_iterable(map(ngram_tokens, pieces)) for pieces in texts),
            common=frozenset(ngram_tokens(FUNCTION_WORDS)),
        ),
    )


def _parameter_texts(schema: Mapping[str, object]) -> Iterable[str]:
    for parameter in parameters_of(schema):
        if parameter.schema.get("type") == "boolean":  # its words are told only where it is bound
            continue
        yield f"{parameter.name} {strip_values(parameter.description)}"
        for inside in (parameter, parameter.items):
            if inside is not None:
                yield from (f"{choice} {meaning}" for choice, meaning in inside.meanings.items())


_K1: Final = 1.5
_B: Final = 0.9
_COMMON: Final = 0.3
"""What a function word, or a 4-gram of them, counts in a share where any other counts 1."""
_WORK: Final = 60_000
"""About so many numbers are added up to find the best documents. What does not fit in, the commonest tokens, is added
for the best alone: five times quicker among ten thousand documents and, measured, as good."""
_SHORTLIST: Final = 128


class SkillIndex:
    """The documents' tokens, with weights computed once.

    Args:
        documents: The tokens of each.
        common: Tokens that say nothing about a topic.
    """

    def __init__(self, documents: Iterable[Iterable[str]], *, common: AbstractSet[str]) -> None:
        self._common = common
        lengths = array("i")
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        for place, document in enumerate(documents):
            counts = Counter(document)
            lengths.append(counts.total())
            for token, times in counts.items():
                places, weights = self._postings.setdefault(token, (array("i"), array("f")))
                places.append(place)
                weights.append(times)
        # The part of BM25 that no query changes: how often a token stands in a document, against how long that is.
        mean_length = sum(lengths) / len(lengths) if lengths else 1.0
        self._length_norm = array("f", (_K1 * (1 - _B + _B * length / (mean_length or 1.0)) for length in lengths))
        for places, weights in self._postings.values():
            for number, place in enumerate(places):
                weights[number] /= weights[number] + self._length_norm[place]

    def __len__(self) -> int:
        return len(self._length_norm)

    def scores(self, tokens: Iterable[str]) -> list[float]:
        """What each document scores for a query; among thousands only the best are scored in full."""
        postings = [one for token in tokens if (one := self._postings.get(token)) is not None]
        # The rarest first: they say most about the topic, and cost least.
        postings.sort(key=lambda one: len(one[0]))
        total = [0.0] * len(self)
        spent = 0
        while postings and spent <= _WORK:
            places, weights = postings.pop(0)
            idf = self._idf(len(places))
            for place, weight in zip(places, weights, strict=True):
                total[place] += idf * weight
            spent += len(places)
        for place in nlargest(_SHORTLIST, range(len(total)), key=total.__getitem__) if postings else ():
            total[place] += sum(self._idf(len(one[0])) * _weight(one, place) for one in postings)
        return total

    def share(self, tokens: Collection[str], index: int) -> float:
        """What the document at `index` has of `tokens`: 1 would be each of them, as often as you like."""
        total = sum(map(self._token_weight, tokens))
        score = sum(self._token_weight(token) * self.weight(token, index) for token in tokens)
        return score / total if total else 0.0

    def single_share(self, index: int) -> float:
        """The share of a query whose every token the document at `index` has once."""
        return 1 / (1 + self._length_norm[index])

    def weight(self, token: str, index: int) -> float:
        """How much the document at `index` has of `token`, 0 to 1."""
        return _weight(self._postings[token], index) if token in self._postings else 0.0

    def _idf(self, holders: int) -> float:
        return log(1 + (len(self) - holders + 0.5) / (holders + 0.5))

    def _token_weight(self, token: str) -> float:
        return _COMMON if token in self._common else 1.0


def z_scores(values: Sequence[float]) -> list[float]:
    """How many standard deviations each value lies above the mean of them all and of nothing.

    Without that "nothing" the scores of two documents would be 1 and -1, however near they are.
    """
    count = len(values) + 1
    mean = sum(values) / count
    deviation = sqrt(max(0.0, sum(map(mul, values, values)) / count - mean * mean)) or 1.0
    return [(value - mean) / deviation for value in values]


def _weight(posting: tuple["array[int]", "array[float]"], index: int) -> float:
    places, weights = posting
    position = bisect_left(places, index)
    return weights[position] if position < len(places) and places[position] == index else 0.0
