"""The laws of spec 004's messages: nothing is lost but what the loss report names, and any text is read or refused."""

from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from retinue.contract import json
from retinue.contract.definition import Definition, Skill
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import agent_http
from retinue.dialects.agent_http import wire
from retinue.dialects.port import ParseContext
from retinue.errors import InvalidInput
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses, assert_read_or_refused, mutated

LEVELS = ("strict", "standard", "lenient")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.sampled_from(["message", "task", "error", "status", "outcome", "retinue", "parts", "x", "questions"])
members = st.dictionaries(names | texts, json_values, max_size=3)
messages = st.just({"role": "user", "parts": [{"type": "text", "text": "a"}]})
held = st.dictionaries(
    st.sampled_from(
        ["metadata", "session_id", "history", "artifacts", "timestamp", "request_message", "parts", "created_at", "x"]
    ),
    texts | members | messages | st.lists(members, max_size=2),
    max_size=3,
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    fields: dict[str, Any] = dict(cast("Task", draw(values_of(Task))))
    if draw(st.booleans()):
        fields["parameters"] = draw(members)
    if draw(st.booleans()):
        fields["extras"] = {"agent_http": draw(held | json_values)}
    return Task(**fields)


@st.composite
def results(draw: st.DrawFn) -> Result:
    fields: dict[str, Any] = dict(cast("Result", draw(values_of(Result))))
    if draw(st.booleans()):
        fields["data"] = draw(members)
    if draw(st.booleans()):
        fields["extras"] = {"agent_http": draw(held | json_values)}
    return Result(**fields)


endpoints = st.fixed_dictionaries(
    {
        "endpoints": st.dictionaries(
            st.sampled_from(["tasks", "x"]), st.sampled_from(["/agents/b/a/tasks", "/x"]) | texts
        )
    },
    optional={"y": json_values},
)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    fields: dict[str, Any] = dict(cast("Definition", draw(values_of(Definition))))
    skills = {skill.name: skill for skill in cast("tuple[Skill, ...]", fields["skills"])}
    fields["skills"] = tuple(skills.values())
    if draw(st.booleans()):
        fields["extras"] = {"agent_http": draw(members | endpoints | json_values)}
    if draw(st.booleans()):
        fields["category"] = draw(st.sampled_from(["business", "data-tools", "Data Tools", "x/y", ""]))
    if draw(st.booleans()):
        fields["wire_names"] = {"agent_http": fields["name"].replace("_", "-")}
    return Definition(**fields)


@pytest.mark.requirement("P1", "P3", "P17", "C8")
@given(tasks(), st.sampled_from(agent_http.TASK_FORMS))
def test_a_task_comes_back_but_for_what_the_report_names(task: Task, form: str):
    try:
        written = agent_http.render_task(task, form=form)
    except InvalidInput:
        return
    known = ParseContext(skill=task.skill) if form == "skill" else ParseContext()
    losses = [loss for loss in written.losses if form != "skill" or loss.field != "/skill"]
    read = agent_http.parse_task(written.text, context=known)
    assert_exact_losses(task, read.value, losses)
    assert read.form == form


@pytest.mark.requirement("P17", "C1", "C2", "C5", "C8")
@given(results(), st.sampled_from(agent_http.RESULT_FORMS))
def test_a_result_comes_back_but_for_what_the_report_names(result: Result, form: str):
    try:
        written = agent_http.render_result(result, form=form)
    except InvalidInput:
        return
    read = agent_http.parse_result(written.text)
    assert_exact_losses(result, read.value, written.losses)
    assert read.form == written.form


@pytest.mark.requirement("P2", "P4", "P5", "P6", "C10")
@given(definitions(), st.sampled_from(["", "https://example.org/api"]))
def test_a_definition_comes_back_but_for_what_the_report_names(definition: Definition, base: str):
    try:
        written = agent_http.render_card([definition], base=base)
    except InvalidInput:
        return
    (read,) = agent_http.parse_card(written.text).value
    assert_exact_losses(definition, read, written.losses)


@pytest.mark.requirement("A12", "C6")
@given(tasks(), values_of(Correction))
def test_a_correction_comes_back_whole(task: Task, correction: Correction):
    try:
        written = agent_http.render_retry(task, correction)
    except InvalidInput:
        return
    read = agent_http.parse_task(written.text)
    assert read.correction == correction
    assert_exact_losses(task, read.value, written.losses)


@given(
    st.builds(
        wire.TaskRecord,
        id=texts,
        status=st.builds(wire.TaskStatus, state=st.sampled_from(sorted(wire.STATES)), message=texts),
        response_message=st.builds(
            wire.HttpMessage,
            role=st.just("agent"),
            parts=st.lists(
                st.builds(wire.TextPart, type=st.just("text"), text=texts)
                | st.builds(wire.DataPart, type=st.just("data"), data=json_values),
                max_size=2,
            ),
        ),
        metadata=members,
    )
)
def test_a_record_comes_back_as_it_was(record: wire.TaskRecord):
    assert wire.TaskRecord.model_validate(json.loads(json.dumps(record.to_json()))) == record


SEEDS = (
    '{"id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "x"}, {"kind": "data", "data": 1}]}}',
    '{"id": "t", "status": {"state": "input-required", "message": {"parts": [{"text": "which?"}]}}, "artifacts": [{}]}',
    '{"status": {"state": "failed"}, "metadata": {"error": {"code": 5}, "questions": [1], "retinue": {"depth": -1}}}',
    '{"name": "m", "endpoints": ["/tasks"], "capabilities": [{"name": "a", "endpoint": "/x", "method": "get"}]}',
    '{"agents": [{"name": "1", "capabilities": null, "version": "x"}, 5]}',
    '{"error": {"code": "E", "message": "m", "timestamp": "now"}}',
    '{"detail": [{"loc": ["body"], "msg": "m"}]}',
)


anything = st.text() | st.binary() | mutated(SEEDS) | json_values.map(json.dumps)


@pytest.mark.requirement("C17")
@given(anything, st.sampled_from(LEVELS))
def test_any_text_is_read_or_refused_with_findings(text: str | bytes, level: Any):
    known = ParseContext(task_id="t", agent="a", skill="x")
    assert_read_or_refused(agent_http.parse_result, text, context=known, level=level)
    assert_read_or_refused(agent_http.parse_task, text, context=known, level=level)
    assert_read_or_refused(agent_http.parse_task, text, level=level)
    assert_read_or_refused(agent_http.parse_card, text, level=level)
    if isinstance(text, str):
        agent_http.recognise(text)


@given(members, st.sampled_from(LEVELS))
def test_any_object_of_the_right_kind_isassert_read_or_refused(said: dict[str, Any], level: Any):
    record = {"id": "t", "status": {"state": "working", **said}, "metadata": said, "response_message": said}
    body = {"message": {"role": "user", "parts": [said, {"type": "text", "text": "x"}]}, "metadata": said}
    card = {"name": "m", "endpoints": said, "capabilities": [{"name": "a", "endpoint": "/a", **said}]}
    assert_read_or_refused(agent_http.parse_result, json.dumps(record), level=level)
    assert_read_or_refused(agent_http.parse_result, json.dumps({"error": said}), level=level)
    assert_read_or_refused(agent_http.parse_task, json.dumps(body), level=level)
    assert_read_or_refused(agent_http.parse_card, json.dumps(card), level=level)
