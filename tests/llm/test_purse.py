"""Purses: what is held, spent and left, however calls overlap."""

import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from retinue.contract.result import Cost, Usage
from retinue.errors import BudgetExceeded
from retinue.llm.budget_tracker import BudgetTracker, Reservation


def used(tokens: int, usd: float | None = None) -> Usage:
    cost = None if usd is None else Cost(usd=usd, price_id="p", price_date="2026-01-01")
    return Usage(tokens_in=tokens, tokens_out=0, cost=cost)


def bound_of(error: BudgetExceeded) -> object:
    return error.detail["bound"]


def test_what_is_held_is_not_left_for_others() -> None:
    purse = BudgetTracker(tokens=100, usd=1.0)
    purse.reserve(tokens=70, usd=0.6)
    assert purse.tokens_left == 30
    assert purse.usd_left == pytest.approx(0.4)
    with pytest.raises(BudgetExceeded) as raised:
        purse.reserve(tokens=31, usd=0.1)
    assert bound_of(raised.value) == "run.budget.tokens"
    with pytest.raises(BudgetExceeded) as raised:
        purse.reserve(tokens=30, usd=0.5)
    assert bound_of(raised.value) == "run.budget.cost_usd"


def test_settling_books_what_was_used_and_lets_the_rest_go() -> None:
    purse = BudgetTracker(tokens=100, usd=1.0)
    hold = purse.reserve(tokens=70, usd=0.6)
    hold.commit(used(20, 0.1))
    assert (purse.spent_tokens, purse.spent_requests, purse.tokens_left) == (20, 1, 80)
    assert purse.spent_usd == pytest.approx(0.1)
    assert not purse.has_reservations


def test_what_nobody_counted_is_booked_as_held() -> None:
    purse = BudgetTracker(tokens=100, usd=1.0)
    purse.reserve(tokens=70, usd=0.6).commit(Usage())
    assert (purse.spent_tokens, purse.spent_usd) == (70, 0.6)


def test_a_hold_is_closed_once() -> None:
    purse = BudgetTracker(tokens=100)
    hold = purse.reserve(tokens=70, usd=None)
    hold.release()
    hold.commit(used(70))
    hold.release()
    assert (purse.spent_tokens, purse.tokens_left, purse.spent_requests) == (0, 100, 0)


@pytest.mark.parametrize(("purse", "bound"), [
    (BudgetTracker(tokens=0), "run.budget.tokens"),
    (BudgetTracker(requests=0), "run.budget.requests"),
    (BudgetTracker(usd=0.0), "run.budget.cost_usd"),
])  # fmt: skip
def test_a_bound_of_zero_lets_no_request_pass(purse: BudgetTracker, bound: str) -> None:
    with pytest.raises(BudgetExceeded) as raised:
        purse.reserve(tokens=1, usd=0.0001)
    assert bound_of(raised.value) == bound
    assert bound in raised.value.hint


def test_a_bound_on_money_cannot_be_kept_without_a_price() -> None:
    with pytest.raises(BudgetExceeded, match="price of the model is not known") as raised:
        BudgetTracker(usd=5.0).reserve(tokens=1, usd=None)
    assert "`models.prices`" in raised.value.hint
    BudgetTracker(tokens=5).reserve(tokens=1, usd=None)


def test_a_purse_within_another_spends_from_both_and_names_whose_bound_it_was() -> None:
    run = BudgetTracker(tokens=100, name="run.budget")
    task = BudgetTracker(tokens=1_000, parent=run, name="task.limits")
    assert task.tokens_left == 100
    task.reserve(tokens=60, usd=None).commit(used(60))
    assert (run.spent_tokens, task.spent_tokens) == (60, 60)
    with pytest.raises(BudgetExceeded) as raised:
        task.reserve(tokens=41, usd=None)
    assert bound_of(raised.value) == "run.budget.tokens"
    assert not run.has_reservations


def test_an_unbounded_purse_counts_all_the_same() -> None:
    purse = BudgetTracker()
    purse.reserve(tokens=5, usd=None).commit(used(7, 0.5))
    assert (purse.tokens_left, purse.usd_left) == (None, None)
    assert (purse.spent_tokens, purse.spent_usd, purse.spent_requests) == (7, 0.5, 1)


def test_whoever_waits_looks_again_when_a_call_is_over() -> None:
    async def story() -> list[str]:
        purse, told = BudgetTracker(tokens=10), list[str]()
        hold = purse.reserve(tokens=10, usd=None)

        async def waiting() -> None:
            await purse.wait_for_release()
            told.append(f"{purse.tokens_left} are left")

        task = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        told.append("waits")
        hold.commit(used(4))
        await task
        assert purse.scopes[0].waiters == []
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
    run = BudgetTracker(tokens=tokens, usd=usd, requests=20)
    purses = [
        run,
        BudgetTracker(tokens=tokens // 2, parent=run, name="a"),
        BudgetTracker(usd=usd / 2, parent=run, name="b"),
    ]
    under_way: list[tuple[Call, Reservation]] = []

    def end(place: int) -> None:
        call, hold = under_way.pop(place % len(under_way))
        if call.fails:
            hold.release()
        elif call.counted:
            hold.commit(used(int(call.tokens * call.used), call.usd * call.used))
        else:
            hold.commit(Usage())

    for call, place in plan:
        try:
            under_way.append((call, purses[call.purse].reserve(tokens=call.tokens, usd=call.usd)))
        except BudgetExceeded:
            if under_way:
                end(place)
        for purse in purses:
            ledger = purse.scopes[0]
            assert ledger.tokens is None or ledger.spent_tokens + ledger.reserved_tokens <= ledger.tokens
            assert ledger.usd is None or ledger.spent_usd + ledger.reserved_usd <= ledger.usd + 1e-9
            assert ledger.requests is None or ledger.spent_requests + ledger.reserved_requests <= ledger.requests
    while under_way:
        end(0)
    assert not any(purse.has_reservations for purse in purses)
    assert run.spent_tokens <= tokens
    assert run.spent_usd <= usd + 1e-9


def test_what_was_spent_elsewhere_is_booked_here_and_above() -> None:
    run = BudgetTracker(tokens=100, usd=1.0)
    own = BudgetTracker(parent=run)
    own.charge(tokens=60, usd=0.25, requests=2)
    assert (run.tokens_left, run.usd_left, own.spent_requests) == (40, 0.75, 2)


def test_a_small_amount_of_money_is_told_from_nothing() -> None:
    with pytest.raises(BudgetExceeded) as raised:
        BudgetTracker(usd=0.00000125).reserve(tokens=1, usd=0.0065)
    assert "0.00000125 of 0.00000125 USD are left, and the next call may take 0.0065" in raised.value.message


def test_each_call_is_told_once_as_it_is_settled_to_whose_it_is() -> None:
    heard: list[tuple[str, Usage]] = []
    run = BudgetTracker(on_usage=lambda usage: heard.append(("run", usage)))
    step = BudgetTracker(parent=run, separate=True, on_usage=lambda usage: heard.append(("step", usage)))
    BudgetTracker(parent=BudgetTracker(parent=step)).reserve(tokens=5, usd=None).commit(used(3))
    BudgetTracker(parent=step, separate=True).reserve(tokens=5, usd=None).commit(used(7))
    released = run.reserve(tokens=5, usd=None)
    released.release()
    assert heard == [("step", used(3))]
    assert (run.spent_tokens, run.usages) == (10, [])
