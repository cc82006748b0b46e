"""The account of a run."""

import pytest

from retinue.contract.result import Cost, Result, Usage
from retinue.contract.task import Budget
from retinue.orchestration.budget import RunBudget


def spent(**usage: object) -> Result:
    return Result(task_id="t", agent="x", outcome="success", usage=Usage(**usage))  # pyright: ignore[reportArgumentType] - test facts


@pytest.mark.parametrize(
    ("budget", "bound"), [(Budget(nodes=1), "nodes"), (Budget(tokens=10), "tokens"), (Budget(cost_usd=0.5), "cost_usd")]
)
def test_each_bound_is_refused_by_its_name(budget: Budget, bound: str):
    ledger = RunBudget(budget)
    assert ledger.limit_fault() is None
    ledger.nodes += 1
    ledger.charge(spent(tokens_in=5, tokens_out=5, cost=Cost(usd=0.5, price_id="p", price_date="2026-01-01")).usage)
    fault = ledger.limit_fault()
    assert fault is not None
    assert fault.code == "budget_exceeded"
    assert fault.detail["bound"] == bound
    assert fault.hint


def test_what_nobody_measured_costs_nothing():
    ledger = RunBudget(Budget(tokens=1))
    ledger.charge(None)
    assert ledger.limit_fault() is None


def test_what_is_left_is_never_below_nothing():
    ledger = RunBudget(Budget(tokens=10, cost_usd=1.0, timeout_s=5))
    ledger.charge(spent(tokens_in=30).usage)
    assert ledger.remaining().tokens == 0
    assert ledger.remaining().cost_usd == 1.0


def test_a_grant_is_a_fair_part_and_comes_back_where_it_was_not_used():
    ledger = RunBudget(Budget(nodes=11), nodes=1)
    granted = ledger.grant(sharers=2)
    assert granted is not None
    assert granted.nodes == 5
    assert ledger.nodes == 6
    ledger.refund(granted, used=2)
    assert ledger.nodes == 3


def test_there_is_no_grant_when_nothing_is_left():
    assert RunBudget(Budget(nodes=1), nodes=1).grant(sharers=1) is None


def test_usage_is_summed_where_it_was_measured():
    one = spent(tokens_in=1, model="a", cost=Cost(usd=0.1, price_id="p1", price_date="2026-02-01"))
    other = spent(tokens_in=2, tokens_out=3, model="b", cost=Cost(usd=0.2, price_id="p2", price_date="2026-01-01"))
    total = Usage.total(result.usage for result in [one, other, Result(task_id="t", agent="x", outcome="success")])
    assert total is not None
    assert (total.tokens_in, total.tokens_out, total.tokens_cached) == (3, 3, None)
    assert total.cost is not None
    assert total.cost.usd == pytest.approx(0.3)
    assert (total.cost.price_id, total.cost.price_date) == ("p1, p2", "2026-02-01, 2026-01-01")
    assert total.model == "a, b"
    assert (total.tokens_total, total.tokens) == (None, 6)


def test_what_is_known_of_a_cost_is_charged_also_where_the_whole_has_no_price():
    priced = Usage(tokens_in=1, model="a", cost=Cost(usd=0.5, price_id="p", price_date="2026-01-01"))
    usage = Usage.total((priced, Usage(tokens_in=2, model="b")))
    assert usage is not None
    assert usage.cost is None
    ledger = RunBudget(Budget(cost_usd=0.5))
    ledger.charge(usage)
    assert (ledger.tokens, ledger.cost_usd) == (3, 0.5)
    assert ledger.limit_fault() is not None


def test_a_sum_of_tokens_counts_against_the_budget_and_in_the_total():
    whole, parts = spent(tokens_total=40), spent(tokens_in=5, tokens_out=5)
    ledger = RunBudget(Budget(tokens=50))
    ledger.charge(whole.usage)
    assert ledger.limit_fault() is None
    ledger.charge(parts.usage)
    assert ledger.limit_fault() is not None
    total = Usage.total(result.usage for result in [whole, parts])
    assert total is not None
    assert (total.tokens_in, total.tokens_out, total.tokens_total, total.tokens) == (5, 5, 50, 50)


def test_nothing_measured_is_no_usage():
    assert Usage.total(result.usage for result in [Result(task_id="t", agent="x", outcome="success")]) is None
