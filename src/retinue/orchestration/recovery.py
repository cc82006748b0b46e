"""What to do with a node that did not bring what it should. A pure decision.

The boundary has retried and corrected already (A13); here the request itself is reconsidered (A14, C29, P11 to P14).
The ways out, in this order, each only when a check speaks for it: another skill of the same agent, another agent, the
same agent's generic task in more general words, a question to a person, giving up. Never a blind fallback: whoever is
asked next must fit nearly as well, must be callable from what was said, must not touch more than the first choice did,
must not be told again what was just refused, and is not asked when the reason of the failure would follow it there.
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Decision
from retinue.contract.fault import Fault
from retinue.contract.json import as_mapping
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Binding, Candidate, Delegation
from retinue.contract.result import Result
from retinue.contract.task import Question
from retinue.errors import FaultCode
from retinue.orchestration.run_request import OnUnexpected

_POINTER: Final = re.compile(r"(?:/parameters)?/([A-Za-z_][A-Za-z0-9_]*)(?:/.*)?")
_LINKS: Final = (
    "a about after an and at before between by during for from in into of on or since the to until with within"
)
_DANGLING: Final = re.compile(rf"(?:\s+(?:{'|'.join(_LINKS.split())}))+(?=\s*[,.;:?!]|\s*$)", re.IGNORECASE)
"""What is left hanging when the words after it have gone: "since", "in the"."""
_LOOSE: Final = re.compile(r"[\"'`(\[]\s*[\"'`)\]]")
_SPACED: Final = re.compile(r"\s+(?=[,.;:?!])")


def parameter_at_fault(fault: Fault | None, parameters: Collection[str]) -> str | None:
    """Which of `parameters` a fault points at."""
    match = _POINTER.fullmatch(fault.path) if fault else None
    return match[1] if match and match[1] in parameters else None


def broaden(node: Delegation, fault: Fault | None) -> tuple[str, tuple[str, ...]] | None:
    """The request of `node` in more general words, and the words it does without; None when nothing limited it.

    What the fault points at goes. When it points at nothing, whatever was read out of the words for the skill that
    failed goes, since another skill has its own parameters; but not a table: asked of another it is another question.
    """
    bindings = {one.parameter: one for one in node.bindings if _limits(one, node.instruction)}
    parameter = parameter_at_fault(fault, bindings)
    dropped = (
        [bindings[parameter]]
        if parameter is not None
        else [one for one in bindings.values() if one.parameter != "files"]
    )
    words = node.instruction
    for binding in sorted(dropped, key=lambda one: -len(one.words)):
        words = _as_words(binding.words).sub(" ", words, count=1)
    words = _SPACED.sub("", " ".join(_LOOSE.sub(" ", words).split()))
    words = " ".join(_DANGLING.sub("", words).split()).strip(" ,;:-")
    left_out = tuple(dict.fromkeys(binding.words for binding in dropped))
    return (words, left_out) if left_out and len(words.split()) > 1 else None


def left_out_words(node: Delegation, request: Delegation) -> tuple[str, ...]:
    """The words that limited `node` and that `request`, the same put to somebody else, tells nobody."""
    texts = [one.words for one in request.bindings]
    texts += [text for text in request.parameters.values() if isinstance(text, str)]
    limiting_words = (one.words for one in node.bindings if _limits(one, node.instruction))
    return tuple(dict.fromkeys(words for words in limiting_words if not any(words in text for text in texts)))


def _limits(binding: Binding, instruction: str) -> bool:
    """Whether words of the instruction, and not all of it, became a parameter."""
    words = binding.words
    is_part = binding.how == "said" and bool(words.strip()) and words != instruction
    return is_part and _as_words(words).search(instruction) is not None


def _as_words(text: str) -> re.Pattern[str]:
    """Finds `text` where it is not part of a longer word."""
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")


MAX_MOVES: Final = 4
"""A node is put to so many others at most: three alternatives of the plan and the generic task."""

_FINAL_FAULTS: Final[frozenset[FaultCode]] = frozenset(
    {"access_denied", "unauthenticated", "budget_exceeded", "canceled"}
)
"""Faults that another agent must not be used to get round."""

_AGENT_FAULTS: Final[frozenset[FaultCode]] = frozenset({"missing_file", "network_error", "unavailable", "timeout"})
"""Faults that another skill of the same agent would share, were it asked the same."""

_REQUEST_FAULTS: Final[frozenset[FaultCode]] = frozenset({"invalid_input", "missing_file", "parse_error"})
"""4xx (P11): the same again would be refused again, by whomever. Only another request may fare better."""

_SKILL_FAULTS: Final[frozenset[FaultCode]] = frozenset(
    {"invalid_input", "output_invalid", "unavailable", "timeout", "internal_error"}
)
"""Faults after which the agent's other skills may still do it, put more generally (P14). Not what was not found: a
broader question does not find it either, it only finds something else."""

_REPHRASABLE_FAULTS: Final[frozenset[FaultCode]] = frozenset({"invalid_input", "missing_file"})
"""Faults that a person can mend by saying one parameter otherwise."""

_SIMILAR_SHARE: Final = 0.5
_NEAR_EQUAL_SHARE: Final = 0.8
"""Who was asked first has looked and found nothing: only somebody who was nearly asked first may know better."""
_MAX_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class Accept:
    """The node has ended with what it has."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A person must say something first."""

    questions: tuple[Question, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Reroute:
    """Another agent or skill is asked, the same or something more general.

    Attributes:
        request: The node as it is put to them.
        left_out: Words that limited the request and that they are not told; none when it is the same.
    """

    candidate: Candidate
    reason: str
    request: Delegation
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The failure stands."""

    reason: str


@dataclass(frozen=True, slots=True)
class Abort:
    """The failure stands, and the run ends with it."""

    reason: str


Move: TypeAlias = Accept | Ask | Reroute | GiveUp | Abort

GATE: Final = "unexpected_output"
"""The id of the question to a person after an answer that is not what was promised (K36)."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a decision rests on beside the node and its result.

    Attributes:
        tried: Agents and skills that were asked already, the last one included.
        rounds: How often a person was asked on behalf of this node.
        definition_of: What an agent says of itself; None when nobody is called that.
        request_to: A node as a request to a candidate; None when something would have to be asked first.
        is_unreliable: Whether a skill has failed too often in this run to be called now.
        question_ids: Ids of the questions that were asked already.
        on_unexpected: What happens when an agent answers otherwise than it promises, after all attempts (K36).
    """

    tried: Collection[tuple[str, str | None]]
    rounds: int
    definition_of: Callable[[str], Definition | None]
    request_to: Callable[[Delegation, Candidate], Delegation | None]
    is_unreliable: Callable[[str, str | None], bool] = lambda _agent, _skill: False
    question_ids: Collection[str] = ()
    on_unexpected: OnUnexpected = "skip"

    def skill_of(self, candidate: Candidate) -> Skill | None:
        """What the definition says of a candidate; None when there is no such skill."""
        definition = self.definition_of(candidate.agent)
        return None if definition is None else definition.skill(candidate.skill)


def open_moves(node: Delegation, result: Result, situation: Situation) -> Iterator[Move]:
    """All that may be done about `result`, best first; each is found when it is asked for.

    The last is always to leave it at that. Nobody, a model included, may do anything else.
    """
    if result.useful:
        yield Accept()
        return
    fault = _fault_of(result)
    if result.lifecycle == "input_required":
        if not result.questions:
            yield GiveUp("It waits for an answer but asks nothing.")
        elif situation.rounds >= _MAX_ROUNDS:
            yield GiveUp(f"A person was asked {situation.rounds} times, and it asks again.")
        else:
            yield Ask(result.questions, "It cannot go on without an answer.")
    elif result.outcome == "canceled":
        yield GiveUp("Stopped.")
    elif fault.code in _FINAL_FAULTS:
        yield GiveUp(f"`{fault.code}` is no reason to ask another agent.")
    elif fault.detail.get("bound") == "run.budget.timeout_s":
        yield GiveUp("The time of the whole run is over.")
    else:
        candidates = sorted(node.alternatives, key=lambda one: one.agent != node.agent)
        ways = [(_name(one), partial(_same_request, node, one, fault, situation)) for one in candidates]
        ways.append((f"`{node.agent}` in general", partial(_broader_move, node, fault, situation)))
        ways.append((f"the generic endpoint of `{node.agent}`", partial(_generic_move, node, fault, situation)))
        refused: list[str] = []  # what speaks against each of the ways that are not open
        if len(set(situation.tried)) > MAX_MOVES:
            ways, refused = [], [f"it was put to {MAX_MOVES} others already"]
        for name, attempt in ways:
            move = attempt()
            if isinstance(move, Reroute):
                yield move
            else:
                refused.append(f"{name} {move}")
        others = "; ".join(refused)
        question = _question(node, fault, situation)
        if question is not None:
            nobody = f", and no other agent to ask ({others})" if refused else ""
            yield Ask((question,), f"`{fault.code}`{nobody}: perhaps it was said wrongly.")
        reason = f"`{fault.code}`{f', and no other agent to ask: {others}' if refused else ''}."
        if fault.code == "output_invalid":
            yield from _gate_moves(node, fault, situation, reason)
        yield GiveUp(reason)


def _gate_moves(node: Delegation, fault: Fault, situation: Situation, reason: str) -> Iterator[Ask | Abort]:
    if situation.on_unexpected == "ask" and situation.rounds < _MAX_ROUNDS:
        text = f"{_node_name(node)} did not answer as it promises, after every attempt: {fault.message} What now?"
        options = ("retry", "skip", "abort")
        yield Ask((Question(id=GATE, text=text, kind="choice", options=options, agent=node.agent),), reason)
    elif situation.on_unexpected == "abort":
        yield Abort(f"{reason} The run is to end with it (`on_unexpected`).")


def gate_move(value: object) -> GiveUp | Abort | None:
    """What a person's choice at the gate means; None is to try again."""
    if value == "retry":
        return None
    return Abort("A person ended the run with it.") if value == "abort" else GiveUp("A person skipped it.")


def _fault_of(result: Result) -> Fault:
    return result.fault or Fault(code="internal_error", message="It did not say why.")


def _same_request(node: Delegation, candidate: Candidate, fault: Fault, situation: Situation) -> Reroute | str:
    if (candidate.agent, candidate.skill) in situation.tried:
        return "was tried"
    if fault.code in _AGENT_FAULTS and any(agent == candidate.agent for agent, _ in situation.tried):
        return "is the same agent"
    nearly = _NEAR_EQUAL_SHARE if fault.code == "missing_file" else _SIMILAR_SHARE
    if node.chosen is not None and candidate.share < nearly * node.chosen.share:
        return "fits too badly"
    request = _request(node, candidate, fault, situation)
    if isinstance(request, str):
        return request
    left_out = left_out_words(node, request)
    why = f"{_node_name(node)} ended with `{fault.code}`; {_name(candidate)} fits to {candidate.share:.2f}"
    why += f", but has no use for {_quoted(left_out)}." if left_out else ", and can be called from what was said."
    return Reroute(candidate, why, request, left_out)


def _broader_move(node: Delegation, fault: Fault, situation: Situation) -> Reroute | str:
    definition = situation.definition_of(node.agent)
    # Whether a program or an optional part is missing: that, no other words bring.
    if fault.code not in _SKILL_FAULTS or definition is None or (fault.code == "unavailable" and not fault.retryable):
        return f"would end with `{fault.code}` too"
    planned = _planned_skill(node, situation)
    if planned is not None and "write" in (planned.effects or ()):
        return "would only answer a question, and a change was asked for"
    if (broader := broaden(node, fault)) is None:
        return "can be told nothing more general"
    words, left_out = broader
    others = tuple(skill for skill in definition.skills if (definition.name, skill.name) not in situation.tried)
    if not any(not skill.unavailable for skill in others):
        return "has no other skill"
    from retinue.orchestration.reader.router import Router  # noqa: PLC0415 - only a request that failed needs it

    routing = Router([definition.model_copy(update={"skills": others})]).route(words, limit=1)
    if routing.abstained:
        return f"does nothing like it: {routing.reason}"
    candidate = routing.candidates[0]
    request = _request(node.model_copy(update={"instruction": words}), candidate, fault, situation)
    if isinstance(request, str):
        return request
    why = f"{_node_name(node)} ended with `{fault.code}`; asked more generally, without {_quoted(left_out)}, "
    return Reroute(candidate, f"{why}{_name(candidate)} fits to {candidate.share:.2f}.", request, left_out)


def _generic_move(node: Delegation, fault: Fault, situation: Situation) -> Reroute | str:
    """Its agent's generic endpoint, told in words what was wanted (P14); not while nobody answers there at all."""
    definition = situation.definition_of(node.agent)
    skill = definition.generic_skill if definition is not None else None
    planned = _planned_skill(node, situation)
    if definition is None or skill is None or planned is None:
        return "does not exist"
    if (definition.name, skill.name) in situation.tried:
        return "was tried"
    if fault.code in _REQUEST_FAULTS and "peer" not in fault.detail:
        return "was not asked: the request was refused here"
    if fault.code not in _SKILL_FAULTS and "status" not in fault.detail:
        return f"would end with `{fault.code}` too"
    broader = broaden(node, fault)
    words, left_out = broader or (node.instruction, ())
    parameter = parameter_at_fault(fault, node.parameters)
    values = {name: value for name, value in node.parameters.items() if name != parameter and value != words}
    if not words.strip():  # it was called by name: what it says it does is the request
        words = f"{planned.name.replace('_', ' ')}{f' ({_parameter_text(values)})' if values else ''}"
        left_out = () if parameter is None else (f"{parameter}: {node.parameters[parameter]}",)
    candidate = Candidate(agent=definition.name, skill=skill.name, score=0, share=0)
    request = _request(node.model_copy(update={"instruction": words}), candidate, fault, situation)
    if isinstance(request, str):
        return request
    why = (
        f"{_node_name(node)} ended with `{fault.code}`; {_name(candidate)} takes any task, and is told what was wanted"
    )
    why += f", without {_quoted(left_out)}." if left_out else "."
    return Reroute(candidate, why, request, left_out)


def _parameter_text(values: JsonMapping) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in values.items())


def _request(node: Delegation, candidate: Candidate, fault: Fault, situation: Situation) -> Delegation | str:
    """`node` as a request to `candidate`, or what forbids it."""
    skill = situation.skill_of(candidate)
    if skill is None or skill.unavailable:
        return "is not available"
    if situation.is_unreliable(candidate.agent, candidate.skill):
        return "has failed too often in this run"
    # What the planned skill may touch: everything, while nobody has said.
    planned = _planned_skill(node, situation)
    effects: set[str] = set(planned.possible_effects) if planned else set()
    definition = situation.definition_of(node.chosen.agent if node.chosen else node.agent)
    if definition is not None and definition.instructions is not None and definition.tools != ():
        effects.add("read")  # it says what it touches by its tools, and there are none that read less
    if not set(skill.possible_effects) <= effects:
        return "would touch more than was planned"
    request = situation.request_to(node, candidate)
    if request is None:
        return "needs to know more than was said"
    parameter = parameter_at_fault(fault, node.parameters) if fault.code in _REQUEST_FAULTS else None
    if (
        parameter is not None
        and parameter in request.parameters
        and request.parameters[parameter] == node.parameters[parameter]
    ):
        return f"would be told the same `{parameter}`"
    return request


def _question(node: Delegation, fault: Fault, situation: Situation) -> Question | None:
    """What a person could say otherwise; None when the fault points at nothing that can be said, or it was asked."""
    definition = situation.definition_of(node.agent)
    skill = definition.skill(node.skill) if definition is not None and node.skill else None
    if skill is None or fault.code not in _REPHRASABLE_FAULTS or situation.rounds >= _MAX_ROUNDS:
        return None
    properties: dict[str, dict[str, object]] = skill.input_schema.get("properties") or {}
    parameter = parameter_at_fault(fault, properties)
    if parameter is None or f"other_{parameter}" in situation.question_ids:
        return None
    hint = f" {fault.hint}" if fault.hint else ""
    return Question(
        id=f"other_{parameter}",
        text=f"{fault.message}{hint} What should `{parameter}` be instead?",
        agent=node.agent,
        skill=node.skill,
        parameter=parameter,
        answer_schema=properties[parameter] if "$ref" not in str(properties[parameter]) else None,
    )


def _planned_skill(node: Delegation, situation: Situation) -> Skill | None:
    """The skill that the plan chose; without a plan's choice, what it was first put to."""
    return situation.skill_of(
        node.chosen or Candidate(agent=node.agent, skill=node.skill or node.agent, score=0, share=0)
    )


def _node_name(node: Delegation) -> str:
    return f"`{node.agent}.{node.skill}`" if node.skill else f"`{node.agent}`"


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(map(repr, words))


def _name(candidate: Candidate) -> str:
    return f"`{candidate.agent}.{candidate.skill}`"


@dataclass(frozen=True, slots=True)
class RecoveryOptions:
    """The ways that are open for a node, the rules' own choice first."""

    moves: tuple[Move, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """What each is called: in the same order."""
        names = {Accept: "accept", Ask: "ask", GiveUp: "give_up", Abort: "abort"}
        return tuple(
            f"{place}_{move.candidate.agent}.{move.candidate.skill}" if isinstance(move, Reroute) else names[type(move)]
            for place, move in enumerate(self.moves, start=1)
        )


def apply_choice(
    options: RecoveryOptions, choice: Result, node: Delegation, result: Result, situation: Situation
) -> tuple[Move, Decision]:
    """What is done, and the decision as it is recorded."""
    data = as_mapping(choice.data if choice.useful else None)
    model = str(data.get("model", ""))
    facts: JsonMapping = {"by": "model", "model": model, "options": list(options.ids)}
    move = dict(zip(options.ids, options.moves, strict=True)).get(str(data.get("choice", "")))
    if move is None:
        why = str(data.get("refused") or "what it chose is not open any more")
        reason = f"The rules choose, since `{model}` made no choice: {why.rstrip('.')}."
        return options.moves[0], Decision("reconsider_by_rules", reason, {**facts, "by": "rules"})
    reason = f"`{model}` chose this: {str(data['reason']).rstrip('.')}."
    words = str(data.get("instruction", ""))
    if isinstance(move, Reroute) and words and words != node.instruction:
        reworded_node = node.model_copy(update={"instruction": words})
        request = _request(reworded_node, move.candidate, _fault_of(result), situation)
        if isinstance(request, str):
            reason += " Its rewording cannot be put to them, so the request stays in its words."
        else:
            left_out = tuple(dict.fromkeys((*move.left_out, *left_out_words(node, request))))
            move = replace(move, request=request, left_out=left_out)
    # The reason it was chosen for stands before the one it was open for.
    chosen = move if isinstance(move, Accept) else replace(move, reason=f"{reason} {move.reason}")
    return chosen, Decision("reconsider", reason, {**facts, "choice": data["choice"]})
