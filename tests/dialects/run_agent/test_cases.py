"""Every sample of spec 001, and what is near it: accepted, borne, refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, ValidationError

from retinue.contract import schema
from retinue.contract.model import Model
from retinue.dialects import run_agent
from retinue.dialects.run_agent import ANSWER_SCHEMA, AgentOutputMinimal, ToolTraceMinimal
from retinue.errors import OutputInvalid
from tests.contract.nouns import json_values
from tests.dialects.json_cases import Case, cases, said_of, see_case, see_same
from tests.examples import examples

HERE = Path(__file__).parent / "cases"
KNOWN = {"id", "task_id", "agent", "skill"}


def said(noun: Model) -> dict[str, Any]:
    return {key: value for key, value in said_of(noun).items() if key not in KNOWN}


@pytest.mark.requirement("B1", "B2", "B3", "B14", "C7", "C16")
@pytest.mark.parametrize("case", cases(HERE / "requests.json"))
def test_a_request(case: Case) -> None:
    see_case(case, run_agent.parse_task, said)
    if case.said.get("same"):
        see_same(case, run_agent.parse_task, run_agent.render_task)
        assert run_agent.render_task(run_agent.parse_task(case.text).value).losses == ()


@pytest.mark.requirement("B4", "B5", "B6", "B7", "C1", "C5", "C7", "C8", "C16")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_an_answer(case: Case) -> None:
    see_case(case, run_agent.parse_result, said)
    if case.said.get("same"):
        see_same(case, run_agent.parse_result, run_agent.render_result)
        assert run_agent.render_result(run_agent.parse_result(case.text).value).losses == ()


@pytest.mark.requirement("B4", "B15")
@pytest.mark.parametrize("case", cases(HERE / "answers.json"))
def test_a_python_value_is_read_as_its_text_is(case: Case) -> None:
    if "raw" in case.said:
        return
    value = case.said["text"]
    if "refused" in case.said:
        with pytest.raises(OutputInvalid):
            run_agent.parse_value(value)
    else:
        assert run_agent.parse_value(value) == run_agent.parse_result(case.text)


# The two published forms.

near = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(max_size=3) | json_values,
        "response_time_secs": st.floats(allow_nan=False, allow_infinity=False) | st.integers() | json_values,
        "traces": st.lists(
            st.fixed_dictionaries(
                {"tool": st.text(max_size=3), "output": st.text(max_size=3)},
                optional={
                    "args": st.dictionaries(st.text(max_size=2), json_values, max_size=1) | json_values,
                    "duration_secs": st.floats(0, 9) | json_values,
                    "cost": st.none(),
                },
            )
            | json_values,
            max_size=2,
        )
        | json_values,
        "models": json_values,
        "prompt": st.text(max_size=3) | json_values,
        "chat_history": st.none() | st.text(max_size=3) | json_values,
        "config": st.dictionaries(st.text(max_size=2), json_values, max_size=1) | json_values,
    },
)


@pytest.mark.requirement("B7")
@given(near | json_values)
@settings(max_examples=examples(150))
def test_the_json_schema_and_the_python_types_take_the_same_answers(value: object) -> None:
    assert accepts(AgentOutputMinimal, value) == schema.compile(ANSWER_SCHEMA).is_valid(value)


def accepts(kind: type[BaseModel], value: object) -> bool:
    try:
        kind.model_validate(value)
    except ValidationError:
        return False
    return True


@pytest.mark.requirement("B7", "C16")
def test_the_spec_s_own_python_types_are_read_too() -> None:
    class Trace(BaseModel):
        tool: str
        output: str
        args: dict[str, Any] | None = None

    class Output(BaseModel):
        content: str
        response_time_secs: float
        traces: list[Trace] = []

    answer = Output(content="c", response_time_secs=1, traces=[Trace(tool="t", output="o")])
    read = run_agent.parse_value(answer, level="strict")
    assert [trace.tool for trace in read.value.traces] == ["t"]
    ours = AgentOutputMinimal(content="c", response_time_secs=1, traces=[ToolTraceMinimal(tool="t", output="o")])
    assert run_agent.parse_value(ours, level="strict") == read
    assert run_agent.parse_result(answer.model_dump_json()).value == read.value


ODD: list[tuple[Any, set[str]]] = [
    ("text", {""}),
    (None, {""}),
    ({}, {"/content", "/response_time_secs"}),
    ({"content": "", "response_time_secs": float("nan"), "traces": []}, {"/response_time_secs"}),
    ({"content": b"", "response_time_secs": 10**400, "traces": [1]}, {"/content", "/response_time_secs", "/traces/0"}),
    ({"content": "", "response_time_secs": 1, "traces": [], "x": object()}, {"/x"}),
    ({"content": "", "response_time_secs": 1, "traces": [], "x": [float("nan")]}, {"/x/0"}),
    (
        {"content": "", "response_time_secs": 1, "traces": [{"tool": "t", "output": "o", "args": {"a": object()}}]},
        {"/traces/0/args"},
    ),
]


@pytest.mark.requirement("B4", "B5", "B6")
@pytest.mark.parametrize(("value", "paths"), ODD)
def test_a_python_value_that_is_no_answer_is_refused_with_every_finding(value: object, paths: set[str]) -> None:
    with pytest.raises(OutputInvalid) as caught:
        run_agent.parse_value(value)
    assert {one.get("path", "") for one in caught.value.detail["findings"] if one["severity"] == "error"} == paths


def test_an_answer_that_contains_itself_is_refused() -> None:
    loop: dict[str, Any] = {"content": "", "response_time_secs": 1, "traces": []}
    loop["self"] = loop
    with pytest.raises(OutputInvalid, match="JSON"):
        run_agent.parse_value(loop)


def test_the_value_of_the_function_is_not_changed() -> None:
    value = {"content": "", "response_time_secs": 1, "traces": ({"tool": "t", "output": "o", "args": None},), "x": {1}}
    before = repr(value)
    read = run_agent.parse_value(value)
    assert repr(value) == before
    assert read.value.extras == {"run_agent": {"x": [1]}}
    assert json.loads(run_agent.render_result(read.value).text)["x"] == [1]


def test_a_lenient_reader_makes_text_of_output_that_is_data_and_only_of_that() -> None:
    trace: dict[str, Any] = {"tool": "t", "output": ({"a": 1},)}
    value = {"content": "", "response_time_secs": 1, "traces": [trace]}
    assert run_agent.parse_value(value, level="lenient").value.traces[0].output == '[{"a":1}]'
    for odd in (object(), [object()], b"x", 3):
        with pytest.raises(OutputInvalid):
            run_agent.parse_value({**value, "traces": [{**trace, "output": odd}]}, level="lenient")


def test_text_that_is_no_number_stays_refused() -> None:
    for odd in ("soon", "true", "[1]"):
        with pytest.raises(OutputInvalid):
            run_agent.parse_value({"content": "", "response_time_secs": odd, "traces": []}, level="lenient")
