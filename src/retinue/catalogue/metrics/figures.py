"""What the metrics of a project are in some period, as replies: sentences, comparisons, and the rows they rest on."""

import os
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeAlias

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import one_line, quote
from retinue.catalogue._report import Report
from retinue.catalogue._watch import Watch
from retinue.catalogue.metrics.computing import Computed, Metering
from retinue.catalogue.metrics.configuration import SAMPLE, Configuration, MetricDefinition, parse_configuration
from retinue.catalogue.metrics.periods import DateRange
from retinue.catalogue.metrics.results import (
    Basis,
    CustomerChurn,
    Figure,
    ListedMetric,
    MetricFigure,
    MetricList,
    PeriodComparison,
    PeriodKind,
    TargetStatus,
    YearSales,
)
from retinue.contract.fault import Fault
from retinue.contract.sanitize import printable
from retinue.contract.table import Cell, Column, Table
from retinue.errors import AccessDenied, InvalidDefinition, InvalidInput, MissingFile
from retinue.tools.data import Data, Rows, Source
from retinue.tools.workspace import Workspace

__all__ = ["CHURN", "Figures", "with_figures"]

_OWN_FILE: Final = ".retinue/metrics.toml"
"""Where a project says what its metrics are, from the root of its workspace."""

_DATABASE: Final = "RETINUE_METRICS_DATABASE"
"""The environment variable with the address of the database whose table is the source."""

_MOST_TOML: Final = 256 * 1024
_SHOWN_SQL: Final = 2_000
CHURN: Final = (
    "Customers who bought in the second quarter of the year and not in the third, as a share of all who bought in the"
    " second"
)

_Days: TypeAlias = tuple[date, date]


def with_figures(run: RunContext, watch: Watch, compute: "Callable[[Figures], Reply]") -> Reply:
    """Open the project's metrics, or the sample where it has none, and compute.

    What cannot be answered from them is rejected.

    Raises:
        InvalidDefinition: The project's file of metrics cannot be used.
        MissingFile: The data file that it names is not there.
        NotInstalled: DuckDB is not here.
    """
    own = _own_file(run)
    workspace = Workspace(Path(__file__).parent) if own is None else run.workspace
    configuration = SAMPLE if own is None else parse_configuration(own, file=_OWN_FILE)
    with Data(workspace, check=watch.check) as data:
        source = _opened(data, configuration, run)
        file = "cdnow.toml" if own is None else _OWN_FILE
        metering = Metering(data, source, configuration, file=file)
        try:
            return compute(Figures(metering))
        except InvalidDefinition:
            raise
        except InvalidInput as error:
            return Reply(outcome="rejected", fault=Fault.from_error(error))


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


class Figures:
    """The replies over one set of metrics."""

    def __init__(self, metering: Metering) -> None:
        self._metering = metering
        self._report = Report()
        source = metering.source.path
        is_sample = metering.configuration is SAMPLE
        self._source = f"{source}, a sample that comes with Retinue" if is_sample else source

    def year_sales(self, year: int) -> Reply:
        """The sales of one year."""
        days = DateRange.of_days(date(year, 1, 1), date(year, 12, 31))
        return self._reply(YearSales(**self._figure("sales", days), year=year))

    def compared(self, name: str, days: _Days, *, baseline: _Days | None = None) -> Reply:
        """A metric in some days with those before, a year before, since January, and in those of `baseline`."""
        metering, asked = self._metering, DateRange.of_days(*days)
        fields, metric, period = self._figure(name, asked), metering.metric(name), metering.covered(asked)
        # Like is compared with like: half a year with the half year before, though a whole one was asked about.
        others: dict[PeriodKind, DateRange] = {
            "previous": period.previous(),
            "year_before": period.year_before(),
            "year_to_date": period.year_to_date(),
            **({} if baseline is None else {"baseline": DateRange.of_days(*baseline)}),
        }
        value: float | None = fields["value"]
        comparisons = tuple(self._comparison(name, kind, other, value) for kind, other in others.items())
        wanted, target = metering.target(metric, asked), None
        if wanted is not None:
            reached = value is not None and (value >= wanted if metric.better == "higher" else value <= wanted)
            status = "open" if value is None or not fields["is_complete"] else "met" if reached else "missed"
            target = TargetStatus(value=wanted, better=metric.better, status=status)
            fields["answer"] += f" The target of {_worded(wanted, metric)} is {status}."
        fields["tables"] = (_comparison_table(comparisons, metric.unit), *fields["tables"])
        return self._reply(MetricFigure(**fields, comparisons=comparisons, target=target))

    def churn(self, year: int) -> Reply:
        """Customers of the second quarter who did not buy in the third."""
        second = DateRange(date(year, 4, 1), date(year, 7, 1))
        third = DateRange(date(year, 7, 1), date(year, 10, 1))
        customers, computed, rows = self._metering.churn(second, third)
        churned = int(computed.value or 0)
        percent = None if customers == 0 else float(round(Decimal(100 * churned) / customers, 2))
        share = "" if percent is None else f", {percent:g} %"
        bought = f"{churned:,} of the {customers:,} customers who bought in the second quarter of {year}"
        return self._reply(
            CustomerChurn(
                answer=f"{bought} did not buy in the third{share}. ({self._source})",
                year=year,
                definition=CHURN,
                customers=customers,
                churned=churned,
                churn_percent=percent,
                basis=self._basis(computed, rows),
                tables=(_rows_table(rows, computed.rows),),
            )
        )

    def listed(self) -> Reply:
        """All metrics there are."""
        coverage = self._metering.coverage
        metrics = tuple(
            ListedMetric(name=name, formula=_formula(one), **one.model_dump(include={"definition", "unit", "targets"}))
            for name, one in self._metering.configuration.metrics.items()
        )
        columns = [Column(name=name) for name in ("metric", "definition", "unit", "formula")]
        rows = [(one.name, one.definition, one.unit, one.formula) for one in metrics]
        names = ", ".join(f"`{one.name}`" for one in metrics)
        return self._reply(
            MetricList(
                answer=f"There are data from {coverage}. The metrics are {names}. ({self._source})",
                metrics=metrics,
                source=self._source,
                data_since=coverage.start,
                data_until=coverage.last,
                tables=(_table("Metrics", columns, rows),),
            )
        )

    def _figure(self, name: str, period: DateRange) -> dict[str, Any]:
        """The fields of a figure; what makes it less than whole is a warning."""
        metering = self._metering
        metric, computed, rows = metering.metric(name), metering.compute(name, period), metering.rows(name, period)
        answer = f"`{name}` from {computed.period}: {_worded(computed.value, metric)}. ({self._source})"
        if computed.period != period:
            message = f"There are data from {metering.coverage} only; {period} was asked about."
            answer += f" {message}"
            self._report.warn(
                "missing_data",
                message,
                impact=f"The figure is of {computed.period}, and not of the whole period.",
                recovery=f"Ask about a period within {metering.coverage}.",
            )
        return {
            "answer": answer,
            "metric": name,
            "definition": metric.definition,
            "formula": _formula(metric),
            "value": computed.value,
            "unit": metric.unit,
            "since": computed.period.start,
            "until": computed.period.last,
            "is_complete": computed.period == period,
            "basis": self._basis(computed, rows),
            "tables": (_rows_table(rows, computed.rows),),
        }

    def _comparison(self, name: str, kind: PeriodKind, period: DateRange, value: float | None) -> PeriodComparison:
        facts: dict[str, Any] = {"kind": kind, "since": period.start, "until": period.last}
        if period.common(self._metering.coverage) != period:
            return PeriodComparison(**facts, note=f"There are data from {self._metering.coverage} only.")
        other = self._metering.compute(name, period).value
        if kind == "year_to_date" or value is None or other is None:
            return PeriodComparison(**facts, value=other)
        before = Decimal(str(other))
        change = Decimal(str(value)) - before
        percent = None if before == 0 else float(round(100 * change / abs(before), 2))
        return PeriodComparison(**facts, value=other, change=float(change), change_percent=percent)

    def _basis(self, computed: Computed, rows: Rows) -> Basis:
        coverage = self._metering.coverage
        return Basis(
            source=self._source,
            data_since=coverage.start,
            data_until=coverage.last,
            sql=computed.sql,
            row_count=computed.rows,
            rows_sql=rows.sql,
        )

    def _reply(self, found: Figure | CustomerChurn | MetricList) -> Reply:
        """What was found, as data and as text; text out of a project's file stays text."""
        self._report.say("answer", "{}", quote(found.answer, longest=4_000))
        if not isinstance(found, MetricList):
            self._report.note("{}.", quote(found.definition, longest=2_000))
            statement = printable(found.basis.sql)
            if "```" not in statement and len(statement) <= _SHOWN_SQL:
                self._report.appendix = f"```sql\n{statement}\n```"
        return self._report.reply(data=found)


def _formula(metric: MetricDefinition) -> str:
    return f"{metric.sql} where {metric.where}" if metric.where else metric.sql


def _worded(value: float | None, metric: MetricDefinition) -> str:
    """A value with its unit; money and shares with all their decimal places."""
    if value is None:
        return "no value"
    places = metric.decimals if isinstance(value, float) and not value.is_integer() else 0
    return f"{value:,.{places}f} {metric.unit}".rstrip()


def _rows_table(rows: Rows, total: int) -> Table:
    """The first of the rows that a figure rests on."""
    columns = [Column(name=one_line(name, longest=200) or "(no name)") for name in rows.columns]
    return _table("Rows it rests on", columns, rows.rows, total=total)


def _comparison_table(comparisons: Sequence[PeriodComparison], unit: str) -> Table:
    units = {"value": unit or None, "change": unit or None, "change in percent": "%"}
    columns = [
        Column(name="with"),
        *(Column(name=name, kind="time") for name in ("since", "until")),
        *(Column(name=name, kind="number", unit=one) for name, one in units.items()),
        Column(name="note"),
    ]
    rows = [tuple(one.model_dump(mode="json").values()) for one in comparisons]
    return _table("Comparisons", columns, [(str(kind).replace("_", " "), *rest) for kind, *rest in rows])


def _table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, total: int | None = None) -> Table:
    cells = (tuple(one_line(one, longest=200) if isinstance(one, str) else one for one in row) for row in rows)
    return Table(title=title, columns=tuple(columns), rows=tuple(cells), total_rows=total)
