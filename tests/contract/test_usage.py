"""Usages added up: one rule wherever it is done, and nobody's part is lost or counted twice."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from retinue.contract.result import Cost, Usage, UsagePart
from tests.contract.nouns import values_of
from tests.examples import examples


def cost(usd: float, price_id: str = "p") -> Cost:
    return Cost(usd=usd, price_id=price_id, price_date="2026-01-01")


def together(*used: Usage | None) -> Usage:
    whole = Usage.total(used)
    assert whole is not None
    return whole


counts = st.none() | st.integers(0, 1_000)
words = st.none() | st.sampled_from(["a", "b", "c"])
prices = st.none() | st.builds(
    Cost,
    usd=st.integers(0, 1_000).map(lambda cents: cents / 64),  # sums of such fractions are exact in any order
    price_id=st.sampled_from(["p", "q"]),
    price_date=st.sampled_from(["2026-01-01", "2026-02-01"]),
)
plain = st.builds(
    Usage,
    tokens_in=counts,
    tokens_out=counts,
    tokens_total=counts,
    tokens_cached=counts,
    requests=counts,
    cost=prices,
    model=words,
    counter=words,
)


def added(used: list[Usage]) -> Usage:
    return together(*used)


def marked(usage: Usage, agent: str) -> Usage:
    return usage.with_agent(agent)


measured = st.lists(plain, min_size=1, max_size=3).map(added)
usages = measured | st.builds(marked, measured, st.sampled_from(["x", "y"]))


def without_order(usage: Usage) -> Any:
    """As data that does not say which of its words or parts came first."""

    def plainly(part: UsagePart) -> dict[str, Any]:
        data = part.model_dump(exclude={"parts"})
        priced: dict[str, Any] = data["cost"] or {"price_id": None, "price_date": None}
        for facts, name in ((data, "model"), (data, "counter"), (priced, "price_id"), (priced, "price_date")):
            facts[name] = sorted((facts[name] or "").split(", "))
        return data

    return plainly(usage), sorted((plainly(part) for part in usage.parts or ()), key=repr)


@given(usages, usages, usages)
@settings(max_examples=examples(100))
def test_in_which_groups_they_are_added_makes_no_difference(one: Usage, other: Usage, third: Usage) -> None:
    assert together(together(one, other), third) == together(one, together(other, third)) == together(one, other, third)


@given(st.lists(usages, min_size=2, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=examples(100))
def test_in_which_order_they_are_added_changes_only_the_order_of_words(used: list[Usage], chance: Any) -> None:
    mixed = list(used)
    chance.shuffle(mixed)
    assert without_order(together(*mixed)) == without_order(together(*used))


@given(usages)
def test_adding_nothing_changes_nothing(usage: Usage) -> None:
    assert together(usage) is usage
    for used in ((usage, None), (None, usage), (usage, Usage()), (Usage(), None, usage, Usage(agent="x"))):
        assert together(*used) == usage


@given(st.lists(usages, min_size=1, max_size=4))
@settings(max_examples=examples(100))
def test_there_is_a_cost_only_when_everybody_who_used_a_model_has_one(used: list[Usage]) -> None:
    whole = together(*used)
    if any(usage.is_unpriced for usage in used):
        assert whole.cost is None
        assert whole.is_unpriced
    else:
        assert (whole.cost is None) == all(usage.cost is None for usage in used)
    known = [usage.known_usd for usage in used if usage.known_usd is not None]
    assert whole.known_usd == (sum(known) if known else None)


@given(st.lists(usages, min_size=1, max_size=4))
@settings(max_examples=examples(100))
def test_the_parts_come_to_the_whole(used: list[Usage]) -> None:
    whole = together(*used)
    for name in ("tokens_in", "tokens_out", "tokens_cached", "requests"):
        said = [getattr(part, name) for part in whole.split() if getattr(part, name) is not None]
        assert getattr(whole, name) == (sum(said) if said else None)
    assert (whole.tokens or 0) == sum(part.tokens or 0 for part in whole.split())
    keys = [(part.agent, part.model, part.is_unpriced) for part in whole.split()]
    assert len(keys) == len(set(keys))
    assert whole.parts is None or len(whole.parts) > 1
    assert Usage.model_validate_json(whole.to_json_text()) == whole


@given(st.lists(values_of(Usage), max_size=3))
@settings(max_examples=examples(80))
def test_whatever_is_claimed_can_be_added(claimed: list[Any]) -> None:
    whole = Usage.total(claimed)
    assert (whole is None) == (not claimed)
    assert whole is None or Usage.model_validate_json(whole.to_json_text()) == whole


def test_no_usages_are_none() -> None:
    assert Usage.total([]) is None
    assert Usage.total([None, None]) is None
    assert Usage.total([Usage(), Usage()]) == Usage()


def test_several_requests_to_one_model_are_one_without_parts() -> None:
    first = Usage(tokens_in=10, tokens_out=1, requests=1, model="m", cost=cost(0.5))
    second = Usage(tokens_in=5, tokens_out=2, tokens_cached=3, requests=1, model="m", cost=cost(0.25))
    assert together(first, second) == Usage(
        tokens_in=15, tokens_out=3, tokens_cached=3, requests=2, model="m", cost=cost(0.75)
    )


@pytest.mark.requirement("C18")
def test_of_several_models_each_keeps_its_share() -> None:
    first = Usage(tokens_in=10, requests=1, model="b", cost=cost(0.5, "p"), counter="words")
    second = Usage(tokens_in=5, requests=1, model="a", cost=cost(0.25, "q"))
    whole = together(first, second, first)
    assert (whole.tokens_in, whole.requests, whole.model, whole.cost) == (25, 3, "b, a", cost(1.25, "p, q"))
    assert whole.parts == (
        UsagePart(tokens_in=20, requests=2, model="b", cost=cost(1.0, "p"), counter="words"),
        UsagePart(tokens_in=5, requests=1, model="a", cost=cost(0.25, "q")),
    )


@pytest.mark.requirement("C18")
def test_what_has_no_price_stands_apart_and_what_is_known_stays_known() -> None:
    dear, unknown = Usage(requests=1, model="m", cost=cost(0.5)), Usage(requests=1, model="m")
    whole = together(dear, unknown)
    assert (whole.cost, whole.known_usd, whole.requests) == (None, 0.5, 2)
    assert whole.parts == (
        UsagePart(requests=1, model="m", cost=cost(0.5)),
        UsagePart(requests=1, model="m"),
    )


@pytest.mark.parametrize("idle", [Usage(model="m"), Usage(tokens_in=0, requests=0), Usage(counter="words")])
def test_who_used_nothing_leaves_no_gap(idle: Usage) -> None:
    assert not idle.is_unpriced
    assert together(Usage(tokens_in=1, model="m", cost=cost(0.5)), idle).cost == cost(0.5)


def test_a_sum_that_was_only_said_as_a_sum_is_kept() -> None:
    usage = together(Usage(tokens_total=7), Usage(tokens_in=1, tokens_out=2))
    assert (usage.tokens_total, usage.tokens) == (10, 10)


def test_what_one_who_was_asked_inside_took_stays_his() -> None:
    own, inner, innermost = (Usage(tokens_in=tokens, model="m") for tokens in (1, 2, 4))
    asked = together(inner, innermost.with_agent("deep"))
    whole = together(own, asked.with_agent("helper"))
    assert [(part.agent, part.tokens) for part in whole.split()] == [(None, 1), ("helper", 2), ("deep", 4)]
    assert (whole.agent, whole.tokens) == (None, 7)
    assert together(own, own.with_agent("a")).with_agent("a") == together(own, own).with_agent("a")
    assert together(own.with_agent("helper"), own.with_agent("helper")).agent == "helper"


def test_a_part_has_no_parts() -> None:
    whole = together(Usage(tokens_in=1, model="a"), Usage(tokens_in=1, model="b"))
    with pytest.raises(ValidationError):
        Usage(parts=(whole,))


def test_money_beyond_all_numbers_stays_a_number() -> None:
    most = Usage(tokens_in=1, cost=cost(1.7e308))
    assert together(most, most).known_usd == pytest.approx(1.797e308, rel=1e-3)
    gap = together(most, Usage(tokens_in=1), most.with_agent("x"))
    assert gap.known_usd == pytest.approx(1.797e308, rel=1e-3)
