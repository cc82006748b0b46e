"""Purses: what is held, spent and left, however calls overlap."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from retinue.contract.result import Cost, Usage
from retinue.errors import BudgetExceeded
from retinue.llm.purse import Hold, Purse


def used(tokens: int, usd: float | None = None) -> Usage:
    cost = None if usd is None else Cost(usd=usd, price_id="p", price_date="2026-01-01")
    return Usage(tokens_in=tokens, tokens_out=0, cost=cost)


def bound_of(error: BudgetExceeded) -> object:
    return error.detail["bound"]


def test_what_is_held_is_not_left_for_others() -> None:
    purse = Purse(tokens=100, usd=1.0)
    purse.hold(tokens=70, usd=0.6)
    assert purse.tokens_left == 30
    assert purse.usd_left == pytest.approx(0.4)
    with pytest.raises(BudgetExceeded) as raised:
        purse.hold(tokens=31, usd=0.1)
    assert bound_of(raised.value) == "run.budget.tokens"
    with pytest.raises(BudgetExceeded) as raised:
        purse.hold(tokens=30, usd=0.5)
    assert bound_of(raised.value) == "run.budget.cost_usd"


def test_settling_books_what_was_used_and_lets_the_rest_go() -> None:
    purse = Purse(tokens=100, usd=1.0)
    hold = purse.hold(tokens=70, usd=0.6)
    hold.settle(used(20, 0.1))
    assert (purse.spent_tokens, purse.spent_requests, purse.tokens_left) == (20, 1, 80)
    assert purse.spent_usd == pytest.approx(0.1)
    assert not purse.is_held


def test_what_nobody_counted_is_booked_as_held() -> None:
    purse = Purse(tokens=100, usd=1.0)
    purse.hold(tokens=70, usd=0.6).settle(Usage())
    assert (purse.spent_tokens, purse.spent_usd) == (70, 0.6)


def test_a_hold_is_closed_once() -> None:
    purse = Purse(tokens=100)
    hold = purse.hold(tokens=70, usd=None)
    hold.release()
    hold.settle(used(70))
    hold.release()
    assert (purse.spent_tokens, purse.tokens_left, purse.spent_requests) == (0, 100, 0)


@pytest.mark.parametrize(("purse", "bound"), [
    (Purse(tokens=0), "run.budget.tokens"),
    (Purse(requests=0), "run.budget.requests"),
    (Purse(usd=0.0), "run.budget.cost_usd"),
])  # fmt: skip
def test_a_bound_of_zero_lets_no_request_pass(purse: Purse, bound: str) -> None:
    with pytest.raises(BudgetExceeded) as raised:
        purse.hold(tokens=1, usd=0.0001)
    assert bound_of(raised.value) == bound
    assert bound in raised.value.hint


def test_a_bound_on_money_cannot_be_kept_without_a_price() -> None:
    with pytest.raises(BudgetExceeded, match="price of the model is not known") as raised:
        Purse(usd=5.0).hold(tokens=1, usd=None)
    assert "`models.prices`" in raised.value.hint
    Purse(tokens=5).hold(tokens=1, usd=None)


def test_a_purse_within_another_spends_from_both_and_names_whose_bound_it_was() -> None:
    run = Purse(tokens=100, name="run.budget")
    task = Purse(tokens=1_000, above=run, name="task.limits")
    assert task.tokens_left == 100
    task.hold(tokens=60, usd=None).settle(used(60))
    assert (run.spent_tokens, task.spent_tokens) == (60, 60)
    with pytest.raises(BudgetExceeded) as raised:
        task.hold(tokens=41, usd=None)
    assert bound_of(raised.value) == "run.budget.tokens"
    assert not run.is_held


def test_an_unbounded_purse_counts_all_the_same() -> None:
    purse = Purse()
    purse.hold(tokens=5, usd=None).settle(used(7, 0.5))
    assert (purse.tokens_left, purse.usd_left) == (None, None)
    assert (purse.spent_tokens, purse.spent_usd, purse.spent_requests) == (7, 0.5, 1)


def test_whoever_waits_looks_again_when_a_call_is_over() -> None:
    async def story() -> list[str]:
        purse, told = Purse(tokens=10), list[str]()
        hold = purse.hold(tokens=10, usd=None)

        async def waiting() -> None:
            await purse.let_go()
            told.append(f"{purse.tokens_left} are left")

        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        told.append("waits")
        hold.settle(used(4))
        await task
        assert purse.ledgers[0].waiting == []
        return told

    assert asyncio.run(story()) == ["waits", "6 are left"]


@dataclass
class Call:
    purse: int
    tokens: int
    usd: float
    used: float
    counted: bool
    fails: bool


calls = st.builds(
    Call,
    purse=st.integers(0, 2),
    tokens=st.integers(0, 60),
    usd=st.floats(0, 0.6),
    used=st.floats(0, 1),
    counted=st.booleans(),
    fails=st.booleans(),
)


@given(st.lists(st.tuples(calls, st.integers(0, 5)), max_size=40), st.integers(0, 200), st.floats(0, 2))
def test_no_bound_is_ever_passed_whatever_overlaps(plan: list[tuple[Call, int]], tokens: int, usd: float) -> None:
    run = Purse(tokens=tokens, usd=usd, requests=20)
    purses = [run, Purse(tokens=tokens // 2, above=run, name="a"), Purse(usd=usd / 2, above=run, name="b")]
    under_way: list[tuple[Call, Hold]] = []

    def end(place: int) -> None:
        call, hold = under_way.pop(place % len(under_way))
        if call.fails:
            hold.release()
        elif call.counted:
            hold.settle(used(int(call.tokens * call.used), call.usd * call.used))
        else:
            hold.settle(Usage())

    for call, place in plan:
        try:
            under_way.append((call, purses[call.purse].hold(tokens=call.tokens, usd=call.usd)))
        except BudgetExceeded:
            if under_way:
                end(place)
        for purse in purses:
            ledger = purse.ledgers[0]
            assert ledger.tokens is None or ledger.spent_tokens + ledger.held_tokens <= ledger.tokens
            assert ledger.usd is None or ledger.spent_usd + ledger.held_usd <= ledger.usd + 1e-9
            assert ledger.requests is None or ledger.spent_requests + ledger.held_requests <= ledger.requests
    while under_way:
        end(0)
    assert not any(purse.is_held for purse in purses)
    assert run.spent_tokens <= tokens
    assert run.spent_usd <= usd + 1e-9


def test_what_was_spent_elsewhere_is_booked_here_and_above() -> None:
    run = Purse(tokens=100, usd=1.0)
    own = Purse(above=run)
    own.book(tokens=60, usd=0.25, requests=2)
    assert (run.tokens_left, run.usd_left, own.spent_requests) == (40, 0.75, 2)


def test_a_small_amount_of_money_is_told_from_nothing() -> None:
    with pytest.raises(BudgetExceeded) as raised:
        Purse(usd=0.00000125).hold(tokens=1, usd=0.0065)
    assert "0.00000125 of 0.00000125 USD are left, and the next call may take 0.0065" in raised.value.message
