"""Answers as other agents write them, and as the official SDK hands ours on: a failure is never read as a success."""

import json
from typing import Any, cast

import pytest

from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import a2a
from retinue.dialects.a2a.wire import is_exact
from retinue.errors import OutputInvalid
from tests.dialects.samples import ANSWERS, REQUESTS


def as_protobuf(value: Any) -> Any:
    """`value` as it comes out of protobuf's free data: all numbers are doubles; what is empty is not written."""
    if isinstance(value, dict):
        return {key: as_protobuf(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [as_protobuf(each) for each in cast("list[Any]", value)]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.requirement("C1", "C5")
@pytest.mark.parametrize("noun", [*REQUESTS.values(), *ANSWERS.values()])
def test_numbers_that_became_doubles_are_read_as_they_were(noun: Task | Result) -> None:
    rendered = a2a.render_task(noun) if isinstance(noun, Task) else a2a.render_result(noun)
    assert is_exact(json.loads(rendered.text))
    text = json.dumps(as_protobuf(json.loads(rendered.text)))
    read = a2a.parse_task if isinstance(noun, Task) else a2a.parse_result
    assert read(text, level="strict").value == noun


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("state", ["failed", "TASK_STATE_FAILED", "rejected", "canceled", 4, 5, 7])
def test_a_task_that_failed_in_any_spelling_is_no_success(state: str | int) -> None:
    metadata = {a2a.EXTENSION: {"outcome": "success"}}
    for facts in ({}, {"metadata": metadata}, {"artifacts": [{"artifactId": "a", "parts": [{"data": 1}]}]}):
        task = {"id": "t1", "status": {"state": state}, **facts}
        assert a2a.parse_result(json.dumps(task)).value.outcome in {"error", "rejected", "canceled"}


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {"kind": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"message": "m"}},
        {"error": {"code": "E", "message": "m"}},
        {"result": {}},
    ],
)
def test_what_is_neither_an_answer_nor_an_error_is_refused(body: dict[str, Any]) -> None:
    for level in ("strict", "standard", "lenient"):
        with pytest.raises(OutputInvalid) as caught:
            a2a.parse_result(json.dumps(body), level=level)  # type: ignore[arg-type]
        assert caught.value.hint


def test_texts_of_status_and_artifacts_are_all_of_the_content() -> None:
    task = {
        "id": "t1",
        "status": {
            "state": "TASK_STATE_COMPLETED",
            "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Done."}, {"data": {"a": 1}}]},
        },
        "artifacts": [
            {"artifactId": "a", "parts": [{"text": "First."}, {"text": "# Second", "mediaType": "text/markdown"}]},
            {"artifactId": "b", "parts": [{"data": [2]}]},
        ],
    }
    result = a2a.parse_result(json.dumps(task), level="strict").value
    assert (result.content, result.data) == ("Done.\nFirst.\n# Second", [{"a": 1}, [2]])


def test_what_others_put_under_our_name_is_kept_and_not_believed() -> None:
    task = {
        "id": "t1",
        "status": {"state": "TASK_STATE_COMPLETED"},
        "metadata": {a2a.EXTENSION: {"json": "[1]"}},
        "artifacts": [{"artifactId": "a", "parts": [{"url": "x"}], "metadata": {a2a.EXTENSION: {"path": 5}}}],
    }
    read = a2a.parse_result(json.dumps(task))
    assert (read.value.outcome, read.value.artifacts) == ("success", ())
    assert read.value.extras["a2a"]["task"]["metadata"] == task["metadata"]
    assert "a2a/extension" in {each.rule for each in read.findings}
    broken = {**task, "metadata": {a2a.EXTENSION: {"json": "{"}}}
    assert "a2a/extension" in {each.rule for each in a2a.parse_result(json.dumps(broken)).findings}
