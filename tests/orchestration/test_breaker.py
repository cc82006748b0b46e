"""The circuit breaker: a table of what came, in order."""

import pytest

from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.errors import FaultCode
from retinue.orchestration.decisions import Breaker

WELL = Result(task_id="t", agent="a", outcome="success")


def failed(code: FaultCode = "internal_error", **detail: object) -> Result:
    fault = Fault(code=code, message="It broke.", detail=detail)
    return Result(task_id="t", agent="a", outcome="failed", fault=fault)


def moves(breaker: Breaker, *results: Result, skill: str | None = "s") -> list[str]:
    """The moves that follow from these results of calls, each by a node of its own."""
    said = [one for number, result in enumerate(results) for one in breaker.hear(f"n{number}", "a", skill, result)]
    return [one.move for one in said]


@pytest.mark.row("P12")
@pytest.mark.parametrize("code", ["network_error", "unavailable", "timeout", "internal_error"])
def test_three_failures_in_a_row_open_the_circuit_of_a_skill(code: FaultCode):
    breaker = Breaker()
    assert moves(breaker, failed(code), failed(code)) == []
    assert not breaker.unreliable("a", "s")
    (opened,) = breaker.hear("n3", "a", "s", failed(code))
    assert opened.move == "open_circuit"
    assert f"`a.s` is judged unreliable: 3 calls in a row failed, the last with `{code}`" in opened.reason
    refused = breaker.objection("a", "s")
    assert refused is not None
    assert refused.move == "skip_call"
    assert "until `n3`" in refused.reason
    assert not breaker.unreliable("a", "another")


@pytest.mark.parametrize("code", ["invalid_input", "missing_file", "output_invalid", "access_denied", "parse_error"])
def test_faults_of_the_request_open_nothing_and_show_that_somebody_answers(code: FaultCode):
    breaker = Breaker()
    assert moves(breaker, *[failed(code)] * 5) == []
    assert moves(breaker, failed(), failed(), failed(code), failed(), failed()) == []


def test_one_answer_in_between_begins_the_count_anew():
    assert moves(Breaker(), failed(), failed(), WELL, failed(), failed()) == []


def test_failures_of_two_skills_open_the_circuit_of_the_agent():
    breaker = Breaker()
    breaker.hear("n1", "a", "s", failed())
    breaker.hear("n2", "a", "other", failed())
    (opened,) = breaker.hear("n3", "a", "s", failed())
    assert opened.facts["skill"] is None
    assert opened.reason.startswith("`a` is judged unreliable")
    assert breaker.unreliable("a", "third")
    assert not breaker.unreliable("b", "s")


def test_an_agent_without_a_skill_has_one_circuit():
    breaker = Breaker()
    assert moves(breaker, *[failed()] * 3, skill=None) == ["open_circuit"]
    assert breaker.unreliable("a", None)


def tripped(cool_down: int = 2) -> Breaker:
    breaker = Breaker(cool_down=cool_down)
    assert moves(breaker, *[failed()] * 3) == ["open_circuit"]
    return breaker


@pytest.mark.row("P12")
def test_after_the_cool_down_one_call_is_let_through_and_no_second_beside_it():
    breaker = tripped()
    assert breaker.objection("a", "s") is not None
    breaker.hear("elsewhere", "b", "s", WELL)
    assert breaker.objection("a", "s") is None
    probe = breaker.let_through("n8", "a", "s")
    assert probe is not None
    assert probe.move == "probe_circuit"
    assert breaker.unreliable("a", "s")


def test_a_trial_that_goes_well_closes_the_circuit():
    breaker = tripped(cool_down=0)
    breaker.let_through("n8", "a", "s")
    (closed,) = breaker.hear("n8", "a", "s", WELL)
    assert closed.move == "close_circuit"
    assert breaker.objection("a", "s") is None
    assert breaker.let_through("n9", "a", "s") is None


def test_a_trial_that_fails_opens_it_again_and_a_late_failure_does_not():
    breaker = tripped(cool_down=0)
    breaker.let_through("n8", "a", "s")
    assert breaker.hear("late", "a", "s", failed()) == []
    (again,) = breaker.hear("n8", "a", "s", failed("timeout"))
    assert (again.move, again.facts["since"], again.facts["code"]) == ("open_circuit", "n8", "timeout")


@pytest.mark.parametrize(
    "ending",
    [
        Result(task_id="t", agent="a", outcome="canceled"),
        failed("timeout", bound="run.budget.timeout_s"),
    ],
)
def test_a_trial_that_was_stopped_shows_nothing_and_the_next_may_try(ending: Result):
    breaker = tripped(cool_down=0)
    breaker.let_through("n8", "a", "s")
    assert breaker.hear("n8", "a", "s", ending) == []
    assert breaker.objection("a", "s") is None


def test_the_same_results_in_the_same_order_give_the_same_decisions():
    results = [failed(), failed(), failed("timeout"), WELL, failed()]
    assert moves(Breaker(), *results) == moves(Breaker(), *results) == ["open_circuit", "close_circuit"]
