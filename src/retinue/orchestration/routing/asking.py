"""One clause as a request: what of it tells whose business it is, who that is, and whether they may do it.

`router` ranks; here is what it is asked, and what is made of its answer. How clauses are cut is the business of
`cutting`, how they hang together that of `linking`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Candidate
from retinue.orchestration.reader.spelling import Spellings
from retinue.orchestration.reader.table_call import table_parameters, takes_query
from retinue.orchestration.routing.clauses import Clause, strip_courtesy
from retinue.orchestration.routing.reading import Surroundings
from retinue.orchestration.routing.reading.paths import looks_into, mentioned_in, named_in, without_paths
from retinue.orchestration.routing.reading.said import vocabulary
from retinue.orchestration.routing.router import Router, Routing
from retinue.orchestration.routing.speech import change_asked, is_imperative, without_limits
from retinue.orchestration.routing.words import FUNCTION_WORDS, word_tokens

__all__ = ["QUESTION_WORDS", "Asking", "Business", "Request", "says_enough", "telling_words"]

_ENOUGH: Final = 2
"""So many telling words say what somebody wants."""
QUESTION_WORDS: Final = vocabulary(
    "what who whom whose how where when which why is are was were do does did can could will would should may"
)
_REQUESTS: Final = vocabulary(
    "find list show get give tell explain describe summarise summarize compare count check look search report"
)
_ANYBODYS: Final = QUESTION_WORDS | _REQUESTS
_SAYING_NOTHING: Final = frozenset(word_tokens(FUNCTION_WORDS))
_NO_OPENERS: Final = frozenset(word.lower() for word in FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that is asked, and who could do it.

    Attributes:
        instruction: What an agent is told of it: the clause without courtesies.
        whole: It is about all that the request before it brings, not about a digest of it.
        about: What its pronoun stands for, in the words of an earlier request: "the parser" for an "it".
    """

    clause: Clause
    routing: Routing
    instruction: str
    whole: bool = False
    about: str = ""

    @property
    def skill(self) -> tuple[str, str]:
        """The agent and the skill that fit best."""
        best = self.routing.candidates[0]
        return best.agent, best.skill

    def to(self, candidate: Candidate) -> "Request":
        """The same request with `candidate` before all others."""
        others = (one for one in self.routing.candidates if one != candidate)
        return replace(self, routing=replace(self.routing, candidates=(candidate, *others)))


class Business:
    """What the agents of one registry do, and in which words they are asked for it."""

    def __init__(self, definitions: Iterable[Definition], router: Router) -> None:
        self._router = router
        self._skills = {(one.name, skill.name): skill for one in definitions for skill in one.skills}
        self._over_tables = {key: skill for key, skill in self._skills.items() if takes_query(skill)}
        self._openers: dict[tuple[str, str] | None, tuple[frozenset[str], Spellings]] = {}

    def opens(self, request: "Request") -> bool:
        """Whether `request` begins as requests do: any, or those to whom it is for."""
        text = request.clause.text
        stripped = strip_courtesy(text)
        return bool(stripped) and (text != stripped or self._begins_as_known(stripped, request.routing))

    def _begins_as_known(self, text: str, routing: Routing) -> bool:
        """Whether the first word of `text` begins requests to the best of `routing`, or misspells one that does."""
        first, *_ = [*text.lower().split(maxsplit=1), ""]
        first = first.strip(",:'\u2019")
        best = None if routing.abstained else (routing.candidates[0].agent, routing.candidates[0].skill)
        if best not in self._openers:
            words = _ANYBODYS | _openers([self._skills[best]] if best else [])
            self._openers[best] = words, Spellings(words, shortest=4)
        known, spellings = self._openers[best]
        return first in known or spellings.nearest(first) is not None

    def of(self, instruction: str, around: Surroundings, *, files: tuple[str, ...] = ()) -> Routing:
        """Whose business `instruction` is.

        Args:
            instruction: The words, without courtesies.
            around: What is known beside them.
            files: What it is about, when other words say so.
        """
        route = partial(
            self._router.route,
            _topic(instruction, around),
            files=files or named_in(instruction, around) or mentioned_in(instruction),
            whole=instruction,
            within=bool(files) or looks_into(instruction, around),
        )
        routing = route()
        if (verb := change_asked(instruction)) is not None:
            able = route(only=lambda skill: set(skill.possible_effects) != {"read"} or verb in _openers([skill]))
            return _able(routing, able, verb)
        if (read := self._read_from_tables(routing, instruction, around)) is not None:
            return read
        if is_imperative(instruction) and not self._begins_as_known(instruction, routing):
            return self._understood(routing, instruction)
        return routing

    def _read_from_tables(self, routing: Routing, instruction: str, around: Surroundings) -> Routing | None:
        """To whoever computes over tables, when every word stands among the facts of one that lies here."""
        best = routing.candidates[0] if routing.fitting else None
        if around.facts is None or (best and (best.agent, best.skill) in self._over_tables):
            return None
        for (agent, name), skill in self._over_tables.items():
            facts = around.facts(agent, name)
            query = None if facts is None else table_parameters(skill, instruction, facts, {})
            if query is not None:
                reason = f"every word of it is read with the columns and values of `{query['files'][0]}`"
                own = Candidate(agent=agent, skill=name, score=1.0, share=1.0, reason=reason)
                said = f"`{agent}.{name}` fits: {reason}."
                return Routing((own, *routing.candidates), abstained=False, reason=said, fitting=1, stand_ins=(own,))
        return None

    def _understood(self, routing: Routing, instruction: str) -> Routing:
        """`routing`, abstained when an order that begins in nobody's words shares none that tells something either."""
        if routing.abstained or self._router.shares(routing.candidates[0], telling_words(instruction)):
            return routing
        verb = instruction.split(maxsplit=1)[0]
        return Routing(routing.candidates, abstained=True, reason=f"Nobody here says that it can `{verb}` anything.")


def _able(routing: Routing, able: Routing, verb: str) -> Routing:
    """`routing` to those who change things or say that they `verb`, which are `able`; abstained when that is nobody."""
    if not routing.candidates or (able.candidates and able.candidates[0] == routing.candidates[0]):
        return routing
    if not (able.abstained or routing.abstained):
        name = f"`{able.candidates[0].agent}.{able.candidates[0].skill}`"
        return replace(able, reason=f"To `{verb}` is to change something, and {name} is the nearest who may.")
    nearest = routing.candidates[0]
    reason = (
        f"To `{verb}` is to change something, and nobody here does that: the nearest, "
        f"`{nearest.agent}.{nearest.skill}`, only reads."
    )
    return Routing(routing.candidates, abstained=True, reason=reason)


@dataclass(frozen=True, slots=True)
class Asking:
    """The clauses of one goal, each routed once.

    Attributes:
        around: What is known beside the goal.
    """

    business: Business
    around: Surroundings
    _known: dict[tuple[str, tuple[str, ...]], Routing] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], Routing]
    )

    def request(self, clause: Clause, *, files: tuple[str, ...] = ()) -> Request:
        """`clause` as a request, about `files` when other words say so."""
        instruction = strip_courtesy(clause.text)
        if (instruction, files) not in self._known:
            self._known[instruction, files] = self.business.of(instruction, self.around, files=files)
        return Request(clause, self._known[instruction, files], instruction)


def telling_words(text: str) -> set[str]:
    """The stems of the words of `text` that mean something on their own."""
    return set(word_tokens(strip_courtesy(text))) - _SAYING_NOTHING


def says_enough(*requests: Request) -> bool:
    """Whether each has two words that mean something on their own."""
    return all(len(telling_words(one.clause.text)) >= _ENOUGH for one in requests)


def _topic(text: str, around: Surroundings) -> str:
    """What of `text` tells whose business it is: no paths, nothing that is to be left out."""
    topic = without_limits(text)
    bare = without_paths(topic, around)
    return bare if telling_words(bare) else topic


def _openers(skills: Iterable[Skill]) -> frozenset[str]:
    """The words with which requests to these skills begin, by their own examples and names."""
    texts = [
        text
        for skill in skills
        for text in (skill.description, skill.name.replace("_", " "), *map(strip_courtesy, skill.examples))
    ]
    words = [text.lower().split(maxsplit=1)[0].strip(",.:'") for text in texts if text.strip()]
    # "Calculates the area" is asked for by "calculate".
    bare = [word[:-1] for word in words if word.endswith("s") and not word.endswith("ss")]
    return frozenset(word for word in (*words, *bare) if len(word) > 2 and word not in _NO_OPENERS)
