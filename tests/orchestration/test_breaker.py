"""The circuit breaker: a table of what came, in order."""

import pytest

from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.errors import FaultCode
from retinue.orchestration.plan_state import CircuitBreaker

WELL = Result(task_id="t", agent="a", outcome="success")


def failed(code: FaultCode = "internal_error", **detail: object) -> Result:
    fault = Fault(code=code, message="It broke.", detail=detail)
    return Result(task_id="t", agent="a", outcome="failed", fault=fault)


def moves(breaker: CircuitBreaker, *results: Result, skill: str | None = "s") -> list[str]:
    """The moves that follow from these results of calls, each by a node of its own."""
    said = [
        one for number, result in enumerate(results) for one in breaker.record_result(f"n{number}", "a", skill, result)
    ]
    return [one.move for one in said]


@pytest.mark.requirement("P12")
@pytest.mark.parametrize("code", ["network_error", "unavailable", "timeout", "internal_error"])
def test_three_failures_in_a_row_open_the_circuit_of_a_skill(code: FaultCode):
    breaker = CircuitBreaker()
    assert moves(breaker, failed(code), failed(code)) == []
    assert not breaker.is_unreliable("a", "s")
    (opened,) = breaker.record_result("n3", "a", "s", failed(code))
    assert opened.move == "open_circuit"
    assert f"`a.s` is judged unreliable: 3 calls in a row failed, the last with `{code}`" in opened.reason
    refused = breaker.skip_decision("a", "s")
    assert refused is not None
    assert refused.move == "skip_call"
    assert "until `n3`" in refused.reason
    assert not breaker.is_unreliable("a", "another")


@pytest.mark.parametrize("code", ["invalid_input", "missing_file", "output_invalid", "access_denied", "parse_error"])
def test_faults_of_the_request_open_nothing_and_show_that_somebody_answers(code: FaultCode):
    breaker = CircuitBreaker()
    assert moves(breaker, *[failed(code)] * 5) == []
    assert moves(breaker, failed(), failed(), failed(code), failed(), failed()) == []


def test_one_answer_in_between_begins_the_count_anew():
    assert moves(CircuitBreaker(), failed(), failed(), WELL, failed(), failed()) == []


def test_failures_of_two_skills_open_the_circuit_of_the_agent():
    breaker = CircuitBreaker()
    breaker.record_result("n1", "a", "s", failed())
    breaker.record_result("n2", "a", "other", failed())
    (opened,) = breaker.record_result("n3", "a", "s", failed())
    assert opened.facts["skill"] is None
    assert opened.reason.startswith("`a` is judged unreliable")
    assert breaker.is_unreliable("a", "third")
    assert not breaker.is_unreliable("b", "s")


def test_an_agent_without_a_skill_has_one_circuit():
    breaker = CircuitBreaker()
    assert moves(breaker, *[failed()] * 3, skill=None) == ["open_circuit"]
    assert breaker.is_unreliable("a", None)


def tripped(cool_down: int = 2) -> CircuitBreaker:
    breaker = CircuitBreaker(cool_down=cool_down)
    assert moves(breaker, *[failed()] * 3) == ["open_circuit"]
    return breaker


@pytest.mark.requirement("P12")
def test_after_the_cool_down_one_call_is_let_through_and_no_second_beside_it():
    breaker = tripped()
    assert breaker.skip_decision("a", "s") is not None
    breaker.record_result("elsewhere", "b", "s", WELL)
    assert breaker.skip_decision("a", "s") is None
    probe = breaker.allow("n8", "a", "s")
    assert probe is not None
    assert probe.move == "probe_circuit"
    assert breaker.is_unreliable("a", "s")


def test_a_trial_that_goes_well_closes_the_circuit():
    breaker = tripped(cool_down=0)
    breaker.allow("n8", "a", "s")
    (closed,) = breaker.record_result("n8", "a", "s", WELL)
    assert closed.move == "close_circuit"
    assert breaker.skip_decision("a", "s") is None
    assert breaker.allow("n9", "a", "s") is None


def test_a_trial_that_fails_opens_it_again_and_a_late_failure_does_not():
    breaker = tripped(cool_down=0)
    breaker.allow("n8", "a", "s")
    assert breaker.record_result("late", "a", "s", failed()) == []
    (again,) = breaker.record_result("n8", "a", "s", failed("timeout"))
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
    breaker.allow("n8", "a", "s")
    assert breaker.record_result("n8", "a", "s", ending) == []
    assert breaker.skip_decision("a", "s") is None


def test_the_same_results_in_the_same_order_give_the_same_decisions():
    results = [failed(), failed(), failed("timeout"), WELL, failed()]
    assert moves(CircuitBreaker(), *results) == moves(CircuitBreaker(), *results) == ["open_circuit", "close_circuit"]
