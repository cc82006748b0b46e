"""The tables of words of spec 003, complete and both ways; what a word does not say is kept beside it or a loss."""

import json
from typing import Any, get_args

import pytest

from retinue.contract.fault import Fault
from retinue.contract.result import Artifact, Lifecycle, Outcome, Result, Versions, Warned
from retinue.contract.task import Question, Task
from retinue.dialects import dialect, markdown_json
from retinue.dialects.markdown_json.block import RECOVERIES
from retinue.dialects.markdown_json.wire import ERROR_TYPES, FAULT_CODES
from retinue.dialects.port import ParseContext
from retinue.errors import FaultCode, InvalidInput, OutputInvalid

OUTCOMES: list[tuple[Outcome, str, Outcome]] = [
    ("success", "success", "success"),
    ("partial", "partial", "partial"),
    ("error", "error", "error"),
    ("failed", "error", "failed"),
    ("canceled", "error", "error"),
    ("rejected", "error", "error"),
]
CODES: list[tuple[FaultCode, str]] = [
    ("missing_file", "missing_file"),
    ("invalid_input", "invalid_input"),
    ("output_invalid", "internal_error"),
    ("parse_error", "parse_error"),
    ("access_denied", "access_denied"),
    ("unauthenticated", "access_denied"),
    ("network_error", "internal_error"),
    ("unavailable", "internal_error"),
    ("timeout", "timeout"),
    ("budget_exceeded", "internal_error"),
    ("canceled", "internal_error"),
    ("internal_error", "internal_error"),
]


def answer(**said: Any) -> Result:
    fields: dict[str, Any] = {"task_id": "", "agent": "a", "skill": "b", "versions": Versions(contract="1.0")}
    return Result(**fields, **said)


def lost(result: Result) -> set[str]:
    return {loss.field for loss in markdown_json.render_result(result).losses}


def test_it_is_the_dialect_of_its_name() -> None:
    assert dialect("markdown_json") is markdown_json  # type: ignore[comparison-overlap]
    assert markdown_json.NAME == "markdown_json"


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(("outcome", "status", "read"), OUTCOMES)
def test_each_outcome_has_its_status(outcome: Outcome, status: str, read: Outcome) -> None:
    fault = Fault(code="timeout", message="m", hint="Do h.", operation="b")
    warned = (Warned(type="missing_data", message="m", impact="i", recovery="Do r."),)
    more: dict[str, Any] = {"fault": fault} if status == "error" else {"data": {"x": 1}}
    result = answer(outcome=outcome, warnings=warned if status == "partial" else (), **more)
    written = markdown_json.render_result(result)
    assert json.loads(written.text)["status"] == status
    assert markdown_json.parse_result(written.text, level="strict").value.outcome == read
    assert lost(result) == (set() if read == outcome else {"/outcome"})


@pytest.mark.requirement("C1")
def test_attempts_are_counted_in_the_context() -> None:
    fault = Fault(code="timeout", message="m", hint="Do h.", operation="b")
    written = markdown_json.render_result(answer(outcome="failed", retries=2, fault=fault))
    assert json.loads(written.text)["context"]["attempts"] == 3
    assert markdown_json.parse_result(written.text).value.retries == 2


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("lifecycle", ["submitted", "working"])
def test_work_that_is_not_done_is_partial_with_a_loss(lifecycle: Lifecycle) -> None:
    written = markdown_json.render_result(answer(lifecycle=lifecycle))
    said = json.loads(written.text)
    assert said["status"] == "partial"
    assert said["warnings"][0]["synthetic"] is True
    assert {"/lifecycle", "/outcome", "/warnings"} <= {loss.field for loss in written.losses}


@pytest.mark.requirement("C1", "K5")
def test_a_question_is_a_partial_answer_with_an_incomplete_context() -> None:
    asked = answer(lifecycle="input_required", questions=(Question(id="q1", text="Who?"),), data={"x": 1})
    written = markdown_json.render_result(asked)
    said = json.loads(written.text)
    assert (said["status"], said["warnings"][0]["type"]) == ("partial", "incomplete_context")
    assert said["result"] == {"x": 1, "next_questions": [{"id": "q1", "text": "Who?"}]}
    assert markdown_json.parse_result(written.text, level="strict").value == asked
    assert written.losses == ()


def test_the_tables_know_every_word() -> None:
    assert set(ERROR_TYPES) == set(get_args(FaultCode)) == {code for code, _ in CODES}
    assert set(FAULT_CODES) == set(RECOVERIES) == set(ERROR_TYPES.values())


@pytest.mark.requirement("C2", "K7")
@pytest.mark.parametrize(("code", "word"), CODES)
def test_each_fault_has_its_type_and_keeps_its_finer_cause(code: FaultCode, word: str) -> None:
    result = answer(outcome="error", fault=Fault(code=code, message="m", hint="Do h.", operation="b"))
    written = markdown_json.render_result(result)
    said = json.loads(written.text)
    assert said["error_type"] == word
    assert said["context"].get("class") == (None if word == code else code)
    assert markdown_json.parse_result(written.text, level="strict").value == result
    assert written.losses == ()


@pytest.mark.requirement("C2", "K7")
@pytest.mark.parametrize("word", sorted(FAULT_CODES))
def test_each_type_is_read_as_its_code(word: str) -> None:
    said: dict[str, Any] = {
        "status": "error",
        "agent": "a",
        "version": "1.0",
        "error_type": word,
        "message": "It broke in two.",
    }
    said |= {"recovery_suggestions": ["Fix both halves"], "context": {}, "metadata": {"execution_time_ms": 1}}
    fault = markdown_json.parse_result(json.dumps(said), level="strict").value.fault
    assert fault is not None
    assert fault.code == word


@pytest.mark.requirement("K6", "K7")
def test_a_failure_always_says_what_to_do() -> None:
    bare = answer(outcome="error", fault=Fault(code="timeout", message="", operation="b"))
    written = markdown_json.render_result(bare)
    assert json.loads(written.text)["recovery_suggestions"] == [RECOVERIES["timeout"]]
    assert lost(bare) == {"/fault/hint"}
    read = markdown_json.parse_result(written.text, level="strict").value
    assert (read.fault and read.fault.message) == ""


@pytest.mark.requirement("K11")
def test_a_name_alone_becomes_a_sentence_where_a_way_out_is_due() -> None:
    fault = Fault(
        code="invalid_input",
        message="There is no such operation.",
        hint="story-deep",
        suggestions=("docs/a.md", "Ask again with both.", "Wait."),
        operation="b",
    )
    warned = Warned(type="missing_data", message="m", impact="i", recovery="ticket.md")
    result = answer(outcome="error", fault=fault, warnings=(warned,))
    said = json.loads(markdown_json.render_result(result).text)
    assert said["recovery_suggestions"] == ["Use `story-deep`.", "Use `docs/a.md`.", "Ask again with both.", "Wait."]
    assert said["warnings"][0]["recovery"] == "Use `ticket.md`."
    assert lost(result) == {"/fault/hint", "/fault/suggestions/0", "/warnings/0/recovery"}


@pytest.mark.requirement("K9")
def test_an_answer_that_names_no_skill_goes_by_the_agents_own_name() -> None:
    bare = Result(task_id="", agent="ticket_analyzer", outcome="success", data={}, versions=Versions(contract="1.0"))
    written = markdown_json.render_result(bare)
    assert json.loads(written.text)["operation"] == "ticket-analyzer"
    assert {loss.field for loss in written.losses} == {"/skill"}
    asked = markdown_json.render_task(Task(id="", agent="ticket_analyzer", instruction="Look."))
    assert "**Operation:** ticket-analyzer" in asked.text
    assert {loss.field for loss in asked.losses} == {"/skill"}
    assert markdown_json.parse_task(asked.text, level="strict").value.skill == "ticket_analyzer"


def test_files_that_were_made_come_back_and_leave_the_result_alone() -> None:
    files = (Artifact(path="reports/a.md", title="A", size=7), Artifact(path="b.csv"))
    result = answer(outcome="success", data={"n": 3}, artifacts=files)
    written = markdown_json.render_result(result)
    assert json.loads(written.text)["result"] == {"n": 3}
    assert written.losses == ()
    assert markdown_json.parse_result(written.text, level="strict").value == result


@pytest.mark.requirement("C7")
@pytest.mark.parametrize("strange", [["a.md"], [{"name": "a"}], "a.md", {"path": "a.md"}])
def test_what_is_called_artifacts_and_names_no_files_rides_along(strange: Any) -> None:
    said = json.loads(markdown_json.render_result(answer(outcome="success", data={})).text)
    said["metadata"] = {"execution_time_ms": 1, "artifacts": strange}
    read = markdown_json.parse_result(json.dumps(said))
    assert read.value.artifacts == ()
    assert [finding.path for finding in read.findings] == ["/metadata/artifacts"]
    written = markdown_json.render_result(read.value)
    assert (json.loads(written.text), written.losses) == (said, ())
    with pytest.raises(OutputInvalid):
        markdown_json.parse_result(json.dumps(said), level="strict")


@pytest.mark.requirement("C3", "K4")
def test_a_producer_fills_all_four_fields_of_a_warning() -> None:
    warned = answer(outcome="partial", data={}, warnings=(Warned(type="missing_data", message="m"),))
    (entry,) = json.loads(markdown_json.render_result(warned).text)["warnings"]
    assert entry == {"type": "missing_data", "message": "m", "impact": "Not stated.", "recovery": "Not stated."}
    assert lost(warned) == set()


@pytest.mark.requirement("C3")
def test_a_partial_answer_is_never_written_without_a_warning() -> None:
    said = json.loads(markdown_json.render_result(answer(outcome="partial", data={})).text)
    assert said["warnings"][0]["type"] == "degraded_analysis"
    assert lost(answer(outcome="partial", data={})) == {"/warnings"}


@pytest.mark.requirement("C5")
def test_what_nobody_measured_is_absent() -> None:
    assert json.loads(markdown_json.render_result(answer(outcome="success", data={})).text)["metadata"] == {}


@pytest.mark.requirement("C35")
def test_the_version_is_that_of_the_contract() -> None:
    versions = Versions(agent="3.1.4", contract="1.0")
    written = markdown_json.render_result(Result(task_id="", agent="a", outcome="success", data={}, versions=versions))
    said = json.loads(written.text)
    assert (said["version"], said["metadata"]["agent_version"]) == ("1.0", "3.1.4")
    assert markdown_json.parse_result(written.text).value.versions == versions


@pytest.mark.requirement("C8")
def test_an_answer_in_words_alone_is_not_lost() -> None:
    words = answer(outcome="success", content="All is well.")
    assert json.loads(markdown_json.render_result(words).text)["result"] == {"content": "All is well."}
    assert lost(words) == {"/content", "/data"}


@pytest.mark.requirement("K9")
@pytest.mark.parametrize("name", ["ticket-analyzer", "ticket_analyzer", "TicketAnalyzer", "Ticket Analyzer"])
def test_any_spelling_of_the_asked_agent_will_do(name: str) -> None:
    said: dict[str, Any] = {"status": "success", "agent": name, "version": "1.0", "operation": "b", "result": {}}
    text = json.dumps({**said, "metadata": {"execution_time_ms": 1}})
    read = markdown_json.parse_result(text, context=ParseContext(agent="ticket_analyzer"), level="strict")
    assert (read.value.agent, read.findings) == ("ticket_analyzer", ())


@pytest.mark.requirement("K9", "K25")
def test_another_agent_than_the_asked_one_is_refused() -> None:
    text = markdown_json.render_result(answer(outcome="success", data={})).text
    with pytest.raises(OutputInvalid) as caught:
        markdown_json.parse_result(text, context=ParseContext(agent="b"))
    assert caught.value.path == "/agent"
    assert markdown_json.parse_result(text, context=ParseContext(agent="b"), level="lenient").value.agent == "a"


@pytest.mark.requirement("K9")
def test_another_operation_than_the_asked_one_is_a_finding() -> None:
    text = markdown_json.render_result(answer(outcome="success", data={}, duration_ns=1)).text
    read = markdown_json.parse_result(text, context=ParseContext(agent="a", skill="c"))
    assert [finding.rule for finding in read.findings] == ["markdown_json/operation"]
    assert read.value.skill == "b"


def test_what_the_reader_knows_fills_what_the_text_leaves_out() -> None:
    known = ParseContext(task_id="t", agent="a", skill="b")
    read = markdown_json.parse_result('{"status": "success", "result": {}}', context=known).value
    assert (read.task_id, read.agent, read.skill, read.versions) == ("t", "a", "b", Versions())
    assert markdown_json.parse_task("**Agent:** a", context=known).value.skill == "b"
    with pytest.raises(InvalidInput):
        markdown_json.parse_task("**Agent:** c", context=known, level="strict")
    assert markdown_json.parse_task("**Agent:** c", context=known).value.agent == "c"


def test_an_unknown_form_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput) as caught:
        markdown_json.render_task(Task(id="", agent="a"), form="json")
    assert caught.value.suggestions == ("block", "invocation")
    with pytest.raises(InvalidInput):
        markdown_json.render_result(answer(outcome="success"), form="block")


@pytest.mark.requirement("K10")
def test_after_many_findings_the_rest_is_counted() -> None:
    text = markdown_json.render_result(answer(outcome="success", data={"ready": ["true"] * 1500}, duration_ns=1)).text
    findings = markdown_json.parse_result(text).findings
    assert len(findings) == 501
    assert findings[-1].message == "Of such findings there are 1000 more."
