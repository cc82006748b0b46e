"""Usage of several requests as one."""

from retinue.contract.result import Cost, Usage
from retinue.llm.usage import together


def cost(usd: float, price_id: str = "p") -> Cost:
    return Cost(usd=usd, price_id=price_id, price_date="2026-01-01")


def test_nothing_used_is_nothing_said() -> None:
    assert together([]) == Usage()


def test_one_request_is_what_it_is() -> None:
    usage = Usage(tokens_in=1, cost=cost(0.5))
    assert together([usage]) is usage


def test_numbers_add_up_and_what_nobody_said_stays_absent() -> None:
    first = Usage(tokens_in=10, tokens_out=1, requests=1, model="m", cost=cost(0.5))
    second = Usage(tokens_in=5, tokens_out=2, tokens_cached=3, requests=1, model="m", cost=cost(0.25))
    assert together([first, second]) == Usage(
        tokens_in=15, tokens_out=3, tokens_cached=3, requests=2, model="m", cost=cost(0.75)
    )


def test_a_request_without_a_cost_leaves_the_sum_without_one() -> None:
    assert together([Usage(tokens_in=1, cost=cost(0.5)), Usage(tokens_in=1)]).cost is None


def test_a_sum_that_was_only_said_as_a_sum_is_kept() -> None:
    usage = together([Usage(tokens_total=7), Usage(tokens_in=1, tokens_out=2)])
    assert (usage.tokens_total, usage.tokens) == (10, 10)


def test_prices_and_counters_of_several_are_all_named() -> None:
    both = together([Usage(cost=cost(1, "a"), counter="x"), Usage(cost=cost(1, "b"), counter="y")])
    assert both.cost is not None
    assert (both.cost.price_id, both.counter) == ("a, b", "x, y")
