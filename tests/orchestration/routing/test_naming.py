"""What in a request is a name: topic, and no word of the task."""

import pytest
from hypothesis import given, strategies as st

from retinue.orchestration.routing._naming import NAMED, ending_of, endings, nameless, names_code
from retinue.orchestration.routing.words import word_tokens


@pytest.mark.parametrize(
    "text",
    ["who calls `flush`", "where is load_config", "what does parse() do", "find HttpClient", "see fetchUser", "`a b`"],
)
def test_a_name_of_code_is_known_by_how_it_is_written(text: str):
    assert names_code(text)
    assert NAMED in word_tokens(nameless(text))


@pytest.mark.parametrize("text", ["who calls it", "what does the README say", "end-to-end tests", ""])
def test_plain_words_name_no_code(text: str):
    assert not names_code(text)
    assert nameless(text) == text


def test_a_file_leaves_its_ending_and_nothing_else():
    assert nameless("review src/app.py and docs/guide.md") == "review .py and .md"


def test_endings_are_those_of_files():
    assert endings("hold data/A.CSV against logs/access.log") == ["csv", "log"]
    assert endings("nothing here") == []


@pytest.mark.parametrize(
    ("path", "ending"), [("src/app.py", "py"), ("a.tar.GZ", "gz"), ("v1.2/notes", ""), ("Makefile", "")]
)
def test_the_ending_of_a_path_is_that_of_its_last_part(path: str, ending: str):
    assert ending_of(path) == ending


@given(st.text(max_size=200))
def test_any_text_is_read(text: str):
    assert isinstance(nameless(text), str)
    assert all(one == one.lower() for one in endings(text))
    assert ending_of(text) == ending_of(text).lower()
