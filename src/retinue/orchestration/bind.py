"""A skill's parameters, filled from the words of a clause by schema type.

What is read is read from the clause itself: nothing is guessed, and every value says which words it came from. After
the clause come the schema's defaults, then the skill's own; what is still missing is asked for by name (C45). The
binder knows types, never agents, and judges no answer: the boundary validates what is sent all the same.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.definition import Skill
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Binding
from retinue.contract.question import Question
from retinue.contract.schema import compile as compiled
from retinue.errors import InvalidDefinition
from retinue.orchestration.reading import (
    NOWHERE,
    READERS,
    Parameter,
    Reading,
    Said,
    Surroundings,
    parameters_of,
)

__all__ = ["Bound", "Surroundings", "bind"]

_CLAUSE_CHARS: Final = 10_000


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
    """
    said = Said(clause[:_CLAUSE_CHARS])
    parameters = parameters_of(skill.input_schema)
    bound = {name: Binding(parameter=name, value=value, how="given") for name, value in (given or {}).items()}
    # What is given is read all the same, so that its words are not taken for something else.
    read: set[str] = set()
    for parameter in parameters:
        if (binding := _addressed(parameter, skill, said.text, goal=goal, target=target)) is not None:
            read.add(parameter.name)
            bound.setdefault(parameter.name, binding)
    for reader in READERS:
        for parameter in parameters:
            if parameter.name in read or (reading := reader(parameter, said, around)) is None:
                continue
            if parameter.accepts(reading.value):
                read.add(parameter.name)
                said.take(reading)
                bound.setdefault(parameter.name, _said(parameter, reading, said))
    for binding in before:
        bound.setdefault(binding.parameter, binding)
    for parameter in parameters:
        if parameter.name not in bound and (binding := _default(parameter, skill)) is not None:
            bound[parameter.name] = binding
    values = {parameter.name: bound[parameter.name].value for parameter in parameters if parameter.name in bound}
    values |= {name: binding.value for name, binding in bound.items() if name not in values}
    questions = tuple(
        _question(parameter, skill, agent)
        for parameter in parameters
        if parameter.required and parameter.name not in bound
    )
    return Bound(values, tuple(bound.values()), questions or _objections(skill, values, agent))


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
