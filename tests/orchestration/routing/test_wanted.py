"""What a question wants to know."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from retinue.orchestration.routing._wanted import is_particular, wanted
from retinue.orchestration.routing.words import word_tokens
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("who won the match", "won"),
        ("Who has last changed it?", "chang"),
        ("who first added the cache", "add"),
        ("how many stars has it", "star"),
        ("how much does Mara earn", "mara"),
        ("which of our customers is angry", "customer"),
        ("which", None),
        ("who was that", None),
        ("how does it work", None),
        ("list the stars", None),
        ("", None),
    ],
)
def test_it_stands_after_the_question_word(text: str, stem: str | None):
    assert wanted(text) == stem


def said(*examples_: str) -> list[tuple[str, Counter[str]]]:
    """Each example, with the words of the others."""
    return [(one, Counter(word_tokens(" ".join(other for other in examples_ if other != one)))) for one in examples_]


def test_whoever_is_always_asked_for_the_same_is_particular():
    assert is_particular(said("who changed it", "who changed the cart", "which commits changed", "how many commits"))
    assert not is_particular(said("who sold it", "who paid", "which city is it", "how many hats"))
    assert not is_particular(said("who changed it", "who changed the cart", "list them", "show all"))


@given(st.text(max_size=200))
@settings(max_examples=examples(80))
def test_any_text_wants_one_word_or_none(text: str):
    stem = wanted(text)
    assert stem is None or word_tokens(text.lower())
