"""How requests begin, and whose beginnings they are."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration._opening import Openings, opening


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("How do I stream a response?", "how do"),
        ("how does it work", "how do"),
        ("How many commits", "how many"),
        ("how the cache is kept", "how be"),
        ("many things", ""),
        ("What's new", ""),
        ("what is a blueprint", "what be"),
        ("Is the tree clean?", "be"),
        ("who, if anybody", "who"),
        ("list the files", ""),
        ("why", "why"),
        ("", ""),
    ],
)
def test_an_opening_is_the_question_word_and_the_kind_of_auxiliary(text: str, begun: str):
    assert opening(text) == begun


def test_an_opening_belongs_to_whoever_has_it_in_examples():
    openings = Openings([("how do I sew", "how does a loom work", "what is felt"), ("who sewed this", "what is done")])
    assert openings.shares("how did they sew") == {0: 2 / 2.5}
    assert openings.shares("what is wool") == {0: 1 / 2.5, 1: 1 / 2.5}
    assert openings.shares("sew it") == {}


@given(st.text())
def test_any_text_has_an_opening_or_none(text: str):
    assert all(0 < share < 1 for share in Openings([(text,), (text, "who")]).shares(text).values())


@pytest.mark.parametrize(("text", "begun"), [("In which unit is it", "which"), ("By whom", "whom"), ("in the end", "")])
def test_a_preposition_before_the_question_word_does_not_count(text: str, begun: str):
    assert opening(text) == begun


def test_an_opening_that_nobody_has_is_read_by_its_first_word():
    assert Openings([("why is wool warm",), ("what is felt",)]).shares("why would I knit") == {0: 1 / 1.5}
