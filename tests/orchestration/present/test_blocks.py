"""An answer as blocks, in reading order."""

import pytest
from hypothesis import given

from retinue.contract.table import Chart, Table
from retinue.orchestration.present.blocks import Heading, MarkdownBlock, OpenIssues, Sources, answer_blocks
from tests.contract.nouns import json_values
from tests.orchestration.present.answers import LINE, good, merged, whole


def test_every_kind_of_block_stands_in_reading_order() -> None:
    kinds = [type(block) for block in answer_blocks(whole().data)]
    assert kinds == [
        Heading, MarkdownBlock, Chart, Chart, Table, MarkdownBlock, Sources,
        Heading, MarkdownBlock, Sources,
        OpenIssues, OpenIssues, OpenIssues,
    ]  # fmt: skip


def test_one_section_needs_no_heading() -> None:
    assert [type(block) for block in answer_blocks(merged(good()).data)] == [MarkdownBlock]


def test_the_same_sources_are_not_listed_twice() -> None:
    first, second = (block for block in answer_blocks(whole().data) if isinstance(block, Sources))
    assert (first.is_repeated, second.is_repeated) == (False, True)
    assert first.places == second.places


def test_a_chart_and_its_table_share_a_title() -> None:
    table = {"title": LINE["title"], "columns": [{"name": "year"}], "rows": [["2010"]]}
    other = {"title": "Other", "columns": [{"name": "year"}], "rows": []}
    blocks = answer_blocks(merged(good(data={"tables": [other, table], "charts": [LINE]})).data)
    assert [block.title for block in blocks if isinstance(block, Chart | Table)] == ["Commits by year", "", "Other"]


@pytest.mark.parametrize("data", [None, "text", {"answer": "text"}, {"answer": [3]}, {"results": {}}])
def test_what_is_no_answer_has_no_blocks(data: object) -> None:
    assert answer_blocks(data) == ()


@given(json_values)
def test_no_data_makes_reading_raise(data: object) -> None:
    assert answer_blocks({"answer": [data], "failures": data, "questions": [data]}) is not None
