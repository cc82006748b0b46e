"""What to do about a failure: a table of situations."""

from collections.abc import Callable

import pytest

from retinue.contract.definition import Skill
from retinue.contract.fault import Fault
from retinue.contract.plan import Candidate, Delegation
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Result
from retinue.errors import FaultCode
from retinue.orchestration.escalate import Accept, Ask, Elsewhere, GiveUp, Situation, decide

CHOSEN = Candidate(agent="first", skill="read", score=2, share=0.4)
OTHER = Candidate(agent="second", skill="read", score=1, share=0.3)


def node(*alternatives: Candidate) -> Delegation:
    return Delegation(id="n1", agent="first", skill="read", alternatives=alternatives, chosen=CHOSEN)


def failed(code: FaultCode = "internal_error") -> Result:
    return Result(task_id="t", agent="first", outcome="failed", fault=Fault(code=code, message="It broke."))


def skill(**facts: object) -> Skill:
    return Skill(name="read", description="Reads.", input_schema={}, **facts)  # pyright: ignore[reportArgumentType] - test facts


def situation(
    *,
    tried: tuple[tuple[str, str], ...] = (("first", "read"),),
    rounds: int = 0,
    skill_of: Callable[[Candidate], Skill | None] = lambda _: skill(),
    callable_as: Callable[[Candidate], bool] = lambda _: True,
) -> Situation:
    return Situation(tried=tried, rounds=rounds, skill_of=skill_of, callable_as=callable_as)


@pytest.mark.parametrize("outcome", ["success", "partial"])
def test_what_is_useful_is_accepted(outcome: Outcome):
    assert decide(node(OTHER), Result(task_id="t", agent="x", outcome=outcome), situation()) == Accept()


@pytest.mark.row("A14", "C29")
def test_a_failure_goes_to_the_first_alternative_that_nothing_speaks_against():
    move = decide(node(CHOSEN, OTHER), failed(), situation())
    assert isinstance(move, Elsewhere)
    assert move.candidate == OTHER
    assert "`internal_error`" in move.reason


@pytest.mark.row("P13", "P14")
@pytest.mark.parametrize("code", ["access_denied", "unauthenticated", "budget_exceeded", "canceled"])
def test_some_faults_are_no_reason_to_ask_somebody_else(code: FaultCode):
    assert isinstance(decide(node(OTHER), failed(code), situation()), GiveUp)


@pytest.mark.parametrize(
    ("candidate", "given", "why"),
    [
        (OTHER, situation(tried=(("first", "read"), ("second", "read"))), "was tried"),
        (OTHER.model_copy(update={"share": 0.1}), situation(), "fits too badly"),
        (OTHER, situation(skill_of=lambda one: None if one == OTHER else skill()), "is not available"),
        (
            OTHER,
            situation(skill_of=lambda one: skill(unavailable="later") if one == OTHER else skill()),
            "is not available",
        ),
        (
            OTHER,
            situation(skill_of=lambda one: skill(effects=("write",)) if one == OTHER else skill()),
            "would touch more",
        ),
        (OTHER, situation(callable_as=lambda _: False), "needs to know more"),
    ],
)
def test_an_alternative_may_be_refused_with_its_reason(candidate: Candidate, given: Situation, why: str):
    move = decide(node(candidate), failed(), given)
    assert isinstance(move, GiveUp)
    assert why in move.reason


@pytest.mark.parametrize(
    ("code", "elsewhere"),
    [("timeout", False), ("unavailable", False), ("missing_file", False), ("output_invalid", True)],
)
def test_another_skill_of_an_agent_that_is_down_is_no_alternative(code: FaultCode, elsewhere: bool):
    same = Candidate(agent="first", skill="list", score=1, share=0.3)
    assert isinstance(decide(node(same), failed(code), situation()), Elsewhere) is elsewhere


@pytest.mark.parametrize(("share", "elsewhere"), [(0.9, True), (0.6, False)])
def test_who_found_nothing_is_followed_only_by_one_that_fits_about_as_well(share: float, elsewhere: bool):
    asked = node(OTHER)
    assert asked.chosen is not None
    other = OTHER.model_copy(update={"share": share * asked.chosen.share})
    assert isinstance(decide(node(other), failed("missing_file"), situation()), Elsewhere) is elsewhere


def test_a_question_is_asked_a_few_times_and_then_no_more():
    waiting = Result(task_id="t", agent="first", lifecycle="input_required", questions=(Question(id="q", text="?"),))
    assert isinstance(decide(node(), waiting, situation(rounds=2)), Ask)
    assert isinstance(decide(node(), waiting, situation(rounds=3)), GiveUp)
    nothing = waiting.model_copy(update={"questions": ()})
    assert isinstance(decide(node(), nothing, situation()), GiveUp)


def test_a_stopped_node_is_not_started_elsewhere():
    stopped = Result(task_id="t", agent="first", outcome="canceled")
    assert isinstance(decide(node(OTHER), stopped, situation()), GiveUp)


def test_a_failure_without_a_fault_counts_as_internal():
    move = decide(node(), Result(task_id="t", agent="first", outcome="error"), situation())
    assert isinstance(move, GiveUp)
    assert "internal_error" in move.reason
