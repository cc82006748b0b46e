"""What may be asked of one table, typed: figures, groups, conditions, an order.

A `TableQuery` is what a program sets, a model fills in and a grammar reads out of words: one value for all three.
`facts.TableFacts` says what can stand in it here; whoever computes it checks it against the real columns all the same.
"""

from typing import Annotated, Final, Literal, TypeAlias, cast

from pydantic import Field

from retinue.contract.model import Count, Many, Model

Function: TypeAlias = Literal[
    "count", "count_distinct", "sum", "mean", "median", "min", "max", "stddev", "share", "percentile"
]
Operator: TypeAlias = Literal[
    "=", "!=", "<", "<=", ">", ">=", "in", "not_in", "contains", "not_contains", "is_null", "not_null"
]
TimeUnit: TypeAlias = Literal[
    "none", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "weekday", "hour_of_day"
]
DatePart: TypeAlias = Literal["none", "day", "month", "year", "weekday", "hour"]
Value: TypeAlias = str | int | float | bool

_LABELS: Final[dict[Function, str]] = {
    "count": "values of {}", "count_distinct": "distinct {}", "share": "share of {} (%)", "sum": "total {}",
    "mean": "mean {}", "median": "median {}", "min": "min {}", "max": "max {}", "stddev": "stddev {}",
    "percentile": "p{percentile:g} {}",
}  # fmt: skip
_ColumnName = Annotated[str, Field(min_length=1, max_length=300)]
_Text = Annotated[str, Field(max_length=2000)]
_Number = Annotated[float, Field(ge=-1e300, le=1e300)]
_Scalar = _Text | int | _Number | bool


class Condition(Model):
    """What a row must fulfil."""

    column: Annotated[_ColumnName, Field(description="The column that is compared.")]
    op: Annotated[Operator, Field(description="How it is compared.")]
    value: _Scalar | Annotated[Many[_Scalar], Field(max_length=1000)] = Field(
        default="", description="What it is compared with; a list for in and not_in, nothing for is_null and not_null."
    )
    part: DatePart = Field(
        default="none", description="Compare only this part of a time, as a number; Monday is weekday 1."
    )

    @property
    def values(self) -> tuple[Value, ...]:
        """What it is compared with, one or several."""
        return self.value if isinstance(self.value, tuple) else (cast("Value", self.value),)


class Measure(Model):
    """One figure: a function over a column, or over rows."""

    function: Annotated[Function, Field(description="What is computed.")]
    column: str = Field(
        default="", max_length=300, description="Of which column; empty means of the rows, for count and share."
    )
    percentile: Annotated[float, Field(ge=0, le=100, description="Which one, with the function percentile.")] = 50
    where: Many[Condition] = Field(
        default=(), max_length=50, description="With share: what must hold for a row to be part of it."
    )

    @property
    def label(self) -> str:
        """The name of its column in an answer."""
        if not self.column:
            return "share (%)" if self.function == "share" else "rows"
        return _LABELS[self.function].format(self.column, percentile=self.percentile)


class Grouping(Model):
    """Rows with the same value, or in the same stretch of time, belong together."""

    column: Annotated[_ColumnName, Field(description="The column whose values make the groups.")]
    unit: Annotated[TimeUnit, Field(description="The stretch of time that a group is, for a column of times.")] = "none"

    @property
    def label(self) -> str:
        """The name of its column in an answer."""
        return self.column if self.unit == "none" else f"{self.column} ({self.unit.replace('_', ' ')})"


class GroupCondition(Model):
    """What a group must fulfil."""

    function: Annotated[Function, Field(description="What is computed of the group.")]
    column: Annotated[str, Field(max_length=300, description="Of which column; empty means of the rows.")] = ""
    op: Annotated[Literal["=", "!=", "<", "<=", ">", ">="], Field(description="How it is compared.")]
    value: Annotated[_Number, Field(description="What it is compared with.")]

    @property
    def measure(self) -> Measure:
        """The figure that is compared."""
        return Measure(function=self.function, column=self.column)


class Ordering(Model):
    """What comes first."""

    by: str = Field(
        default="",
        max_length=300,
        description="A measure's function or column, or a column; empty means the first measure.",
    )
    descending: Annotated[bool, Field(description="The largest first.")] = True


class TableQuery(Model):
    """A question to one table.

    Attributes:
        select: The rows themselves are asked for, with these columns; `*` for all. Otherwise figures are.
        averaged: The mean over all groups of their figure is asked for, not a row for each.
        limit: How many groups or rows at most; 0 for all.
    """

    measures: Many[Measure] = ()
    group_by: Many[Grouping] = ()
    where: Many[Condition] = ()
    having: Many[GroupCondition] = ()
    order: Ordering | None = None
    limit: Count = 0
    select: Many[str] = ()
    averaged: bool = False

    @property
    def share_conditions(self) -> tuple[Condition, ...]:
        """What must hold for a row to be part of a share."""
        return tuple(condition for measure in self.measures for condition in measure.where)

    @property
    def named_columns(self) -> set[str]:
        """Every column that it names."""
        columns = {
            one.column for one in (*self.measures, *self.group_by, *self.where, *self.share_conditions, *self.having)
        }
        return (columns | {*self.select, self.order.by if self.order else ""}) - {"", "*"}
