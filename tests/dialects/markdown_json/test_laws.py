"""The laws of spec 003's format: nothing is lost but what the loss report names, and any text is read or refused."""

import contextlib
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json
from retinue.contract.result import Result
from retinue.contract.task import Correction, Question, Task
from retinue.dialects import markdown_json
from retinue.dialects.markdown_json import block, wire
from retinue.dialects.port import ParseContext
from retinue.errors import InvalidInput, OutputInvalid
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses, assert_read_or_refused, mutated
from tests.examples import examples

MILLISECOND = 1_000_000
LEVELS = ("strict", "standard", "lenient")

MARKS = """
a| |**Agent:** x|**Operation:** o|**Note:** y|- k: v|```|~~~|Why: z|:|"|*|\\|Constraint:|Not stated.
""".strip().split("|")
LINES = ("\n", "\n\n", "\r", "\t", "\u2028", "Execute per AGENT_CONTRACT.md.")
awkward = st.lists(st.sampled_from((*MARKS, *LINES)), max_size=5).map("".join)
texts = awkward | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = st.sampled_from(["next_questions", "metadata", "context", "warnings", "class", "files_read", "x", "error_type"])
members = st.dictionaries(names | texts, st.integers(-1, 2) | texts | json_values, max_size=3)
extras = (
    st.dictionaries(
        st.sampled_from(["fields", "before", "metadata", "context", "warnings", "x", "result", "other"]),
        texts | members | st.dictionaries(st.sampled_from(["0", "1", "9"]), members, max_size=2),
        max_size=3,
    )
    | json_values
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    task = cast("Task", draw(values_of(Task)))
    fields: dict[str, Any] = dict(task)
    fields |= draw(
        st.fixed_dictionaries({}, optional={"instruction": texts, "target": texts, "agent": st.just("a_v2")})
    )
    fields["context"] = fields["context"].model_copy(
        update=draw(st.fixed_dictionaries({}, optional={"what": texts, "why": texts, "constraints": st.tuples(texts)}))
    )
    if draw(st.booleans()):
        fields["parameters"] = draw(st.dictionaries(texts, texts, max_size=3))
    if draw(st.booleans()):
        fields["extras"] = {"markdown_json": draw(extras)}
    return Task(**fields)


@st.composite
def results(draw: st.DrawFn) -> Result:
    result = cast("Result", draw(values_of(Result)))
    fields: dict[str, Any] = dict(result)
    if draw(st.booleans()):
        fields["extras"] = {"markdown_json": draw(extras)}
    if draw(st.booleans()):
        fields |= {"data": draw(members), "lifecycle": draw(st.sampled_from(["ended", "input_required"]))}
        fields |= {"outcome": draw(st.sampled_from(["success", "partial", "error", "failed"]))}
    return Result(**fields)


@pytest.mark.requirement("K2", "K23", "C44", "C46", "C11")
@given(tasks(), st.sampled_from(markdown_json.TASK_FORMS))
def test_a_task_comes_back_but_for_what_the_report_names(task: Task, form: str):
    try:
        written = markdown_json.render_task(task, form=form)
    except InvalidInput:
        return
    read = markdown_json.parse_task(written.text)
    assert_exact_losses(task, read.value, written.losses)
    assert read.form == form


@pytest.mark.requirement("K3", "K4", "K5", "K6", "K7", "C1", "C2", "C5")
@given(results(), st.sampled_from(markdown_json.RESULT_FORMS))
def test_a_result_comes_back_but_for_what_the_report_names(result: Result, form: str):
    try:
        written = markdown_json.render_result(result, form=form)
    except InvalidInput:
        return
    read = markdown_json.parse_result(written.text)
    assert_exact_losses(result, read.value, written.losses, unit_ns=MILLISECOND)


@pytest.mark.requirement("C3")
@given(results())
def test_what_is_written_without_extras_is_read_strictly(result: Result):
    fields: dict[str, Any] = {**dict(result), "extras": {}, "data": {"note": "all is well"}, "skill": "story_deep"}
    fields |= {"fault": None if result.fault is None else result.fault.model_copy(update={"hint": "Do it."})}
    try:
        written = markdown_json.render_result(Result(**fields))
    except InvalidInput:
        return
    markdown_json.parse_result(written.text, level="strict")


@pytest.mark.requirement("K10")
@pytest.mark.parametrize("said", ["TRUE", "no", "false"])
def test_a_question_may_read_like_a_truth_value(said: str):
    asked = Result(
        task_id="t", agent="a", skill="s", lifecycle="input_required", questions=(Question(id="q", text=said),)
    )
    read = markdown_json.parse_result(markdown_json.render_result(asked).text, level="strict")
    assert [question.text for question in read.value.questions] == [said]


@pytest.mark.requirement("A12", "C6")
@given(tasks(), values_of(Correction))
def test_a_correction_comes_back_whole(task: Task, correction: Correction):
    try:
        written = markdown_json.render_retry(task, correction)
    except InvalidInput:
        return
    read = markdown_json.parse_task(written.text)
    assert read.correction == correction
    assert_exact_losses(task, read.value, written.losses)


@given(
    st.sampled_from([wire.SuccessEnvelope, wire.PartialEnvelope, wire.ErrorEnvelope]).flatmap(
        lambda shape: st.builds(shape, **_fields(shape))
    )
)
def test_an_envelope_comes_back_as_it_was(envelope: wire.AnswerEnvelope):
    said = envelope.to_json()
    shape = wire.envelope_for(said["status"])
    assert shape.model_validate(json.loads(json.dumps(said))) == envelope


def _fields(shape: type[wire.AnswerEnvelope]) -> dict[str, st.SearchStrategy[Any]]:
    said = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    entry = st.builds(wire.WarningEntry, type=st.just("missing_data"), message=said, impact=said, recovery=said)
    fields: dict[str, st.SearchStrategy[Any]] = {
        "status": st.just(shape.model_fields["status"].annotation.__args__[0]),  # type: ignore[union-attr]
        "agent": st.just("a"),
        "version": st.just("1.0"),
        "metadata": st.builds(wire.AnswerMetadata, execution_time_ms=st.integers(0, 9)),
    }
    if shape is not wire.ErrorEnvelope:
        fields["result"] = json_values.filter(lambda value: value is not None)
    if shape is wire.PartialEnvelope:
        fields["warnings"] = st.lists(entry, min_size=1, max_size=2)
    if shape is wire.ErrorEnvelope:
        fields |= {"error_type": st.just("timeout"), "message": said, "recovery_suggestions": st.lists(said)}
        fields["context"] = st.builds(wire.ErrorContext, target=said, attempts=st.integers(1, 3))
    return fields


SEEDS = (
    '{"status": "success", "agent": "a", "version": "1.0", "operation": "x", "result": {"score": "85"}, "metadata": {}}',
    '{"status": "partial", "result": {"files": null, "n_count": -1}, "warnings": [{"type": "x"}], "metadata": null}',
    '{"status": "error", "error_type": "x", "message": 1, "context": [], "recovery_suggestions": null}',
    "**Agent:** a\n**Operation:** b\n**Target:**\n\n**Optional Parameters:**\n- k: v\n\n**Correction:**\n- Retry: x",
)


@pytest.mark.requirement("C17", "C26")
@given(st.text() | st.binary() | mutated(SEEDS) | json_values.map(json.dumps), st.sampled_from(LEVELS))
def test_any_text_is_read_or_refused_with_findings(text: str | bytes, level: Any):
    known = ParseContext(task_id="t", agent="a", skill="x")
    assert_read_or_refused(markdown_json.parse_result, text, context=known, level=level)
    assert_read_or_refused(markdown_json.parse_task, text, context=known, level=level)
    if isinstance(text, str):
        markdown_json.recognise(text)
        with contextlib.suppress(InvalidInput):  # a text is never unreadable
            markdown_json.parse_task(text, context=known, level=level)


@given(st.dictionaries(names | texts, json_values | texts, max_size=6), st.sampled_from(LEVELS))
def test_any_object_with_the_head_of_an_envelope_is_read_or_refused(members: dict[str, Any], level: Any):
    for status in ("success", "partial", "error", "erfolg"):
        value = {"status": status, "agent": "a", "version": "1.0", "result": members, "metadata": {}, **members}
        with contextlib.suppress(OutputInvalid):
            markdown_json.parse_result(json.dumps(value), level=level)


@settings(max_examples=examples(50))
@given(st.lists(awkward, max_size=8).map("\n".join))
def test_blocks_are_found_in_any_text(text: str):
    for found in block.find_blocks(text):
        assert 1 <= found.line <= text.count("\n") + 1
