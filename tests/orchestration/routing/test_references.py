"""Words that point to another clause."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.routing.references import antecedent, is_of_a_group, looks_back, pronoun_in


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("what did she change before it", "she"),
        ("who wrote it", "it"),
        ("where is it documented", "it"),
        ("which tests cover them", "them"),
        ("who made these", "these"),
        ("which module calls them", "them"),
        ("why is that", "that"),
        ("how many rows does the file have", "the file"),
        ("how many rows does the file orders.csv have", None),
        ("how does the parser work when it fails", None),
        ("list the functions and their tests", None),
        ("what does `load` return when it is called", None),
        ("is it possible to cancel a run", None),
        ("the code that changes files", None),
        ("it's fine", None),
        ("find the docs", None),
    ],
)
def test_a_pronoun_points_back_unless_its_own_clause_says_what_it_is(text: str, wanted: str | None):
    assert pronoun_in(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("who changed the parser last", "the parser"),
        ("how does the retry policy work", "the retry policy"),
        ("what does docs/guide.md say about the limits", "docs/guide.md"),
        ("what is the highest high_c in daily.parquet", "daily.parquet"),
        ("explain `load_config`", "load_config"),
        ("explain the load_config function", "load_config"),
        ("which commits are the largest", ""),
        ("what is the last commit", ""),
        ("who are they", ""),
    ],
)
def test_what_a_later_pronoun_stands_for(text: str, wanted: str):
    assert antecedent(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"), [("how many of them were late", True), ("what is in the file", True), ("who wrote it", False)]
)
def test_the_inside_of_what_was_spoken_of(text: str, wanted: bool):
    assert is_of_a_group(text) is wanted


@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(
            st.sampled_from(
                ["the", "it", "them", "its", "a-b", "a.b", "parser", "tests", "who", "of", "that", "file", "`x`", "-"]
            )
        ).map(" ".join),
    )
)
def test_what_is_pointed_out_stands_in_the_text(text: str):
    for found in (pronoun_in(text), looks_back(text), antecedent(text)):
        assert found is None or found.lower() in text.lower()


def test_a_very_long_text_takes_no_time():
    assert pronoun_in("cats and dogs " + "they " * 20_000) is None
    assert antecedent("a-" * 20_000) == ""


def test_the_thing_that_it_did_is_what_another_is_to_bring():
    assert looks_back("explain the module it touched") == "the module it touched"
    assert looks_back("explain the module") is None


def test_a_name_inside_a_sentence_is_what_it_is_about():
    assert antecedent("why would we pick Flask") == "Flask"
    assert antecedent("Why would we pick that") == ""
