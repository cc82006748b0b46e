"""Spec 004 judged from both sides: agents that our own dialect speaks for, and what reports say of others."""

import pytest

from retinue.conformance.port import CheckReport
from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.contract.task import Question
from retinue.dialects import agent_http
from retinue.errors import InvalidInput, RetinueError
from tests.conformance.kits import judged, verdict


def spoken(text: str) -> str:
    """An agent that reads and writes by our own dialect."""
    try:
        task = agent_http.parse_task(text, level="strict").value
    except RetinueError as error:
        fault = Fault.from_error(InvalidInput(error.message, hint=error.hint or "Send a message."))
        refused = Result(task_id="", agent="metrics", outcome="error", fault=fault)
        return agent_http.render_result(refused, form="skill").text
    done = Result(task_id=task.id, agent="metrics", outcome="success", content=task.instruction or "Done.")
    return agent_http.render_result(done).text


def asking_back(text: str) -> str:
    """The same agent, which has a question to every task."""
    said = spoken(text)
    read = agent_http.parse_result(said).value
    if read.outcome != "success":
        return said
    question = Question(id="year", text="Which year?")
    asked = Result(task_id=read.task_id, agent="metrics", lifecycle="input_required", questions=(question,))
    return agent_http.render_result(asked).text


def wrong(report: CheckReport) -> dict[str, tuple[str, ...]]:
    return {each.requirement.id: each.wrong for each in report.verdicts if each.wrong}


@pytest.mark.requirement("P1", "P9", "P11", "P17")
def test_an_agent_that_our_dialect_speaks_for_passes():
    assert wrong(judged(spoken, "agent_http")) == {}


@pytest.mark.requirement("P1", "C1")
def test_an_agent_that_asks_back_passes_too():
    assert wrong(judged(asking_back, "agent_http")) == {}


@pytest.mark.requirement("P17")
def test_an_agent_of_another_format_is_told_so_requirement_by_requirement():
    report = judged(lambda text: '{"status": "success", "agent": "a", "version": "1.0", "result": {}}', "agent_http")
    assert not report.passed
    assert verdict(report, "record").wrong[0] == "valid: `id` is missing"
    assert any('`status` is `"success"`' in said for said in verdict(report, "record").wrong)
    assert any(said.startswith("empty: it is not an error") for said in verdict(report, "refuses").wrong)


@pytest.mark.requirement("P17")
def test_an_agent_that_says_nothing_useful_fails_everything_it_must():
    report = judged(lambda text: "I cannot help with that.", "agent_http")
    kept = {each.requirement.id for each in report.verdicts if not each.wrong}
    assert kept <= {"agent_http/answers", "agent_http/unmixed", "agent_http/steady", "agent_http/free-parameters"}
