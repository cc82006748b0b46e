"""How common words are anywhere."""

import pytest
from hypothesis import given, settings, strategies as st

from bench.background import KINDS, lines
from retinue.orchestration.routing._background import Background, Kind, path_of, table
from retinue.orchestration.routing._view import gram_background, word_background
from retinue.orchestration.routing.words import word_tokens
from tests.examples import examples


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_are_what_the_public_sets_say(kind: Kind):
    assert path_of(kind).read_text(encoding="utf-8") == lines(kind), "run `python -m bench.background`"


def test_a_rare_word_tells_more_than_a_common_one_and_an_unknown_one_most():
    words = word_background()
    the, file, unheard = (words.rarity(token) for token in ("the", *word_tokens("file"), "qwrtzx"))
    assert 0 < the < file < unheard == words.unknown
    assert words.knows("the")
    assert not words.knows("qwrtzx")
    assert gram_background().rarity(" the") < gram_background().rarity("qwrt")


def test_a_function_word_is_common_even_where_no_text_holds_it():
    without = Background(100, {50: ["number"], 1: ["whose"]})
    background = Background(100, {50: ["number"], 1: ["whose"]}, function=["whose", "number"])
    assert background.rarity("whose") < without.rarity("whose")
    assert background.rarity("number") == without.rarity("number")


@given(st.dictionaries(st.text("ab ", min_size=1), st.integers(1, 9)))
@settings(max_examples=examples(80))
def test_a_table_holds_every_token_once(counts: dict[str, int]):
    first, *rest = table(9, counts)
    assert first == "9"
    assert sum(len(line.split(" ")) - 1 for line in rest) == len(counts)
