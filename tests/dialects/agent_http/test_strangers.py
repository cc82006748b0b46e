"""Answers as other services write them: a failure is never read as a success."""

import json
from typing import Any

import pytest

from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import agent_http
from retinue.errors import InvalidInput, OutputInvalid


@pytest.mark.requirement("P1", "P17", "C1")
@pytest.mark.parametrize(
    ("status", "outcome"),
    [("failed", "error"), ("completed", "success"), ("cancelled", "canceled"), ("ERROR", "error")],
)
def test_a_record_whose_status_is_a_bare_word_is_a_record(status: str, outcome: str) -> None:
    read = agent_http.parse_result(json.dumps({"id": "t1", "status": status}))
    assert (read.form, read.value.task_id, read.value.outcome) == ("task", "t1", outcome)
    assert "agent_http/state" in {finding.rule for finding in read.findings}
    with pytest.raises(OutputInvalid):
        agent_http.parse_result(json.dumps({"id": "t1", "status": status}), level="strict")


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    "said", [{"id": 1, "status": "shipped"}, {"status": "completed"}, {"id": 1, "status": "failed", "sku": 2}]
)
def test_a_skill_may_have_a_status_of_its_own(said: dict[str, Any]) -> None:
    for level in ("strict", "standard", "lenient"):
        assert agent_http.parse_result(json.dumps(said), level=level).value.data == said


@pytest.mark.requirement("P3")
def test_an_output_that_would_be_read_as_a_record_is_not_written() -> None:
    result = Result(task_id="", agent="agent", outcome="success", data={"id": "t1", "status": "done"})
    with pytest.raises(InvalidInput):
        agent_http.render_result(result, form="skill")


@pytest.mark.requirement("P9", "C2")
@pytest.mark.parametrize(
    "said",
    [
        {"detail": "Not Found"},
        {"error": "boom"},
        {"error": {"code": -32001, "message": "no such task"}, "jsonrpc": "2.0", "id": 1},
        {"type": "about:blank", "title": "Not Found", "status": 404},
    ],
)
def test_an_error_of_another_shape_is_refused_when_strict_and_never_a_success(said: dict[str, Any]) -> None:
    assert agent_http.parse_result(json.dumps(said)).value.outcome == "error"
    with pytest.raises(OutputInvalid) as refused:
        agent_http.parse_result(json.dumps(said), level="strict")
    assert "Send `error` with" in refused.value.hint


@pytest.mark.requirement("C6")
def test_the_first_correction_says_that_it_is_the_first() -> None:
    body = json.loads(agent_http.render_retry(Task(id="t", agent="a"), Correction(message="Wrong.")).text)
    assert body["metadata"]["correction"]["retry_count"] == 1
