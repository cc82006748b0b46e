"""Messages after every sample in spec 002, accepted and refused."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.dialects import task_signal
from retinue.dialects.port import ParseContext
from retinue.errors import InvalidInput, OutputInvalid

CASES = Path(__file__).with_name("cases")


def _cases(name: str) -> list[Any]:
    cases: list[dict[str, Any]] = json.loads((CASES / name).read_text(encoding="utf-8"))
    return [pytest.param(case, id=case["name"], marks=pytest.mark.requirement(*case["rows"])) for case in cases]


def _text(case: dict[str, Any]) -> str:
    return "\n".join(case["lines"]) if "lines" in case else json.dumps(case["json"])


def _rules(findings: list[dict[str, Any]]) -> list[str]:
    return sorted(finding["rule"] for finding in findings if finding.get("severity") != "info")


@pytest.mark.parametrize("case", _cases("answers.json"))
def test_answers(case: dict[str, Any]) -> None:
    text = _text(case)
    if "refused" in case:
        for level in ("strict", "standard", "lenient"):
            with pytest.raises(OutputInvalid) as refused:
                task_signal.parse_result(text, level=level)
            if level != "strict":
                assert _rules(refused.value.detail["findings"]) == case["refused"]
        return
    read = task_signal.parse_result(text)
    assert _rules([finding.to_json() for finding in read.findings]) == case.get("findings", [])
    assert read.form == case.get("form", "signals")
    assert _said(read.value.to_json()) == {"lifecycle": "ended", **case["value"]}
    if case.get("strict"):
        assert task_signal.parse_result(text, level="strict").value == read.value
    else:
        with pytest.raises(OutputInvalid):
            task_signal.parse_result(text, level="strict")
    if case.get("same"):
        written = task_signal.render_result(read.value, form=read.form)
        assert written.losses == ()
        assert written.text == text if "lines" in case else json.loads(written.text) == case["json"]


@pytest.mark.parametrize("case", _cases("requests.json"))
def test_requests(case: dict[str, Any]) -> None:
    text = _text(case)
    if "lenient" in case:
        assert _said(task_signal.parse_task(text, level="lenient").value.to_json()) == _said(case["lenient"])
    if "refused" in case:
        with pytest.raises(InvalidInput) as refused:
            task_signal.parse_task(text)
        assert _rules(refused.value.detail["findings"]) == case["refused"]
        return
    read = task_signal.parse_task(text)
    wrong = [finding.to_json() for finding in read.findings]
    rules = [rule for rule in case.get("findings", []) if rule != "task_signal/path"]
    assert _rules(wrong) == rules
    assert any(finding["rule"] == "task_signal/path" for finding in wrong) == (
        "task_signal/path" in case.get("findings", [])
    )
    assert read.form == case.get("form", read.form)
    assert _said(read.value.to_json()) == _said(case["value"])
    if case.get("strict"):
        assert task_signal.parse_task(text, level="strict").value == read.value
    if case.get("same"):
        written = task_signal.render_task(read.value, form=read.form)
        assert written.losses == ()
        assert written.text == text
    # Whatever was read can be written, and says the same again.
    again = task_signal.render_task(read.value)
    lost = {loss.field for loss in again.losses}
    assert lost <= {"/thinking", "/extras/task_signal"}
    if not lost:
        assert task_signal.parse_task(again.text).value == read.value


_USUAL: dict[str, Any] = {"task_id": "", "id": "", "agent": "agent", "retries": 0, "depth": 0, "kind": "question"}


def _said(value: Any) -> Any:
    """What is not as it would be if nobody had said anything."""
    if isinstance(value, dict):
        said = {name: _said(each) for name, each in cast("dict[str, Any]", value).items()}
        return {name: each for name, each in said.items() if each not in ({}, [], "", False, _USUAL.get(name, ""))}
    return [_said(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def test_a_request_for_nobody_is_for_whom_the_reader_knows() -> None:
    text = "**Task Context**:\n- Primary Goal: x"
    task = task_signal.parse_task(text, context=ParseContext(task_id="t1", agent="researcher", skill="look")).value
    assert (task.id, task.agent, task.skill, task.instruction) == ("t1", "researcher", "look", "x")
