"""A skill's parameters, filled from the words of a clause by schema type.

What is read is read from the clause itself: nothing is guessed, and every value says which words it came from. After
the clause come the schema's defaults, then the skill's own; what is still missing is asked for by name (C45). The
binder knows types, never agents, and judges no answer: the boundary validates what is sent all the same.
"""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.definition import Skill
from retinue.contract.facts import Facts
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Binding
from retinue.contract.schema import compile as compiled
from retinue.contract.task import Question
from retinue.errors import InvalidDefinition
from retinue.orchestration.reader.parameters import (
    EMPTY_ENVIRONMENT,
    Parameter,
    ReaderEnvironment,
    accepts_free_text,
    parameters_of,
)
from retinue.orchestration.reader.tables import QUERY_PARTS, accepts_query, table_parameters
from retinue.orchestration.reader.text_tokens import FUNCTION_STEMS, word_tokens
from retinue.orchestration.reader.values import READERS, ClauseWords, SkillVocabulary, Value

_MAX_CLAUSE: Final = 10_000


@dataclass(frozen=True, slots=True)
class BoundParameters:
    """A skill's parameters, where each came from, and what only a person can say.

    Attributes:
        rest: The clause without the words that became values.
        guesses: Words that became values, and may mean something else as well.
        missing: Parameters that it must have and that nothing says.
    """

    parameters: JsonMapping = field(default_factory=dict[str, object])
    bindings: tuple[Binding, ...] = ()
    questions: tuple[Question, ...] = ()
    rest: str = ""
    guesses: str = ""
    missing: tuple[str, ...] = ()


def bind(
    skill: Skill,
    clause: str,
    *,
    agent: str | None = None,
    goal: str = "",
    target: str | None = None,
    preset: Mapping[str, object] | None = None,
    before: Iterable[Binding] = (),
    environment: ReaderEnvironment = EMPTY_ENVIRONMENT,
    parameters: Sequence[Parameter] | None = None,
    ask_for: Collection[str] = (),
) -> BoundParameters:
    """Fill the parameters of `skill` from `clause` (C45).

    Args:
        skill: Whose parameters they are.
        clause: The words.
        agent: Named in the questions.
        goal: Stands in for a clause that is too short to be an instruction.
        target: What the request is about, when the caller said so.
        preset: Parameters that are settled already; they are not read again.
        before: What an earlier clause said, for parameters about which this one says nothing.
        environment: What may be known beside the clause.
        parameters: Those of the skill, for whoever binds it often.
        ask_for: Parameters that must be said this time, though the schema has a value for them.
    """
    text = clause[:_MAX_CLAUSE]
    parameters = parameters_of(skill.input_schema) if parameters is None else parameters
    facts: Facts | None = None
    if agent is not None and (accepts_query(skill) or any(one.facts not in {"", "path"} for one in parameters)):
        facts = environment.facts_of(agent, skill.name)  # which costs time: only where a parameter can be told by them
    if accepts_query(skill):
        presets = {**{one.parameter: one.value for one in before}, **(preset or {})}
        query = None if facts is None else table_parameters(skill, text, facts, presets)
        if query is not None:
            return _bind_query(skill, text, query, dict(preset or {}), parameters)
        parameters = [one for one in parameters if one.name not in QUERY_PARTS]
    # What is given wins over what is said, that over what an earlier clause said, and all of it over a default.
    bound = {name: Binding(parameter=name, value=value, how="given") for name, value in (preset or {}).items()}
    # What is given is read all the same, so that its words are not taken for something else.
    read: dict[str, Binding] = {}
    for parameter in parameters:
        if (binding := _bind_text_field(parameter, skill, text, goal=goal, target=target)) is not None:
            read[parameter.name] = binding
    words = ClauseWords(text)
    meanings = " ".join(meaning for one in parameters for meaning in one.meanings.values())
    own_stems = word_tokens(f"{agent or ''} {skill.name} {skill.description} {meanings}")
    names = facts.names if facts else dict[str, Sequence[str]]()
    vocabulary = SkillVocabulary(
        environment,
        names,
        own_stems=frozenset(own_stems).union(*(one.stems for one in parameters)),
        name_stems=frozenset(word_tokens(skill.name)),
        is_text=accepts_free_text(skill) or accepts_query(skill),
    )
    unclear = {
        parameter.name: _question(parameter, skill, agent, words=words.text[value.start : value.end], value=value)
        for parameter, value in _read_values(parameters, words, vocabulary, read)
        if parameter.name not in bound
    }
    bound = {**read, **bound}
    for binding in before:
        bound.setdefault(binding.parameter, binding)
    if not unclear and (free_text := _bind_free_text(parameters, words, skill, vocabulary)) is not None:
        bound.setdefault(free_text.parameter, free_text)
    unbound = [one for one in parameters if one.name not in bound and one.name not in unclear]
    bound |= {one.name: default for one in unbound if one.name not in ask_for and (default := _default(one, skill))}
    values = {one.name: bound[one.name].value for one in parameters if one.name in bound}
    values |= {name: binding.value for name, binding in bound.items() if name not in values}
    missing = [one for one in unbound if (one.required or one.name in ask_for) and one.name not in bound]
    questions = (*unclear.values(), *(_question(one, skill, agent) for one in missing))
    return BoundParameters(
        values,
        tuple(bound[name] for name in values),
        questions or _objections(skill, values, agent),
        words.remainder(),
        guesses=" ".join(text[one.start : one.end] for one in words.values if one.is_guess),
        missing=tuple(one.name for one in missing),
    )


def _bind_query(
    skill: Skill, clause: str, query: JsonMapping, preset: JsonMapping, parameters: Sequence[Parameter]
) -> BoundParameters:
    """The query that the words ask for, beside the words themselves and what was given."""
    bound = [Binding(parameter=name, value=value, how="given") for name, value in preset.items()]
    read = {name: value for name, value in query.items() if name not in preset}
    bound += [Binding(parameter=name, value=value, how="said", words=clause) for name, value in read.items()]
    words = next((one for one in parameters if one.name == skill.instruction_field and one.name not in preset), None)
    if words is not None and (text := _bind_text_field(words, skill, clause, goal="", target=None)) is not None:
        bound.append(text)
    values = {one.parameter: one.value for one in bound}
    return BoundParameters(values, tuple(bound), _objections(skill, values, None))


def _read_values(
    parameters: Sequence[Parameter], words: ClauseWords, vocabulary: SkillVocabulary, read: dict[str, Binding]
) -> Iterable[tuple[Parameter, Value]]:
    """Fill `read` with what was said; give what may mean several things."""
    unclear: set[str] = set()
    for reader in READERS:
        for parameter in parameters:
            if parameter.name in read or parameter.name in unclear:
                continue
            if (value := reader(parameter, words, vocabulary)) is None:
                continue
            if value.options:
                unclear.add(parameter.name)
                words.values.append(value)
                yield parameter, value
            elif parameter.accepts(value.value):
                words.values.append(value)
                source = words.text[value.start : value.end]
                read[parameter.name] = Binding(parameter=parameter.name, value=value.value, how="said", words=source)


def _bind_text_field(
    parameter: Parameter, skill: Skill, clause: str, *, goal: str, target: str | None
) -> Binding | None:
    """The clause for the instruction, the target for the target."""
    if parameter.name == skill.instruction_field:
        if clause.strip() and parameter.accepts(clause):
            return Binding(parameter=parameter.name, value=clause, how="said", words=clause)
        if goal.strip() and parameter.accepts(goal):
            return Binding(parameter=parameter.name, value=goal, how="given")
    if parameter.name == skill.target_field and target is not None and parameter.accepts(target):
        return Binding(parameter=parameter.name, value=target, how="given")
    return None


def _bind_free_text(
    parameters: Sequence[Parameter], words: ClauseWords, skill: Skill, vocabulary: SkillVocabulary
) -> Binding | None:
    """The words that are left, for the one free text of a schema where that must be given."""
    candidates = [one for one in parameters if one.is_free_text]
    if (
        len(candidates) != 1
        or not candidates[0].required
        or candidates[0].name in {skill.instruction_field, skill.target_field}
    ):
        return None
    # What the skill says of itself is what it is asked to do, and no value: "paint a wooden fence" leaves nothing over.
    unread = [number for number, span in enumerate(words.places) if words.is_free(*span)]
    while unread and words.stems[unread[0]] in vocabulary.own_stems | FUNCTION_STEMS:
        del unread[0]
    while unread and words.stems[unread[-1]] in vocabulary.own_stems | FUNCTION_STEMS:
        del unread[-1]
    if not unread:
        return None
    value = words.value(None, unread[0], unread[-1] + 1)
    text = words.text[value.start : value.end]
    if not words.is_free(value.start, value.end) or not candidates[0].accepts(text):
        return None  # what another parameter took stands in the middle of them
    words.values.append(value)
    return Binding(parameter=candidates[0].name, value=text, how="said", words=text)


def _default(parameter: Parameter, skill: Skill) -> Binding | None:
    if "default" in parameter.schema and parameter.accepts(parameter.schema["default"]):
        return Binding(parameter=parameter.name, value=copy.deepcopy(parameter.schema["default"]), how="default")
    if parameter.name in skill.defaults and parameter.accepts(skill.defaults[parameter.name]):
        return Binding(parameter=parameter.name, value=copy.deepcopy(skill.defaults[parameter.name]), how="fallback")
    return None


def _question(
    parameter: Parameter, skill: Skill, agent: str | None, *, words: str = "", value: Value | None = None
) -> Question:
    """What a parameter is; or, of a `value` that has several options, which of them its words mean."""
    if value is None:
        about = f" ({parameter.description.rstrip('.')})" if parameter.description else ""
        text, options = f"What is `{parameter.name}` for `{skill.name}`?{about}", parameter.choices
    else:
        options = tuple(filter((parameter.items or parameter).accepts, value.options))
        text = f"Which `{words}` is meant for `{skill.name}`? There are {len(options)}."
    return Question(
        id=parameter.name,
        text=text,
        kind="choice" if options or value is not None else "question",
        options=options,
        agent=agent,
        skill=skill.name,
        parameter=parameter.name,
        answer_schema=parameter.standalone_schema,
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
