"""The laws of A2A messages: nothing is lost but what the loss report names, and any text is read or refused."""

from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Checkpoint, Progress, TextDelta
from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import a2a
from retinue.dialects.a2a.wire import is_exact, whole_numbers
from retinue.dialects.port import ParseContext
from retinue.errors import InvalidInput
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses, assert_read_or_refused, mutated
from tests.examples import examples

LEVELS = ("strict", "standard", "lenient")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
parts = st.sampled_from([{"url": "x"}, {"raw": "YQ=="}, {"text": "a"}, {"data": 7.0}, {"url": "x", "raw": ""}, 5])
members = st.dictionaries(
    st.sampled_from(["x", "taskId", "task_id", "metadata", "parts", a2a.EXTENSION]) | texts, json_values, max_size=3
)
artifacts = st.fixed_dictionaries(
    {
        "artifactId": texts,
        "parts": st.lists(parts, max_size=2),
        "holds": st.lists(st.sampled_from(["text", "data", 1])),
    },
    optional={"name": texts, "metadata": members},
)
held = st.fixed_dictionaries(
    {},
    optional={
        "message": members | st.just({"contextId": "c", "messageId": "m", "metadata": {"y": 1}, "extensions": ["u"]}),
        "request": members | st.just({"tenant": "t", "configuration": {"historyLength": 3}}),
        "task": members | st.just({"contextId": "c", "history": [{"x": 1}], "metadata": {"y": 1}}),
        "status": members | st.just({"state": "TASK_STATE_AUTH_REQUIRED", "timestamp": "2025-10-08T15:30:00Z"}),
        "rpc": st.fixed_dictionaries({"id": json_values}, optional={"method": texts}),
        "error": st.fixed_dictionaries(
            {"code": json_values | st.sampled_from([-32001, -32603, 404])}, optional={"reason": texts}
        ),
        "parts": st.lists(parts, max_size=2) | json_values,
        "artifacts": st.lists(artifacts | json_values, max_size=2),
        "payload": st.just("message"),
    },
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    fields: dict[str, Any] = dict(cast("Task", draw(values_of(Task))))
    if draw(st.booleans()):
        fields["parameters"] = draw(members)
    if draw(st.booleans()):
        fields["extras"] = {"a2a": draw(held | json_values)}
    return Task(**fields)


@st.composite
def results(draw: st.DrawFn) -> Result:
    fields: dict[str, Any] = dict(cast("Result", draw(values_of(Result))))
    if draw(st.booleans()):
        fields["data"] = draw(members)
    if draw(st.booleans()):
        fields["extras"] = {"a2a": draw(held | json_values)}
    return Result(**fields)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    fields: dict[str, Any] = dict(cast("Definition", draw(values_of(Definition))))
    skills = {skill.name: skill for skill in cast("tuple[Skill, ...]", fields["skills"])}
    fields["skills"] = tuple(skills.values())
    if draw(st.booleans()):
        capabilities = {"streaming": True, "extensions": [{"uri": "urn:x"}]}
        stored = {"/skills/0/id": "an-id", "/skills/0/tags": ["x"], "capabilities": capabilities, "iconUrl": "u"}
        fields["extras"] = {"a2a": draw(st.just(stored) | members | json_values)}
    return Definition(**fields)


@pytest.mark.requirement("C1", "C8")
@settings(max_examples=examples(60))
@given(tasks(), st.sampled_from(a2a.TASK_FORMS))
def test_a_task_comes_back_but_for_what_the_report_names(task: Task, form: str) -> None:
    written = a2a.render_task(task, form=form)
    read = a2a.parse_task(written.text)
    assert_exact_losses(task, read.value, written.losses)
    assert read.form == form


@pytest.mark.requirement("C1", "C2", "C5", "C8")
@settings(max_examples=examples(100))
@given(results(), st.sampled_from(a2a.RESULT_FORMS))
def test_a_result_comes_back_but_for_what_the_report_names(result: Result, form: str) -> None:
    written = a2a.render_result(result, form=form)
    read = a2a.parse_result(written.text)
    assert_exact_losses(result, read.value, written.losses)
    assert read.form == written.form


@pytest.mark.requirement("A12", "C6")
@given(tasks(), values_of(Correction))
def test_a_correction_comes_back_whole(task: Task, correction: Correction) -> None:
    # Free data of the format does not tell 7.0 from 7.
    correction = Correction.model_validate_json(json.dumps(whole_numbers(correction.model_dump(mode="json"))))
    written = a2a.render_retry(task, correction)
    read = a2a.parse_task(written.text)
    assert read.correction == correction
    assert_exact_losses(task, read.value, written.losses)


@pytest.mark.requirement("C28")
@settings(max_examples=examples(60))
@given(definitions())
def test_a_definition_comes_back_but_for_what_the_report_names(definition: Definition) -> None:
    try:
        written = a2a.render_definitions((definition,))
        (read,) = a2a.parse_definitions(written.text).value
    except InvalidInput as error:
        assert error.detail["findings"]  # noqa: PT017 - no card can hold it
        return
    assert_exact_losses(definition, read, written.losses)


@pytest.mark.requirement("H18", "H19")
@given(
    st.lists(
        st.builds(Progress, texts, texts, st.none() | st.integers(), st.none() | st.integers())
        | st.builds(Checkpoint, texts, texts, st.none() | st.integers())
        | st.builds(TextDelta, texts),
        min_size=1,
        max_size=3,
    )
)
def test_events_come_back(bodies: list[Progress | Checkpoint | TextDelta]) -> None:
    written = a2a.render_events(bodies)
    assert a2a.parse_events(written.text).value == tuple(bodies)
    assert written.losses == ()


@pytest.mark.requirement("C2")
@given(values_of(Fault), st.sampled_from(["jsonrpc", "http"]), st.none() | st.integers() | texts)
def test_an_error_says_its_fault(fault: Any, form: str, request_id: str | int | None) -> None:
    read = a2a.parse_result(a2a.render_error(fault, form=form, request_id=request_id).text).value
    assert read.fault is not None
    assert (read.fault.code, read.fault.message) == (fault.code, fault.message)
    assert read.outcome == ("canceled" if fault.code == "canceled" else "error")


@given(json_values)
def test_whole_numbers_are_integers_and_nothing_else_changes(value: Any) -> None:
    assert whole_numbers(value) == value
    assert is_exact(value) or "9" in json.dumps(value) or any(map(str.isdigit, json.dumps(value)))


SEEDS = (
    '{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}, {"kind": "data", "data": 1}]}}',
    '{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"role": "user", "parts": []}}}',
    '{"task": {"id": "t", "status": {"state": 6, "message": {"parts": [{"text": "which?"}]}}, "artifacts": [{}]}}',
    '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "m", "data": [{"@type": "x"}]}}',
    '{"statusUpdate": {"taskId": "t", "status": {"state": "working", "message": {"parts": [{"text": "x"}]}}}}',
    '{"artifactUpdate": {"task_id": "t", "artifact": {"artifactId": "a", "parts": []}, "lastChunk": true}}',
    '{"name": "m", "skills": [{"id": "a"}], "url": "u", "protocolVersion": "0.3.0", "capabilities": {"extensions": 1}}',
    '{"error": {"code": 404, "status": "NOT_FOUND", "message": "m", "details": 5}}',
)
anything = st.text() | st.binary() | mutated(SEEDS) | json_values.map(json.dumps)


@pytest.mark.requirement("C17")
@settings(max_examples=examples(200))
@given(anything, st.sampled_from(LEVELS))
def test_any_text_is_read_or_refused_with_findings(text: str | bytes, level: Any) -> None:
    known = ParseContext(task_id="t", agent="a", skill="x")
    assert_read_or_refused(a2a.parse_result, text, context=known, level=level)
    assert_read_or_refused(a2a.parse_task, text, context=known, level=level)
    assert_read_or_refused(a2a.parse_definitions, text, level=level)
    assert_read_or_refused(a2a.parse_events, text, level=level)
    if isinstance(text, str):
        a2a.recognise(text)


@given(members, st.sampled_from(LEVELS))
def test_any_object_of_the_right_kind_is_read_or_refused(facts: dict[str, Any], level: Any) -> None:
    message = {
        "messageId": "m",
        "role": "ROLE_AGENT",
        "parts": [facts, {"text": "x"}],
        "metadata": {a2a.EXTENSION: facts},
    }
    task = {"id": "t", "status": {"state": "TASK_STATE_FAILED", **facts}, "metadata": {a2a.EXTENSION: facts}}
    card = {
        "name": "m",
        "description": "d",
        "supportedInterfaces": [],
        "skills": [{"id": "a", "description": "d", **facts}],
    }
    update = {
        "statusUpdate": {"taskId": "t", "status": task["status"], "metadata": {a2a.EXTENSION: {"progress": facts}}}
    }
    for value in (
        message,
        task,
        {"task": task},
        {"error": facts},
        update,
        {"jsonrpc": "2.0", "id": 1, "result": facts},
    ):
        assert_read_or_refused(a2a.parse_result, json.dumps(value), level=level)
    for value in (
        message,
        {"message": message, **facts},
        {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": facts},
    ):
        assert_read_or_refused(a2a.parse_task, json.dumps(value), level=level)
    assert_read_or_refused(
        a2a.parse_definitions,
        json.dumps({**card, "capabilities": {"extensions": [{"uri": a2a.EXTENSION, "params": facts}]}}),
        level=level,
    )
    assert_read_or_refused(a2a.parse_events, json.dumps(update), level=level)
