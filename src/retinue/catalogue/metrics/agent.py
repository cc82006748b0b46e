"""The agent: typed skills over the metrics of a project, or over the sample that comes with Retinue."""

from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from typing import Annotated, Any, Final

from pydantic import Field

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.contract.definition import Sample

from .calculator import (
    CHURN,
    SAMPLE,
    CustomerChurn,
    MetricCalculator,
    MetricFigure,
    MetricList,
    YearSales,
    with_calculator,
)

_ROUTE: Final = "/agents/business/metrics/"
_Year = Annotated[int, Field(ge=1000, le=9000, description="The calendar year, such as 1997.")]
_MEANINGS: Final = {
    "sales": "sales, revenue, turnover, income: how much was sold",
    "purchases": "purchases, orders: how many purchases were made",
    "items": "items, CDs: how many items were sold",
    "customers": "customers, buyers: how many customers bought",
    "average_purchase": "average purchase, basket, order value",
    "sales_per_customer": "sales per customer, revenue per buyer",
}
_MetricName = Annotated[
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

_Since = Annotated[date, Field(description="First day of the period, as YYYY-MM-DD.")]
_Until = Annotated[date, Field(description="Last day of the period, as YYYY-MM-DD.")]
_SKILL: Final[Any] = {
    "effects": ("read",),
    "timeout_s": 120,
    "unavailable": lambda: "" if find_spec("duckdb") else "install retinue[data]",
}
_BUYERS_SQL: Final = """FROM "cdnow"
WHERE "day" >= DATE '1997-04-01' AND "day" < DATE '1997-07-01' AND "customer" IS NOT NULL"""
_CHURNED_SQL: Final = """"customer" NOT IN (
  SELECT "customer" FROM "cdnow"
  WHERE "day" >= DATE '1997-07-01' AND "day" < DATE '1997-10-01' AND "customer" IS NOT NULL
)"""
_CHURN_1997: Final[dict[str, Any]] = {
    "answer": "310 of the 524 customers who bought in the second quarter of 1997 did not buy in the third, 59.16 %."
    " (cdnow.parquet, a sample that comes with Retinue)",
    "year": 1997,
    "definition": CHURN,
    "customers": 524,
    "churned": 310,
    "churn_percent": 59.16,
    "basis": {
        "source": "cdnow.parquet, a sample that comes with Retinue",
        "data_since": "1997-01-01",
        "data_until": "1998-06-30",
        "sql": 'SELECT count(DISTINCT "customer") AS customers, count(*) AS row_count,\n'
        f'count(DISTINCT "customer") FILTER (WHERE {_CHURNED_SQL}) AS churned\n{_BUYERS_SQL}',
        "row_count": 937,
        "rows_sql": f'SELECT *, {_CHURNED_SQL} AS churned\n{_BUYERS_SQL}\nORDER BY "day"',
    },
    "tables": [],
}
"""A whole answer but for its table of rows; a test holds it against what is computed."""
_EXAMPLES: Final = {
    "get_year_to_end_sales": phrases("""
        what were the sales in 1997; show me the total sales for the year 1998; year-to-end sales of 1997; how much
        did we sell in 1997; annual revenue of 1998
    """),
    "calculate_churn_q2_q3": phrases("""
        churn from Q2 to Q3 of 1997; how many customers churned between the second and third quarter of 1997;
        calculate the churn Q2 Q3 for 1997; which share of customers bought in Q2 and not in Q3 1997; customer churn
        rate for 1997
    """),
    "get_metric": phrases("""
        sales in March 1997; how many customers bought in Q2 1997; number of purchases from January to June 1997;
        average purchase in 1998 against the year before; what were the sales in the first quarter of 1998, and the
        previous one; did sales in Q1 1998 meet the target
    """),
    "compare_periods": phrases("""
        compare the sales of March 1997 with a baseline in March 1998; compare purchases in two periods; compare the
        customers of one quarter with those of another quarter; change of sales between two periods in percent;
        compare sales against a baseline period
    """),
    "list_metrics": phrases("""
        which metrics are there; list the metrics; what business metrics can you compute; how is average purchase
        defined; for which period are there sales data
    """),
}


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
    changed. Returns figures of listed metrics only; not for forecasts or advice.
    """

    @retinue.skill(
        output=YearSales,
        path=f"{_ROUTE}year-to-end-sales",
        examples=_EXAMPLES["get_year_to_end_sales"],
        samples=(Sample(title="Sales of 1997", parameters={"year": 1997}),),
        **_SKILL,
    )
    async def get_year_to_end_sales(self, year: _Year, run: RunContext) -> Reply:
        """Sums the sales of a calendar year, from 1 January to its end or as far as the data go.

        Use it for the sales or revenue of a whole year.

        Returns:
            The value with unit, definition, SQL, rows, and how far the data go.
        """
        return await _reply_with(run, lambda calculator: calculator.year_sales(year))

    @retinue.skill(
        output=CustomerChurn,
        path=f"{_ROUTE}calculate-churn-q2-q3",
        examples=_EXAMPLES["calculate_churn_q2_q3"],
        samples=(Sample(title="Churn of 1997", parameters={"year": 1997}, answer=_CHURN_1997),),
        **_SKILL,
    )
    async def calculate_churn_q2_q3(self, year: _Year, run: RunContext) -> Reply:
        """Counts the customers who bought in the second quarter of a year and not in its third.

        Use it for the churn or loss of customers in a year.

        Returns:
            How many there were, how many churned, the share in percent, SQL and rows.
        """
        return await _reply_with(run, lambda calculator: calculator.churn(year))

    @retinue.skill(
        output=MetricFigure,
        examples=_EXAMPLES["get_metric"],
        samples=(
            Sample(
                title="Customers of one quarter",
                parameters={"metric": "customers", "since": "1997-04-01", "until": "1997-06-30"},
            ),
        ),
        **_SKILL,
    )
    async def get_metric(self, metric: _MetricName, since: _Since, until: _Until, run: RunContext) -> Reply:
        """Computes one metric in a period, and how it changed.

        Use it for a metric in a month, quarter or any other days: against the previous period, the year before, the
        year to date, and its target.

        Returns:
            The value with unit, definition, SQL and rows, the changes in percent, and the status of the target.
        """
        return await _reply_with(run, lambda calculator: calculator.compare(metric, (since, until)))

    @retinue.skill(
        output=MetricFigure,
        examples=_EXAMPLES["compare_periods"],
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
        **_SKILL,
    )
    async def compare_periods(
        self,
        metric: _MetricName,
        since: _Since,
        until: _Until,
        run: RunContext,
        *,
        baseline_first_day: Annotated[date, Field(description="First day of the period to compare with.")],
        baseline_last_day: Annotated[date, Field(description="Last day of the period to compare with.")],
    ) -> Reply:
        """Compares one metric in two periods of your own.

        Use it for the change from one period to any other. Returns: what `get_metric` gives, and the change against the
        baseline.
        """
        baseline = baseline_first_day, baseline_last_day
        return await _reply_with(run, lambda calculator: calculator.compare(metric, (since, until), baseline=baseline))

    @retinue.skill(
        output=MetricList,
        examples=_EXAMPLES["list_metrics"],
        samples=(Sample(title="All metrics", parameters={}),),
        **_SKILL,
    )
    async def list_metrics(self, run: RunContext) -> Reply:
        """Lists the metrics there are, with definition, unit and formula, and the days of which there are data.

        Use it to see what can be asked. Returns names, definitions, units, formulas, targets and the days of the data.
        """
        return await _reply_with(run, MetricCalculator.list_metrics)


async def _reply_with(run: RunContext, compute: Callable[[MetricCalculator], Reply]) -> Reply:
    deadline = RunDeadline(run)
    return await in_cancellable_thread(deadline, with_calculator, run, deadline, compute)
