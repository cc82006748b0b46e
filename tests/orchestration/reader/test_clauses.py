"""Where a goal is cut, and where it may be."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.reader.text_tokens import (
    Clause,
    back_reference,
    join_pieces,
    split_clause,
    split_sentences,
    strip_courtesy,
)


def texts(clauses: tuple[Clause, ...]) -> list[str]:
    return [clause.text for clause in clauses]


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("Find it. Then show it!", ["Find it.", "Then show it!"]),
        ("What is it? where is it", ["What is it?", "where is it"]),
        ("find a; list b", ["find a", "list b"]),
        ("find a and then list b", ["find a", "list b"]),
        ("find a, then list b", ["find a", "list b"]),
        ("- find a\n- list b", ["find a", "list b"]),
        ("1. find a\n2. list b", ["find a", "list b"]),
        ("find a\n\nlist b", ["find a", "list b"]),
        ("a line that\nis wrapped", ["a line that\nis wrapped"]),
        ("e.g. this and i.e. that", ["e.g. this and i.e. that"]),
        ("the L.A. Lakers vs. others", ["the L.A. Lakers vs. others"]),
        ("see setup.py. Then go", ["see setup.py.", "Then go"]),
        ("find 'a. b; c' and `x; y`", ["find 'a. b; c' and `x; y`"]),
        ('"find one. list two"', ["find one.", "list two"]),
        ("它是什么\uff1f在哪里", ["它是什么\uff1f", "在哪里"]),
        ("Do it. On a different note, show all", ["Do it.", "show all"]),
        ("by the way, what is it", ["what is it"]),
        ("show it by the way", ["show it by the way"]),
        ("... !!", []),
    ],
)  # fmt: skip
def test_a_goal_is_cut_where_it_is_surely_cut(goal: str, wanted: list[str]):
    assert texts(split_sentences(goal)) == wanted


def test_then_makes_a_clause_follow_the_one_before():
    first, second, third = split_sentences("find this. Then list that, then show all")
    assert (first.follows, second.follows, third.follows) == (False, True, True)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("read and write", ["read", "write"]),
        ("a, b, and c", ["a", "b", "c"]),
        ("a as well as b", ["a", "b"]),
        ("find (a and b) and c", ["find (a and b)", "c"]),
        ("don't cut sand", ["don't cut sand"]),
    ],
)
def test_a_clause_may_be_cut_at_every_and(text: str, wanted: list[str]):
    assert texts(split_clause(Clause(text))) == wanted


def test_pieces_join_again_with_the_words_between_them():
    whole = Clause("find a, and b as well as c")
    first, second, third = split_clause(whole)
    assert join_pieces(whole, first, second).text == "find a, and b"
    assert join_pieces(whole, second, third).text == "b as well as c"
    assert join_pieces(whole, first, third) == whole


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Could you please find it", "find it"),
        ("I'd like to find it", "find it"),
        ("then tell me what it is", "what it is"),
        ("tell me a story", "tell me a story"),
        ("please ", "please "),
    ],
)
def test_courtesies_are_left_out(text: str, wanted: str):
    assert strip_courtesy(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("what that commit changed", "that commit"),
        ("summarise it", "it"),
        ("based on that", "based on that"),
        ("for each of them", "each of them"),
        ("which of those are red", "which of those"),
        ("what is in this repository", None),
        ("the code that changes files", None),
        ("who wrote the parser", None),
    ],
)
def test_what_speaks_of_another_clause_is_seen(text: str, wanted: str | None):
    assert back_reference(text) == wanted


@given(
    st.one_of(st.text(max_size=400), st.lists(st.sampled_from([*"ab. ,;'\"`()\n?-1", " and ", "then"])).map("".join))
)
def test_no_text_makes_it_raise_and_no_word_is_invented(goal: str):
    tidy = " ".join(goal.split())
    for clause in split_sentences(goal):
        assert " ".join(clause.text.split()) in tidy
        parts = split_clause(clause)
        for part in parts:
            assert clause.text[part.start : part.end] == part.text
        if parts:
            assert join_pieces(clause, parts[0], parts[-1]).text == clause.text[parts[0].start : parts[-1].end]
