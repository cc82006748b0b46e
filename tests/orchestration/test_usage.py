"""How usual words are in the examples of a skill."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration._usage import Usage
from retinue.orchestration._view import word_tokens


def test_words_that_all_examples_share_weigh_more_than_a_topic_that_one_has():
    tested = ("how is the parser tested", "how is the cache tested", "how are uploads tested")
    found = ("how does the login work", "where is the cache kept", "what is a parser")
    usage = Usage([tested, found])
    weights = usage.weigh(word_tokens("how is the login tested"), [0, 1])
    assert weights[0] == 0.0
    assert weights[1] < 0.0


def test_without_examples_all_are_equally_usual():
    assert Usage([(), ()]).weigh(["a"], [1, 0]) == [0.0, 0.0]
    assert Usage([("a b",)]).weigh(["a"], []) == []


def test_a_skill_without_examples_is_neither_preferred_nor_out_of_reach():
    weights = Usage([("count the commits",), ()]).weigh(["count"], [0, 1])
    assert weights[0] == 0.0
    assert weights[1] == pytest.approx(weights[1])
    assert -10 < weights[1] < 0


@given(st.lists(st.lists(st.text(), max_size=3), max_size=4), st.text())
def test_the_best_has_nothing_and_none_has_more(examples: list[list[str]], text: str):
    weights = Usage(examples).weigh(word_tokens(text), range(len(examples)))
    assert max(weights, default=0.0) == 0.0
