"""What is wanted of one table, as a value: measures, groups, conditions, an order. How it was said stands elsewhere."""

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from retinue.contract.table import Cell

__all__ = [
    "Condition",
    "Function",
    "Group",
    "Having",
    "Measure",
    "Operator",
    "Order",
    "Part",
    "Unit",
    "Wanted",
]

Function: TypeAlias = Literal[
    "count", "count_distinct", "sum", "mean", "median", "min", "max", "stddev", "share", "percentile"
]
Operator: TypeAlias = Literal[
    "=", "!=", "<", "<=", ">", ">=", "in", "not_in", "contains", "not_contains", "is_null", "not_null"
]
Unit: TypeAlias = Literal[
    "second", "minute", "hour", "day", "week", "month", "quarter", "year", "weekday", "hour_of_day"
]
"""How times are put into buckets; the last two fold all weeks, or all days, into one."""
Part: TypeAlias = Literal["month", "year", "weekday", "hour"]
"""A part of a time that a condition may be about, as a number; Monday is weekday 1."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: a function over a column, or over rows when there is none."""

    function: Function
    column: str | None = None
    percentile: float | None = None
    words: str = ""

    @property
    def label(self) -> str:
        """The name of its column in a table."""
        match self.function:
            case "count":
                return "rows" if self.column is None else f"values of {self.column}"
            case "count_distinct":
                return f"distinct {self.column}"
            case "share":
                return "share (%)" if self.column is None else f"share of {self.column} (%)"
            case "percentile":
                return f"p{self.percentile:g} {self.column}"
            case "sum" if self.column == "total":
                return "sum of total"
            case "sum" | "mean" | "median" | "min" | "max" | "stddev":
                return f"{_LABELS[self.function]} {self.column}"


_LABELS: Final = {
    "sum": "total",
    "mean": "mean",
    "median": "median",
    "min": "min",
    "max": "max",
    "stddev": "stddev",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What a row must fulfil."""

    column: str
    operator: Operator
    value: Cell | tuple[Cell, ...] = None
    part: Part | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with the same value, or in the same stretch of time, belong together.

    Attributes:
        serial: The values follow each other (months, hours), so that groups stand in their order.
    """

    column: str
    unit: Unit | None = None
    words: str = ""
    serial: bool = False

    @property
    def label(self) -> str:
        """The name of its column in a table."""
        return self.column if self.unit is None else f"{self.column} ({self.unit.replace('_', ' ')})"


@dataclass(frozen=True, slots=True)
class Having:
    """What a group must fulfil."""

    measure: Measure
    operator: Operator
    value: Cell
    words: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """By which measure (`by` is its place), group (a column's name) or column rows are put in order."""

    by: int | str
    descending: bool = True
    words: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One statement's worth.

    Attributes:
        within: With a share: what must hold for a row to count; `conditions` say of which rows it is a share.
        rows: The rows themselves are wanted, not figures about them; `columns` leads.
        averaged: The mean over the groups of their figures is wanted, not a row a group.
    """

    measures: tuple[Measure, ...] = (Measure("count"),)
    groups: tuple[Group, ...] = ()
    conditions: tuple[Condition, ...] = ()
    within: tuple[Condition, ...] = ()
    having: tuple[Having, ...] = ()
    order: Order | None = None
    limit: int | None = None
    rows: bool = False
    columns: tuple[str, ...] = field(default=())
    averaged: bool = False

    @property
    def named(self) -> set[str]:
        """Every column that it names."""
        found = {one.column for one in self.measures if one.column is not None}
        found |= {one.column for one in (*self.groups, *self.conditions, *self.within)}
        found |= {one.measure.column for one in self.having if one.measure.column is not None}
        return found | ({self.order.by} if self.order is not None and isinstance(self.order.by, str) else set[str]())
