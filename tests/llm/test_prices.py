"""Prices: the dated book, prices of one's own, and none at all."""

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, strategies as st

from retinue.errors import InvalidInput
from retinue.llm.prices import Price, PriceList, price

MILLION = 1_000_000


@pytest.mark.requirement("A16", "C18")
@pytest.mark.parametrize(("name", "usd_in", "usd_out"), [
    ("anthropic:claude-haiku-4-5", 1.0, 5.0),
    ("anthropic:claude-sonnet-4-5", 3.0, 15.0),
    ("anthropic:claude-opus-4-5", 5.0, 25.0),
    ("openai:gpt-4o", 2.5, 10.0),
    ("openai-chat:gpt-4o", 2.5, 10.0),
])  # fmt: skip
def test_the_book_knows_what_a_million_tokens_cost(name: str, usd_in: float, usd_out: float) -> None:
    asked = price(name, tokens_in=100_000, tokens_out=0)
    told = price(name, tokens_in=0, tokens_out=100_000)
    assert asked is not None
    assert told is not None
    assert asked.usd == pytest.approx(usd_in / 10)
    assert told.usd == pytest.approx(usd_out / 10)


@pytest.mark.requirement("C18")
def test_every_cost_carries_the_price_it_was_computed_from_and_its_day() -> None:
    cost = price("anthropic:claude-haiku-4-5", tokens_in=1, tokens_out=1)
    assert cost is not None
    assert cost.price_id.startswith("genai-prices-")
    assert cost.price_id.endswith(" anthropic:claude-haiku-4-5")
    assert date(2026, 1, 1) <= date.fromisoformat(cost.price_date) <= datetime.now(tz=UTC).date()


@pytest.mark.requirement("C18")
@pytest.mark.parametrize("name", ["nobody:nothing", "anthropic:no-such-thing", "", ":", "anthropic:", "ollama:llama3"])
def test_an_unknown_model_has_no_cost_rather_than_none_at_all(name: str) -> None:
    assert price(name, tokens_in=MILLION, tokens_out=MILLION) is None


def test_tokens_that_the_provider_still_had_cost_less() -> None:
    whole = price("anthropic:claude-haiku-4-5", tokens_in=1_000, tokens_out=0)
    cached = price("anthropic:claude-haiku-4-5", tokens_in=1_000, tokens_out=0, tokens_cached=1_000)
    assert whole is not None
    assert cached is not None
    assert 0 < cached.usd < whole.usd


@pytest.mark.requirement("C18")
def test_a_price_of_ones_own_holds_instead_of_the_book() -> None:
    own = Price(7.5, 37.5, usd_cached=0.75, date="2025-11-01", source="spec 000 §5.1")
    cost = price("anthropic:claude-opus-4-5", tokens_in=2 * MILLION, tokens_out=MILLION, tokens_cached=MILLION, own=own)
    assert cost is not None
    assert cost.usd == pytest.approx(7.5 + 0.75 + 37.5)
    assert (cost.price_id, cost.price_date) == ("spec 000 §5.1", "2025-11-01")
    assert (
        Price(1, 1, date="2026-01-01", source="s").cost(tokens_in=MILLION, tokens_out=0, tokens_cached=MILLION).usd == 1
    )


@pytest.mark.parametrize("usd", [-1.0, math.nan, math.inf])
def test_a_price_that_is_none_is_refused(usd: float) -> None:
    with pytest.raises(InvalidInput):
        Price(usd, 1.0, date="2026-01-01", source="s")


@pytest.mark.parametrize(("day", "source"), [("", "s"), ("2026-01-01", "")])
def test_a_price_without_its_day_or_its_source_is_refused(day: str, source: str) -> None:
    with pytest.raises(InvalidInput, match="day it was seen"):
        Price(1.0, 1.0, date=day, source=source)


def test_at_a_foreign_address_only_who_sells_there_has_a_price() -> None:
    assert not PriceList("anthropic:claude-haiku-4-5", address="http://127.0.0.1:9").is_known
    assert PriceList("anthropic:claude-haiku-4-5", address="https://api.anthropic.com").is_known


def test_without_the_book_there_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "genai_prices.data_snapshot", None)
    prices = PriceList("anthropic:claude-haiku-4-5")
    assert not prices.is_known
    assert prices.cost(tokens_in=1, tokens_out=1) is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**8), st.integers(0, 10**8))
def test_more_never_costs_less(tokens_in: int, tokens_out: int, cached: int, written: int) -> None:
    prices = PriceList("anthropic:claude-haiku-4-5")
    some = prices.cost(tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=cached, tokens_written=written)
    more = prices.cost(tokens_in=tokens_in, tokens_out=tokens_out + 1, tokens_cached=cached, tokens_written=written)
    assert some is not None
    assert more is not None
    assert 0 <= some.usd < more.usd
