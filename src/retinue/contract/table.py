"""Rows and series an agent found, as values that can be looked at: who draws them is the business of others.

An agent puts them into its data under `tables` and `charts`; `orchestration/present` draws what it finds there.
"""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from retinue.contract.model import Count, Model
from retinue.errors import InvalidInput

Cell: TypeAlias = str | int | float | bool | None
"""One value of a row. Dates and times are text in ISO 8601; None is "no value"."""


class TableColumn(Model):
    """One column of a table.

    Attributes:
        kind: How it is set: numbers to the right; a `source` is a place to go to (`path:line`, a commit, an address).
        unit: What its numbers count, when they count something ("ms", "%").
    """

    name: Annotated[str, Field(min_length=1, max_length=200)]
    kind: Literal["text", "number", "time", "source"] = "text"
    unit: str | None = None


class Table(Model):
    """Rows of equal width.

    Raises:
        InvalidInput: A row has more or fewer cells than there are columns.

    Attributes:
        rows: What is shown, in order.
        total_rows: How many there are in all, when `rows` holds only the first of them.
        note: What a reader must know to read it right; one sentence.
    """

    title: str = ""
    columns: Annotated[tuple[TableColumn, ...], Field(min_length=1)]
    rows: tuple[tuple[Cell, ...], ...] = ()
    total_rows: Count | None = None
    note: str = ""

    @model_validator(mode="after")
    def _is_even(self) -> Self:
        for place, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"Row {place} has {len(row)} cells, and there are {len(self.columns)} columns.",
                    hint="Give each row one cell a column; None where there is no value.",
                    path=f"/rows/{place}",
                )
        return self


class Series(Model):
    """One line or one row of bars."""

    name: str = ""
    values: tuple[int | float | None, ...]


class Chart(Model):
    """Series over the same labels.

    Raises:
        InvalidInput: A series has more or fewer values than there are labels.

    Attributes:
        kind: `line` where the labels follow each other in time or size, `bar` where they are names.
        unit: What the values count.
    """

    title: str = ""
    kind: Literal["bar", "line"] = "bar"
    labels: Annotated[tuple[str, ...], Field(min_length=1)]
    series: Annotated[tuple[Series, ...], Field(min_length=1)]
    unit: str | None = None

    @model_validator(mode="after")
    def _is_even(self) -> Self:
        for place, one in enumerate(self.series):
            if len(one.values) != len(self.labels):
                raise InvalidInput(
                    f"Series {place} has {len(one.values)} values, and there are {len(self.labels)} labels.",
                    hint="Give each series one value a label; None where there is none.",
                    path=f"/series/{place}/values",
                )
        return self
