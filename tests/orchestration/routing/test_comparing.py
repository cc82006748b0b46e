"""Where one side of a comparison ends and the other begins."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.routing.comparing import Comparison, comparisons_in


def comparison_in(text: str) -> Comparison | None:
    return next(comparisons_in(text), None)


def test_the_last_with_parts_first():
    ways = [(way.one, way.other) for way in comparisons_in("compare the carriers with most flights with the plan")]
    assert ways == [("the carriers with most flights", "the plan"), ("the carriers", "most flights with the plan")]


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("compare the slowest endpoints with what the docs promise", "the slowest endpoints", "what the docs promise"),
        ("Compare A to B.", "A", "B"),
        ("check whether the latency matches the docs", "the latency", "the docs"),
        ("see if the totals agree with the report", "the totals", "the report"),
        ("does the code still match the documentation?", "the code", "the documentation"),
        ("how do the slowest endpoints compare to the limits", "the slowest endpoints", "the limits"),
        ("are the responses slower than the docs promise", "the responses", "the docs promise"),
    ],
)
def test_two_sides_are_found(text: str, one: str, other: str):
    found = comparison_in(text)
    assert found is not None
    assert (found.one, found.other) == (one, other)


@pytest.mark.parametrize(
    "text", ["compare", "how does it work", "check the docs", "is the tree clean", "compare " * 300]
)
def test_what_compares_nothing_is_left_alone(text: str):
    assert comparison_in(text) is None


def test_the_second_half_is_said_in_its_own_words():
    found = comparison_in("compare the totals with the report")
    assert found is not None
    assert found.of_them == "compare them with the report"
    assert found.rest == "compare with the report"
    checked = comparison_in("check whether the totals match the report")
    assert checked is not None
    assert checked.rest == "match the report"


@given(
    st.lists(
        st.sampled_from(
            ["compare", "check", "whether", "does", "with", "to", "the", "match", "is", "than", "a", ".", "?"]
        )
    ).map(" ".join)
)
def test_both_sides_are_words_of_the_text(text: str):
    found = comparison_in(text)
    if found is not None:
        assert found.one in text
        assert found.other in text
