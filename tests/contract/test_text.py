"""Text is cut at the edge of a word, and never through a character; words are listed as people list them."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from retinue.contract.formatting import natural_list, truncate


@pytest.mark.requirement("C24")
@pytest.mark.parametrize(
    ("line", "limit", "short"),
    [
        ("as long as that", 15, "as long as that"),
        ("as long as that", 14, "as long as"),
        ("as long as that", 10, "as long as"),
        ("as long as that", 1, "a"),
        ("unbroken", 3, "unb"),
        ("xxxe\u0301", 4, "xxx"),
        ("\u0301" * 9, 4, "\u0301" * 4),
        ("ab\U0001f468\u200d\U0001f469", 3, "ab"),
        ("", 1, ""),
    ],
)
def test_a_line_is_cut_where_a_reader_would(line: str, limit: int, short: str) -> None:
    assert truncate(line, limit) == short


@pytest.mark.requirement("C24")
@given(st.text(st.characters(categories=["L", "M", "Zs"]) | st.just("\u200d"), max_size=60), st.integers(1, 40))
def test_what_is_cut_is_the_beginning_and_fits(line: str, limit: int) -> None:
    short = truncate(line, limit)
    assert line.startswith(short)
    assert len(short) <= limit or short == line
    rest = line[len(short) :]
    assert len(short) in {0, 1, limit} or not rest or not unicodedata.combining(rest[0])


def test_words_are_listed_as_in_a_sentence() -> None:
    assert [natural_list(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert natural_list(iter("abc"), last="or") == "a, b or c"
