"""What the skills take and give, as types."""

from datetime import date
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

from retinue.catalogue.metrics.configuration import SAMPLE
from retinue.contract.table import Table

__all__ = [
    "Basis",
    "CustomerChurn",
    "Figure",
    "ListedMetric",
    "MetricFigure",
    "MetricList",
    "MetricName",
    "PeriodComparison",
    "PeriodKind",
    "Since",
    "TargetStatus",
    "Until",
    "Year",
    "YearSales",
]

Year = Annotated[int, Field(ge=1000, le=9000, description="The calendar year, such as 1997.")]
_MEANINGS: Final = {
    "sales": "sales, revenue, turnover, income: how much was sold",
    "purchases": "purchases, orders: how many purchases were made",
    "items": "items, CDs: how many items were sold",
    "customers": "customers, buyers: how many customers bought",
    "average_purchase": "average purchase, basket, order value",
    "sales_per_customer": "sales per customer, revenue per buyer",
}
MetricName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="The metric: sales (revenue, turnover), purchases (orders), items (CDs), customers (buyers),"
        " average_purchase (basket), sales_per_customer, or one of the project's own.",
        json_schema_extra={
            "anyOf": [*({"const": name} for name in SAMPLE.metrics), {"type": "string"}],
            "enumDescriptions": [*(_MEANINGS[name] for name in SAMPLE.metrics), "one of the project's own"],
        },
    ),
]

Since = Annotated[date, Field(description="First day of the period, as YYYY-MM-DD.")]
Until = Annotated[date, Field(description="Last day of the period, as YYYY-MM-DD.")]


class Basis(BaseModel):
    """What a figure rests on."""

    source: str = Field(description="The file or table.")
    data_since: date = Field(description="The first day of which there are data.")
    data_until: date = Field(description="The last day of which there are data.")
    sql: str = Field(description="The statement that gave the figure.")
    row_count: int = Field(description="How many rows it rests on.")
    rows_sql: str = Field(description="The statement that gives these rows.")


class Figure(BaseModel):
    """One value of one metric."""

    answer: str = Field(description="The figure in a sentence.")
    metric: str
    definition: str = Field(description="What the metric is.")
    formula: str = Field(description="How it is computed.")
    value: float | None = Field(description="Absent when there is nothing to compute it from.")
    unit: str
    since: date = Field(description="The first day that was computed.")
    until: date = Field(description="The last day that was computed.")
    is_complete: bool = Field(description="Whether the data cover all days that were asked about.")
    basis: Basis
    tables: tuple[Table, ...] = Field(description="The comparisons, and the first of the rows.")


class YearSales(Figure):
    """The sales of one year."""

    year: int


PeriodKind = Literal["previous", "year_before", "year_to_date", "baseline"]


class PeriodComparison(BaseModel):
    """The same metric in another period."""

    kind: PeriodKind
    since: date
    until: date
    value: float | None = None
    change: float | None = Field(default=None, description="How much more it is now than in that period.")
    change_percent: float | None = Field(default=None, description="The same in percent of the value of that period.")
    note: str = Field(default="", description="Why there is no value.")


class TargetStatus(BaseModel):
    """What should be reached."""

    value: float
    better: Literal["higher", "lower"]
    status: Literal["met", "missed", "open"] = Field(description="Open while the data do not cover the whole period.")


class MetricFigure(Figure):
    """One value, with what it compares to."""

    comparisons: tuple[PeriodComparison, ...]
    target: TargetStatus | None = None


class CustomerChurn(BaseModel):
    """Customers who bought in the second quarter and not in the third."""

    answer: str = Field(description="The figure in a sentence.")
    year: int
    definition: str
    customers: int = Field(description="How many bought in the second quarter.")
    churned: int = Field(description="How many of them did not buy in the third.")
    churn_percent: float | None = Field(description="Absent when nobody bought in the second quarter.")
    basis: Basis
    tables: tuple[Table, ...]


class ListedMetric(BaseModel):
    """One metric there is."""

    name: str
    definition: str
    unit: str
    formula: str
    targets: dict[str, float]


class MetricList(BaseModel):
    """All metrics there are."""

    answer: str
    metrics: tuple[ListedMetric, ...]
    source: str
    data_since: date
    data_until: date
    tables: tuple[Table, ...]
