"""Estimates: ranges with their assumptions, and nothing where nothing is known."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.llm.estimate import MIN_SAMPLES, Estimate, PastCall, Range, answer_tokens, combine, estimate

BOUNDED = {
    "type": "object",
    "properties": {"title": {"type": "string", "maxLength": 300}, "score": {"type": "integer"}},
    "required": ["title"],
    "additionalProperties": False,
}


def price(*, tokens_in: int, tokens_out: int) -> float | None:
    return tokens_in * 1e-6 + tokens_out * 5e-6


def calls(*outs: int, model: str = "m:small") -> list[PastCall]:
    return [PastCall(model, tokens_in=1000 + out, tokens_out=out, seconds=out / 100) for out in outs]


@pytest.mark.requirement("A17", "C19")
def test_a_first_call_is_bounded_by_its_request_and_the_schema_of_its_answer() -> None:
    found = estimate(model="m:small", request_tokens=2_000, answer_schema=BOUNDED, max_output=8_000, price=price)
    assert found.tokens_in == Range(2_000, 2_000)
    assert found.tokens_out is not None
    assert 3 <= found.tokens_out.low < 10
    assert found.tokens_out.high == 114
    assert found.usd == Range(2e-3 + found.tokens_out.low * 5e-6, 2e-3 + 114 * 5e-6)
    assert found.seconds is None
    assert found.assumptions == (
        "Tokens in are those of the request, counted.",
        "Tokens out go from the least answer to the most that the schema allows.",
        "The time is not known: there are fewer than 5 past calls like it.",
        "It is asked once.",
    )


@pytest.mark.requirement("C19")
def test_past_calls_of_the_same_model_are_believed_once_there_are_enough() -> None:
    few = estimate(model="m:small", request_tokens=10, max_output=50, past=calls(1, 2, 3, 4))
    assert few.tokens_out == Range(1, 50)
    past = [*calls(100, 500, 300, 200, 400), *calls(9_999, model="m:large")]
    found = estimate(model="m:small", request_tokens=10, max_output=50, past=past, price=price)
    assert found.tokens_out == Range(100, 500)
    assert found.tokens_in == Range(1_100, 1_500)
    assert found.seconds == Range(1, 5)
    assert found.tokens == Range(1_200, 2_000)
    assert "Tokens out are those of 5 past calls." in found.assumptions


def test_odd_calls_among_many_do_not_widen_the_range() -> None:
    found = estimate(model="m:small", request_tokens=1, past=calls(1, *[100] * 18, 9_999))
    assert found.tokens_out == Range(100, 100)


def test_a_larger_request_than_ever_raises_what_comes_in() -> None:
    assert estimate(model="m:small", request_tokens=5_000, past=calls(1, 2, 3, 4, 5)).tokens_in == Range(5_000, 5_000)


@pytest.mark.requirement("A17")
def test_tools_mean_that_all_is_sent_again() -> None:
    once = estimate(model="m:x", request_tokens=100, max_output=10)
    often = estimate(model="m:x", request_tokens=100, max_output=10, max_requests=3)
    unknown = estimate(model="m:x", request_tokens=100, max_output=10, max_requests=None)
    assert once.tokens_in == Range(100, 100)
    assert often.tokens_in == Range(100, 320)
    assert "It is asked 1 to 3 times (its own bound), all sent again." in often.assumptions
    assert unknown.tokens_in == Range(100, 870)


@pytest.mark.requirement("C18", "C19")
def test_an_unknown_price_gives_no_cost() -> None:
    def unknown(*, tokens_in: int, tokens_out: int) -> float | None:
        del tokens_in, tokens_out

    found = estimate(model="m:x", request_tokens=100, max_output=10, price=unknown)
    assert found.usd is None
    assert "The price of `m:x` is not known." in found.assumptions
    assert "cost_usd" not in found.to_json()


def test_an_answer_that_nothing_bounds_has_no_figure() -> None:
    found = estimate(model="m:x", request_tokens=100, answer_schema={"type": "string"}, price=price)
    assert found.tokens_out is found.tokens is found.usd is None


def test_without_a_model_nothing_is_spent() -> None:
    found = estimate(model=None, request_tokens=100, past=[PastCall(seconds=2.0)] * MIN_SAMPLES)
    assert found.usd == found.tokens == Range(0, 0)
    assert found.seconds == Range(2, 2)
    assert found.to_json()["cost_usd"] == [0, 0]


def test_several_calls_take_what_they_take_together() -> None:
    one = Estimate(Range(1, 2), Range(1, 2), Range(0.1, 0.2), Range(1, 4), ("a", "b"))
    other = Estimate(Range(10, 20), Range(1, 1), Range(0.5, 0.5), Range(3, 3), ("b", "c"))
    both = combine([one, other])
    assert (both.tokens_in, both.tokens, both.seconds) == (Range(11, 22), Range(13, 25), Range(3, 7))
    assert both.assumptions == ("a", "b", "c")
    assert combine([one, other], is_concurrent=False).seconds == Range(4, 7)
    assert combine([one, Estimate()]).usd is combine([one, Estimate()]).seconds is None
    assert combine([]).usd == Range(0, 0)


@pytest.mark.parametrize(
    ("schema", "bounded"),
    [
        ({"enum": ["a", "bb"]}, True),
        ({"const": 5}, True),
        ({"type": ["string", "null"], "maxLength": 30}, True),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 3, "minItems": 2}, True),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, False),
        ({"type": "array"}, False),
        ({"properties": {"a": {"type": "number"}}}, False),
        ({}, False),
        ({"type": "null"}, True),
    ],
)
def test_the_size_of_an_answer_is_bounded_where_its_schema_bounds_it(schema: dict[str, Any], bounded: bool) -> None:
    least, most = answer_tokens(schema)
    assert (most is not None) is bounded
    assert most is None or 0 < least <= most


def test_a_schema_without_an_end_is_left_somewhere() -> None:
    deep: dict[str, Any] = {"type": "string", "maxLength": 1}
    for _ in range(500):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"], "additionalProperties": False}
    assert answer_tokens(deep)[1] is None


@given(st.integers(0, 10**6), st.none() | st.integers(1, 10**5), st.lists(st.integers(0, 10**5), max_size=12))
def test_ranges_never_stand_on_their_head(request_tokens: int, most: int | None, outs: list[int]) -> None:
    found = estimate(
        model="m:small", request_tokens=request_tokens, max_output=most, price=price, past=calls(*outs), max_requests=4
    )
    for each in (found.tokens_in, found.tokens_out, found.usd, found.seconds):
        assert each is None or 0 <= each.low <= each.high
