"""How requests begin, and whose beginnings they are."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.routing._opening import Openings, opening


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


def test_an_opening_speaks_for_whoever_is_mostly_asked_so():
    openings = Openings([("how do I sew", "how does a loom work", "what is felt"), ("who sewed this", "what is done")])
    assert list(openings.shares("how did they sew")) == [0]
    felt, done = (openings.shares("what is wool")[place] for place in (0, 1))
    assert 0 < felt < done < openings.shares("how did they sew")[0] < 1
    assert openings.shares("sew it") == {}


def test_what_others_are_asked_does_not_change_what_an_opening_says():
    sewing = ("how do I sew", "what is felt")
    alone = Openings([sewing]).shares("how do I knit")
    assert Openings([sewing, ("how do I bake", "how does it rise")]).shares("how do I knit")[0] == alone[0]


@given(st.text())
def test_any_text_has_an_opening_or_none(text: str):
    assert all(0 < share < 1 for share in Openings([(text,), (text, "who")]).shares(text).values())


@pytest.mark.parametrize(("text", "begun"), [("In which unit is it", "which"), ("By whom", "whom"), ("in the end", "")])
def test_a_preposition_before_the_question_word_does_not_count(text: str, begun: str):
    assert opening(text) == begun


def test_an_opening_that_a_skill_has_no_example_of_is_read_by_its_first_word():
    openings = Openings([("why is wool warm",), ("what is felt",)])
    assert list(openings.shares("why would I knit")) == [0]
    assert openings.shares("why would I knit")[0] < openings.shares("why is felt warm")[0]
