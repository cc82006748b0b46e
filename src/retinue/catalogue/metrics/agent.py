"""The agent: typed skills over the metrics of a project, or over the sample that comes with Retinue."""

import os
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import Prose, one_line, quote
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.metrics.computing import Computed, Metering
from retinue.catalogue.metrics.configuration import Configuration, MetricDefinition, parse_configuration
from retinue.catalogue.metrics.periods import DateRange
from retinue.contract.definition import Sample
from retinue.contract.fault import Fault
from retinue.contract.result import Warned
from retinue.contract.sanitize import printable
from retinue.contract.table import Column, Table
from retinue.errors import AccessDenied, InvalidDefinition, InvalidInput, MissingFile
from retinue.tools.data import Data, Rows, Source
from retinue.tools.workspace import Workspace

__all__ = [
    "Basis",
    "CustomerChurn",
    "Figure",
    "ListedMetric",
    "MetricFigure",
    "MetricList",
    "MetricName",
    "Metrics",
    "PeriodComparison",
    "Since",
    "TargetStatus",
    "Until",
    "Year",
    "YearSales",
]

_OWN_FILE: Final = ".retinue/metrics.toml"
"""Where a project says what its metrics are, from the root of its workspace."""

_DATABASE: Final = "RETINUE_METRICS_DATABASE"
"""The environment variable with the address of the database whose table is the source."""

_HERE: Final = Path(__file__).parent
_SAMPLE: Final = parse_configuration((_HERE / "cdnow.toml").read_bytes(), file="cdnow.toml")
_MOST_TOML: Final = 256 * 1024
_SHOWN_SQL: Final = 2_000
_CHURN: Final = (
    "Customers who bought in the second quarter of the year and not in the third, as a share of all who bought in the"
    " second"
)
_ROUTE: Final = "/agents/business/metrics/"


def _without_duckdb() -> str:
    """What is missing here, and how to get it."""
    return "" if find_spec("duckdb") else "install retinue[data]"


Year = Annotated[int, Field(ge=1000, le=9000, description="The calendar year, such as 1997.")]
MetricName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="The metric: sales (revenue, turnover), purchases (orders), items (CDs), customers (buyers),"
        " average_purchase (basket), sales_per_customer, or one of the project's own.",
        json_schema_extra={"anyOf": [*({"const": name} for name in _SAMPLE.metrics), {"type": "string"}]},
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


class PeriodComparison(BaseModel):
    """The same metric in another period."""

    kind: Literal["previous", "year_before", "year_to_date", "baseline"]
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


_BOUGHT: Final = """FROM "cdnow"
WHERE "day" >= DATE '1997-04-01' AND "day" < DATE '1997-07-01' AND "customer" IS NOT NULL"""
_LEFT: Final = """"customer" NOT IN (
  SELECT "customer" FROM "cdnow"
  WHERE "day" >= DATE '1997-07-01' AND "day" < DATE '1997-10-01' AND "customer" IS NOT NULL
)"""
_CHURN_1997: Final[dict[str, Any]] = {
    "answer": "310 of the 524 customers who bought in the second quarter of 1997 did not buy in the third, 59.16 %."
    " (cdnow.parquet, a sample that comes with Retinue)",
    "year": 1997,
    "definition": _CHURN,
    "customers": 524,
    "churned": 310,
    "churn_percent": 59.16,
    "basis": {
        "source": "cdnow.parquet, a sample that comes with Retinue",
        "data_since": "1997-01-01",
        "data_until": "1998-06-30",
        "sql": 'SELECT count(DISTINCT "customer") AS customers, count(*) AS row_count,\n'
        f'count(DISTINCT "customer") FILTER (WHERE {_LEFT}) AS churned\n{_BOUGHT}',
        "row_count": 937,
        "rows_sql": f'SELECT *, {_LEFT} AS churned\n{_BOUGHT}\nORDER BY "day"',
    },
    "tables": [],
}
"""A whole answer but for its table of rows; a test holds it against what is computed."""


@retinue.agent(
    name="metrics",
    version="1.0",
    category="business",
    aliases=("business_metrics",),
    tags=("sales", "revenue", "customers", "churn"),
    tier="small",
)
class Metrics:
    """Computes business metrics over the purchases of a project: sales, purchases, customers, churn.

    Use it for a figure of a year, quarter or month, with its definition, unit, SQL, the rows it rests on, and how it
    changed. Returns figures of listed metrics only; it forecasts nothing and gives no advice.
    """

    @retinue.skill(
        output=YearSales,
        effects=("read",),
        path=f"{_ROUTE}year-to-end-sales",
        examples=(
            "what were the sales in 1997",
            "show me the total sales for the year 1998",
            "year-to-end sales of 1997",
            "how much did we sell in 1997",
            "annual revenue of 1998",
        ),
        samples=(Sample(title="Sales of 1997", parameters={"year": 1997}),),
        timeout_s=120,
        unavailable=_without_duckdb,
    )
    async def get_year_to_end_sales(self, year: Year, run: RunContext) -> Reply:
        """Sums the sales of a calendar year, from 1 January to its end or as far as the data go.

        Use it for the sales or revenue of a whole year.

        Returns:
            The value with unit, definition, SQL, rows, and how far the data go.
        """

        def compute(metering: Metering) -> Reply:
            figure, warnings = _figure(metering, "sales", _year(year))
            return _reply(YearSales(**figure, year=year), warnings)

        return await _with_metering(run, compute)

    @retinue.skill(
        output=CustomerChurn,
        effects=("read",),
        path=f"{_ROUTE}calculate-churn-q2-q3",
        examples=(
            "churn from Q2 to Q3 of 1997",
            "how many customers churned between the second and third quarter of 1997",
            "calculate the churn Q2 Q3 for 1997",
            "which share of customers bought in Q2 and not in Q3 1997",
            "customer churn rate for 1997",
        ),
        samples=(Sample(title="Churn of 1997", parameters={"year": 1997}, answer=_CHURN_1997),),
        timeout_s=120,
        unavailable=_without_duckdb,
    )
    async def calculate_churn_q2_q3(self, year: Year, run: RunContext) -> Reply:
        """Counts the customers who bought in the second quarter of a year and not in its third.

        Use it for the churn or loss of customers in a year.

        Returns:
            How many there were, how many churned, the share in percent, SQL and rows.
        """
        return await _with_metering(run, lambda metering: _churn(metering, year))

    @retinue.skill(
        output=MetricFigure,
        effects=("read",),
        examples=(
            "sales in March 1997",
            "how many customers bought in Q2 1997",
            "number of purchases from January to June 1997",
            "average purchase in 1998 against the year before",
            "what were the sales in the first quarter of 1998, and the previous one",
            "did sales in Q1 1998 meet the target",
        ),
        samples=(
            Sample(
                title="Customers of one quarter",
                parameters={"metric": "customers", "since": "1997-04-01", "until": "1997-06-30"},
            ),
        ),
        timeout_s=120,
        unavailable=_without_duckdb,
    )
    async def get_metric(self, metric: MetricName, since: Since, until: Until, run: RunContext) -> Reply:
        """Computes one metric in a period, and how it changed.

        Use it for a metric in a month, quarter or any other days: against the previous period, the year before, the
        year to date, and its target.

        Returns:
            The value with unit, definition, SQL and rows, the changes in percent, and the status of the target.
        """
        return await _with_metering(
            run, lambda metering: _compared(metering, metric, DateRange.of_days(since, until), None)
        )

    @retinue.skill(
        output=MetricFigure,
        effects=("read",),
        examples=(
            "compare the sales of March 1997 with a baseline in March 1998",
            "compare purchases in two periods",
            "compare the customers of one quarter with those of another quarter",
            "change of sales between two periods in percent",
            "compare sales against a baseline period",
        ),
        samples=(
            Sample(
                title="Two quarters",
                parameters={
                    "metric": "sales",
                    "since": "1998-01-01",
                    "until": "1998-03-31",
                    "baseline_first_day": "1997-04-01",
                    "baseline_last_day": "1997-06-30",
                },
            ),
        ),
        timeout_s=120,
        unavailable=_without_duckdb,
    )
    async def compare_periods(
        self,
        metric: MetricName,
        since: Since,
        until: Until,
        run: RunContext,
        *,
        baseline_first_day: Annotated[date, Field(description="First day of the period to compare with.")],
        baseline_last_day: Annotated[date, Field(description="Last day of the period to compare with.")],
    ) -> Reply:
        """Compares one metric in two periods of your own.

        Use it for the change from one period to any other. Returns: what `get_metric` gives, and the change against the
        baseline.
        """

        def compute(metering: Metering) -> Reply:
            baseline = DateRange.of_days(baseline_first_day, baseline_last_day)
            return _compared(metering, metric, DateRange.of_days(since, until), baseline)

        return await _with_metering(run, compute)

    @retinue.skill(
        output=MetricList,
        effects=("read",),
        examples=(
            "which metrics are there",
            "list the metrics",
            "what business metrics can you compute",
            "how is average purchase defined",
            "for which period are there sales data",
        ),
        samples=(Sample(title="All metrics", parameters={}),),
        timeout_s=120,
        unavailable=_without_duckdb,
    )
    async def list_metrics(self, run: RunContext) -> Reply:
        """Lists the metrics there are, with definition, unit and formula, and the days of which there are data.

        Use it to see what can be asked. Returns names, definitions, units, formulas, targets and the days of the data.
        """
        return await _with_metering(run, _listed)


# The database


async def _with_metering(run: RunContext, compute: Callable[[Metering], Reply]) -> Reply:
    """Open the project's metrics in a thread, and compute. What cannot be answered from them is rejected.

    Raises:
        InvalidDefinition: The project's file of metrics cannot be used.
        MissingFile: The data file that it names is not there.
        NotInstalled: DuckDB is not here.
    """
    watch = Watch(run)
    return await in_watched_thread(watch, _in_database, run, watch, compute)


def _opened(data: Data, configuration: Configuration, run: RunContext) -> Source:
    """The source of the metrics. Where a database is, the user says, and never a project's file."""
    settings = configuration.source
    if settings.table is None:
        return data.open(settings.file or "")
    address = os.environ.get(_DATABASE, "")
    if not address:
        raise InvalidDefinition(
            f"`{_OWN_FILE}` takes its rows from the table {settings.table[:200]!r}, and no database is named.",
            hint=f"Set the environment variable {_DATABASE} to its address, such as postgresql://user@host/name.",
            path=f"{_OWN_FILE}#/source/table",
        )
    if not run.grants.covers({"network"}):
        raise AccessDenied(
            "The metrics stand in a database, and this run may not use the network.",
            hint="Allow the network, or name a file as the source.",
        )
    return data.open_table(address, settings.table)


def _own_file(run: RunContext) -> bytes | None:
    """The project's file of metrics; None when it has none. The sample never stands in for one that is denied."""
    try:
        workspace = run.workspace
    except AccessDenied:  # this run has no project
        return None
    try:
        return workspace.read_bytes(_OWN_FILE, max_bytes=_MOST_TOML)
    except MissingFile:
        return None


def _in_database(run: RunContext, watch: Watch, compute: Callable[[Metering], Reply]) -> Reply:
    workspace, configuration, file = Workspace(_HERE), _SAMPLE, "cdnow.toml"
    own = _own_file(run)
    if own is not None:
        workspace, configuration, file = run.workspace, parse_configuration(own, file=_OWN_FILE), _OWN_FILE
    with Data(workspace, check=watch.check) as data:
        source = _opened(data, configuration, run)
        metering = Metering(data, source, configuration, file=file)
        try:
            return compute(metering)
        except InvalidDefinition:
            raise
        except InvalidInput as error:
            return Reply(outcome="rejected", fault=Fault.from_error(error))


# Figures


def _year(year: int) -> DateRange:
    return DateRange.of_days(date(year, 1, 1), date(year, 12, 31))


def _figure(metering: Metering, name: str, period: DateRange) -> tuple[dict[str, Any], tuple[Warned, ...]]:
    """The fields of a figure, and what makes it less than whole."""
    metric = metering.metric(name)
    computed = metering.compute(name, period)
    rows = metering.rows(name, period)
    fields: dict[str, Any] = {
        "answer": f"`{name}` from {computed.period.start} to {computed.period.last}: {_worded(computed.value, metric)}."
        f" ({_source(metering)})",
        "metric": name,
        "definition": metric.definition,
        "formula": metric.sql if not metric.where else f"{metric.sql} where {metric.where}",
        "value": computed.value,
        "unit": metric.unit,
        "since": computed.period.start,
        "until": computed.period.last,
        "is_complete": computed.period == period,
        "basis": _basis(metering, computed, rows),
        "tables": (_table(rows, computed.rows),),
    }
    if computed.period == period:
        return fields, ()
    warned = Warned(
        type="missing_data",
        message=f"There are data from {metering.coverage} only; {period} was asked about.",
        impact=f"The figure is of {computed.period}, and not of the whole period.",
        recovery=f"Ask about a period within {metering.coverage}.",
    )
    fields["answer"] += f" {warned.message}"
    return fields, (warned,)


def _compared(metering: Metering, name: str, asked: DateRange, baseline: DateRange | None) -> Reply:
    fields, warnings = _figure(metering, name, asked)
    metric = metering.metric(name)
    # Like is compared with like: half a year with the half year before, though a whole one was asked about.
    period = metering.covered(asked)
    others: list[tuple[Literal["previous", "year_before", "year_to_date", "baseline"], DateRange]] = [
        ("previous", period.previous()),
        ("year_before", period.year_before()),
        ("year_to_date", period.year_to_date()),
    ]
    if baseline is not None:
        others.append(("baseline", baseline))
    value: float | None = fields["value"]
    comparisons = tuple(_comparison(metering, name, kind, other, value) for kind, other in others)
    wanted = metering.target(metric, asked)
    target = None
    if wanted is not None:
        reached = value is not None and (value >= wanted if metric.better == "higher" else value <= wanted)
        status = "open" if value is None or not fields["is_complete"] else "met" if reached else "missed"
        target = TargetStatus(value=wanted, better=metric.better, status=status)
        fields["answer"] += f" The target of {_worded(wanted, metric)} is {status}."
    fields["tables"] = (_comparison_table(comparisons, metric.unit), *fields["tables"])
    return _reply(MetricFigure(**fields, comparisons=comparisons, target=target), warnings)


def _comparison(
    metering: Metering,
    name: str,
    kind: Literal["previous", "year_before", "year_to_date", "baseline"],
    period: DateRange,
    value: float | None,
) -> PeriodComparison:
    facts: dict[str, Any] = {"kind": kind, "since": period.start, "until": period.last}
    if period.common(metering.coverage) != period:
        return PeriodComparison(**facts, note=f"There are data from {metering.coverage} only.")
    other = metering.compute(name, period).value
    if kind == "year_to_date" or value is None or other is None:
        return PeriodComparison(**facts, value=other)
    change = Decimal(str(value)) - Decimal(str(other))
    percent = None if other == 0 else float(round(100 * change / abs(Decimal(str(other))), 2))
    return PeriodComparison(**facts, value=other, change=float(change), change_percent=percent)


def _churn(metering: Metering, year: int) -> Reply:
    second = DateRange(date(year, 4, 1), date(year, 7, 1))
    third = DateRange(date(year, 7, 1), date(year, 10, 1))
    customers, computed, rows = metering.churn(second, third)
    churned = int(computed.value or 0)
    percent = None if customers == 0 else float(round(Decimal(100 * churned) / customers, 2))
    share = "" if percent is None else f", {percent:g} %"
    found = CustomerChurn(
        answer=f"{churned:,} of the {customers:,} customers who bought in the second quarter of {year} did not buy in"
        f" the third{share}. ({_source(metering)})",
        year=year,
        definition=_CHURN,
        customers=customers,
        churned=churned,
        churn_percent=percent,
        basis=_basis(metering, computed, rows),
        tables=(_table(rows, computed.rows),),
    )
    return _reply(found, ())


def _listed(metering: Metering) -> Reply:
    listed = tuple(
        ListedMetric(
            name=name,
            definition=metric.definition,
            unit=metric.unit,
            formula=metric.sql if not metric.where else f"{metric.sql} where {metric.where}",
            targets=metric.targets,
        )
        for name, metric in metering.configuration.metrics.items()
    )
    table = Table(
        title="Metrics",
        columns=(Column(name="metric"), Column(name="definition"), Column(name="unit"), Column(name="formula")),
        rows=tuple((one.name, one.definition, one.unit, one.formula) for one in listed),
    )
    names = ", ".join(f"`{one.name}`" for one in listed)
    found = MetricList(
        answer=f"There are data from {metering.coverage}. The metrics are {names}. ({_source(metering)})",
        metrics=listed,
        source=_source(metering),
        data_since=metering.coverage.start,
        data_until=metering.coverage.last,
        tables=(table,),
    )
    return _reply(found, ())


# Words and tables


def _worded(value: float | None, metric: MetricDefinition) -> str:
    """A value with its unit; money and shares with all their decimal places."""
    if value is None:
        return "no value"
    places = metric.decimals if isinstance(value, float) and not value.is_integer() else 0
    return f"{value:,.{places}f} {metric.unit}".rstrip()


def _source(metering: Metering) -> str:
    source = metering.source.path
    return f"{source}, a sample that comes with Retinue" if metering.configuration is _SAMPLE else source


def _basis(metering: Metering, computed: Computed, rows: Rows) -> Basis:
    return Basis(
        source=_source(metering),
        data_since=metering.coverage.start,
        data_until=metering.coverage.last,
        sql=computed.sql,
        row_count=computed.rows,
        rows_sql=rows.sql,
    )


def _table(rows: Rows, total: int) -> Table:
    """The first of the rows that a figure rests on."""
    return Table(
        title="Rows it rests on",
        columns=tuple(Column(name=one_line(name, longest=200) or "(no name)") for name in rows.columns),
        rows=tuple(
            tuple(one_line(cell, longest=200) if isinstance(cell, str) else cell for cell in row) for row in rows.rows
        ),
        total_rows=total,
    )


def _comparison_table(comparisons: Sequence[PeriodComparison], unit: str) -> Table:
    return Table(
        title="Comparisons",
        columns=(
            Column(name="with"),
            Column(name="since", kind="time"),
            Column(name="until", kind="time"),
            Column(name="value", kind="number", unit=unit or None),
            Column(name="change", kind="number", unit=unit or None),
            Column(name="change in percent", kind="number", unit="%"),
            Column(name="note"),
        ),
        rows=tuple(
            (
                one.kind.replace("_", " "),
                one.since.isoformat(),
                one.until.isoformat(),
                one.value,
                one.change,
                one.change_percent,
                one.note,
            )
            for one in comparisons
        ),
    )


def _reply(found: Figure | CustomerChurn | MetricList, warnings: tuple[Warned, ...]) -> Reply:
    """What was found, as data and as text; text out of a project's file stays text."""
    blocks = [Prose("{}", (quote(found.answer, longest=4000),)).markdown()]
    if not isinstance(found, MetricList):
        blocks.append(Prose("{}.", (quote(found.definition, longest=2000),)).markdown())
        statement = printable(found.basis.sql)
        if "```" not in statement and len(statement) <= _SHOWN_SQL:
            blocks.append(f"```sql\n{statement}\n```")
    return Reply(
        data=found,
        content="\n\n".join(blocks),
        outcome="partial" if warnings else "success",
        warnings=warnings,
    )
