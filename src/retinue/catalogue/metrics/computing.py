"""Metrics computed by SQL in a closed database: values with the statement and the rows they rest on."""

# SQL is put together from our own words, names that `identifier` quotes, dates, and the expressions of the
# configuration. What those can do is bounded by where they run: one SELECT, read-only, nothing outside within reach.

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, cast

from retinue.catalogue.metrics.configuration import EVERY_PERIOD, Configuration, MetricDefinition
from retinue.catalogue.metrics.periods import DateRange, period_of_label
from retinue.contract.names import nearest
from retinue.errors import InvalidDefinition, InvalidInput, UnknownName
from retinue.tools.data import Data, Rows, Source, identifier

__all__ = ["Computed", "Metering"]

_EXACT: Final = 1e15
"""From here on a float has no decimal places worth rounding."""
_SHOWN: Final = 10
"""How many of the rows that a figure rests on are shown; the statement gives them all."""


@dataclass(frozen=True, slots=True)
class Computed:
    """One value.

    Attributes:
        period: The days that were computed: those asked about of which there are data.
        value: None when nothing happened of which there is a mean or sum.
        rows: How many rows it rests on.
        sql: The statement that gave it.
    """

    period: DateRange
    value: float | None
    rows: int
    sql: str


class Metering:
    """The metrics of one configuration over the rows of its source."""

    def __init__(self, data: Data, source: Source, configuration: Configuration, *, file: str) -> None:
        self._data = data
        self._file = file
        self._table = identifier(source.table)
        self._fields = {field.name: field for field in source.fields}
        self.configuration = configuration
        self.source = source
        self._date = identifier(self._column("date", configuration.source.date))
        self.coverage = self._coverage()

    def metric(self, name: str) -> MetricDefinition:
        """The metric called `name`.

        Raises:
            UnknownName: It is not listed; all that are stand in `suggestions`.
        """
        known = self.configuration.metrics
        if name not in known:
            near = nearest(name, known)
            raise UnknownName(
                f"{name[:80]!r} is not among the metrics.",
                hint=f"Available: {', '.join(known)}.",
                path="/parameters/metric",
                suggestions=tuple(dict.fromkeys((*near, *known))),
            )
        return known[name]

    def covered(self, period: DateRange) -> DateRange:
        """The days of `period` of which there are data.

        Raises:
            InvalidInput: There are none; the hint says of which there are.
        """
        common = period.common(self.coverage)
        if common is None:
            raise InvalidInput(
                f"There are no data of {period}.",
                hint=f"Ask about {self.coverage}. Nothing is forecast.",
                suggestions=(str(self.coverage),),
            )
        return common

    def compute(self, name: str, period: DateRange) -> Computed:
        """A metric over the days of `period` of which there are data.

        Raises:
            UnknownName: as `metric`.
            InvalidInput: as `covered`.
            InvalidDefinition: The SQL of the metric is refused, or gives no number.
        """
        metric, period = self.metric(name), self.covered(period)
        # Line breaks, so that a comment at the end of an expression ends there.
        sql = f"SELECT\n  {metric.sql}\nAS value, count(*) AS row_count\n{self._from(period, metric)}"
        try:
            found = self._data.query(sql, limit=2).rows
        except InvalidInput as error:
            raise self._uncomputable(name, error.message) from error
        value = found[0][0] if len(found) == 1 and len(found[0]) == 2 else ""
        if isinstance(value, bool | str):
            raise self._uncomputable(name, "It does not give one number.")
        if isinstance(value, float) and abs(value) < _EXACT:
            value = float(Decimal(str(value)).quantize(Decimal(1).scaleb(-metric.decimals), ROUND_HALF_UP))
        return Computed(period, value, cast("int", found[0][1]), sql)

    def rows(self, name: str, period: DateRange) -> Rows:
        """The first of the rows that a metric rests on, in order of time; their statement gives all of them."""
        return self._first(f"SELECT *\n{self._from(self.covered(period), self.metric(name))}\nORDER BY {self._date}")

    def target(self, metric: MetricDefinition, period: DateRange) -> float | None:
        """What should be reached in `period`: said of that period, else of every one."""
        said = (value for label, value in metric.targets.items() if period_of_label(label) == period)
        return next(said, metric.targets.get(EVERY_PERIOD))

    def churn(self, first: DateRange, second: DateRange) -> tuple[int, Computed, Rows]:
        """How many customers bought in `first`, how many of them not in `second`, and the rows of `first`.

        Raises:
            InvalidInput: One of them is not wholly in the data: who has not bought *yet* has not left.
            InvalidDefinition: The configuration names no column for the customer.
        """
        for period in (first, second):
            if self.covered(period) != period:
                raise InvalidInput(
                    f"The data are of {self.coverage}, and customers may buy in the rest of {period}.",
                    hint=f"Ask about quarters within {self.coverage}.",
                    suggestions=(str(self.coverage),),
                )
        customer = identifier(self._column("customer", self.configuration.source.customer))
        left = (
            f"{customer} NOT IN (\n  SELECT {customer} FROM {self._table}\n  WHERE {self._within(second)}"
            f" AND {customer} IS NOT NULL\n)"
        )
        chosen = f"FROM {self._table}\nWHERE {self._within(first)} AND {customer} IS NOT NULL"
        sql = (
            f"SELECT count(DISTINCT {customer}) AS customers, count(*) AS row_count,\n"
            f"count(DISTINCT {customer}) FILTER (WHERE {left}) AS churned\n{chosen}"
        )
        ((customers, rows, churned),) = cast("list[tuple[int, int, int]]", self._data.query(sql).rows)
        shown = self._first(f"SELECT *, {left} AS churned\n{chosen}\nORDER BY {self._date}")
        return customers, Computed(first, churned, rows, sql), shown

    def _uncomputable(self, name: str, why: str) -> InvalidDefinition:
        return InvalidDefinition(
            f"The metric `{name}` cannot be computed: {why}",
            hint=f"Correct its `sql` or `where`. The columns are {', '.join(self._fields)}."[:1000],
            path=f"{self._file}#/metrics/{name}",
        )

    def _first(self, sql: str) -> Rows:
        return self._data.query(sql, limit=_SHOWN)

    def _from(self, period: DateRange, metric: MetricDefinition) -> str:
        return f"FROM {self._table}\nWHERE {self._within(period)}" + (
            f" AND (\n  {metric.where}\n)" if metric.where else ""
        )

    def _within(self, period: DateRange) -> str:
        return f"{self._date} >= DATE '{period.start}' AND {self._date} < DATE '{period.end}'"

    def _column(self, role: str, name: str | None) -> str:
        """The column that plays a role, seen to be there."""
        where = f"{self._file}#/source/{role}"
        hint = f"Set `{role}` to one of: {', '.join(self._fields)[:1000]}."
        if name is None:
            raise InvalidDefinition(f"It is not said which column is the {role}.", hint=hint, path=where)
        field = self._fields.get(name)
        if field is None:
            why = f"`{self.source.path}` has no column {name[:80]!r}."
            raise InvalidDefinition(why, hint=hint, path=where, suggestions=nearest(name, self._fields))
        if role == "date" and field.type not in {"date", "timestamp"}:
            why = f"The column {name[:80]!r} of `{self.source.path}` holds {field.type}, not dates."
            raise InvalidDefinition(why, hint="Name a column of dates, written as 1997-03-01.", path=where)
        return name

    def _coverage(self) -> DateRange:
        """From the first day to the last of which there are data."""
        said = self.configuration.source
        sql = f"SELECT CAST(min({self._date}) AS DATE), CAST(max({self._date}) AS DATE) FROM {self._table}"
        ((first, last),) = cast("list[tuple[str | None, str | None]]", self._data.query(sql).rows)
        if first is None or last is None:
            raise InvalidDefinition(
                f"`{self.source.path}` has no row with a date.", hint="Name a source that has rows.", path=self._file
            )
        days = said.first_day or date.fromisoformat(first), said.last_day or date.fromisoformat(last)
        try:
            return DateRange.of_days(*days)
        except InvalidInput as error:
            raise InvalidDefinition(
                f"The data of `{self.source.path}` cover no days: {error.message}",
                hint="Correct `first_day` and `last_day`, or leave them out.",
                path=f"{self._file}#/source",
            ) from error
