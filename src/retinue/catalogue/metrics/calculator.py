"""What the metrics of a project are in some period: computed by SQL in a closed database, with the rows they rest on.

`metrics.toml` says where the rows are, and what is computed of them. It is data. SQL is put together from our own
words, names that `identifier` quotes, dates, and its expressions. What those can do is bounded by where they run: one
SELECT, read-only, nothing outside within reach.

Periods are of whole days, half open inside: the day after the last one is `end`. Nothing here knows today.
"""

import datetime as dt
import os
import re
import tomllib
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.fault import Fault
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model, SnakeName
from retinue.contract.names import nearest
from retinue.contract.table import Table
from retinue.errors import AccessDenied, InvalidDefinition, InvalidInput, MissingFile, UnknownName
from retinue.tools.data.database import Data
from retinue.tools.data.sources import DataSource, identifier
from retinue.tools.workspace import Workspace

_OWN_FILE: Final = ".retinue/metrics.toml"
"""Where a project says what its metrics are, from the root of its workspace."""
_DATABASE: Final = "RETINUE_METRICS_DATABASE"
"""The environment variable with the address of the database whose table is the source."""
_MOST_TOML: Final = 256 * 1024
_SHOWN_SQL: Final = 2_000
_SHOWN_ROWS: Final = 10
"""How many of the rows that a figure rests on are shown; the statement gives them all."""
_EXACT: Final = 1e15
"""From here on a float has no decimal places worth rounding."""
CHURN: Final = (
    "Customers who bought in the second quarter of the year and not in the third, as a share of all who bought in the"
    " second"
)

_Days: TypeAlias = tuple[date, date]


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


EVERY_PERIOD: Final = "every"
"""The key of a target that holds for each period, however long."""

_Text = Annotated[str, Field(min_length=1, max_length=2000)]


class SourceSettings(Model):
    """Where the rows are.

    Attributes:
        file: A data file of the workspace: Parquet, CSV, JSON.
        table: A table or view of the PostgreSQL database that the user names in the environment.
        date: The column that says when a row happened.
        customer: The column that says whose it is; without it there is no churn.
        first_day: Since when the rows are complete; otherwise the first date there is.
        last_day: Until when they are; otherwise the last date there is.
    """

    file: _Text | None = None
    table: _Text | None = None
    date: _Text
    customer: _Text | None = None
    first_day: dt.date | None = None
    last_day: dt.date | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.file is None) == (self.table is None):
            raise ValueError("name either `file` or `table`")
        if self.first_day is not None and self.last_day is not None and self.last_day < self.first_day:
            raise ValueError("`last_day` is before `first_day`")
        return self


class MetricDefinition(Model):
    """One metric.

    Attributes:
        definition: What it is, in words.
        unit: What its values count.
        sql: An aggregate over the columns of the source, such as `sum(amount)`.
        where: Which rows count, as an SQL condition; all of them when it is empty.
        decimals: To how many decimal places values are rounded.
        better: Which way is good.
        targets: What should be reached, by period (`1997`, `1997-Q2`, `1997-03`), or for `every`.
    """

    definition: _Text
    unit: Annotated[str, Field(max_length=40)] = ""
    sql: _Text
    where: Annotated[str, Field(max_length=2000)] = ""
    decimals: Annotated[int, Field(ge=0, le=10)] = 2
    better: Literal["higher", "lower"] = "higher"
    targets: dict[str, float] = Field(default_factory=dict[str, float])

    @field_validator("targets")
    @classmethod
    def _check_periods(cls, targets: dict[str, float]) -> dict[str, float]:
        for label in targets:
            if label != EVERY_PERIOD and period_of_label(label) is None:
                raise ValueError(f"{label!r} is not a valid period; write 1997, 1997-Q2, 1997-03 or {EVERY_PERIOD}")
        return targets


class Configuration(Model):
    """A whole file."""

    source: SourceSettings
    metrics: Annotated[dict[SnakeName, MetricDefinition], Field(min_length=1, max_length=200)]


def parse_configuration(data: bytes, *, file: str) -> Configuration:
    """Read a `metrics.toml`.

    Args:
        data: Its bytes, in UTF-8.
        file: What it is called in messages.

    Raises:
        InvalidDefinition: It is no TOML, or does not say what it must; `path` says where, `detail` lists everything.
    """
    try:
        return Configuration.model_validate(tomllib.loads(data.decode("utf-8-sig")))
    except ValidationError as error:
        findings = findings_of(error, rule="metrics/shape")
        raise InvalidDefinition(
            f"`{file}` is not a file of metrics: {summarise_findings(findings)}.",
            hint=findings[0].fix or "Correct it there. The guide `metrics` shows a whole file.",
            path=f"{file}#{findings[0].path}",
            detail=as_detail(findings),
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidDefinition(
            f"`{file}` cannot be read as TOML: {reason}.", hint="Correct it at that place.", path=file
        ) from None


SAMPLE: Final = parse_configuration(Path(__file__).with_name("cdnow.toml").read_bytes(), file="cdnow.toml")
"""The metrics over the sample that comes with Retinue."""

_DAY: Final = timedelta(days=1)
_LABEL: Final = re.compile(r"(\d{4})(?:-(?:Q([1-4])|(0[1-9]|1[0-2])))?", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1000, 9000
"""Far enough from the ends of the calendar that no shift by a year or by the period itself leaves it."""


@dataclass(frozen=True, slots=True)
class DateRange:
    """From `start`, up to and without `end`."""

    start: date
    end: date

    @classmethod
    def of_days(cls, first: date, last: date) -> Self:
        """The days from `first` to `last`, both included.

        Raises:
            InvalidInput: `last` is before `first`, or a year is outside of 1000 to 9000.
        """
        if last < first:
            raise InvalidInput(f"The last day, {last}, is before the first, {first}.", hint="Swap them.")
        for day in (first, last):
            if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
                raise InvalidInput(
                    f"{day} is outside of what can be asked about.", hint="Name a year from 1000 to 9000."
                )
        return cls(first, last + _DAY)

    @property
    def last(self) -> date:
        """The last day."""
        return self.end - _DAY

    def __str__(self) -> str:
        return f"{self.start} to {self.last}"

    def common(self, other: "DateRange") -> "DateRange | None":
        """The days of both; None when there is none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return DateRange(start, end) if start < end else None

    def previous(self) -> "DateRange":
        """What came before, as long: as many months where these are whole months, else as many days."""
        if self.start.day == self.end.day == 1:
            months = 12 * (self.end.year - self.start.year) + self.end.month - self.start.month
            return DateRange(_shift_months(self.start, months=-months), self.start)
        return DateRange(self.start - (self.end - self.start), self.start)

    def year_before(self) -> "DateRange":
        """The same days a year earlier; February stays whole in leap years and before them."""
        return DateRange(_shift_months(self.start, months=-12), _shift_months(self.end, months=-12))

    def year_to_date(self) -> "DateRange":
        """From the beginning of the year in which it ends."""
        return DateRange(date(self.last.year, 1, 1), self.end)


def period_of_label(label: str) -> DateRange | None:
    """The period that `1997`, `1997-Q2` or `1997-03` names; None when it names none."""
    match = _LABEL.fullmatch(label)
    if match is None or not _FIRST_YEAR <= int(match[1]) <= _LAST_YEAR:
        return None
    year, quarter, month = match.groups()
    first, months = (int(month), 1) if month else (3 * int(quarter) - 2, 3) if quarter else (1, 12)
    start = date(int(year), first, 1)
    return DateRange(start, _shift_months(start, months=months))


def _shift_months(day: date, *, months: int) -> date:
    """The same day some months away; the last of that month where it is shorter."""
    years, month = divmod(day.month - 1 + months, 12)
    _, days = monthrange(day.year + years, month + 1)
    return date(day.year + years, month + 1, min(day.day, days))


class MetricCalculator:
    """The metrics of one configuration over the rows of its source, as replies."""

    def __init__(self, data: Data, source: DataSource, configuration: Configuration) -> None:
        self._data = data
        self._path = source.path
        self._file = "cdnow.toml" if configuration is SAMPLE else _OWN_FILE
        self._table = identifier(source.table)
        self._fields = {field.name: field for field in source.fields}
        self._configuration = configuration
        self._date = self._column("date", configuration.source.date)
        # From the first day to the last of which there are data.
        sql = f"SELECT CAST(min({self._date}) AS DATE), CAST(max({self._date}) AS DATE) FROM {self._table}"
        ((first, last),) = cast("list[tuple[str | None, str | None]]", data.query(sql).rows)
        if first is None or last is None:
            raise InvalidDefinition(
                f"`{self._path}` has no row with a date.", hint="Name a source that has rows.", path=self._file
            )
        settings = configuration.source
        first_day, last_day = (
            settings.first_day or date.fromisoformat(first),
            settings.last_day or date.fromisoformat(last),
        )
        try:
            self._coverage = DateRange.of_days(first_day, last_day)
        except InvalidInput as error:
            raise InvalidDefinition(
                f"The data of `{self._path}` cover no days: {error.message}",
                hint="Correct `first_day` and `last_day`, or leave them out.",
                path=f"{self._file}#/source",
            ) from error
        note = ", a sample that comes with Retinue" if configuration is SAMPLE else ""
        self._origin: Any = {
            "source": f"{source.path}{note}",
            "data_since": self._coverage.start,
            "data_until": self._coverage.last,
        }
        self._report = SkillReport()

    def year_sales(self, year: int) -> Reply:
        """The sales of one year."""
        days = DateRange.of_days(date(year, 1, 1), date(year, 12, 31))
        return self._reply(YearSales(**self._figure("sales", days), year=year))

    def compare(self, name: str, days: _Days, *, baseline: _Days | None = None) -> Reply:
        """A metric in some days with those before, a year before, since January, and in those of `baseline`."""
        full_period = DateRange.of_days(*days)
        fields, metric, period = self._figure(name, full_period), self._metric(name), self._clip_to_data(full_period)
        # Like is compared with like: half a year with the half year before, though a whole one was asked about.
        others: dict[PeriodKind, DateRange] = {
            "previous": period.previous(),
            "year_before": period.year_before(),
            "year_to_date": period.year_to_date(),
            **({} if baseline is None else {"baseline": DateRange.of_days(*baseline)}),
        }
        value: float | None = fields["value"]
        comparisons: list[PeriodComparison] = []
        for kind, other in others.items():
            facts: dict[str, Any] = {"kind": kind, "since": other.start, "until": other.last}
            if other.common(self._coverage) != other:
                facts["note"] = f"There are data from {self._coverage} only."
            else:
                before = facts["value"] = self._compute(name, other)[0]
                if kind != "year_to_date" and value is not None and before is not None:
                    base = Decimal(str(before))
                    change = Decimal(str(value)) - base
                    percent = None if base == 0 else float(round(100 * change / abs(base), 2))
                    facts |= {"change": float(change), "change_percent": percent}
            comparisons.append(PeriodComparison(**facts))
        # A target of that very period comes before one of every period.
        targets = {period_of_label(label): target for label, target in metric.targets.items()}
        goal, target = targets.get(full_period, metric.targets.get(EVERY_PERIOD)), None
        if goal is not None:
            is_met = value is not None and (value >= goal if metric.better == "higher" else value <= goal)
            status = "open" if value is None or not fields["is_complete"] else "met" if is_met else "missed"
            target = TargetStatus(value=goal, better=metric.better, status=status)
            fields["answer"] += f" The target of {_format_value(goal, metric)} is {status}."
        rows = [tuple(one.model_dump(mode="json").values()) for one in comparisons]
        units = {"value": metric.unit or None, "change": metric.unit or None, "change in percent": "%"}
        self._report.add_table(
            "Comparisons",
            ("with", "since", "until", *units, "note"),
            [(str(kind).replace("_", " "), *cells) for kind, *cells in rows],
            kinds={"since": "time", "until": "time", **dict.fromkeys(units, "number")},
            units=units,
        )
        return self._reply(MetricFigure(**fields, comparisons=tuple(comparisons), target=target))

    def churn(self, year: int) -> Reply:
        """Customers of the second quarter who did not buy in the third.

        Raises:
            InvalidInput: A quarter is not wholly in the data: who has not bought *yet* has not left.
            InvalidDefinition: The configuration names no column for the customer.
        """
        second = DateRange(date(year, 4, 1), date(year, 7, 1))
        third = DateRange(date(year, 7, 1), date(year, 10, 1))
        for period in (second, third):
            if self._clip_to_data(period) != period:
                raise InvalidInput(
                    f"The data are of {self._coverage}, and customers may buy in the rest of {period}.",
                    hint=f"Ask about quarters within {self._coverage}.",
                    suggestions=(str(self._coverage),),
                )
        customer = self._column("customer", self._configuration.source.customer)
        churned_sql = (
            f"{customer} NOT IN (\n  SELECT {customer} FROM {self._table}\n  WHERE {self._within(third)}"
            f" AND {customer} IS NOT NULL\n)"
        )
        from_sql = f"FROM {self._table}\nWHERE {self._within(second)} AND {customer} IS NOT NULL"
        sql = (
            f"SELECT count(DISTINCT {customer}) AS customers, count(*) AS row_count,\n"
            f"count(DISTINCT {customer}) FILTER (WHERE {churned_sql}) AS churned\n{from_sql}"
        )
        ((customers, count, churned),) = cast("list[tuple[int, int, int]]", self._data.query(sql).rows)
        rows_sql = f"SELECT *, {churned_sql} AS churned\n{from_sql}\nORDER BY {self._date}"
        percent = None if customers == 0 else float(round(Decimal(100 * churned) / customers, 2))
        share = "" if percent is None else f", {percent:g} %"
        buyers = f"{churned:,} of the {customers:,} customers who bought in the second quarter of {year}"
        return self._reply(
            CustomerChurn(
                answer=f"{buyers} did not buy in the third{share}. ({self._origin['source']})",
                year=year,
                definition=CHURN,
                customers=customers,
                churned=churned,
                churn_percent=percent,
                basis=Basis(sql=sql, row_count=count, rows_sql=rows_sql, **self._origin),
                tables=(),
            )
        )

    def list_metrics(self) -> Reply:
        """All metrics there are."""
        metrics = tuple(
            ListedMetric(name=name, formula=_formula(one), **one.model_dump(include={"definition", "unit", "targets"}))
            for name, one in self._configuration.metrics.items()
        )
        rows = [(one.name, one.definition, one.unit, one.formula) for one in metrics]
        self._report.add_table("Metrics", ("metric", "definition", "unit", "formula"), rows, limit=len(rows))
        names = ", ".join(f"`{one.name}`" for one in metrics)
        answer = f"There are data from {self._coverage}. The metrics are {names}. ({self._origin['source']})"
        return self._reply(MetricList(answer=answer, metrics=metrics, tables=(), **self._origin))

    def _figure(self, name: str, full_period: DateRange) -> dict[str, Any]:
        """The fields of a figure; what makes it less than whole is a warning."""
        metric, period = self._metric(name), self._clip_to_data(full_period)
        value, count, sql = self._compute(name, period)
        rows_sql = f"SELECT *\n{self._from(period, metric)}\nORDER BY {self._date}"
        answer = f"`{name}` from {period}: {_format_value(value, metric)}. ({self._origin['source']})"
        if period != full_period:
            message = f"There are data from {self._coverage} only; {full_period} was asked about."
            answer += f" {message}"
            self._report.warn(
                "missing_data",
                message,
                impact=f"The figure is of {period}, and not of the whole period.",
                recovery=f"Ask about a period within {self._coverage}.",
            )
        return {
            "answer": answer,
            "metric": name,
            "definition": metric.definition,
            "formula": _formula(metric),
            "value": value,
            "unit": metric.unit,
            "since": period.start,
            "until": period.last,
            "is_complete": period == full_period,
            "basis": Basis(sql=sql, row_count=count, rows_sql=rows_sql, **self._origin),
            "tables": (),
        }

    def _reply(self, result: Figure | CustomerChurn | MetricList) -> Reply:
        """What was found, as data and as text; text out of a project's file stays text."""
        self._report.add("answer", quote(result.answer, limit=4_000))
        if not isinstance(result, MetricList):
            self._report.note(f"{quote(result.definition, limit=2_000)}.")
            self._report.append_sql(result.basis.sql, limit=_SHOWN_SQL)
            rows = self._data.query(result.basis.rows_sql, limit=_SHOWN_ROWS)
            kinds = dict.fromkeys(rows.columns, "text")
            self._report.add_table(
                "Rows it rests on", rows.columns, rows.rows, total=result.basis.row_count, kinds=kinds
            )
        return self._report.reply(data=result.model_copy(update={"tables": tuple(self._report.tables)}))

    def _metric(self, name: str) -> MetricDefinition:
        """The metric called `name`.

        Raises:
            UnknownName: It is not listed; all that are stand in `suggestions`.
        """
        metrics = self._configuration.metrics
        if name not in metrics:
            raise UnknownName(
                f"{name[:80]!r} is not among the metrics.",
                hint=f"Available: {', '.join(metrics)}.",
                path="/parameters/metric",
                suggestions=tuple(dict.fromkeys((*nearest(name, metrics), *metrics))),
            )
        return metrics[name]

    def _clip_to_data(self, period: DateRange) -> DateRange:
        """The days of `period` of which there are data.

        Raises:
            InvalidInput: There are none; the hint says of which there are.
        """
        common = period.common(self._coverage)
        if common is None:
            raise InvalidInput(
                f"There are no data of {period}.",
                hint=f"Ask about {self._coverage}. Nothing is forecast.",
                suggestions=(str(self._coverage),),
            )
        return common

    def _compute(self, name: str, period: DateRange) -> tuple[float | None, int, str]:
        """The value of a metric over days of which there are data, how many rows it rests on, and the statement.

        Raises:
            InvalidDefinition: The SQL of the metric is refused, or gives no number.
        """
        metric = self._metric(name)
        # Line breaks, so that a comment at the end of an expression ends there.
        sql = f"SELECT\n  {metric.sql}\nAS value, count(*) AS row_count\n{self._from(period, metric)}"
        try:
            rows, why = self._data.query(sql, limit=2).rows, "It does not give one number."
        except InvalidInput as error:
            rows, why = [], error.message
        value = rows[0][0] if len(rows) == 1 and len(rows[0]) == 2 else ""
        if isinstance(value, bool | str):
            raise InvalidDefinition(
                f"The metric `{name}` cannot be computed: {why}",
                hint=f"Correct its `sql` or `where`. The columns are {', '.join(self._fields)}."[:1000],
                path=f"{self._file}#/metrics/{name}",
            )
        if isinstance(value, float) and abs(value) < _EXACT:
            # Through `str`: the binary digits of a float would round 0.125 and 1.005 differently than people do.
            value = float(Decimal(str(value)).quantize(Decimal(1).scaleb(-metric.decimals), ROUND_HALF_UP))
        return value, cast("int", rows[0][1]), sql

    def _from(self, period: DateRange, metric: MetricDefinition) -> str:
        where = f" AND (\n  {metric.where}\n)" if metric.where else ""
        return f"FROM {self._table}\nWHERE {self._within(period)}{where}"

    def _within(self, period: DateRange) -> str:
        return f"{self._date} >= DATE '{period.start}' AND {self._date} < DATE '{period.end}'"

    def _column(self, role: str, name: str | None) -> str:
        """The column that plays a role, as an SQL name.

        Raises:
            InvalidDefinition: It is not said, not there, or holds no dates where it must.
        """
        field, hint = self._fields.get(name or ""), f"Set `{role}` to one of: {', '.join(self._fields)[:1000]}."
        if name is None:
            why = f"It is not said which column is the {role}."
        elif field is None:
            why = f"`{self._path}` has no column {name[:80]!r}."
        elif role == "date" and field.type not in {"date", "timestamp"}:
            why = f"The column {name[:80]!r} of `{self._path}` holds {field.type}, not dates."
            hint = "Name a column of dates, written as 1997-03-01."
        else:
            return identifier(name)
        near = nearest(name, self._fields) if name and field is None else ()
        raise InvalidDefinition(why, hint=hint, path=f"{self._file}#/source/{role}", suggestions=near)


def _formula(metric: MetricDefinition) -> str:
    return f"{metric.sql} where {metric.where}" if metric.where else metric.sql


def _format_value(value: float | None, metric: MetricDefinition) -> str:
    """A value with its unit; money and shares with all their decimal places."""
    if value is None:
        return "no value"
    places = metric.decimals if isinstance(value, float) and not value.is_integer() else 0
    return f"{value:,.{places}f} {metric.unit}".rstrip()


def with_calculator(run: RunContext, deadline: RunDeadline, compute: Callable[[MetricCalculator], Reply]) -> Reply:
    """Open the project's metrics, or the sample where it has none, and compute.

    What cannot be answered from them is rejected.

    Raises:
        InvalidDefinition: The project's file of metrics cannot be used.
        MissingFile: The data file that it names is not there.
        NotInstalled: DuckDB is not here.
    """
    workspace, configuration = Workspace(Path(__file__).parent), SAMPLE
    # The sample stands in where there is no project, or it has no such file; never for one that is denied.
    project: Workspace | None = None
    with suppress(AccessDenied):
        project = run.workspace
    if project is not None:
        with suppress(MissingFile):
            own_bytes = project.read_bytes(_OWN_FILE, max_bytes=_MOST_TOML)
            workspace, configuration = project, parse_configuration(own_bytes, file=_OWN_FILE)
    with Data(workspace, check=deadline.check) as data:
        settings = configuration.source
        if settings.table is None:
            source = data.open(settings.file or "")
        else:
            # Where a database is, the user says, and never a project's file.
            address = os.environ.get(_DATABASE, "")
            if not address:
                raise InvalidDefinition(
                    f"`{_OWN_FILE}` takes its rows from the table {settings.table[:200]!r}, and no database is named.",
                    hint=f"Set the environment variable {_DATABASE} to its address, such as postgresql://user@host/name.",
                    path=f"{_OWN_FILE}#/source/table",
                )
            if not run.grants.covers({"network"}):
                raise AccessDenied(
                    "The metrics are in a database, and this run may not use the network.",
                    hint="Allow the network, or name a file as the source.",
                )
            source = data.open_table(address, settings.table)
        calculator = MetricCalculator(data, source, configuration)
        try:
            return compute(calculator)
        except InvalidDefinition:
            raise
        except InvalidInput as error:
            return Reply(outcome="rejected", fault=Fault.from_error(error))
