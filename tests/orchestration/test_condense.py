"""What goes on from one agent to the next, and what that spares."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.result import Artifact, Result, Warned
from retinue.contract.tokens import get_counter
from retinue.orchestration.handoff import SUMMARY_CHARS, Savings, full_text, hand_on, summarise

LONG = "Retries are bounded by the policy table, which says for each fault what happens. " * 20
RESULT = Result(
    task_id="r:n1",
    agent="reader",
    skill="read",
    outcome="success",
    data={"passages": [LONG]},
    content=LONG,
    reasoning="I think that…",
    artifacts=(Artifact(path="report.md", title="Report"),),
    warnings=(Warned(type="missing_data", message="One page is missing."),),
)


@pytest.mark.requirement("C24")
def test_a_summary_is_cut_at_the_edge_of_a_word_and_says_so():
    summary = summarise(LONG)
    assert len(summary.text) <= SUMMARY_CHARS
    assert summary.truncated
    assert LONG.startswith(summary.text)
    assert LONG[len(summary.text)] == " "


@pytest.mark.requirement("C24")
def test_what_fits_is_not_truncated():
    assert summarise("  All\nis well. ").text == "All is well."
    assert not summarise("x" * SUMMARY_CHARS).truncated


def test_a_word_without_an_end_is_cut_between_letters():
    assert len(summarise("é" * 300).text) == SUMMARY_CHARS
    parted = summarise("x" * 199 + "e\u0301" * 50)
    assert parted.text == "x" * 199


@pytest.mark.requirement("C24")
@given(st.text(max_size=6_000), st.integers(1, 300))
def test_a_summary_is_never_longer_and_never_invents(text: str, limit: int):
    summary = summarise(text, limit=limit)
    assert len(summary.text) <= limit
    assert " ".join(text.split()).startswith(summary.text)
    assert summary.truncated or summary.text == " ".join(text.split())


@pytest.mark.requirement("A3", "A8", "C20", "C30")
def test_each_level_carries_less_and_both_sides_are_measured():
    levels = ("full", "summary", "metadata", "none")
    handed = [hand_on(RESULT, level, get_counter("words")) for level in levels]
    carried = [one.handed_on for one in handed]
    assert carried == sorted(carried, reverse=True)
    assert {one.full for one in handed} == {get_counter("words").count(full_text(RESULT))}
    assert handed[3].inputs is None
    assert handed[1].inputs is not None
    assert handed[1].inputs["truncated"] is True
    assert handed[2].inputs is not None
    assert handed[2].inputs["artifacts"] == [{"path": "report.md", "title": "Report"}]


@pytest.mark.requirement("C9", "C30")
def test_what_an_agent_thought_is_never_handed_on():
    assert "I think" not in str(hand_on(RESULT, "full", get_counter("words")).inputs)


def test_an_agent_s_own_summary_goes_before_its_text():
    result = Result(task_id="t", agent="x", outcome="success", data={"summary": "Short."}, content=LONG)
    handed = hand_on(result, "summary", get_counter("words"))
    assert handed.inputs is not None
    assert handed.inputs["summary"] == "Short."


@pytest.mark.requirement("A8", "C20")
def test_savings_are_sums_under_the_name_of_a_counter():
    savings = Savings("words")
    savings.add(full=100, handed_on=20)
    savings.add(full=10, handed_on=10)
    assert savings.to_json() == {"counter": "words", "edges": 2, "full": 110, "handed_on": 30}


def test_data_that_cannot_be_written_counts_as_its_text():
    result = Result(task_id="t", agent="x", outcome="success", data=float("1e308") * 10, content="Text.")
    assert full_text(result) == "Text."
