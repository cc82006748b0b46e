"""Misspellings by one letter."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.reader.spelling import Spellings, one_edit_from


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("shwo", "show"),
        ("explan", "explain"),
        ("explaain", "explain"),
        ("explein", "explain"),
        ("explain", None),
        ("xplan", None),
        ("lst", None),
        ("tall", None),
    ],
)
def test_one_slip_is_forgiven_when_only_one_word_is_meant(word: str, wanted: str | None):
    assert one_edit_from(word, ["show", "explain", "list", "tell", "fall"]) == wanted


def test_many_words_are_searched_at_once():
    spellings = Spellings(["parser", "parses", "policy", "of"])
    assert spellings.nearest("polcy") == "policy"
    assert spellings.nearest("parsr") == "parser"
    assert spellings.nearest("parsex") is None  # two words are as near
    assert spellings.nearest("policy") is None
    assert spellings.nearest("off") is None
    assert Spellings(["which"], shortest=4).nearest("wich") == "which"


@given(st.text("abcd", min_size=5, max_size=9), st.lists(st.text("abcd", min_size=5, max_size=9), max_size=30))
def test_both_ways_to_search_agree(word: str, known: list[str]):
    if word not in known:
        assert Spellings(known).nearest(word) == one_edit_from(word, known)
