"""Token counters."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.contract import tokens
from retinue.errors import InvalidInput, UnknownName

# o200k's own counts of these texts, taken with bpe-openai 0.1.4.
SAMPLES = json.loads((Path(__file__).parent / "token_samples.json").read_text(encoding="utf-8"))


@pytest.mark.requirement("C20")
@pytest.mark.parametrize("kind", ["English", "code", "JSON", "logs"])
def test_words_stays_within_14_percent_of_o200k(kind: str):
    sample = SAMPLES[kind]
    assert tokens.get_counter().count(sample["text"]) == pytest.approx(sample["o200k"], rel=0.14)


@pytest.mark.requirement("C20")
@pytest.mark.parametrize("name", ["words", "chars4"])
def test_a_counter_says_its_name_and_counts_nothing_in_nothing(name: str):
    counter = tokens.get_counter(name)
    assert counter.name == name
    assert counter.count("") == 0
    assert counter.count("x") == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("hello world", 2),
        ("internationalisation", 3),
        ("1234567", 3),
        ("snake_case_name", 3),
        ("HTTPServer", 3),
        ("a  \n\n        b", 4),
        ("a    b", 3),
        ("== != ====", 3),
        ("____", 1),
        ("été", 3),
        ("人人", 2),
        (" ", 0),
    ],
)
def test_words_keeps_together_what_its_docstring_says(text: str, count: int):
    assert tokens.get_counter("words").count(text) == count


def test_a_begun_four_characters_count_whole():
    assert [tokens.get_counter("chars4").count("x" * length) for length in range(6)] == [0, 1, 1, 1, 1, 2]


@given(st.text())
def test_a_count_is_never_more_than_the_characters(text: str):
    for name in tokens.names():
        assert 0 <= tokens.get_counter(name).count(text) <= len(text)


@pytest.mark.parametrize("text", [" " * 1_000_000, "a" * 1_000_000, "\n " * 500_000, "(" * 1_000_000, " _" * 500_000])
def test_long_monotonous_texts_are_counted_in_pieces(text: str):
    assert 0 < tokens.get_counter("words").count(text) <= len(text)


def test_an_unknown_counter_lists_what_there_is():
    with pytest.raises(UnknownName) as caught:
        tokens.get_counter("word")
    assert caught.value.suggestions[0] == "words"
    assert set(caught.value.suggestions) == set(tokens.names())
    assert "`chars4`" in caught.value.hint


@dataclass(frozen=True)
class Lines:
    name: str = "test-lines"

    def count(self, text: str) -> int:
        return text.count("\n")


def test_another_counter_can_be_registered_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "_counters", dict(tokens._counters))  # pyright: ignore[reportPrivateUsage] - put back afterwards
    lines = Lines()
    tokens.register(lines)
    tokens.register(lines)
    assert tokens.get_counter("test-lines").count("a\nb\n") == 2
    with pytest.raises(InvalidInput, match="exists already"):
        tokens.register(Lines("words"))
