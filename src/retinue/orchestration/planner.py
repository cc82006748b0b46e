"""The rules planner: a goal becomes a plan, with no model and nothing invented.

Cut the goal into clauses, route each, drop what nobody here does, join what is asked twice, fill in parameters, and
let a clause wait for the one whose product it speaks of. What it decided, and why, stands in the plan; who walks it
is the business of `walk`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Binding, Candidate, Delegation, Dropped, Plan
from retinue.contract.sanitize import printable
from retinue.errors import InvalidInput
from retinue.orchestration._view import FUNCTION_WORDS, word_tokens
from retinue.orchestration.bind import Bound, bind
from retinue.orchestration.clauses import Clause, joined, looks_back, pieces, sentences, strip_courtesy
from retinue.orchestration.reading import NOWHERE, Surroundings
from retinue.orchestration.reading.said import vocabulary
from retinue.orchestration.router import Router, Routing

__all__ = ["GOAL_CHARS", "Planner", "check_goal"]

GOAL_CHARS: Final = 10_000
"""The longest goal that is read. What is longer belongs into a file that the goal names."""

_MOST_CLAUSES: Final = 50
_ALTERNATIVES: Final = 3
_WEAKER_HALF: Final = 0.5
_QUESTION_WORDS: Final = vocabulary(
    "what who whom whose how where when which why is are was were do does did can could would will should may"
)
_REQUESTS: Final = vocabulary(
    "find list show get give tell explain describe summarise summarize compare count check look search report"
)
_PRONOUNS: Final = frozenset(["it", "its", "that", "their", "them", "these", "they", "this", "those"])
_NO_OPENERS: Final = frozenset(word.lower() for word in FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class _Request:
    clause: Clause
    routing: Routing


def check_goal(goal: str) -> str:
    """`goal` without space around it.

    Raises:
        InvalidInput: It is empty, longer than `GOAL_CHARS`, no Unicode, or holds control characters.
    """
    stripped = goal.strip()
    if not stripped:
        raise InvalidInput("The goal is empty.", hint="Say what you want to know or have done.", path="/goal")
    if len(stripped) > GOAL_CHARS:
        raise InvalidInput(
            f"The goal has {len(stripped):,} characters; {GOAL_CHARS:,} are read.",
            hint="Put the long part into a file of the workspace and name the file in the goal.",
            path="/goal",
        )
    for place, character in enumerate(stripped):
        if "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"The goal is not valid Unicode at position {place}: {character!r}.",
                hint="Write it in UTF-8; in a terminal, set a UTF-8 locale such as `LC_ALL=C.UTF-8`.",
                path="/goal",
            )
        if (character < " " and character not in "\t\n\r") or character == "\x7f":
            raise InvalidInput(
                f"The goal holds the control character {character!r} at position {place}.",
                hint="Remove it; only tabs and line ends may stand beside printable characters.",
                path="/goal",
            )
    return stripped


class Planner:
    """Plans goals for the agents of one registry."""

    def __init__(self, definitions: Iterable[Definition], *, floor: float | None = None) -> None:
        # Of two majors side by side the oldest answers to the bare name, and comes first.
        self._definitions: dict[str, Definition] = {}
        for definition in definitions:
            self._definitions.setdefault(definition.name, definition)
        self.router = Router(self._definitions.values(), floor=floor)
        self._openers = _QUESTION_WORDS | _REQUESTS | _openers(self._definitions.values())

    def plan(self, goal: str, *, around: Surroundings = NOWHERE) -> Plan:
        """A plan for `goal`: empty, with everything dropped, when nobody here can do any of it.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        text = check_goal(goal)
        found, more = self._requests(text)
        dropped = [_dropped(request) for request in found if request.routing.abstained] + more
        if found and all(request.routing.abstained for request in found):
            whole = self.router.route(text)
            if not whole.abstained:  # its clauses are too weak alone, together they are not
                found, dropped = [_Request(Clause(" ".join(text.split())), whole)], more
        nodes = self._nodes([request for request in found if not request.routing.abstained], text, around)
        return Plan(goal=text, nodes=nodes, dropped=tuple(dropped))

    def _requests(self, goal: str) -> tuple[list[_Request], list[Dropped]]:
        cut = [clause for sentence in sentences(goal) for clause in self._cut(sentence)]
        found = [self._routed(clause) for clause in cut[:_MOST_CLAUSES]]
        reason = f"Only the first {_MOST_CLAUSES} requests of a goal are planned."
        more = [Dropped(clause=printable(clause.text)[:500], reason=reason) for clause in cut[_MOST_CLAUSES:]]
        return self._with_context(found), more

    def _routed(self, clause: Clause) -> _Request:
        return _Request(clause, self.router.route(strip_courtesy(clause.text)))

    def _cut(self, sentence: Clause) -> list[Clause]:
        """`sentence` cut where both sides are requests on their own."""
        parts = pieces(sentence)
        if len(parts) > _MOST_CLAUSES * 2:
            return [sentence]
        found: list[Clause] = []
        begun = parts[0] if parts else sentence
        for part in parts[1:]:
            longer = joined(sentence, begun, part)
            if self._are_two(self._routed(begun), self._routed(part), longer):
                found.append(begun)
                begun = part
            else:
                begun = longer
        return [*found, begun]

    def _are_two(self, left: _Request, right: _Request, whole: Clause) -> bool:
        """Whether two neighbouring pieces are two requests and not one with an "and" in it.

        Either must be somebody's business by itself. Then the second begins like a request; or, since "the weather in A
        and news from B" has no second verb, they are for different skills, one of them fits better than both together
        do, and the other not much worse.
        """
        opens = self._opens(right.clause.text)
        if left.routing.abstained or right.routing.abstained:
            # What nobody does is a request too, when it says enough to be one: else nobody would hear of it.
            return opens and left.routing.abstained != right.routing.abstained and _says_enough(left, right)
        if opens:
            return " " in left.clause.text  # "find and show me" is one request
        first, second = left.routing.candidates[0], right.routing.candidates[0]
        if _skill(first) == _skill(second) or " " not in right.clause.text:
            return False
        together = self._routed(whole).routing.candidates[0].share
        strong, weak = max(first.share, second.share), min(first.share, second.share)
        return strong >= together and weak >= _WEAKER_HALF * together

    def _opens(self, text: str) -> bool:
        words = strip_courtesy(text).lower().split(maxsplit=1)
        return bool(words) and (words[0].strip(",:'\u2019") in self._openers or text != strip_courtesy(text))

    def _with_context(self, found: list[_Request]) -> list[_Request]:
        """Sentences that only tell something, joined to the request beside them that the same skill does."""
        kept: list[_Request] = []
        for request in found:
            before = kept[-1] if kept else None
            if before is None or before.routing.abstained or request.routing.abstained:
                kept.append(request)
                continue
            same = _skill(before.routing.candidates[0]) == _skill(request.routing.candidates[0])
            if same and not (self._opens(request.clause.text) and self._opens(before.clause.text)):
                clause = replace(before.clause, text=f"{before.clause.text} {request.clause.text}")
                kept[-1] = _Request(clause, max(before.routing, request.routing, key=_best_share))
            else:
                kept.append(request)
        return kept

    def _nodes(self, found: list[_Request], goal: str, around: Surroundings) -> tuple[Delegation, ...]:
        nodes: list[Delegation] = []
        known: dict[str, int] = {}
        for request in found:
            chosen = request.routing.candidates[0]
            skill = self._skill(chosen)
            instruction = strip_courtesy(request.clause.text)
            before = _carried(nodes[-1], request, skill) if nodes else ()
            bound = bind(skill, instruction, agent=chosen.agent, goal=goal, before=before, around=around)
            key = _key(chosen, bound, skill)
            if key in known:
                nodes[known[key]] = _joined(nodes[known[key]], instruction)
                continue
            known[key] = len(nodes)
            nodes.append(self._node(f"n{len(nodes) + 1}", request, instruction, bound, nodes))
        return tuple(nodes)

    def _node(
        self, node: str, request: _Request, instruction: str, bound: Bound, before: list[Delegation]
    ) -> Delegation:
        chosen, *others = request.routing.candidates
        needed = _producer(request.clause, before)
        return Delegation(
            id=node,
            agent=chosen.agent,
            skill=chosen.skill,
            instruction=instruction,
            parameters=bound.parameters,
            needs=(needed.id,) if needed else (),
            alternatives=tuple(other for other in others if other.share >= self.router.floor)[:_ALTERNATIVES],
            chosen=chosen,
            bindings=bound.bindings,
            questions=bound.questions,
        )

    def _skill(self, candidate: Candidate) -> Skill:
        skill = self._definitions[candidate.agent].skill(candidate.skill)
        if skill is None:  # the router knows only skills of these definitions
            raise KeyError(candidate.skill)
        return skill


def _says_enough(*requests: _Request) -> bool:
    """Whether each has two words that mean something on their own."""
    return all(len(_telling_words(one.clause.text)) > 1 for one in requests)


def _telling_words(text: str) -> set[str]:
    return set(word_tokens(strip_courtesy(text))) - set(word_tokens(FUNCTION_WORDS))


def _carried(before: Delegation, request: _Request, skill: Skill) -> tuple[Binding, ...]:
    """What the clause before said that still holds: "how many commits in 2025, and which was the largest?".

    Only for the same skill, and only when the clause says next to nothing itself or speaks of what came before.
    """
    text = request.clause.text
    if (before.agent, before.skill) != _skill(request.routing.candidates[0]):
        return ()
    if len(_telling_words(text)) > 1 and not _PRONOUNS.intersection(text.lower().strip("?.! ").split()):
        return ()
    return tuple(one for one in before.bindings if one.how == "said" and one.parameter != skill.instruction_field)


def _best_share(routing: Routing) -> float:
    return routing.candidates[0].share if routing.candidates else 0.0


def _skill(candidate: Candidate) -> tuple[str, str]:
    return candidate.agent, candidate.skill


def _key(chosen: Candidate, bound: Bound, skill: Skill) -> str:
    """What makes two requests the same; the order of parameters and the case of an instruction do not."""
    parameters = dict(bound.parameters)
    if skill.instruction_field and isinstance(said := parameters.get(skill.instruction_field), str):
        parameters[skill.instruction_field] = " ".join(said.lower().rstrip(".?! ").split())
    return json.dumps([*_skill(chosen), parameters], sort_keys=True, default=str)


def _joined(node: Delegation, instruction: str) -> Delegation:
    if instruction.lower() in node.instruction.lower():
        return node
    return node.model_copy(update={"instruction": f"{node.instruction} {instruction}"})


def _producer(clause: Clause, before: list[Delegation]) -> Delegation | None:
    """The node whose product `clause` speaks of: the latest that has to do with it, else the latest."""
    said = looks_back(clause.text)
    if not before or (said is None and not clause.follows):
        return None
    stems = set(word_tokens(said or "")) - set(word_tokens(FUNCTION_WORDS))
    for node in reversed(before):
        if stems.intersection(word_tokens(f"{node.skill} {node.instruction}")):
            return node
    return before[-1]


def _dropped(request: _Request) -> Dropped:
    return Dropped(
        clause=request.clause.text, reason=request.routing.reason, nearest=request.routing.candidates[:_ALTERNATIVES]
    )


def _openers(definitions: Iterable[Definition]) -> frozenset[str]:
    """The words with which requests to these agents begin, by their own examples and names."""
    texts = [
        text
        for definition in definitions
        for skill in definition.skills
        for text in (skill.description, skill.name.replace("_", " "), *map(strip_courtesy, skill.examples))
    ]
    words = [text.lower().split(maxsplit=1)[0].strip(",.:'") for text in texts if text.strip()]
    # "Calculates the area" is asked for by "calculate".
    bare = [word[:-1] for word in words if word.endswith("s") and not word.endswith("ss")]
    return frozenset(word for word in (*words, *bare) if len(word) > 2 and word not in _NO_OPENERS)
