"""What is judged of agents of spec 002, where the broken agents of the kit do not say it all."""

import pytest

from retinue.conformance.kits.task_signal import PROBES
from retinue.conformance.port import RequestTemplate, RequirementVerdict
from tests.conformance.kits import judged, verdict
from tests.conformance.mutants import task_signal as mutants


def _wrong(answer: str, requirement: str) -> RequirementVerdict:
    return verdict(judged(lambda _: answer, "task_signal"), requirement)


@pytest.mark.requirement("H14", "H15")
def test_the_json_form_and_the_table_are_answers_too() -> None:
    table = (
        "| Topic | Status | Path | Summary |\n|---|---|---|---|\n| Auth | done | /a.md | 12 patterns |\n\n"
        + "The table says all there is to say, and this text below it is longer than its row. " * 3
    )
    whole = '{"status": "complete", "artifacts": [{"path": "/a.md", "title": "A", "summary": "a"}]}'
    for answer in (table, whole):
        report = judged(lambda _, said=answer: said, "task_signal")
        broken_ones = {each.requirement.id for each in report.verdicts if each.outcome != "passed"}
        # It says the same whatever is asked, so it does not fail where it should.
        assert broken_ones == {f"task_signal/{name}" for name in ("missing-input", "invalid-input", "hostile-input")}


@pytest.mark.requirement("C42", "H6")
def test_a_fence_around_the_signals_is_told() -> None:
    said = _wrong("```\nSTATUS: complete\n```", "signals").wrong
    assert "`STATUS` on line 2 does not count" in said[0]


@pytest.mark.requirement("C39", "H16")
def test_an_error_without_a_category_warns_and_does_not_fail() -> None:
    caught = _wrong("ERROR: Something\nSTATUS: failed", "error-category")
    assert caught.outcome == "warned"


@pytest.mark.requirement("H13", "C20")
def test_the_reduction_is_told_with_its_counter() -> None:
    said = _wrong("TITLE: a\nSUMMARY: b\nSTATUS: complete\n\nc", "smaller").wrong
    assert "(counted by `words`)" in said[0]


@pytest.mark.requirement("H18", "H19")
def test_everything_about_a_checkpoint_is_told_at_once() -> None:
    said = _wrong("STATUS: complete\n\nCHECKPOINT: Research", "checkpoint").wrong
    assert len([each for each in said if each.startswith("valid:")]) == 3


@pytest.mark.requirement("H9")
def test_a_subject_that_nobody_described_is_asked_for_something() -> None:
    for ask in PROBES.values():
        probe = ask(RequestTemplate())
        assert probe.text is not None or probe.task.instruction
    assert "- Input Resources" not in (PROBES["injected"](RequestTemplate()).text or "")


def test_an_agent_that_stops_at_the_request_is_told_so() -> None:
    report = judged(mutants.GOOD, "task_signal", asking=RequestTemplate(agent="x", target="/MISSING"))
    assert "an error: missing_file" in verdict(report, "valid").wrong[0]
    assert verdict(report, "free-parameters").outcome == "passed"


def test_an_answer_that_cannot_be_read_is_no_result() -> None:
    report = judged(lambda _: "Done!", "task_signal")
    assert verdict(report, "valid").wrong == ("valid: it cannot be read as an answer",)
    assert verdict(report, "steady").outcome == "passed"
