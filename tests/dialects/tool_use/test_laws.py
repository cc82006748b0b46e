"""What holds for every value: nothing is lost unsaid, and nothing but the typed error is raised (A4 to A14)."""

import contextlib
import json
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.definition import Definition, Deprecation, Skill
from retinue.contract.result import Result
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task
from retinue.dialects import tool_use
from retinue.dialects.tool_use import wire
from retinue.dialects.tool_use.tool_name import read_constraints, read_summary, write_constraints, write_summary
from retinue.errors import InvalidInput, OutputInvalid, ParseError
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses
from tests.examples import examples

MILLISECOND = 1_000_000

sentences = st.text(st.sampled_from("ab .!\n"), max_size=12) | st.sampled_from(["What: x", "Why: y", "a\nWhy: b"])
tokens = st.sampled_from(
    ["verified_sources_only", "max_2_minutes", "max_120_seconds", "max_1_hour", "max_3_retries", "max_99_retries",
     "budget_500", "max_500", "max_0.5_usd", "max_0_seconds", "max_1e400_seconds", "max_9_lives", "", "max_2_minutes\n"]
)  # fmt: skip
limits = st.builds(
    Limits,
    timeout_s=st.none()
    | st.floats(min_value=0, exclude_min=True, allow_infinity=False)
    | st.sampled_from([60.0, 90.0]),
    tokens=st.none() | st.integers(0, 10**45),
    cost_usd=st.none() | st.floats(min_value=0, allow_infinity=False),
    retries=st.none() | st.integers(0, 10),
    deadline_ns=st.none() | st.integers(0, 9),
)
formats = st.none() | st.sampled_from(["json_table", "summary", "bullet_points", ""])
names = st.sampled_from(["researcher_analyst", "x", "x_v2", "v2", "x_v2_v3", "a" * 64])
keys = st.sampled_from(
    ["payload", "metadata", "input", "name", "message_type", "status", "max_retries", "task_id", "tokens_used", "x"]
)
inner = st.dictionaries(keys, json_values, max_size=2)
extras = st.fixed_dictionaries(
    {}, optional={"tool_use": st.dictionaries(keys, json_values | inner, max_size=3) | json_values, "other": inner}
)
corrections = cast("st.SearchStrategy[Correction]", values_of(Correction))


def with_fields(noun: Any, **fields: Any) -> Any:
    return type(noun)(**{(noun.__class__.model_fields[k].alias or k): v for k, v in dict(noun).items()} | fields)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Tasks of all kinds, more often than not with what this dialect has words for."""
    task = draw(values_of(Task))
    if draw(st.booleans()):
        context = Context(
            what=draw(sentences), why=draw(sentences), constraints=tuple(draw(st.lists(tokens, max_size=3)))
        )
        task = with_fields(task, context=context, limits=draw(limits), agent=draw(names), parameters={})
    if draw(st.booleans()):
        task = with_fields(task, output=OutputWish(transport=draw(formats), style=draw(formats)))
    if draw(st.booleans()):
        task = with_fields(task, major=draw(st.none() | st.integers(0, 10**10)), skill=draw(st.none() | names))
    return with_fields(task, extras=draw(extras))


@st.composite
def results(draw: st.DrawFn) -> Result:
    result = draw(values_of(Result))
    questions = [{"id": "q", "text": "Which?"}]
    if draw(st.booleans()):
        asked = st.fixed_dictionaries({}, optional={"questions": json_values | st.just(questions), "x": json_values})
        result = with_fields(result, data=draw(asked | st.lists(json_values, max_size=1)))
    return with_fields(result, extras=draw(extras))


@pytest.mark.slow
@given(tasks(), st.sampled_from([None, "handoff", "call"]))
@settings(max_examples=examples(120))
def test_a_request_loses_exactly_what_is_reported(task: Task, form: str | None) -> None:
    written = tool_use.render_task(task, form=form)
    read = tool_use.parse_task(written.text)
    assert read.form == written.form
    assert_exact_losses(task, read.value, written.losses)


@pytest.mark.slow
@given(tasks(), corrections)
@settings(max_examples=examples(60))
def test_a_request_made_again_brings_its_correction(task: Task, correction: Correction) -> None:
    written = tool_use.render_retry(task, correction)
    read = tool_use.parse_task(written.text)
    assert_exact_losses(task, read.value, written.losses)
    assert read.correction is not None
    said = read.correction
    assert (said.message, said.hint, said.retry_count) == (correction.message, correction.hint, correction.retry_count)
    assert said.max_retries == (2 if correction.max_retries is None else correction.max_retries)


@given(corrections)
@settings(max_examples=examples(60))
def test_a_correction_loses_exactly_what_is_reported(correction: Correction) -> None:
    written = tool_use.render_correction(correction)
    read = tool_use.parse_correction(written.text, level="strict")
    assert_exact_losses(correction, read.value, written.losses)


@pytest.mark.slow
@given(results())
@settings(max_examples=examples(120))
def test_an_answer_loses_exactly_what_is_reported(result: Result) -> None:
    written = tool_use.render_result(result)
    read = tool_use.parse_result(written.text)
    assert_exact_losses(result, read.value, written.losses, unit_ns=MILLISECOND)


@pytest.mark.slow
@given(values_of(Task), values_of(Result))
def test_what_is_written_passes_a_strict_reader(task: Any, result: Any) -> None:
    tool_use.parse_task(tool_use.render_task(with_fields(task, extras={})).text, level="strict")
    tool_use.parse_result(tool_use.render_result(with_fields(result, extras={})).text, level="strict")


@given(sentences, sentences)
@settings(max_examples=examples(120))
@pytest.mark.requirement("A9")
def test_a_summary_reads_as_it_was_meant_unless_it_holds_a_label(what: str, why: str) -> None:
    read = read_summary(write_summary(what, why))
    assert read == (what, why) or "\nWhy: " in what or (not what and not why)


@given(st.lists(tokens | st.text(max_size=9), max_size=5))
@settings(max_examples=examples(120))
@pytest.mark.requirement("A10")
def test_no_constraint_is_ever_lost(said: list[str]) -> None:
    words, bounds = read_constraints(said)
    again = read_constraints(write_constraints(words, bounds))
    assert again == (words, bounds)
    assert len(words) + sum(1 for _, bound in bounds if bound is not None) == len(said)


schemas: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "deprecated": st.booleans(),
        "properties": st.dictionaries(st.text(max_size=2), st.just({"type": "string"}), max_size=1),
        "title": st.text(max_size=3),
    },
)
descriptions = st.text(max_size=9) | st.sampled_from(["Old. deprecated: true", "A (deprecated: true)", "x (b)"])
skills = st.builds(Skill, name=names, description=descriptions, input_schema=schemas, examples=st.just(()))
versions = st.sampled_from(["1.0", "2.0", "2.3", "0.1", "1.0.0", "10.0"])


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    drawn = draw(st.lists(skills, min_size=1, max_size=3, unique_by=lambda skill: skill.name))
    facts: dict[str, Any] = {"name": draw(names), "version": draw(versions), "description": draw(descriptions)}
    if draw(st.booleans()):
        facts["description"] = drawn[0].description
    deprecated = draw(st.none() | st.builds(Deprecation, since=st.none() | st.text(max_size=3), use=st.none() | names))
    rest = draw(extras | st.just({"tool_use": {drawn[0].name: {"cache_control": 1}}}))
    return Definition(**facts, skills=tuple(drawn), deprecated=deprecated, extras=rest)


@given(definitions())
@settings(max_examples=examples(120))
@pytest.mark.requirement("A4", "C11", "C34")
def test_a_definition_loses_exactly_what_is_reported(definition: Definition) -> None:
    written = tool_use.render_definition(definition)
    (read,) = tool_use.parse_definitions(written.text).value
    assert_exact_losses(definition, read, written.losses)


wires = st.sampled_from(
    [wire.HandOff, wire.ToolUseCall, wire.ReturnEnvelope, wire.CorrectionObject, wire.ToolDefinition]
)


@given(st.data(), wires)
@settings(max_examples=examples(60))
def test_a_wire_model_is_what_is_written_of_it(data: st.DataObject, model: Any) -> None:
    value = data.draw(_wire_values(model))
    said = value.model_dump(exclude_unset=True)
    assert model.model_validate(json.loads(json.dumps(said))) == value


def _wire_values(model: Any) -> st.SearchStrategy[Any]:
    text, natural = st.text(max_size=5), st.integers(0, 9)
    objects = st.dictionaries(text, json_values, max_size=2)
    correction = st.fixed_dictionaries(
        {
            "error_type": st.sampled_from(list(wire.CODES)),
            "message": text,
            "correction_hint": text,
            "retry_count": natural,
        },
        optional={"max_retries": natural},
    )
    payload = st.fixed_dictionaries(
        {"task_id": text, "instruction": text}, optional={"context_summary": text, "constraints": st.lists(text)}
    )
    metadata = st.fixed_dictionaries(
        {}, optional={"tokens_used": natural, "confidence": st.floats(0, 1), "model_used": text}
    )
    shapes: dict[Any, st.SearchStrategy[dict[str, Any]]] = {
        wire.CorrectionObject: correction,
        wire.HandOff: st.fixed_dictionaries(
            {"target_agent": text, "message_type": st.just("task_delegation"), "payload": payload},
            optional={"source_agent": text, "correction": correction},
        ),
        wire.ToolUseCall: st.fixed_dictionaries(
            {"name": text, "input": objects}, optional={"type": st.just("tool_use"), "id": text}
        ),
        wire.ReturnEnvelope: st.fixed_dictionaries(
            {"status": st.sampled_from(list(wire.OUTCOMES)), "metadata": metadata},
            optional={"result": objects, "reasoning_log": text, "message": text, "retry_count": natural},
        ),
        wire.ToolDefinition: st.fixed_dictionaries({"name": text, "description": text, "input_schema": objects}),
    }
    return shapes[model].map(model.model_validate)


words = st.sampled_from(
    [*wire.ReturnEnvelope.model_fields, *wire.HandOff.model_fields, *wire.Payload.model_fields, *wire.ToolUseCall.model_fields,
     *wire.EnvelopeMetadata.model_fields, "questions", "input_schema", "x"]
)  # fmt: skip
said = st.sampled_from(["success", "error", "tool_use", "task_delegation", "timeout", "done", "3", "x"])
rough = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | said,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=6),
    max_leaves=14,
)
levels = st.sampled_from(["strict", "standard", "lenient"])


@given(st.text() | st.binary() | rough.map(json.dumps), levels)
@settings(max_examples=examples(120))
def test_any_text_is_read_or_refused_with_the_typed_error(text: str | bytes, level: Any) -> None:
    for read in (tool_use.parse_task, tool_use.parse_correction, tool_use.parse_definitions):
        with contextlib.suppress(ParseError, InvalidInput):
            read(text, level=level)
    with contextlib.suppress(OutputInvalid):
        tool_use.parse_result(text, level=level)
    if isinstance(text, str):
        tool_use.recognise(text)
