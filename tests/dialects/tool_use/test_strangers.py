"""Messages as people and models write them: an error that is understood wherever it stands, and other vendors' calls."""

import json
from typing import Any

import pytest

from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.dialects import tool_use
from retinue.errors import InvalidInput, OutputInvalid

ERROR: dict[str, Any] = {
    "error_type": "timeout", "message": "The search took too long.", "correction_hint": "Search docs only.",
    "retry_count": 1,
}  # fmt: skip
FAULT = Fault(code="timeout", message="The search took too long.", hint="Search docs only.")


@pytest.mark.requirement("A11", "A12", "A14")
@pytest.mark.parametrize(
    "said",
    [
        {"status": "error", "metadata": {}, **ERROR},
        {"status": "error", "metadata": {}, "error": ERROR},
        {"status": "failed", "metadata": {}, "error": ERROR},
        {"status": "error", "metadata": {}, "result": ERROR},
        ERROR,
    ],
)
def test_an_error_is_understood_wherever_it_stands(said: dict[str, Any]) -> None:
    read = tool_use.parse_result(json.dumps(said)).value
    assert (read.outcome, read.fault) == ("failed" if said.get("status") == "failed" else "error", FAULT)


@pytest.mark.requirement("A12")
def test_an_error_that_is_text_is_its_message() -> None:
    read = tool_use.parse_result('{"status": "error", "metadata": {}, "error": "no network"}')
    assert read.value.fault == Fault(code="internal_error", message="no network")
    assert "tool_use/error" in {finding.rule for finding in read.findings}


@pytest.mark.requirement("C7", "A12")
def test_what_is_beside_an_error_is_kept() -> None:
    read = tool_use.parse_result(json.dumps({"status": "error", "metadata": {}, "error": {**ERROR, "trace": 1}})).value
    assert (read.fault, read.extras) == (FAULT, {"tool_use": {"error": {"trace": 1}}})
    assert "/extras/tool_use" in {loss.field for loss in tool_use.render_result(read).losses}


@pytest.mark.requirement("A12")
@pytest.mark.parametrize("status", ["error", "failed"])
def test_a_failure_that_does_not_say_why_is_told_so(status: str) -> None:
    read = tool_use.parse_result(json.dumps({"status": status, "metadata": {}}), level="strict")
    assert [(finding.rule, finding.severity) for finding in read.findings] == [("tool_use/error", "warning")]


@pytest.mark.requirement("A12")
def test_data_that_would_read_as_the_error_is_a_loss() -> None:
    result = Result(task_id="", agent="agent", outcome="error", data=ERROR)
    written = tool_use.render_result(result)
    assert [loss.field for loss in written.losses] == ["/fault"]
    assert tool_use.parse_result(written.text).value.fault == FAULT


@pytest.mark.requirement("C31", "C37")
@pytest.mark.parametrize("label", ["high", "Medium", "very low"])
def test_a_label_for_how_sure_it_is_is_kept_and_becomes_no_number(label: str) -> None:
    text = json.dumps({"status": "success", "result": {}, "metadata": {"confidence": label}})
    with pytest.raises(OutputInvalid):
        tool_use.parse_result(text, level="strict")
    read = tool_use.parse_result(text)
    assert (read.value.confidence, read.value.extras) == (None, {"tool_use": {"metadata": {"confidence": label}}})
    assert [finding.rule for finding in read.findings] == ["tool_use/confidence"]


def test_a_label_is_kept_beside_keys_that_are_unknown() -> None:
    metadata = {"confidence": "high", "region": "eu"}
    read = tool_use.parse_result(json.dumps({"status": "success", "result": {}, "metadata": metadata}))
    assert read.value.extras == {"tool_use": {"metadata": metadata}}


@pytest.mark.requirement("A4", "C3")
@pytest.mark.parametrize("key", ["arguments", "parameters", "input"])
@pytest.mark.parametrize("value", [{"task": "x"}, '{"task": "x"}'])
def test_calls_of_other_vendors_are_read_when_lenient_only(key: str, value: object) -> None:
    text = json.dumps({"name": "researcher_analyst", key: value})
    if (key, value) != ("input", {"task": "x"}):
        with pytest.raises(InvalidInput) as refused:
            tool_use.parse_task(text)
        assert "Add `input`." in refused.value.hint or "Send an object." in refused.value.hint
    assert tool_use.parse_task(text, level="lenient").value.parameters == {"task": "x"}


@pytest.mark.parametrize("value", ["{", "[1]", 5])
def test_an_input_that_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        tool_use.parse_task(json.dumps({"name": "a", "input": value}), level="lenient")
