"""The policy table (C6) and the moves it gives."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary.policy import POLICY, RULES, Policy, Retry, Rule, Stop
from retinue.contract.fault import Fault
from retinue.errors import FaultCode

CODES: list[FaultCode] = sorted(RULES)


def fault(code: FaultCode = "network_error", **facts: object) -> Fault:
    return Fault(code=code, message="It went wrong.", **facts)  # pyright: ignore[reportArgumentType] - facts of a test


@pytest.mark.requirement("C6", "P9")
@pytest.mark.parametrize(
    ("code", "action", "retries"),
    [
        ("missing_file", "none", None),
        ("invalid_input", "hand_back", None),
        ("output_invalid", "correct", None),
        ("parse_error", "none", None),
        ("access_denied", "none", None),
        ("unauthenticated", "none", None),
        ("network_error", "backoff", None),
        ("unavailable", "backoff", None),
        ("timeout", "backoff", 1),
        ("budget_exceeded", "none", None),
        ("canceled", "none", None),
        ("internal_error", "none", None),
    ],
)
def test_each_code_has_its_line_in_the_table(code: FaultCode, action: str, retries: int | None) -> None:
    assert (RULES[code].action, RULES[code].retries) == (action, retries)


@pytest.mark.requirement("C6", "A13")
def test_an_invalid_output_is_corrected_twice_and_then_no_more() -> None:
    moves = [POLICY.next_move(fault("output_invalid"), retries=retries) for retries in range(3)]
    assert moves[:2] == [Retry(corrects=True)] * 2
    assert moves[2] == Stop("3 of 3 attempts are used up", exhausted=True)


@pytest.mark.requirement("K33", "P10")
def test_waits_double_from_one_second() -> None:
    moves = [POLICY.next_move(fault(), retries=retries, limit=4) for retries in range(5)]
    assert moves == [
        Retry(1.0),
        Retry(2.0),
        Retry(4.0),
        Retry(8.0),
        Stop("5 of 5 attempts are used up", exhausted=True),
    ]


@pytest.mark.requirement("K33")
def test_chance_spreads_a_wait_by_half_of_it() -> None:
    assert POLICY.next_move(fault(), retries=1, chance=0.0) == Retry(1.0)
    assert POLICY.next_move(fault(), retries=1, chance=0.999) == Retry(2 * 1.499)


def test_a_peer_is_never_asked_again_earlier_than_it_wishes() -> None:
    assert POLICY.next_move(fault("unavailable", retry_after_s=7.5), retries=0) == Retry(7.5)
    assert POLICY.next_move(fault("unavailable", retry_after_s=0.1), retries=0) == Retry(1.0)


def test_a_wish_for_more_patience_than_there_is_ends_the_call() -> None:
    move = POLICY.next_move(fault("unavailable", retry_after_s=3600.0), retries=0)
    assert move == Stop("the peer asks to wait 3600 s", exhausted=True)


@pytest.mark.requirement("C6")
def test_a_wait_that_the_deadline_does_not_allow_is_not_begun() -> None:
    move = POLICY.next_move(fault(), retries=0, remaining_s=0.9)
    assert move == Stop("0.9 s are left, and the wait would take 1 s", exhausted=True)
    assert POLICY.next_move(fault("output_invalid"), retries=0, remaining_s=0.0) == Stop(
        "no time is left", exhausted=True
    )


@pytest.mark.requirement("C6")
def test_a_time_out_is_tried_once_more_whatever_the_limit() -> None:
    assert POLICY.next_move(fault("timeout"), retries=0, limit=9) == Retry(1.0)
    assert isinstance(POLICY.next_move(fault("timeout"), retries=1, limit=9), Stop)


def test_who_says_that_trying_again_is_of_no_use_is_believed() -> None:
    assert POLICY.next_move(fault("unavailable", retryable=False), retries=0) == Stop(
        "`unavailable` is not tried again"
    )
    assert POLICY.next_move(fault("unavailable"), retries=0) == Retry(1.0)


def test_no_retries_means_none() -> None:
    assert POLICY.next_move(fault(), retries=0, limit=0) == Stop("1 of 1 attempts are used up", exhausted=True)


@pytest.mark.requirement("K33")
def test_a_policy_shows_where_it_departs_from_the_usual() -> None:
    assert POLICY.differences() == {}
    mine = Policy(max_retries=5, rules={**RULES, "timeout": Rule("none"), "internal_error": Rule("backoff", retries=1)})
    assert mine.differences() == {
        "max_retries": 5,
        "rules": {"timeout": {"action": "none"}, "internal_error": {"action": "backoff", "retries": 1}},
    }


@given(
    code=st.sampled_from(CODES),
    retries=st.integers(0, 30),
    limit=st.none() | st.integers(0, 10),
    left_s=st.none() | st.floats(-1e6, 1e6),
    chance=st.floats(0, 1, exclude_max=True),
    retry_after_s=st.none() | st.floats(0, 1e9),
)
def test_a_move_is_never_out_of_bounds(
    *,
    code: FaultCode,
    retries: int,
    limit: int | None,
    left_s: float | None,
    chance: float,
    retry_after_s: float | None,
) -> None:
    found = fault(code, retry_after_s=retry_after_s)
    move = POLICY.next_move(found, retries=retries, limit=limit, remaining_s=left_s, chance=chance)
    if isinstance(move, Retry):
        assert retries < (POLICY.max_retries if limit is None else limit)
        assert (retry_after_s or 0) <= move.wait_s <= POLICY.longest_wait_s or move.corrects
        assert left_s is None or move.wait_s < left_s
        assert RULES[code].action in {"correct", "backoff"}
    else:
        assert move.reason
