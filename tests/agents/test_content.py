"""The answer as text (C8)."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary.validate_reply import render_content
from retinue.contract.sanitize import escape_inline

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.requirement("C8")
def test_data_is_told_in_a_few_lines() -> None:
    data: dict[str, object] = {
        "words": 2,
        "ok": True,
        "tags": ["a", "b"],
        "rows": [{}, {}],
        "one": {"a": 1, "b": "x"},
        "deep": {"a": [1]},
        "found": [{"title": "Leak", "high": True}, {"title": "Slow", "high": False}],
        "gone": None,
        "none": [],
    }
    assert render_content(data).splitlines() == [
        "- words: 2", "- ok: yes", "- tags: a, b", "- rows: 2 items", "- one: a: 1, b: x", "- deep: 1 member",
        "- found: title: Leak, high: yes; title: Slow, high: no", "- gone: none", "- none: none",
    ]  # fmt: skip


def test_long_answers_are_cut_and_say_so() -> None:
    assert render_content(list(range(20))).splitlines()[-1] == "- and 8 more"
    assert render_content({str(number): number for number in range(13)}).splitlines()[-1] == "- and 1 more"
    assert len(render_content("x" * 10_000)) < 250


@pytest.mark.requirement("C36")
def test_foreign_words_cannot_be_markup() -> None:
    assert render_content({"a|b": "<script>\n# x"}) == "- a\\|b: \\<script\\> \\# x"


def test_scalars_and_empty_containers_have_words_too() -> None:
    assert (render_content("two"), render_content(None), render_content({}), render_content([])) == (
        "two", "none", "Nothing.", "Nothing.",
    )  # fmt: skip


@given(st.text(st.sampled_from("ab 1:;,%?'\"\n=_.-/@#|")))
def test_words_that_need_no_escaping_are_told_from_those_that_do(text: str) -> None:
    line = " ".join(text.split("\n"))
    assert render_content(line).split() == escape_inline(line).split()
    assert render_content([line]).split() == f"- {escape_inline(line)}".split()


@given(JSON)
def test_any_data_fits_into_a_few_lines(data: object) -> None:
    text = render_content(data)
    assert text or isinstance(data, str)
    assert text.count("\n") <= 12
    assert len(text) < 12 * 2_000
