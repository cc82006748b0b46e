"""The rules planner: a goal becomes a plan, with no model and nothing invented.

`cutting` takes the goal apart into requests and finds who could do each. Here equal ones are joined, parameters are
filled in, and a request waits for the one whose product it speaks of. What was decided, and why, stands in the plan;
who walks it is the business of `walk`.
"""

import json
from collections.abc import Iterable
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.plan import Binding, Delegation, Dropped, Plan
from retinue.errors import InvalidInput
from retinue.orchestration.routing.asking import Request, telling_words
from retinue.orchestration.routing.bind import Bound, bind
from retinue.orchestration.routing.cutting import Cutter
from retinue.orchestration.routing.reading import NOWHERE, Parameter, Surroundings, parameters_of
from retinue.orchestration.routing.references import looks_back, pronoun_in
from retinue.orchestration.routing.router import Router
from retinue.orchestration.routing.words import FUNCTION_WORDS, word_tokens

__all__ = ["GOAL_CHARS", "Planner", "check_goal"]

GOAL_CHARS: Final = 10_000
"""The longest goal that is read. What is longer belongs into a file that the goal names."""

_ALTERNATIVES: Final = 3
_CALLABLE: Final = 0.5
"""Who reaches this much of the best one's share is asked instead, when only the best would have to ask."""


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
        self._parameters: dict[tuple[str, str], tuple[Parameter, ...]] = {}
        self._cutter = Cutter(self._definitions.values(), self.router)

    def plan(self, goal: str, *, around: Surroundings = NOWHERE) -> Plan:
        """A plan for `goal`: empty, with everything dropped, when nobody here can do any of it.

        Empty with nothing dropped when it asks for nothing ("thanks!").

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        text = check_goal(goal)
        if not any(character.isalnum() for character in text):
            return Plan(goal=text, dropped=(Dropped(clause=text, reason="There is no word in it."),))
        cut = self._cutter.cut(text, around=around)
        return Plan(goal=text, nodes=self._nodes(cut.requests, text, around), dropped=cut.dropped)

    def _nodes(self, found: Iterable[Request], goal: str, around: Surroundings) -> tuple[Delegation, ...]:
        nodes: list[Delegation] = []
        known: dict[str, int] = {}
        for asked in found:
            needed = _needed(asked, nodes)
            if needed is None and nodes and self._is_told_by_another(asked, nodes, goal=goal, around=around):
                needed = _producer(looks_back(asked.instruction) or "", nodes)
            request, bound = self._chosen(asked, needed, nodes, goal=goal, around=around)
            key = _key(request, bound, self._skill(request), needed)
            if key in known:
                nodes[known[key]] = _joined(nodes[known[key]], request.instruction)
                continue
            known[key] = len(nodes)
            nodes.append(self._node(f"n{len(nodes) + 1}", request, bound, needed))
        return tuple(nodes)

    def _chosen(
        self, request: Request, needed: Delegation | None, nodes: list[Delegation], *, goal: str, around: Surroundings
    ) -> tuple[Request, Bound]:
        """`request` for the best candidate; or, when that would have to ask, for another who need not.

        A node that waits for another may be told the rest by that.
        """
        found = self._bound(request, nodes, goal=goal, around=around)
        if needed is not None or not _has_to_ask(found):
            return request, found
        top, *others = request.routing.candidates
        for candidate in others:
            if candidate.share < _CALLABLE * top.share:
                continue
            other = request.to(candidate)
            bound = self._bound(other, nodes, goal=goal, around=around)
            if not bound.questions:
                return other, bound
        return request, found

    def _is_told_by_another(
        self, request: Request, nodes: list[Delegation], *, goal: str, around: Surroundings
    ) -> bool:
        """Whether it cannot be called from what was said, and speaks of "them": then the node before can say it."""
        if pronoun_in(request.instruction) is None and looks_back(request.instruction) is None:
            return False
        return _has_to_ask(self._bound(request, nodes, goal=goal, around=around))

    def _bound(self, request: Request, nodes: list[Delegation], *, goal: str, around: Surroundings) -> Bound:
        skill = self._skill(request)
        clause = f"{request.instruction} ({request.about})" if request.about else request.instruction
        return bind(
            skill,
            clause,
            agent=request.skill[0],
            goal=goal,
            before=_carried(nodes[-1], request, skill) if nodes else (),
            around=around,
            parameters=self._parameters_of(request),
        )

    def _parameters_of(self, request: Request) -> tuple[Parameter, ...]:
        if request.skill not in self._parameters:
            self._parameters[request.skill] = parameters_of(self._skill(request).input_schema)
        return self._parameters[request.skill]

    def _node(self, node: str, request: Request, bound: Bound, needed: Delegation | None) -> Delegation:
        chosen, *others = request.routing.candidates
        return Delegation(
            id=node,
            agent=chosen.agent,
            skill=chosen.skill,
            instruction=request.instruction,
            parameters=bound.parameters,
            needs=(needed.id,) if needed else (),
            context={needed.id: "full"} if needed and request.whole else {},
            alternatives=tuple(other for other in others if other in request.routing.stand_ins)[:_ALTERNATIVES],
            chosen=chosen,
            bindings=bound.bindings,
            questions=bound.questions,
        )

    def _skill(self, request: Request) -> Skill:
        agent, name = request.skill
        skill = self._definitions[agent].skill(name)
        if skill is None:  # the router knows only skills of these definitions
            raise KeyError(name)
        return skill


def _has_to_ask(bound: Bound) -> bool:
    """Whether something is missing that nobody said; which of several is meant only a person can say."""
    return any(question.kind == "question" for question in bound.questions)


def _carried(before: Delegation, request: Request, skill: Skill) -> tuple[Binding, ...]:
    """What the clause before said that still holds: "how many commits in 2025, and which was the largest?".

    Only for the same skill, and only when the clause says next to nothing itself or speaks of what came before.
    """
    text = request.clause.text
    if (before.agent, before.skill) != request.skill:
        return ()
    if len(telling_words(text)) > 1 and not (pronoun_in(text) or looks_back(text)):
        return ()
    return tuple(one for one in before.bindings if one.how == "said" and one.parameter != skill.instruction_field)


def _needed(request: Request, before: list[Delegation]) -> Delegation | None:
    """The node that `request` has to wait for, if any.

    What another is to bring ("that commit", "then …", "compare them") is waited for. What another only *names* ("who
    changed the parser, and how does it work") is said again instead, and nothing waits.
    """
    text = request.clause.text
    said = looks_back(text)
    points = request.clause.follows or (not request.about and (said is not None or pronoun_in(text) is not None))
    return _producer(said or "", before) if points and before else None


def _producer(said: str, before: list[Delegation]) -> Delegation:
    """The node whose product `said` means: the latest that has to do with it, else the latest."""
    stems = set(word_tokens(said)) - set(word_tokens(FUNCTION_WORDS))
    related = (node for node in reversed(before) if stems.intersection(word_tokens(f"{node.skill} {node.instruction}")))
    return next(related, before[-1])


def _key(request: Request, bound: Bound, skill: Skill, needed: Delegation | None) -> str:
    """What makes two requests the same; the order of parameters and the case of an instruction do not."""
    parameters = dict(bound.parameters)
    if skill.instruction_field and isinstance(said := parameters.get(skill.instruction_field), str):
        parameters[skill.instruction_field] = " ".join(said.lower().rstrip(".?! ").split())
    return json.dumps([*request.skill, needed and needed.id, parameters], sort_keys=True, default=str)


def _joined(node: Delegation, instruction: str) -> Delegation:
    if instruction.lower() in node.instruction.lower():
        return node
    return node.model_copy(update={"instruction": f"{node.instruction} {instruction}"})
