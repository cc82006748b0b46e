"""What the checks of spec 000 take, and what they do not let pass."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from retinue.conformance.kits.tool_use import PROBES
from retinue.conformance.port import RequestTemplate
from retinue.dialects import tool_use
from tests.conformance.kits import judged, verdict
from tests.conformance.mutants.tool_use import GOOD, TEMPLATE


def answering(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[str], str]:
    return lambda text: json.dumps(change(json.loads(GOOD(text))), ensure_ascii=False)


def within(place: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The error object inside of the envelope, as some write it."""

    def move(envelope: dict[str, Any]) -> dict[str, Any]:
        keys = ("error_type", "message", "correction_hint", "retry_count", "max_retries")
        error = {key: envelope.pop(key) for key in keys if key in envelope}
        return {**envelope, place: error} if error else envelope

    return move


@pytest.mark.requirement("A12")
@pytest.mark.parametrize("place", ["error", "result"])
def test_the_error_object_may_stand_inside_of_the_envelope(place: str) -> None:
    assert judged(answering(within(place)), "tool_use").passed


def test_an_error_without_its_object_fails_each_of_its_requirements() -> None:
    report = judged(
        answering(lambda envelope: {k: envelope[k] for k in ("status", "metadata", "result") if k in envelope}),
        "tool_use",
    )
    failed = {each.requirement.id.removeprefix("tool_use/") for each in report.verdicts if each.outcome == "failed"}
    assert failed == {"error-type", "error-message", "correction-hint", "retry-count", "closed"}


@pytest.mark.requirement("A11", "C5", "C37")
@pytest.mark.parametrize(
    ("name", "value", "requirement"),
    [
        ("execution_time_ms", -1, "execution-time"),
        ("execution_time_ms", True, "execution-time"),
        ("tokens_used", 1.5, "tokens"),
        ("confidence", "high", "confidence"),
        ("confidence", True, "confidence"),
        ("model_used", "", "texts"),
    ],
)
def test_metadata_is_looked_at_key_by_key(name: str, value: object, requirement: str) -> None:
    report = judged(
        answering(lambda envelope: {**envelope, "metadata": {**envelope["metadata"], name: value}}), "tool_use"
    )
    caught = verdict(report, requirement)
    assert caught.outcome == "failed"
    assert any(f"`metadata.{name}` is `{json.dumps(value)}`" in wrong for wrong in caught.wrong)


@pytest.mark.requirement("C8")
@pytest.mark.parametrize(("result", "passes"), [({}, True), ([], True), ("text", False), (None, False), (3, False)])
def test_a_result_is_structured(result: object, passes: bool) -> None:
    report = judged(answering(lambda envelope: {**envelope, "result": result}), "tool_use")
    assert (verdict(report, "result").outcome == "passed") is passes


@pytest.mark.requirement("A7", "A9", "A10", "A12", "A13")
def test_the_probes_are_what_they_say() -> None:
    sent = {
        name: PROBES[name](TEMPLATE) for name in ("valid", "handed_on", "unknown_parameter", "last_attempt", "no_type")
    }
    assert tool_use.render_task(sent["valid"].task).form == "call"
    handed = json.loads(sent["handed_on"].text or "")
    assert handed["payload"]["constraints"] == ["read_only", "max_2_minutes"]
    assert handed["payload"]["required_output_format"] == "json_table"
    assert "unheard_of" in json.loads(sent["unknown_parameter"].text or "")["input"]
    correction = sent["last_attempt"].correction
    assert correction is not None
    assert correction.retry_count == correction.max_retries == 2
    assert json.loads(sent["no_type"].text or "")["message_type"] == "unheard_of"


def test_who_says_nothing_is_asked_by_a_hand_off() -> None:
    probe = PROBES["valid"](RequestTemplate())
    written = tool_use.render_task(probe.task)
    assert (written.form, probe.task.instruction) == ("handoff", "Say in one sentence what you can do.")
