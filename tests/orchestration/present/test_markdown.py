"""An answer as Markdown: tables of the forges, charts in fences, and nothing foreign that is markup."""

import re

import pytest
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from retinue.contract.table import Chart, Series, Table, TableColumn
from retinue.orchestration.present.blocks import answer_blocks, as_code, as_line, as_sentences, sanitize_markdown
from retinue.orchestration.present.blocks_markdown import blocks_to_markdown
from tests.orchestration.present.answers import whole


@pytest.mark.requirement("G17")
def test_a_whole_answer() -> None:
    text = blocks_to_markdown(answer_blocks(whole().data))
    for words in (
        "## Request 0\n\nThe **first** answer.",
        "**Latency**\n\n```text\n/a  p50",
        "| author | commits | share (%) | where |\n| --- | ---: | ---: | --- |\n",
        "| Ada \\| Lovelace | 12345 | 0.3 | `src/a_b.py:3` |",
        "| \\<b\\>Bob\\</b\\> | 3 |  |  |",
        "… and 68 more rows. Counted by `email`.",
        "`tables[1]` is not a table and is not shown",
        "Sources: `src/a.py:3`",
        "Sources: as above",
        "## Not answered\n\n- make coffee: No agent here does this.",
        "## What went wrong\n\n- Request 2 (`breaker`): It broke `x`. Fix it.",
        "## Questions\n\n- Which?",
    ):
        assert words in text
    assert whole().content == text


def test_long_and_wide_tables_are_cut_and_counted() -> None:
    columns = tuple(TableColumn(name=f"c{place}") for place in range(30))
    table = Table(columns=columns, rows=tuple(("x" * 1000,) * 30 for _ in range(60)))
    text = blocks_to_markdown([table])
    assert text.count("\n| ") == 51
    assert "… and 10 more rows and 10 more columns." in text
    assert "x" * 301 not in text


def test_a_chart_in_ascii() -> None:
    chart = Chart(labels=("a",), series=(Series(values=(3,)),))
    assert blocks_to_markdown([chart], is_ascii=True).isascii()


@given(st.text(max_size=60))
def test_no_cell_leaves_its_row(text: str) -> None:
    columns = (TableColumn(name="a"), TableColumn(name="b", kind="source"))
    drawn = blocks_to_markdown([Table(columns=columns, rows=((text, text),))])
    (row,) = drawn.split("\n")[2:]
    bars = re.findall(r"(?<!\\)(?:\\\\)*\|", row)
    assert len(bars) >= 3
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", drawn)
    outside = re.sub(r"(`+).*?\1", "", row)
    assert not re.search(r"(?<!\\)<[a-zA-Z/!?]", outside)


@given(st.text(max_size=60))
def test_no_label_ends_the_fence_of_its_chart(text: str) -> None:
    drawn = blocks_to_markdown([Chart(labels=(text,), series=(Series(values=(1,)),))])
    fence = drawn.split("text\n")[0]
    assert drawn.startswith(fence)
    assert drawn.endswith(f"\n{fence}")
    assert fence not in drawn[len(fence) : -len(fence)]


def test_names_keep_their_underscores_and_lose_their_markup() -> None:
    assert as_line("src/a_b_c.py _x_ *y*") == "src/a_b_c.py \\_x\\_ \\*y\\*"
    assert as_code("a`b\nc") == "``a`b c``"
    assert as_sentences("it broke", "", " fix it.") == "It broke. Fix it."


@pytest.mark.parametrize(
    "text",
    [
        r"\<script>",
        r"\\<script>",
        r"\`<script>`",
        "``<script>`",
        r"\![x](javascript:a)",
        r"[x\](javascript:a)",
    ],
)
def test_a_backslash_or_a_tick_of_its_own_does_not_free_markup(text: str) -> None:
    shown = MarkdownIt("commonmark").render(sanitize_markdown(text))
    assert "<script" not in shown
    assert "<img" not in shown
    assert "href" not in shown
