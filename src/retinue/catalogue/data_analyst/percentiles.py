"""Percentiles of a column of numbers, for all rows or for each group."""

from dataclasses import replace
from typing import Final

from retinue.catalogue.data_analyst.aggregate import aggregate
from retinue.catalogue.data_analyst.asked import question_id
from retinue.catalogue.data_analyst.columns import Columns
from retinue.catalogue.data_analyst.report import Report
from retinue.catalogue.data_analyst.wanted import Measure, Wanted
from retinue.contract.question import Question
from retinue.tools.data import Data

__all__ = ["USUAL", "percentiles"]

USUAL: Final = (50.0, 90.0, 95.0, 99.0)


def percentiles(data: Data, columns: Columns, wanted: Wanted, report: Report, *, asked: tuple[float, ...]) -> None:
    """The percentiles `asked` for (else 50, 90, 95 and 99) of every measured column, into `report`."""
    measured = list(dict.fromkeys(one.column for one in wanted.measures if one.column is not None))
    measured = [name for name in measured if columns.named(name).kind == "number"]
    if not measured:
        measured = [columns.numbers[0].name] if len(columns.numbers) == 1 else []
    if not measured:
        names = tuple(column.name for column in columns.numbers)
        text = (
            f"Percentiles of which column? Available: {', '.join(names[:24])}."
            if names
            else f"`{columns.source.path}` has no column of numbers."
        )
        report.questions = (
            Question(
                id=question_id("percentiles"), text=text, kind="choice" if names else "question", options=names[:24]
            ),
        )
        return
    points = asked or USUAL
    measures = tuple(Measure("percentile", name, one, words=f"p{one:g}") for name in measured for one in points)
    order = wanted.order if wanted.order is None or isinstance(wanted.order.by, str) else replace(wanted.order, by=0)
    aggregate(data, columns, replace(wanted, measures=measures, rows=False, averaged=False, order=order), report)
