"""A skill's parameters, filled from the words of a clause by schema type.

What is read is read from the clause itself: nothing is guessed, and every value says which words it came from. After
the clause come the schema's defaults, then the skill's own; what is still missing is asked for by name (C45). The
binder knows types, never agents, and judges no answer: the boundary validates what is sent all the same.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.definition import Skill
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Binding
from retinue.contract.question import Question
from retinue.contract.schema import compile as compiled
from retinue.errors import InvalidDefinition
from retinue.orchestration.reader.table_call import QUERY_PARTS, table_parameters, takes_query
from retinue.orchestration.routing.reading import (
    NOWHERE,
    READERS,
    Parameter,
    Reading,
    Said,
    Surroundings,
    parameters_of,
)
from retinue.orchestration.routing.reading.denied import denied_spans, leaves_out
from retinue.orchestration.routing.reading.said import Side
from retinue.orchestration.routing.words import word_tokens

__all__ = ["Bound", "Surroundings", "bind"]

_CLAUSE_CHARS: Final = 10_000
_SHAPED: Final = frozenset({"const", "enum", "format", "pattern"})
_FILLING: Final = frozenset({"a", "an", "the", "to", "for", "with", "of", "please", "and", "is", "called", "named"})
"""Words at the ends of what is left that belong to no text."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A skill's parameters, where each came from, and what only a person can say."""

    parameters: JsonMapping = field(default_factory=dict[str, object])
    bindings: tuple[Binding, ...] = ()
    questions: tuple[Question, ...] = ()


def bind(
    skill: Skill,
    clause: str,
    *,
    agent: str | None = None,
    goal: str = "",
    target: str | None = None,
    given: Mapping[str, object] | None = None,
    before: Iterable[Binding] = (),
    around: Surroundings = NOWHERE,
    parameters: Sequence[Parameter] | None = None,
    open_text: bool = True,
) -> Bound:
    """Fill the parameters of `skill` from `clause` (C45).

    Args:
        skill: Whose parameters they are.
        clause: What was said.
        agent: Named in the questions.
        goal: Stands in for a clause that is too short to be an instruction.
        target: What the request is about, when the caller said so.
        given: Parameters that are settled already; they are not read again.
        before: What an earlier clause said, for parameters about which this one says nothing.
        around: What may be known beside the clause.
        parameters: Those of the skill, for whoever binds it often.
        open_text: Whether the one text that a skill must have takes the words that are left: "greet Ada".
    """
    text = clause[:_CLAUSE_CHARS]
    parameters = parameters_of(skill.input_schema) if parameters is None else parameters
    if takes_query(skill):
        facts = around.facts(agent, skill.name) if around.facts is not None and agent is not None else None
        query = None if facts is None else table_parameters(skill, text, facts, given or {})
        if query is not None:
            return _bound_to_query(skill, text, query, dict(given or {}), parameters, goal=goal)
        parameters = [one for one in parameters if one.name not in QUERY_PARTS]
    bound = {name: Binding(parameter=name, value=value, how="given") for name, value in (given or {}).items()}
    # What is given is read all the same, so that its words are not taken for something else.
    read: dict[str, Binding] = {}
    for parameter in parameters:
        if (binding := _addressed(parameter, skill, text, goal=goal, target=target)) is not None:
            read[parameter.name] = binding
    said = Said(text, denied=denied_spans(text))
    unclear = {
        parameter.name: _which(parameter, reading, said, skill, agent)
        for parameter, reading in _read(parameters, said, around, read)
        if parameter.name not in bound
    }
    bound = {**read, **bound}
    for binding in before:
        bound.setdefault(binding.parameter, binding)
    if open_text and (rest := _only_open_text(parameters, said, skill, agent)) is not None and not unclear:
        bound.setdefault(rest.parameter, rest)
    open_still = [one for one in parameters if one.name not in bound and one.name not in unclear]
    bound |= {one.name: binding for one in open_still if (binding := _default(one, skill)) is not None}
    values = {one.name: bound[one.name].value for one in parameters if one.name in bound}
    values |= {name: binding.value for name, binding in bound.items() if name not in values}
    missing = (_question(one, skill, agent) for one in open_still if one.required and one.name not in bound)
    questions = (*unclear.values(), *missing)
    return Bound(values, tuple(bound.values()), questions or _objections(skill, values, agent))


def _bound_to_query(
    skill: Skill, clause: str, query: JsonMapping, given: JsonMapping, parameters: Sequence[Parameter], *, goal: str
) -> Bound:
    """The query that the words ask for, beside the words themselves and what was given."""
    bound = [Binding(parameter=name, value=value, how="given") for name, value in given.items()]
    read = {name: value for name, value in query.items() if name not in given}
    bound += [Binding(parameter=name, value=value, how="said", words=clause) for name, value in read.items()]
    words = next((one for one in parameters if one.name == skill.instruction_field and one.name not in given), None)
    if words is not None and (text := _addressed(words, skill, clause, goal=goal, target=None)) is not None:
        bound.append(text)
    values = {one.parameter: one.value for one in bound}
    return Bound(values, tuple(bound), _objections(skill, values, None))


def _read(
    parameters: Sequence[Parameter], said: Said, around: Surroundings, read: dict[str, Binding]
) -> Iterator[tuple[Parameter, Reading]]:
    """Fill `read` with what was said; give what may mean several things."""
    unclear: set[str] = set()
    for reader in READERS:
        for parameter in parameters:
            if parameter.name in read or parameter.name in unclear:
                continue
            if (reading := reader(parameter, said.on(_side(parameter)), around)) is None:
                continue
            if reading.options:
                unclear.add(parameter.name)
                said.take(reading)
                yield parameter, reading
            elif parameter.accepts(reading.value):
                said.take(reading)
                read[parameter.name] = _said(parameter, reading, said)


def _side(parameter: Parameter) -> Side:
    """Which words are read for it; a yes or no is told by the very words that deny it."""
    if parameter.type == "boolean":
        return "all"
    return "denied" if leaves_out(parameter) else "kept"


def _addressed(parameter: Parameter, skill: Skill, clause: str, *, goal: str, target: str | None) -> Binding | None:
    """The clause for the instruction, the target for the target."""
    if parameter.name == skill.instruction_field:
        if clause.strip() and parameter.accepts(clause):
            return Binding(parameter=parameter.name, value=clause, how="said", words=clause)
        if goal.strip() and parameter.accepts(goal):
            return Binding(parameter=parameter.name, value=goal, how="given")
    if parameter.name == skill.target_field and target is not None and parameter.accepts(target):
        return Binding(parameter=parameter.name, value=target, how="given")
    return None


def _said(parameter: Parameter, reading: Reading, said: Said) -> Binding:
    words = said.text[reading.start : reading.end]
    return Binding(parameter=parameter.name, value=reading.value, how="said", words=words)


def _only_open_text(parameters: Sequence[Parameter], said: Said, skill: Skill, agent: str | None) -> Binding | None:
    """The words that are left, for the one free text of a schema where that must be given."""
    free = [one for one in parameters if one.type == "string" and not one.choices and not _SHAPED & set(one.schema)]
    if len(free) != 1 or not free[0].required or free[0].name in {skill.instruction_field, skill.target_field}:
        return None
    # What the skill says of itself is what it is asked to do, and no value: "paint a wooden fence" leaves nothing over.
    about = " ".join((agent or "", skill.name, skill.description, *(word for one in parameters for word in one.words)))
    own = frozenset(word_tokens(about.replace("_", " ")))
    left = [word for word in said.on("kept").words if said.on("kept").free(word.start, word.end)]
    while left and (left[0].stem in own or left[0].text.lower() in _FILLING):
        del left[0]
    while left and (left[-1].stem in own or left[-1].text.lower() in _FILLING):
        del left[-1]
    words = said.text[left[0].start : left[-1].end] if left else ""
    if not words or not said.free(left[0].start, left[-1].end) or not free[0].accepts(words):
        return None  # what another parameter took stands in the middle of them
    return Binding(parameter=free[0].name, value=words, how="said", words=words)


def _default(parameter: Parameter, skill: Skill) -> Binding | None:
    if "default" in parameter.schema and parameter.accepts(parameter.schema["default"]):
        return Binding(parameter=parameter.name, value=copy.deepcopy(parameter.schema["default"]), how="default")
    if parameter.name in skill.defaults and parameter.accepts(skill.defaults[parameter.name]):
        return Binding(parameter=parameter.name, value=copy.deepcopy(skill.defaults[parameter.name]), how="fallback")
    return None


def _question(parameter: Parameter, skill: Skill, agent: str | None) -> Question:
    about = f" ({parameter.description.rstrip('.')})" if parameter.description else ""
    return Question(
        id=parameter.name,
        text=f"What is `{parameter.name}` for `{skill.name}`?{about}",
        kind="choice" if parameter.choices else "question",
        options=parameter.choices,
        agent=agent,
        skill=skill.name,
        parameter=parameter.name,
        answer_schema=parameter.alone,
    )


def _which(parameter: Parameter, reading: Reading, said: Said, skill: Skill, agent: str | None) -> Question:
    """Which of several things the words mean."""
    words = said.text[reading.start : reading.end]
    fitting = parameter.items or parameter
    options = tuple(option for option in reading.options if fitting.accepts(option))
    return Question(
        id=parameter.name,
        text=f"Which `{words}` is meant for `{skill.name}`? There are {len(options)}.",
        kind="choice",
        options=options,
        agent=agent,
        skill=skill.name,
        parameter=parameter.name,
        answer_schema=parameter.alone,
    )


def _objections(skill: Skill, values: JsonMapping, agent: str | None) -> tuple[Question, ...]:
    """What the schema as a whole still has against `values`, though each fits by itself."""
    try:
        objections = [f"{one.message} {one.fix}" for one in compiled(skill.input_schema).findings(values)]
    except InvalidDefinition as error:
        objections = [error.message]
    return tuple(
        Question(
            id=f"input_{number}",
            text=f"`{skill.name}` cannot be called like this: {objection.strip()}",
            agent=agent,
            skill=skill.name,
        )
        for number, objection in enumerate(objections, start=1)
    )
