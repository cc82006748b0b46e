"""Tables and charts are read leniently and cut to what can be drawn; what is left out is said."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.contract.table import Table, TableColumn
from retinue.orchestration.present.blocks import MAX_ROWS, figures_in
from tests.contract.nouns import json_values
from tests.orchestration.present.answers import CHART, TABLE


def test_what_is_no_table_is_left_out_and_said() -> None:
    found = figures_in({"tables": [{"odd": 1}, TABLE, 7], "charts": {"labels": []}})
    assert [table.title for table in found.tables] == ["Commits by author"]
    assert found.charts == ()
    assert [said.partition(" is no")[0] for said in found.left_out] == ["`tables[0]`", "`tables[2]`", "`charts[0]`"]


UNEVEN: list[dict[str, Any]] = [
    {**TABLE, "rows": [["too", "short"]]},
    {**CHART, "labels": ["one"]},
    {**TABLE, "columns": []},
    {**TABLE, "rows": [[{}, 1, 2, 3]]},
]


@pytest.mark.parametrize("odd", UNEVEN)
def test_uneven_figures_are_none(odd: dict[str, Any]) -> None:
    found = figures_in({"tables": [odd]} if "rows" in odd else {"charts": [odd]})
    assert (found.tables, found.charts, len(found.left_out)) == ((), (), 1)


def test_many_rows_are_cut_and_counted() -> None:
    table = {"columns": [{"name": "n", "kind": "number"}], "rows": [[number] for number in range(MAX_ROWS + 5)]}
    (found,) = figures_in({"tables": [table]}).tables
    assert (len(found.rows), found.total_rows) == (MAX_ROWS, MAX_ROWS + 5)


def test_many_columns_labels_and_series_are_cut_and_said() -> None:
    wide = {"columns": [{"name": f"c{place}"} for place in range(10_000)], "rows": [["x"] * 10_000]}
    names = [str(place) for place in range(5_000)]
    long = {"labels": names, "series": [{"values": list(range(5_000))}]}
    many = {"labels": ["a"], "series": [{"name": f"s{place}", "values": [1]} for place in range(100)]}
    found = figures_in({"tables": [wide], "charts": [long, many]})
    assert len(found.tables[0].columns) == len(found.tables[0].rows[0]) == 60
    assert len(found.charts[0].labels) == MAX_ROWS
    assert len(found.charts[1].series) == 12
    assert len(found.left_out) == 3


def test_a_thousand_tables_are_a_dozen() -> None:
    found = figures_in({"tables": [TABLE] * 1000})
    assert len(found.tables) == 12
    assert found.left_out == ("988 more tables are not shown.",)


def test_a_noun_is_taken_as_it_is() -> None:
    table = Table(columns=(TableColumn(name="a"),), rows=(("x",),))
    assert figures_in({"tables": [table]}).tables == (table,)


@pytest.mark.parametrize("data", [None, 3, "text", [], {}, {"tables": None}])
def test_where_there_are_none_there_are_none(data: object) -> None:
    assert figures_in(data).to_json() == {}


@given(st.fixed_dictionaries({"tables": json_values, "charts": json_values}))
def test_no_data_makes_reading_raise(data: dict[str, Any]) -> None:
    found = figures_in(data)
    assert figures_in(found.to_json()).tables == found.tables
