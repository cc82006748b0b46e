"""The word tables of spec 002's format, complete, both ways; what is ours or lossy is reported."""

from typing import get_args

import pytest

from retinue.contract.event import Checkpoint, Message, Progress
from retinue.contract.fault import Fault
from retinue.contract.result import Artifact, Outcome, Result
from retinue.contract.task import Correction, Limits, OutputWish, Question, Task, Thinking
from retinue.dialects import task_signal
from retinue.dialects.port import RenderedMessage
from retinue.dialects.task_signal.wire import CATEGORIES, OUR_CATEGORIES, STATUSES
from retinue.errors import FaultCode, InvalidInput, OutputInvalid

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
CODES: tuple[FaultCode, ...] = get_args(FaultCode)


def _result(**fields: object) -> Result:
    return Result(task_id="", agent="agent", **fields)  # pyright: ignore[reportArgumentType] - by their names


def _lost(rendered: RenderedMessage) -> dict[str, str]:
    return {loss.field: loss.why for loss in rendered.losses}


# Outcomes

WORDS = {
    "success": ("complete", "done", "success"),
    "partial": ("partial", "partial", "partial"),
    "error": ("failed", "failed", "error"),
    "failed": ("failed", "failed", "error"),
    "canceled": ("failed", "failed", "error"),
    "rejected": ("failed", "failed", "error"),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.requirement("C1", "H7", "H23", "H14", "H15")
def test_every_outcome_has_its_word_both_ways(outcome: Outcome) -> None:
    word, cell, reads = WORDS[outcome]
    assert STATUSES[outcome] == word
    result = _result(outcome=outcome)
    for form, said in (("signals", f"STATUS: {word}"), ("json", f'"status":"{word}"'), ("table", f"| {cell} |")):
        written = task_signal.render_result(result, form=form)
        assert said in written.text
        assert task_signal.parse_result(written.text).value.outcome == reads
        assert ("/outcome" in _lost(written)) == (reads != outcome)


@pytest.mark.requirement("C1", "C2")
def test_a_canceled_task_is_told_by_its_category() -> None:
    result = _result(outcome="canceled", fault=Fault(code="canceled", message="Somebody stopped it"))
    written = task_signal.render_result(result)
    assert "ERROR: CANCELED - Somebody stopped it\nSTATUS: failed" in written.text
    assert "/outcome" not in _lost(written)
    assert task_signal.parse_result(written.text).value.outcome == "canceled"


@pytest.mark.requirement("C1", "H18")
def test_work_under_way_is_progress() -> None:
    for lifecycle in ("submitted", "working"):
        for form in task_signal.RESULT_FORMS:
            written = task_signal.render_result(_result(lifecycle=lifecycle, content="CREATED: /etc/passwd"), form=form)
            assert written.text == "PROGRESS: agent - working"
            assert _lost(written).keys() == {"/content", *(["/lifecycle"] if lifecycle == "submitted" else [])}
            assert task_signal.parse_result(written.text).value == _result(lifecycle="working")


@pytest.mark.requirement("C1")
def test_questions_stand_in_the_body_of_a_partial_answer() -> None:
    questions = (
        Question(id="period", text="Which period?", kind="choice", options=("Q1", "Q2")),
        Question(id="who", text="Whose numbers?"),
    )
    result = _result(lifecycle="input_required", questions=questions, content="**Questions**:\n- none")
    written = task_signal.render_result(result)
    assert written.text.startswith("STATUS: partial\n\n**Questions**:\n- [period] Which period?\n  - Q1\n")
    assert written.losses == ()
    assert task_signal.parse_result(written.text).value == result


# Faults


@pytest.mark.parametrize("code", CODES)
@pytest.mark.requirement("C2", "H16", "H17")
def test_every_fault_code_has_its_category_both_ways(code: FaultCode) -> None:
    category = CATEGORIES[code]
    retryable = code in {"network_error", "unavailable", "timeout"}
    result = _result(outcome="error", fault=Fault(code=code, message="It went wrong", retryable=retryable))
    for form in ("signals", "json", "table"):
        written = task_signal.render_result(result, form=form)
        assert f"{category} - It went wrong" in written.text
        read = task_signal.parse_result(written.text).value.fault
        assert read is not None
        assert read.message == "It went wrong"
        lost = _lost(written)
        is_lossy = code in {"invalid_input", "unauthenticated", "unavailable"}
        assert (read.code != code) == is_lossy == ("/fault/code" in lost)
        is_ours = category in OUR_CATEGORIES
        assert is_ours == (lost.get("/fault/detail/category", "").endswith("spec 002 has no category for it"))
        assert read.detail == ({"category": category} if is_ours else {})


@pytest.mark.requirement("H17", "C2")
def test_the_five_categories_of_the_spec_mean_what_it_says() -> None:
    meant = {
        "FILE_NOT_FOUND": "missing_file",
        "PARSE_ERROR": "parse_error",
        "NETWORK_ERROR": "network_error",
        "VALIDATION": "output_invalid",
        "TIMEOUT": "timeout",
    }
    for category, code in meant.items():
        read = task_signal.parse_result(f"ERROR: {category} - x", level="strict").value.fault
        assert read is not None
        assert (read.code, read.detail) == (code, {})


@pytest.mark.requirement("H17")
def test_a_category_comes_back_as_it_was_read() -> None:
    read = task_signal.parse_result("ERROR: ACCESS_DENIED - no\nSTATUS: failed").value
    written = task_signal.render_result(read)
    assert written.text == "ERROR: ACCESS_DENIED - no\nSTATUS: failed"
    assert written.losses == ()


@pytest.mark.requirement("C39")
def test_an_error_is_read_with_a_category_and_without_one() -> None:
    said = task_signal.parse_result("ERROR: TIMEOUT - Failed to access URL")
    bare = task_signal.parse_result("ERROR: Failed to access URL")
    assert said.value.fault == Fault(code="timeout", message="Failed to access URL", retryable=True)
    assert bare.value.fault == Fault(code="internal_error", message="Failed to access URL")
    assert said.findings == ()
    assert [finding.rule for finding in bare.findings] == ["task_signal/category"]


def test_a_misspelled_category_is_told_the_right_one_and_a_dash_is_borne() -> None:
    read = task_signal.parse_result("ERROR: TIME_OUT \u2013 late")
    assert read.value.fault is not None
    assert (read.value.fault.code, read.value.fault.message) == ("internal_error", "late")
    assert any("`TIMEOUT`" in finding.message for finding in read.findings)
    assert len(read.findings) == 2


def test_suggestions_stand_in_for_a_hint() -> None:
    fault = Fault(code="timeout", message="late", retryable=True, suggestions=("Wait.", "Ask\nless."))
    written = task_signal.render_result(_result(outcome="error", fault=fault))
    assert "RECOVERY: Wait.; Ask less." in written.text
    assert _lost(written).keys() == {"/fault/suggestions", "/fault/hint"}


# Limits (H23, C24)


@pytest.mark.requirement("H23", "C24", "H7")
def test_title_and_summary_are_cut_at_a_word_and_that_is_a_loss() -> None:
    title, summary = "Ümläut " * 12, "wörter und " * 30
    artifact = Artifact(path="/a.md", title=title.strip(), summary=summary.strip())
    written = task_signal.render_result(_result(outcome="success", artifacts=(artifact,)))
    lines = dict(line.split(": ", 1) for line in written.text.split("\n"))
    assert lines["TITLE"] == "Ümläut Ümläut Ümläut Ümläut Ümläut Ümläut Ümläut"
    assert len(lines["TITLE"]) <= 50
    assert 190 < len(lines["SUMMARY"]) <= 200
    assert summary.startswith(lines["SUMMARY"] + " ")
    assert _lost(written).keys() == {"/artifacts/0/title", "/artifacts/0/summary"}
    assert task_signal.parse_result(written.text, level="strict").findings == ()


def test_a_cut_parts_no_letter_from_its_marks() -> None:
    artifact = Artifact(path="/a.md", title="e\u0301" * 40)
    written = task_signal.render_result(_result(outcome="success", artifacts=(artifact,)))
    assert task_signal.parse_result(written.text).value.artifacts[0].title == "e\u0301" * 25
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    artifact = Artifact(path="/a.md", title="a" * 48 + family)
    written = task_signal.render_result(_result(outcome="success", artifacts=(artifact,)))
    assert task_signal.parse_result(written.text).value.artifacts[0].title == "a" * 48


@pytest.mark.requirement("H23", "C24")
def test_a_longer_title_is_read_with_a_finding_and_refused_when_strict() -> None:
    text = "CREATED: /a.md\nTITLE: " + "t" * 51
    read = task_signal.parse_result(text)
    assert [(finding.rule, finding.line) for finding in read.findings] == [("task_signal/length", 2)]
    assert read.value.artifacts[0].title == "t" * 51
    with pytest.raises(OutputInvalid):
        task_signal.parse_result(text, level="strict")


# Requests


@pytest.mark.parametrize(
    ("mode", "word", "reads"),
    [
        ("standard", "standard", "standard"),
        ("think", "think", "think"),
        ("think_hard", "think hard", "think_hard"),
        ("ultrathink", "think hard", "think_hard"),
    ],
)
@pytest.mark.requirement("C43", "H4")
def test_every_thinking_mode_has_its_word(mode: Thinking, word: str, reads: Thinking) -> None:
    written = task_signal.render_task(Task(id="", agent="a", thinking=mode))
    assert f"- Thinking Mode: {word}\n" in written.text
    assert task_signal.parse_task(written.text, level="strict").value.thinking == reads
    assert ("/thinking" in _lost(written)) == (mode != reads)
    assert len(get_args(Thinking)) == 4


@pytest.mark.requirement("C43")
def test_ultrathink_is_read() -> None:
    text = "Read and follow: .claude/agents/a.md\n**Constraints**:\n- Thinking Mode: Ultrathink"
    assert task_signal.parse_task(text, level="strict").value.thinking == "ultrathink"


@pytest.mark.parametrize(
    ("said", "tokens", "seconds", "findings"),
    [
        ("5000 tokens", 5000, None, 0),
        ("~15K tokens", 15_000, None, 0),
        ("2.5k tokens", 2_500, None, 0),
        ("1,500 tokens", 1_500, None, 0),
        ("5000", 5000, None, 1),
        ("15K", 15_000, None, 1),
        ("12 bananas", 12, None, 1),
        ("10 minutes", None, 600.0, 0),
        ("90s", None, 90.0, 0),
        ("1 hour 30 min", None, 5400.0, 0),
        ("250 ms", None, 0.25, 0),
        ("10 minutes, 5000 tokens", 5000, 600.0, 0),
        ("2-5 minutes", None, None, 1),
        ("-5 tokens", None, None, 1),
        ("0 seconds", None, None, 1),
        ("5 tokens or 6 tokens", None, None, 1),
        ("soon", None, None, 1),
        ("1e300 hours and 1e308 hours", None, None, 1),
        ("9" * 320 + " tokens", None, None, 1),
    ],
)
@pytest.mark.requirement("C23", "C21", "H4")
def test_a_time_budget_is_a_number_and_a_unit(
    said: str, tokens: int | None, seconds: float | None, findings: int
) -> None:
    text = f"Read and follow: .claude/agents/a.md\n**Constraints**:\n- Time Budget: {said}"
    read = task_signal.parse_task(text)
    assert (read.value.limits.tokens, read.value.limits.timeout_s) == (tokens, seconds)
    assert [finding.rule for finding in read.findings] == ["task_signal/budget"] * findings


@pytest.mark.requirement("C23")
def test_a_budget_is_written_with_its_units() -> None:
    written = task_signal.render_task(Task(id="", agent="a", limits=Limits(tokens=5000, timeout_s=0.5)))
    assert "- Time Budget: 5000 tokens, 0.5 seconds\n" in written.text


@pytest.mark.requirement("C12", "H3")
def test_a_relative_and_an_absolute_output_path_are_both_written_and_read() -> None:
    for path, rules in (("reports/001.md", ["task_signal/path"]), ("/project/001.md", [])):
        written = task_signal.render_task(Task(id="", agent="a", instruction="Look.", output=OutputWish(path=path)))
        assert f"- Output Path: {path}\n" in written.text
        assert "Return: CREATED: [path of the file]" in written.text
        read = task_signal.parse_task(written.text, level="strict")
        assert read.value.output.path == path
        assert [finding.rule for finding in read.findings] == rules


@pytest.mark.requirement("C44")
def test_parameters_come_as_text_and_say_so() -> None:
    task = Task(id="", agent="a", instruction="x", parameters={"Focus areas": "a, b", "depth": 3})
    written = task_signal.render_task(task)
    assert "- Focus areas: a, b\n" in written.text
    assert _lost(written).keys() == {"/parameters/depth", "/untyped"}
    read = task_signal.parse_task(written.text).value
    assert read.untyped
    assert read.parameters == {"Focus areas": "a, b", "depth": "3"}


@pytest.mark.requirement("H2", "C10", "C46")
def test_the_behaviour_file_is_named_after_the_agent() -> None:
    for agent, major, path in (
        ("research_specialist", None, "research-specialist"),
        ("researcher_analyst", 2, "researcher-analyst-v2"),
    ):
        task = Task(id="", agent=agent, major=major)
        text = task_signal.render_task(task, form="prompt").text
        assert text.startswith(f"Read and follow: .claude/agents/{path}.md\n")
        assert task_signal.parse_task(text).value == task


@pytest.mark.requirement("C11")
def test_a_name_that_ends_in_a_version_means_that_version() -> None:
    written = task_signal.render_task(Task(id="", agent="a_v2"))
    assert _lost(written).keys() == {"/agent", "/major"}
    assert task_signal.parse_task(written.text).value == Task(id="", agent="a", major=2)


def test_what_an_earlier_reading_kept_is_dropped_where_it_means_something_else() -> None:
    task = Task(id="", agent="a", extras={"task_signal": {"behaviour": "other.md", "description": "mine", "x": 1}})
    written = task_signal.render_task(task)
    assert _lost(written).keys() == {"/extras/task_signal/behaviour", "/extras/task_signal/x"}
    result = _result(outcome="error", fault=Fault(code="timeout", message="m", detail={"category": "BUDGET"}))
    assert "ERROR: TIMEOUT - m" in task_signal.render_result(result).text
    result = _result(outcome="success", extras={"task_signal": {"NOTE": "a", "STATUS": "b", "status": 1}})
    assert _lost(task_signal.render_result(result)).keys() == {
        "/extras/task_signal/STATUS",
        "/extras/task_signal/status",
    }
    assert _lost(task_signal.render_result(result, form="json")).keys() == {"/extras/task_signal/status"}


def test_the_status_of_a_file_stands_in_its_row() -> None:
    artifacts = (Artifact(path="/a", status="failed"), Artifact(path="/b", status="done"))
    written = task_signal.render_result(_result(outcome="partial", artifacts=artifacts), form="table")
    assert written.losses == ()


@pytest.mark.requirement("H9", "C40")
def test_an_injected_prompt_is_read_back() -> None:
    prompt = (
        "Read and follow: .claude/agents/researcher.md\n\n"
        "**Workflow-Specific Context**:\n- Topic: Look\n- Target: src\n- Output: /a.md"
    )
    task = Task(id="", agent="researcher", instruction="Look", target="src", output=OutputWish(path="/a.md"))
    assert task_signal.parse_task(prompt, level="strict").value == task


@pytest.mark.requirement("C5", "H14")
def test_the_time_it_took_is_text_with_a_unit_and_exact_both_ways() -> None:
    for duration_ns, said in ((2_300_000_000, "2.3s"), (1, "0.000000001s"), (5_000_000_000, "5s")):
        written = task_signal.render_result(_result(outcome="success", duration_ns=duration_ns), form="json")
        assert f'"time_elapsed":"{said}"' in written.text
        assert task_signal.parse_result(written.text).value.duration_ns == duration_ns
    for value in (None, "2s", 3):
        result = _result(outcome="success", data={"time_elapsed": value, "files": 1}, duration_ns=7)
        assert _lost(task_signal.render_result(result, form="json")).keys() == {"/data/time_elapsed"}


def test_a_form_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`task_signal` writes no 'xml' here"):
        task_signal.render_task(Task(id="", agent="a"), form="xml")
    with pytest.raises(InvalidInput):
        task_signal.render_result(_result(outcome="success"), form="xml")


def test_half_a_character_is_refused_both_ways() -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        task_signal.render_result(_result(outcome="success", content="a\ud800"))
    with pytest.raises(InvalidInput):
        task_signal.render_task(Task(id="", agent="a", instruction="a\ud800"))
    with pytest.raises(OutputInvalid) as refused:
        task_signal.parse_result("STATUS: complete\n\na\ud800")
    assert refused.value.detail["reason"] == "lone_surrogate"
    assert (refused.value.detail["line"], refused.value.detail["column"]) == (3, 2)


def test_a_retry_says_what_was_wrong_and_keeps_the_request() -> None:
    task = Task(id="", agent="a", instruction="Look")
    correction = Correction(
        message="There is no STATUS.",
        hint="Add `STATUS: complete`.",
        findings=({"rule": "task_signal/signals"},),
        retry_count=1,
        max_retries=2,
        said="**Task Context**:\n- Primary Goal: something else",
    )
    written = task_signal.render_retry(task, correction)
    assert "    **Correction**:\n    - Error: VALIDATION - There is no STATUS.\n" in written.text
    assert "    - Recovery: Add `STATUS: complete`.\n    - Retry: 1 of 2\n" in written.text
    read = task_signal.parse_task(written.text, level="strict")
    assert (read.value, read.correction) == (task, correction)


def test_a_correction_that_cannot_be_read_is_a_finding() -> None:
    text = "Read and follow: .claude/agents/a.md\n**Correction**:\n- Error: late\n- Retry: often"
    read = task_signal.parse_task(text)
    assert read.correction is None
    assert [finding.rule for finding in read.findings] == ["task_signal/correction"]
    bare = task_signal.parse_task("Read and follow: .claude/agents/a.md\n**Correction**:\n- Error: Do it better")
    assert bare.correction == Correction(message="Do it better")


def test_events_of_other_kinds_have_no_words() -> None:
    assert task_signal.render_event(Message("hello")) is None
    written = task_signal.render_events((Progress("a", "b"), Message("hello"), Checkpoint("a - b", "c\nd")))
    assert written.text == "PROGRESS: a - b\nCHECKPOINT: a - b complete\n- Status: c d"
    assert [loss.field for loss in written.losses] == ["/1", "/2/status"]


@pytest.mark.requirement("H6", "C3")
@pytest.mark.parametrize("outcome", ["error", "failed", "canceled", "rejected"])
def test_a_failure_without_a_reason_says_that_there_is_none(outcome: Outcome) -> None:
    written = task_signal.render_result(_result(outcome=outcome))
    assert "ERROR: INTERNAL - The agent failed without a reason.\n" in written.text
    assert "/fault" in _lost(written)
    read = task_signal.parse_result(written.text, level="strict").value
    assert (read.outcome, read.fault and read.fault.code) == ("error", "internal_error")


@pytest.mark.requirement("C36", "C41")
@pytest.mark.parametrize("mark", ["\x08", "\x1b[2J", "\u202e", "\x85", "\r"])
def test_no_value_moves_the_cursor_or_turns_the_line(mark: str) -> None:
    file = Artifact(path=f"reports/a{mark}b.md", title=f"A{mark}B")
    written = task_signal.render_result(_result(outcome="success", artifacts=(file,)))
    assert mark[0] not in written.text
    assert {"/artifacts/0/path", "/artifacts/0/title"} <= set(_lost(written))
    task_signal.parse_result(written.text, level="strict")


def test_data_that_no_signal_says_stands_in_the_text_and_the_report_says_so() -> None:
    result = Result(task_id="", agent="agent", outcome="success", data={"files": ["a.py"]})
    written = task_signal.render_result(result)
    assert '{"files":["a.py"]}' in written.text
    assert {"/data", "/content"} <= {loss.field for loss in written.losses}
    assert "a.py" in task_signal.parse_result(written.text).value.content
