"""Rows and series that can be drawn: even, named, and nothing but values."""

from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from retinue.contract.table import Chart, Series, Table, TableColumn
from retinue.errors import InvalidInput
from tests.contract.nouns import charts, tables


@given(tables)
def test_a_table_is_even(table: Table) -> None:
    assert {len(row) for row in table.rows} <= {len(table.columns)}


@given(charts)
def test_a_chart_is_even(chart: Chart) -> None:
    assert {len(one.values) for one in chart.series} == {len(chart.labels)}


def test_a_row_of_another_width_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        Table(columns=(TableColumn(name="a"), TableColumn(name="b")), rows=(("x", 1), ("y",)))
    assert caught.value.path == "/rows/1"
    assert "Row 1 has 1 cells, and there are 2 columns." in caught.value.message


def test_a_series_of_another_length_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        Chart(labels=("a",), series=(Series(values=(1,)), Series(values=(1, 2))))
    assert caught.value.path == "/series/1/values"


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": ()},
        {"columns": (TableColumn(name="a"),), "rows": (((),),)},
        {"columns": (TableColumn(name="a"),), "rows": ((float("nan"),),)},
        {"columns": (TableColumn(name="a"),), "total_rows": -1},
    ],
)
def test_what_is_no_table_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Table(**fields)


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_column_has_a_name_that_can_be_read(name: str) -> None:
    with pytest.raises(ValidationError):
        TableColumn(name=name)


def test_values_keep_their_kind_through_json() -> None:
    table = Table(columns=(TableColumn(name="a"),), rows=((True,), (1,), (1.5,), ("1",), (None,)))
    again = Table.model_validate_json(table.to_json_text())
    assert [type(row[0]) for row in again.rows] == [bool, int, float, str, type(None)]
