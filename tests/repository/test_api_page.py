"""The page of the public names is complete and fresh."""

from functools import cache

import retinue
from tests.repository.api_page import GROUPS, PAGE, page

written = cache(page)


def test_every_public_name_stands_in_one_group() -> None:
    names = [name for group in GROUPS.values() for name in group.split()]
    assert sorted(names) == sorted(set(retinue.__all__) - {"__version__"})


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == written(), "write it anew: python -m tests.repository.api_page"


def test_a_signature_and_what_is_raised_are_told() -> None:
    text = written()
    assert "### call\n\n```python\nasync def call(" in text
    assert "- `UnknownName`: " in text
    assert "Raises:\n\n- `" in text
