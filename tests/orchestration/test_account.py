"""The two books of a run: nothing is counted twice, and nothing is left out."""

from hypothesis import given, strategies as st

from retinue.contract.event import Body, Decision, Event, NodeFinished, UsageReported
from retinue.contract.result import Cost, Result, Usage
from retinue.contract.task import Budget
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.budget import GO_ON, RunBudget


def usage(tokens: int, usd: float = 0.0) -> Usage:
    return Usage(tokens_in=tokens, tokens_out=0, requests=1, cost=Cost(usd=usd, price_id="p", price_date="2026-01-01"))


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=8))
def test_the_purse_knows_what_results_say_whether_or_not_it_saw_the_calls(steps: list[tuple[int, int]]):
    account = RunBudget(Budget(), BudgetTracker())
    for number, (seen, unseen) in enumerate(steps):
        purse = account.open(f"n{number}")
        purse.reserve(tokens=seen, usd=0.0).commit(usage(seen))
        account.close(f"n{number}", usage(seen + unseen))
    whole = sum(seen + unseen for seen, unseen in steps)
    assert account.tracker.spent_tokens == whole
    assert account.tokens == whole
    assert account.overhead_usage is None


def test_a_step_that_was_replayed_is_booked_whole():
    account = RunBudget(Budget(tokens=1_000), BudgetTracker(tokens=1_000))
    account.close("never_opened", usage(300, usd=0.5))
    assert account.tracker.tokens_left == 700
    assert account.tracker.spent_requests == 1


def test_what_was_spent_before_counts_as_overhead():
    account = RunBudget(Budget(tokens=1_000), BudgetTracker(tokens=1_000))
    account.charge_earlier(None)
    account.charge_earlier(usage(200))
    assert account.tracker.tokens_left == 800
    assert account.overhead_usage == usage(200)


def test_what_is_known_of_a_cost_is_booked_also_where_some_of_it_has_no_price():
    account = RunBudget(Budget(cost_usd=1.0), BudgetTracker(usd=1.0))
    account.close("a", Usage.total((usage(1, usd=0.5), Usage(tokens_in=2, model="local"))))
    assert (account.tracker.usd_left, account.cost_usd) == (0.5, 0.5)


def test_a_share_bounds_a_step_and_is_named():
    account = RunBudget(Budget(), BudgetTracker())
    assert account.open("a", tokens=10).tokens_left == 10
    assert account.open("b").tokens_left is None


def test_what_a_killed_life_was_told_of_is_charged_once_in_every_later_one():
    def happened(node: str, body: Body) -> None:
        events.append(Event("r", node, 1, len(events) + 1, 0, body))

    events: list[Event] = []
    done = Result(task_id="r:a", agent="a", outcome="success", usage=usage(40))
    happened("a", UsageReported(usage(100)))
    happened("~think1.a", UsageReported(usage(1)))
    happened("~think2.b", NodeFinished(done))
    assert RunBudget(Budget()).charge_earlier(None, events) == usage(101).model_copy(update={"requests": 2})
    happened("", Decision(GO_ON, "The process died."))
    happened("a", UsageReported(usage(40)))
    happened("a", NodeFinished(done))
    happened("b", UsageReported(usage(10)))
    happened("b", NodeFinished(done.model_copy(update={"outcome": "canceled", "usage": None})))
    account = RunBudget(Budget(tokens=1_000), BudgetTracker(tokens=1_000))
    account.charge_earlier(None, events)
    assert account.tokens == account.tracker.spent_tokens == 111
