"""Percentiles of columns of numbers, for all rows or for each group."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue.data_analyst.columns import Columns
from retinue.contract.table_query import Measure, TableQuery
from retinue.errors import InvalidInput

__all__ = ["with_percentiles"]

_USUAL: Final = (50.0, 90.0, 95.0, 99.0)


def with_percentiles(query: TableQuery, columns: Columns, points: Sequence[float]) -> TableQuery:
    """`query` with percentiles of its columns: `points`, else those it names, else 50, 90, 95 and 99.

    Raises:
        InvalidInput: No column of numbers is named, and there is not just one.
    """
    named = tuple(one for one in query.measures if one.function == "percentile")
    if named and not points:
        return query
    measured = dict.fromkeys(one.column for one in query.measures if one.column)
    names = [name for name in measured if columns.named(name).kind == "number"]
    numbers = [one.name for one in columns.numbers]
    if not names and len(numbers) == 1:
        names = numbers
    if not names:
        raise InvalidInput(
            "Percentiles need a column of numbers.",
            hint=f"Name one of {', '.join(numbers[:24])}." if numbers else "Name another file: this one has none.",
            path="/parameters/measures",
            suggestions=tuple(numbers[:24]),
        )
    measures = tuple(
        Measure(function="percentile", column=name, percentile=point) for name in names for point in points or _USUAL
    )
    return query.model_copy(update={"measures": measures, "select": (), "averaged": False})
