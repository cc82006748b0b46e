import pytest
from hypothesis import example, given, strategies as st

from retinue.tools.search.bm25 import WORD, expand, fold, strip_accents, terms


@pytest.mark.parametrize(
    "words",
    [
        ["retry", "retries", "retried"],
        ["cache", "caches", "cached", "caching"],
        ["index", "indexes", "indexed", "indexing"],
        ["run", "runs", "running"],
        ["stop", "stops", "stopped", "stopping"],
        ["process", "processes", "processed", "processing"],
        ["file", "files"],
        ["class", "classes"],
        ["match", "matches"],
    ],
)
def test_forms_of_one_word_meet(words: list[str]) -> None:
    assert len({fold(word) for word in words}) == 1


@pytest.mark.parametrize(
    "words", [["string", "str"], ["status", "stat"], ["class", "clas"], ["thing", "th"], ["bus", "b"]]
)
def test_different_words_stay_apart(words: list[str]) -> None:
    assert len({fold(word) for word in words}) == len(words)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("getUserName", ("getusernam", "get", "user", "nam")),
        ("get_user_name", ("getusernam", "get", "user", "nam")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("utf8", ("utf8", "utf", "8")),
        ("BM25", ("bm25", "bm", "25")),
        ("__init__", ("init",)),
        ("MAX", ("max",)),
        ("Überraschung", ("uberraschung",)),
        ("数据库", ("数据", "据库")),
        ("___", ()),
        ("x" * 65, ()),
    ],
)
def test_identifiers_are_taken_apart(word: str, found: tuple[str, ...]) -> None:
    assert expand(word) == found


@given(st.text(max_size=40))
@example("Straße ßẞ ﬁle")
@example("İstanbul")
@example("ANGSTRÖM_Å")
def test_every_term_is_a_substring_of_the_plain_text(text: str) -> None:
    squeezed = strip_accents(text)
    for term in terms(text):
        assert term in squeezed


@given(st.from_regex(r"[a-z]{1,15}", fullmatch=True))
def test_a_folded_word_is_a_beginning_of_it(word: str) -> None:
    assert word.startswith(fold(word))
    assert fold(word)
    assert WORD.fullmatch(word)
