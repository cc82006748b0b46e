"""Requests in the words of spec 000: the summary, constraints, formats, names, and retries."""

import json

import pytest

from retinue.contract.finding import Loss
from retinue.contract.result import Result
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task
from retinue.dialects import tool_use
from retinue.errors import InvalidInput


def fields(losses: tuple[Loss, ...]) -> set[str]:
    return {loss.field for loss in losses}


@pytest.mark.requirement("A9", "C30")
def test_a_hand_off_keeps_the_history_back() -> None:
    context = Context(what="a", why="b", history=("user: x",), memory="m", inputs={"n1": 1})
    written = tool_use.render_task(Task(id="t", agent="x", context=context))
    assert {loss.field: loss.why for loss in written.losses}["/context/history"].startswith("the history stays")
    assert fields(written.losses) == {"/context/history", "/context/memory", "/context/inputs"}
    assert "user: x" not in written.text


@pytest.mark.requirement("A9")
@pytest.mark.parametrize(
    ("what", "why", "text"),
    [
        ("Prices are compared.", "We want to save.", "Prices are compared. We want to save."),
        ("One. Two.", "Three.", "One. Two. Three."),
        ("Only what", "", "Only what"),
        ("One. Two.", "", "What: One. Two."),
        ("", "Only why.", "Why: Only why."),
        ("No stop", "either", "What: No stop\nWhy: either"),
        ("", "", ""),
    ],
)
def test_what_and_why_share_one_summary(what: str, why: str, text: str) -> None:
    written = tool_use.render_task(Task(id="t", agent="x", context=Context(what=what, why=why)))
    assert json.loads(written.text)["payload"]["context_summary"] == text
    assert written.losses == ()
    read = tool_use.parse_task(written.text, level="strict").value.context
    assert (read.what, read.why) == (what, why)


def test_a_long_summary_is_told() -> None:
    written = tool_use.render_task(Task(id="t", agent="x", context=Context(what="A. B. C.", why="D.")))
    (finding,) = tool_use.parse_task(written.text, level="strict").findings
    assert (finding.rule, finding.severity) == ("tool_use/summary", "info")


WORDS = (
    "max_5_sources",
    "max_99_retries",
    "max_0_seconds",
    "max_1.5_tokens",
    "max_",
    "MAX_2_MINUTES",
    "max_\u0662_minutes",
)
CONSTRAINTS: list[tuple[tuple[str, ...], tuple[str, ...], Limits]] = [
    (("max_2_minutes",), (), Limits(timeout_s=120)),
    (("max_1_hour", "max_90_seconds"), ("max_1_hour",), Limits(timeout_s=90)),
    (("max_0.5_hours",), (), Limits(timeout_s=1800)),
    (("max_5000_tokens", "max_0.25_usd", "max_1_retry"), (), Limits(tokens=5000, cost_usd=0.25, retries=1)),
    (("time_budget_10000",), (), Limits(tokens=10_000)),
    (("verified_sources_only", *WORDS), ("verified_sources_only", *WORDS), Limits()),
]


@pytest.mark.requirement("A10", "C21", "C23")
@pytest.mark.parametrize(("tokens", "words", "limits"), CONSTRAINTS)
def test_a_constraint_with_number_and_unit_is_a_limit(
    tokens: list[str], words: tuple[str, ...], limits: Limits
) -> None:
    text = json.dumps(
        {
            "target_agent": "x",
            "message_type": "task_delegation",
            "payload": {"task_id": "t", "instruction": "i", "constraints": tokens},
        }
    )
    task = tool_use.parse_task(text).value
    assert task.context.constraints == words
    assert task.limits == limits


@pytest.mark.requirement("C23")
def test_a_bound_without_a_unit_is_told() -> None:
    text = json.dumps(
        {
            "target_agent": "x",
            "message_type": "task_delegation",
            "payload": {"task_id": "t", "instruction": "i", "constraints": ["budget_5", "max_5", "max_11_retries"]},
        }
    )
    read = tool_use.parse_task(text, level="strict")
    assert [finding.path for finding in read.findings] == [f"/payload/constraints/{at}" for at in range(3)]
    assert read.value.limits == Limits(tokens=5)


@pytest.mark.requirement("A10")
def test_a_moment_has_no_token() -> None:
    written = tool_use.render_task(Task(id="t", agent="x", limits=Limits(deadline_ns=5, timeout_s=1)))
    assert json.loads(written.text)["payload"]["constraints"] == ["max_1_second"]
    assert fields(written.losses) == {"/limits/deadline_ns"}


@pytest.mark.requirement("C22")
@pytest.mark.parametrize(
    ("wish", "word", "lost"),
    [
        (OutputWish(transport="json_table"), "json_table", set[str]()),
        (OutputWish(style="summary"), "summary", set[str]()),
        (OutputWish(transport="json_table", style="summary"), "json_table", {"/output/style"}),
        (OutputWish(style="haiku"), None, {"/output/style"}),
        (OutputWish(transport="summary"), "summary", {"/output/transport", "/output/style"}),
        (OutputWish(transport="summary", style="summary"), "summary", {"/output/transport"}),
        (OutputWish(path="a.md", schema={"type": "object"}), None, {"/output/path", "/output/schema"}),
    ],
)
def test_the_output_format_is_a_transport_format_or_a_style(wish: OutputWish, word: str | None, lost: set[str]) -> None:
    written = tool_use.render_task(Task(id="t", agent="x", output=wish))
    assert json.loads(written.text)["payload"].get("required_output_format") == word
    assert fields(written.losses) == lost


@pytest.mark.requirement("C11")
def test_a_major_version_stands_in_the_name() -> None:
    written = tool_use.render_task(Task(id="t", agent="researcher_analyst", major=2))
    assert json.loads(written.text)["target_agent"] == "researcher_analyst_v2"
    assert written.losses == ()
    odd = tool_use.render_task(Task(id="t", agent="x_v2"))
    assert fields(odd.losses) == {"/agent", "/major"}


def test_a_task_with_parameters_is_a_call_unless_another_form_is_wanted() -> None:
    task = Task(id="t", agent="x", instruction="Do", parameters={"a": 1}, produced_by="model")
    call = tool_use.render_task(task)
    assert json.loads(call.text) == {"type": "tool_use", "id": "t", "name": "x", "input": {"a": 1}}
    assert fields(call.losses) == {"/instruction"}
    handed = tool_use.render_task(task, form="handoff")
    assert fields(handed.losses) == {"/parameters", "/produced_by"}
    with pytest.raises(InvalidInput, match="writes no 'letter'"):
        tool_use.render_task(task, form="letter")
    with pytest.raises(InvalidInput, match="writes no"):
        tool_use.render_result(Result(task_id="", agent="agent"), form="letter")


@pytest.mark.requirement("A13")
def test_a_retry_is_the_request_with_the_correction_object() -> None:
    task = Task(id="t", agent="x", instruction="Do")
    correction = Correction(message="Sources are missing.", hint="Name one for each.", retry_count=2)
    again = json.loads(tool_use.render_retry(task, correction).text)
    assert again.pop("correction") == {
        "error_type": "validation_error",
        "message": "Sources are missing.",
        "correction_hint": "Name one for each.",
        "retry_count": 2,
        "max_retries": 2,
    }
    assert again == json.loads(tool_use.render_task(task).text)
