"""What kind of saying a clause is."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.routing.speech import Kind, change_asked, is_imperative, kind_of, without_limits


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("thanks", "nothing"),
        ("Thank you very much for your help!", "nothing"),
        ("no more questions", "nothing"),
        ("hi there, how are you doing today?", "nothing"),
        ("well done", "nothing"),
        ("thanks " * 200, "request"),
        ("thanks for nothing, who wrote it", "request"),
        ("hello world program", "request"),
        ("do not list commits", "refusal"),
        ("don't run the tests", "refusal"),
        ("please never change anything", "refusal"),
        ("no need to explain it", "refusal"),
        ("I don't want to see the commits", "refusal"),
        ("don't look at the changelog", "limit"),
        ("do not use the web", "limit"),
        ("ignore merges", "limit"),
        ("but not in the tests", "limit"),
        ("don't forget to count the merges", "request"),
        ("list commits", "request"),
        ("that helps a lot", "nothing"),
        ("In docs/api.md", "limit"),
        ("for the checkout", "limit"),
        ("just the commits", "limit"),
        ("short answer", "limit"),
        ("on which branch am I", "request"),
        ("only show commits", "request"),
        ("in " + "very " * 40 + "deep water", "request"),
        ("why do we not use a cache", "request"),
    ],
)
def test_a_clause_is_a_request_or_something_else(text: str, kind: Kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("delete all branches", "delete"),
        ("Deploy it to production", "deploy"),
        ("merge the two branches", "merge"),
        ("merge commits of May", None),
        ("update me on the release", "update"),
        ("delte the file", None),
        ("delette the file", "delete"),
        ("write a summary of the README", None),
        ("create a short list of authors", None),
        ("make a chart of commits by month", None),
        ("order the files by size", None),
        ("book a table for two", "book"),
        ("how do I delete a branch", None),
        ("changes of the last week", None),
        ("", None),
    ],
)
def test_an_order_to_change_something_is_told_from_a_request_to_be_told(text: str, verb: str | None):
    assert change_asked(text) == verb


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bake me a cake", True),
        ("sing me a song", True),
        ("paint the shed", True),
        ("remove it", True),
        ("warnings in the code", False),
        ("from the docs", False),
        ("reading the file", False),
        ("the parser", False),
        ("go", False),
    ],
)
def test_an_order_in_unknown_words_is_seen(text: str, wanted: bool):
    assert is_imperative(text) is wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("who wrote it, not in tests", "who wrote it"),
        ("all commits except merges", "all commits"),
        ("the total without the cancelled ones", "the total"),
        ("the log without merges", "the log merges"),
        ("which files are not committed", "which files are not committed"),
        ("except merges", "except merges"),
        ("what is new, don't look at the docs, please", "what is new, please"),
    ],
)
def test_what_is_to_be_left_out_is_no_topic(text: str, wanted: str):
    assert " ".join(without_limits(text).split()) == wanted


SAID = st.sampled_from(
    [
        "thanks",
        "again",
        "very",
        "much",
        "no",
        "not",
        "do",
        "n't",
        "don't",
        "ignore",
        "except",
        ",",
        ".",
        "!",
        "?",
        "hello",
        "for",
        "the",
        "all",
        "ok",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(SAID, max_size=80).map(" ".join)))
def test_any_text_is_of_some_kind_at_once(text: str):
    assert kind_of(text) in {"request", "nothing", "limit", "refusal"}
    assert without_limits(text) in {text, without_limits(text)}
    assert is_imperative(text) or change_asked(text) is None
