"""When a call must end, and which bound said so (C21)."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary.prepare import TimeLimit, attempt_time_limit, call_time_limit
from retinue.contract.task import Limits
from tests.agents.scripted import SECOND, START, task


def bound_of(
    *,
    limits: Limits | None = None,
    run: int | None = None,
    own: float | None = None,
    skill: float | None = None,
    default: float = 120.0,
) -> TimeLimit:
    request = task(limits=limits or Limits())
    call = call_time_limit(request, run_deadline_ns=run, started_ns=START)
    return attempt_time_limit(
        call, request, now_ns=START, own_timeout_s=own, skill_timeout_s=skill, default_timeout_s=default
    )


@pytest.mark.requirement("C21")
@pytest.mark.parametrize(
    ("name", "limits", "run", "skill"),
    [
        ("task.limits.timeout_s", Limits(timeout_s=10.0, deadline_ns=START + 20 * SECOND), START + 30 * SECOND, 40.0),
        ("task.limits.deadline_ns", Limits(timeout_s=20.0, deadline_ns=START + 10 * SECOND), START + 30 * SECOND, 40.0),
        ("run.budget.timeout_s", Limits(timeout_s=20.0, deadline_ns=START + 30 * SECOND), START + 10 * SECOND, 40.0),
        ("skill.timeout_s", Limits(timeout_s=20.0, deadline_ns=START + 30 * SECOND), START + 40 * SECOND, 10.0),
    ],
)
def test_the_tightest_bound_wins_and_is_named(name: str, limits: Limits, run: int, skill: float) -> None:
    assert bound_of(limits=limits, run=run, skill=skill) == TimeLimit(name, START + 10 * SECOND)


@pytest.mark.requirement("C21")
def test_the_default_applies_where_nobody_says_anything_and_beside_the_run() -> None:
    assert bound_of() == TimeLimit("policy.timeout_s", START + 120 * SECOND)
    assert bound_of(run=START + 500 * SECOND) == TimeLimit("policy.timeout_s", START + 120 * SECOND)
    assert bound_of(run=START + 50 * SECOND) == TimeLimit("run.budget.timeout_s", START + 50 * SECOND)


def test_who_asks_for_more_than_the_default_gets_it() -> None:
    assert bound_of(limits=Limits(timeout_s=900.0)) == TimeLimit("task.limits.timeout_s", START + 900 * SECOND)
    assert bound_of(skill=900.0) == TimeLimit("skill.timeout_s", START + 900 * SECOND)


@pytest.mark.requirement("K32")
def test_what_the_user_sets_for_an_agent_takes_the_place_of_what_its_skill_says() -> None:
    assert bound_of(own=300.0, skill=60.0) == TimeLimit("policy.timeouts", START + 300 * SECOND)
    assert bound_of(own=5.0, skill=60.0) == TimeLimit("policy.timeouts", START + 5 * SECOND)
    assert bound_of(own=300.0, run=START + SECOND) == TimeLimit("run.budget.timeout_s", START + SECOND)


@pytest.mark.requirement("C21")
def test_the_error_says_which_bound_it_was() -> None:
    error = TimeLimit("skill.timeout_s", START).error("counter", seconds=2.5)
    assert error.message == "`counter` did not end within 2.5 s (`skill.timeout_s`)."
    assert "within 1 s" in TimeLimit("skill.timeout_s", START).error("counter", seconds=0.998).message
    assert "within 0.003 s" in TimeLimit("skill.timeout_s", START).error("counter", seconds=0.003).message
    assert error.detail == {"bound": "skill.timeout_s", "seconds": 2.5}
    assert error.retryable
    assert "skill.timeout_s" in error.hint
    assert "not called" in TimeLimit("run.budget.timeout_s", START).error("counter").message


@given(seconds=st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False))
def test_no_number_of_seconds_is_too_large(seconds: float) -> None:
    bound = bound_of(limits=Limits(timeout_s=seconds))
    assert bound.at_ns >= START
    assert 0 <= bound.remaining_s(START) <= seconds * (1 + 1e-9) + 1e-9
