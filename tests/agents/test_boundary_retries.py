"""Corrections, waits, and what is left when the attempts are used up."""

import asyncio
from typing import Any

import pytest

from retinue.agents.port import Reply
from retinue.contract.event import AttemptRetried, Decision, NodeFinished, NodeStarted
from retinue.contract.fault import Fault
from retinue.contract.result import Cost, Result, Usage, UsagePart
from retinue.contract.task import Limits
from retinue.errors import (
    AccessDenied,
    BudgetExceeded,
    Canceled,
    DeadlineExceeded,
    InvalidInput,
    MissingFile,
    NetworkError,
    OutputInvalid,
    ParseError,
    Unauthenticated,
    Unavailable,
)
from tests.agents.scripted import BAD, GOOD, SECOND, START, Clock, Scripted, ask, bodies, context, skill, task


def fault_of(result: Result) -> Fault:
    assert result.fault is not None
    return result.fault


@pytest.mark.requirement("A12", "A13", "C6")
def test_an_invalid_answer_is_asked_for_again_with_precise_findings() -> None:
    agent, run = Scripted(BAD, GOOD), context()
    result = asyncio.run(ask(agent, run=run))
    assert (result.outcome, result.data, result.retries) == ("success", {"words": 2}, 1)
    assert [attempt.fault is None for attempt in result.attempts] == [False, True]
    (_, first, _), (_, correction, _) = agent.seen
    assert first is None
    assert correction is not None
    assert correction.findings[0]["path"] == "/data/words"
    assert "integer" in correction.hint
    assert "breaks its contract" in correction.message
    assert (correction.retry_count, correction.max_retries, correction.previous) == (1, 2, {"words": "two"})
    assert [type(body) for body in bodies(run)] == [NodeStarted, AttemptRetried, NodeFinished]
    assert [event.attempt for event in run.events] == [0, 1, 2]


@pytest.mark.requirement("A13", "A14", "C1", "C6")
def test_after_two_corrections_it_has_failed_and_everything_is_kept() -> None:
    usage = Usage(tokens_in=10, tokens_out=1, cost=Cost(usd=0.5, price_id="p", price_date="2026-01-01"), model="m")
    agent, run = Scripted(Reply(data={"words": "two"}, usage=usage)), context()
    result = asyncio.run(ask(agent, run=run))
    assert (result.outcome, result.retries, agent.calls) == ("failed", 2, 3)
    assert [attempt.fault and attempt.fault.code for attempt in result.attempts] == ["output_invalid"] * 3
    assert result.data == {"words": "two"}
    assert not result.useful
    assert result.usage == Usage(
        tokens_in=30, tokens_out=3, cost=Cost(usd=1.5, price_id="p", price_date="2026-01-01"), model="m"
    )
    assert bodies(run)[-2] == Decision("stop", "3 of 3 attempts are used up", {"code": "output_invalid", "attempts": 3})


def test_a_sum_of_tokens_is_added_up_and_binds() -> None:
    agent = Scripted(Reply(data={"words": "two"}, usage=Usage(tokens_total=30)))
    result = asyncio.run(ask(agent, task({"text": "a"}, limits=Limits(tokens=50))))
    assert agent.calls == 2
    assert result.usage == Usage(tokens_total=60)


def test_the_best_data_is_kept_not_the_last() -> None:
    whole = Reply(data={"words": 7}, fault=Fault(code="network_error", message="cut off"))
    result = asyncio.run(ask(Scripted(BAD, whole, BAD)))
    assert (result.outcome, result.data) == ("failed", {"words": 7})
    assert "did not end well" in result.warnings[-1].message


def test_a_text_that_cannot_be_read_is_corrected_by_its_place() -> None:
    agent = Scripted(Reply(text="{words: 2}"), Reply(text='{"words": 2}'))
    assert asyncio.run(ask(agent)).outcome == "success"
    correction = agent.seen[1][1]
    assert correction is not None
    assert correction.findings[0]["column"] == 2
    assert correction.previous is None


@pytest.mark.requirement("C6")
@pytest.mark.parametrize(
    "error",
    [
        MissingFile("x"), InvalidInput("x"), ParseError("x"), AccessDenied("x"), Unauthenticated("x"), BudgetExceeded("x"),
        ValueError("x"), FileNotFoundError("x"), PermissionError("x"), Unavailable("x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_what_will_not_change_is_not_tried_again(error: Exception) -> None:
    if isinstance(error, Unavailable):
        error.retryable = False  # pyright: ignore[reportAttributeAccessIssue] - it is not installed, for example
    agent, clock = Scripted(error), Clock()
    result = asyncio.run(ask(agent, run=context(clock)))
    assert (result.outcome, result.retries, agent.calls, clock.waits) == ("error", 0, 1, [])
    assert len(result.attempts) == 1


@pytest.mark.requirement("C6", "K33")
@pytest.mark.parametrize(
    "error", [NetworkError("x"), Unavailable("x"), ConnectionResetError("x")], ids=lambda error: type(error).__name__
)
def test_what_may_pass_is_tried_again_after_one_and_two_seconds(error: Exception) -> None:
    clock, agent = Clock(), Scripted(error, error, GOOD)
    run = context(clock)
    result = asyncio.run(ask(agent, run=run))
    assert (result.outcome, result.retries, clock.waits) == ("success", 2, [1.0, 2.0])
    assert [correction for _, correction, _ in agent.seen] == [None] * 3
    assert [body.wait_s for body in bodies(run) if isinstance(body, AttemptRetried)] == [1.0, 2.0]
    assert result.duration_ns == 3 * SECOND


@pytest.mark.requirement("K33")
def test_chance_spreads_the_waits() -> None:
    clock = Clock()
    asyncio.run(ask(Scripted(NetworkError("x"), GOOD), run=context(clock, chance=0.25)))
    assert clock.waits == [0.75]


@pytest.mark.requirement("C6")
def test_a_peer_that_names_a_time_is_given_it_unless_the_deadline_comes_first() -> None:
    clock, agent = Clock(), Scripted(Unavailable("x", retry_after_s=20.0), GOOD)
    assert asyncio.run(ask(agent, run=context(clock))).outcome == "success"
    assert clock.waits == [20.0]
    clock, agent = Clock(), Scripted(Unavailable("x", retry_after_s=20.0), GOOD)
    result = asyncio.run(ask(agent, task(limits=Limits(timeout_s=20.0)), context(clock)))
    assert (result.outcome, fault_of(result).code, clock.waits) == ("failed", "unavailable", [])


@pytest.mark.requirement("C6")
def test_a_time_out_the_agent_reports_is_tried_once_more() -> None:
    for error in (DeadlineExceeded("x"), TimeoutError("x")):
        agent, clock = Scripted(error), Clock()
        result = asyncio.run(ask(agent, run=context(clock)))
        assert (result.outcome, fault_of(result).code, agent.calls, clock.waits) == ("failed", "timeout", 2, [1.0])


@pytest.mark.requirement("C6")
def test_the_task_sets_the_number_of_retries() -> None:
    for retries in (0, 1, 4):
        agent = Scripted(BAD)
        result = asyncio.run(ask(agent, task(limits=Limits(retries=retries))))
        assert (agent.calls, result.retries, result.outcome) == (retries + 1, retries, "failed")


@pytest.mark.requirement("C6")
@pytest.mark.parametrize("limits", [Limits(tokens=20), Limits(cost_usd=1.0)])
def test_what_was_spent_binds_further_attempts(limits: Limits) -> None:
    cost = Cost(usd=0.6, price_id="p", price_date="2026-01-01")
    agent = Scripted(Reply(data={}, usage=Usage(tokens_in=7, tokens_out=4, cost=cost)))
    result = asyncio.run(ask(agent, task(limits=limits)))
    assert (agent.calls, result.outcome, fault_of(result).code) == (2, "failed", "output_invalid")


def test_the_last_fault_decides() -> None:
    result = asyncio.run(ask(Scripted(NetworkError("x"), AccessDenied("no"))))
    assert (result.outcome, fault_of(result).code, result.retries) == ("error", "access_denied", 1)
    assert asyncio.run(ask(Scripted(Canceled("x")))).outcome == "canceled"


def test_an_agent_that_reports_a_fault_is_treated_like_one_that_raises() -> None:
    clock = Clock()
    reported = Reply(fault=Fault(code="network_error", message="x", retry_after_s=5.0))
    result = asyncio.run(ask(Scripted(reported, GOOD), run=context(clock)))
    assert (result.outcome, clock.waits) == ("success", [5.0])
    given_up = Reply(fault=Fault(code="network_error", message="x"), outcome="failed")
    result = asyncio.run(ask(Scripted(given_up), task(limits=Limits(retries=0))))
    assert result.outcome == "failed"
    hopeless = Reply(fault=Fault(code="network_error", message="x", retryable=False))
    assert asyncio.run(ask(Scripted(hopeless))).retries == 0


def test_an_output_invalid_that_the_agent_raises_carries_no_findings_and_is_corrected_all_the_same() -> None:
    agent = Scripted(OutputInvalid("The answer is cut off.", hint="Say less.", path="/a"), GOOD)
    assert asyncio.run(ask(agent)).outcome == "success"
    correction = agent.seen[1][1]
    assert correction is not None
    assert (correction.hint, correction.findings[0]["path"]) == ("Say less.", "/a")


def test_usage_of_several_attempts_adds_up_without_inventing_anything() -> None:
    first = Usage(tokens_in=1, model="small", cost=Cost(usd=0.5, price_id="a", price_date="2026-01-01"))
    second = Usage(tokens_in=2, tokens_out=5, model="large", cost=Cost(usd=1.0, price_id="b", price_date="2026-01-02"))
    moves: list[Any] = [Reply(data={}, usage=first), Reply(data={}), Reply(data={"words": 1}, usage=second)]
    assert asyncio.run(ask(Scripted(*moves))).usage == Usage(
        tokens_in=3,
        tokens_out=5,
        model="small, large",
        cost=Cost(usd=1.5, price_id="a, b", price_date="2026-01-01, 2026-01-02"),
        parts=(
            UsagePart(tokens_in=1, model="small", cost=first.cost),
            UsagePart(tokens_in=2, tokens_out=5, model="large", cost=second.cost),
        ),
    )
    assert asyncio.run(ask(Scripted())).usage is None


def test_attempts_of_a_skill_with_its_own_time_each_get_the_whole_of_it() -> None:
    agent = Scripted(NetworkError("x"), GOOD, skills=(skill(timeout_s=10.0),))
    asyncio.run(ask(agent))
    assert [deadline for _, _, deadline in agent.seen] == [START + 10 * SECOND, START + 11 * SECOND]


def test_what_an_attempt_took_and_did_is_kept_when_nobody_can_read_its_answer() -> None:
    usage = Usage(tokens_in=20, tokens_out=5, requests=1)
    prose = Reply(text="About five, I think.", usage=usage, files_read=("a.md",))
    result = asyncio.run(ask(Scripted(prose, prose, prose)))
    assert fault_of(result).code == "output_invalid"
    assert result.usage == Usage(tokens_in=60, tokens_out=15, requests=3)
    assert [attempt.usage for attempt in result.attempts] == [usage] * 3
    assert result.files_read == ("a.md",)
