"""What holds for every value: nothing is lost unsaid, and nothing but the typed error is raised (B1 to B6, C8)."""

import contextlib
import json
from typing import Any, cast

import pytest
from hypothesis import example, given, settings, strategies as st

from retinue.contract.result import Result
from retinue.contract.task import Context, Correction, Task
from retinue.dialects import run_agent
from retinue.dialects.run_agent.wire import AgentOutputMinimal, Arguments
from retinue.errors import InvalidInput, OutputInvalid, ParseError
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses
from tests.examples import examples

MICROSECOND = 1_000

turns = st.tuples(st.sampled_from(["user", "assistant", "User"]), st.text(max_size=30)).map(": ".join)
"""Turns as the spec suggests them, whatever they say."""
words = st.text(st.sampled_from("user: astn\n\r\u2028 x"), max_size=30)
keys = st.sampled_from(
    ["prompt", "config", "content", "results", "error", "warnings", "questions", "outcome", "correction", "x", "traces"]
)
own = st.dictionaries(keys, json_values | st.dictionaries(keys, json_values, max_size=2), max_size=3)
extras = st.fixed_dictionaries({}, optional={"run_agent": own | json_values, "tool_use": json_values})
corrections = cast("st.SearchStrategy[Correction]", values_of(Correction))


def with_fields(noun: Any, **fields: Any) -> Any:
    return type(noun)(**{(noun.__class__.model_fields[k].alias or k): v for k, v in dict(noun).items()} | fields)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Tasks of all kinds, more often than not with what this dialect has words for."""
    task = cast("Task", draw(values_of(Task)))
    if draw(st.booleans()):
        context = Context(history=tuple(draw(st.lists(turns | words, max_size=3))), memory=draw(st.text(max_size=5)))
        task = with_fields(task, context=context)
    if draw(st.booleans()):
        parameters = draw(
            st.dictionaries(st.sampled_from(["prompt", "memory", "config", "chat_history"]), words | own, max_size=3)
        )
        task = with_fields(task, parameters=parameters)
    return with_fields(task, extras=draw(extras))


@st.composite
def results(draw: st.DrawFn) -> Result:
    return with_fields(draw(values_of(Result)), extras=draw(extras))


@pytest.mark.slow
@given(tasks())
@settings(max_examples=examples(120))
def test_a_request_loses_exactly_what_is_reported(task: Task) -> None:
    written = run_agent.render_task(task)
    read = run_agent.parse_task(written.text)
    assert read.correction is None
    assert_exact_losses(task, read.value, written.losses)


@pytest.mark.slow
@given(tasks(), corrections)
@settings(max_examples=examples(60))
def test_a_request_made_again_brings_its_correction_whole(task: Task, correction: Correction) -> None:
    written = run_agent.render_retry(task, correction)
    read = run_agent.parse_task(written.text)
    assert read.correction == correction
    assert_exact_losses(task, read.value, written.losses)
    assert correction.message in json.loads(written.text)["prompt"]


@pytest.mark.slow
@given(results())
@settings(max_examples=examples(120))
def test_an_answer_loses_exactly_what_is_reported(result: Result) -> None:
    written = run_agent.render_result(result)
    read = run_agent.parse_result(written.text, level="strict")
    assert_exact_losses(result, read.value, written.losses, unit_ns=MICROSECOND)


@pytest.mark.slow
@given(values_of(Result))
@settings(max_examples=examples(60))
def test_an_answer_read_and_written_again_is_the_same_message(result: Any) -> None:
    once = run_agent.parse_result(run_agent.render_result(result).text).value
    again = run_agent.render_result(once)
    assert run_agent.parse_result(again.text).value == once


@pytest.mark.requirement("B2")
@given(st.lists(turns, max_size=4))
@example(["user: \r", "user: "])
def test_turns_come_back_as_they_were_whatever_they_say(said: list[str]) -> None:
    assert run_agent.read_history(run_agent.write_history(tuple(said))) == tuple(said)


@pytest.mark.requirement("B2")
@given(st.text() | words)
def test_any_chat_history_is_read_and_nothing_of_it_is_lost(text: str) -> None:
    read = run_agent.read_history(text)
    assert run_agent.read_history(run_agent.write_history(read)) == read
    assert [c for c in "".join(read) if not c.isspace()] == [c for c in text if not c.isspace()]


trace_items = st.fixed_dictionaries(
    {"tool": st.text(max_size=4), "output": st.text(max_size=4)},
    optional={"args": st.dictionaries(st.text(max_size=3), json_values, max_size=2), "duration_secs": st.floats(0, 9)},
)
answers = st.fixed_dictionaries(
    {"content": st.text(), "response_time_secs": st.floats(0, 1e6), "traces": st.lists(trace_items, max_size=2)},
    optional={"models": json_values},
)


@given(answers)
def test_a_wire_answer_is_what_is_written_of_it(answer: dict[str, Any]) -> None:
    wire = AgentOutputMinimal.model_validate(answer)
    assert AgentOutputMinimal.model_validate(wire.model_dump(exclude_unset=True)) == wire


@given(st.fixed_dictionaries({"prompt": st.text()}, optional={"memory": st.none() | st.text(), "tool_root": st.text()}))
def test_a_wire_request_is_what_is_written_of_it(arguments: dict[str, Any]) -> None:
    wire = Arguments.model_validate(arguments)
    assert Arguments.model_validate(wire.model_dump()) == wire


rough = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*AgentOutputMinimal.model_fields, *Arguments.model_fields, "error", "questions", "tool"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
levels = st.sampled_from(["strict", "standard", "lenient"])


@given(st.text() | st.binary() | rough.map(json.dumps), levels)
@settings(max_examples=examples(120))
def test_any_text_is_read_or_refused_with_the_typed_error(text: str | bytes, level: Any) -> None:
    with contextlib.suppress(ParseError, InvalidInput):
        run_agent.parse_task(text, level=level)
    with contextlib.suppress(OutputInvalid):
        run_agent.parse_result(text, level=level)
    if isinstance(text, str):
        run_agent.recognise(text)


@given(rough | st.binary() | st.dictionaries(st.integers(), st.floats()) | st.sets(st.integers()), levels)
@settings(max_examples=examples(120))
def test_any_value_is_read_or_refused_with_the_typed_error(value: object, level: Any) -> None:
    before = repr(value)
    with contextlib.suppress(OutputInvalid):
        run_agent.parse_value(value, level=level)
    assert repr(value) == before
