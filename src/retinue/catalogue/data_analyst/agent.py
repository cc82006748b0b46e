"""The agent: typed skills over data files and logs. How figures come about stands beside."""

from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.contract.definition import Sample
from retinue.contract.facts import Facts
from retinue.contract.task import Task
from retinue.tools.workspace import Workspace

from .analysis import AggregateRequest, Analysis, ComparisonRequest, DataRequest, LogRequest, PercentileRequest, analyse
from .columns import read_facts


def _facts(analyst: Any, workspace: Workspace) -> Facts:
    """The tables that lie here."""
    return read_facts(workspace, analyst.cache_dir) if find_spec("duckdb") else Facts()


_ANSWER: Final = "The mean of `price` by `city`: `Bern`: 7.5, `Rome`: 4."
_PRICES: Final[dict[str, Any]] = {
    "answer": f"{_ANSWER} (sales.csv)",
    "findings": [{"topic": "mean price", "content": _ANSWER, "source": "sales.csv"}],
    "subjects": ["Bern", "Rome"],
    "metrics": {"groups": 2},
    "row_count": 4,
    "sql": 'SELECT "city" AS "city", avg("price") AS "mean price", count(*) AS rows\nFROM \'sales.csv\'\n'
    "GROUP BY 1\nORDER BY 2 DESC NULLS LAST, 1",
    "understood": {"measure": ["mean of `price`"], "group": ["city"]},
    "files": ["sales.csv"],
    "matched_rows": 4,
}
_SKILL: Final[Any] = {
    "output": Analysis,
    "instruction_field": "question",
    "effects": ("read",),
    "timeout_s": 120,
    "unavailable": lambda: "" if find_spec("duckdb") else "install retinue[data]",
    "facts": _facts,
}
_EXAMPLES: Final = {
    "profile": phrases("""
        what is in flights.csv; what does data.csv contain; describe the columns of sales.parquet; profile the file
        orders.csv; which columns does customers.csv have; are there missing values in survey.csv; how clean is the
        data in events.jsonl; give me an overview of the dataset; does payments.csv have duplicate rows; summarise the
        table data/weather.csv; what types do the columns of users.json have; check the quality of the data in
        sessions.csv; how many empty cells has each column; show the first rows and the ranges of the columns
    """),
    "aggregate": phrases("""
        what is the average departure delay by carrier in flights.csv; how many orders were placed in March; top 10
        customers by revenue; which endpoint is the slowest in access.log; how many requests returned status 500; what
        share of orders was paid by card; total sales per month; which product sold the most; how many different users
        are there in events.jsonl; what is the maximum temperature per city; what are the three slowest endpoints in
        access.log; count the rows where the country is missing; how many errors per hour are in app.log; show the
        trend of signups over time in users.csv; which region has the lowest revenue; what is the median price of
        items without a discount; what percentage of flights left more than 30 minutes late; the warmest and the
        coldest city in weather.csv; number of rows per category; sum of the amounts in invoices.csv; give the average
        duration of a session in sessions.csv; busiest hour of the day; how many machines were built by Siemens after
        1990; which suppliers delivered fewer than 100 parts; which brand has the most models; how many orders came in
        the first quarter, not counting returns; average waiting time on weekends vs weekdays
    """),
    "percentiles": phrases("""
        what is the 95th percentile of the response time in access.log; p99 latency per endpoint; give me the p50, p90
        and p99 of duration in requests.csv; show the quartiles of price; percentiles of the arrival delay by origin;
        what is the 90th percentile of order value per country; how are the response times distributed; deciles of
        income in survey.csv; p95 of the upload times; what is the spread of the values in amount; latency
        distribution of each endpoint in requests.csv; how long do the slowest five percent of requests take
    """),
    "log_parse": phrases("""
        summarise access.log; what happened in app.log; what errors are in server.log; analyse the log file
        logs/nginx.log; parse error.log and tell me what went wrong; are there bursts of requests in access.log; give
        me an overview of the web server log; which messages are most frequent in the log; look through syslog.log for
        problems; show the warnings of worker.log; which errors does the log hold and when did they begin; did
        anything fail during the night in worker.log
    """),
    "compare": phrases("""
        compare the average delay of UA and DL in flights.csv; how do the figures of old.csv differ from those of
        new.csv; compare january with february sales; how do orders.csv and orders_new.csv differ; which rows changed
        from prices_v1.csv to prices_v2.csv; compare revenue in Germany and France; did response times get worse from
        Monday to Tuesday; how did the average order value change from 2023 to 2024; compare the sales of two years;
        is the average price in shop_a.csv higher than in shop_b.csv; did we sell more in spring than in autumn; which
        rows are in users_old.csv but not in users_new.csv
    """),
}


@retinue.agent(
    name="data_analyst",
    version="1.0",
    category="analysis",
    aliases=("analyst",),
    tags=("data", "csv", "statistics", "sql", "log"),
    tier="small",
    tools=("data",),
)
class DataAnalyst:
    """Computes figures over data files and logs (CSV, JSON, JSONL, Parquet, .log) with SQL that it states.

    Use it when somebody asks how many, how much, which is the largest or slowest, or what a file of rows holds; not for
    code, documents or commits. Returns figures, tables, charts and the SQL; what names no column or value is refused.
    """

    def __init__(self, *, cache_dir: str | PathLike[str] | None = None) -> None:
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        **_SKILL,
        examples=_EXAMPLES["profile"],
        samples=(
            Sample(title="What a file holds", parameters={"question": "What is in sales.csv?", "files": ["sales.csv"]}),
        ),
    )
    async def profile(self, request: DataRequest, task: Task, run: RunContext) -> Reply:
        """Describes a data file column by column: types, empty cells, distinct values, ranges, duplicates.

        Use it when somebody asks what is in a file or whether its data is sound. Returns a table with a row for each
        column, and what looks wrong.
        """
        return await _run_analysis(request, task, run)

    @retinue.skill(
        **_SKILL,
        examples=_EXAMPLES["aggregate"],
        samples=(
            Sample(
                title="The mean of a column by another",
                parameters={"question": "What is the average price per city?", "files": ["sales.csv"]},
                answer=_PRICES,
            ),
            Sample(
                title="The same, typed",
                parameters={
                    "question": "",
                    "files": ["sales.csv"],
                    "measures": [{"function": "mean", "column": "price"}],
                    "group_by": [{"column": "city"}],
                },
            ),
        ),
    )
    async def aggregate(self, request: AggregateRequest, task: Task, run: RunContext) -> Reply:
        """Computes counts, totals, averages, shares and rankings over the rows of a data file.

        It knows filters, groups and time buckets. Use it when somebody asks how many, how much, on average, per group,
        or for the top few. Returns the figures, a table, a chart and the SQL.
        """
        return await _run_analysis(request, task, run)

    @retinue.skill(
        **_SKILL,
        examples=_EXAMPLES["percentiles"],
        samples=(
            Sample(
                title="One percentile",
                parameters={
                    "question": "What is the 95th percentile of price in sales.csv?",
                    "files": ["sales.csv"],
                    "percentiles": [95],
                },
            ),
        ),
    )
    async def percentiles(self, request: PercentileRequest, task: Task, run: RunContext) -> Reply:
        """Computes percentiles of a column of numbers, for all rows or for each group.

        Use it when somebody asks for a median, p95, quartiles or the spread of values. Returns the percentiles in a
        table, with the SQL.
        """
        return await _run_analysis(request, task, run)

    @retinue.skill(
        **_SKILL,
        examples=_EXAMPLES["log_parse"],
        samples=(
            Sample(title="A log as a whole", parameters={"question": "Summarise access.log", "files": ["access.log"]}),
        ),
    )
    async def log_parse(self, request: LogRequest, task: Task, run: RunContext) -> Reply:
        """Summarises a log: entries, time span, levels or statuses, commonest paths and messages, errors over time.

        It names slowest paths and bursts too. Use it when somebody asks what a log says or what went wrong in it.
        Returns sentences with path:line of first examples, tables and charts.
        """
        return await _run_analysis(request, task, run)

    @retinue.skill(
        **_SKILL,
        examples=_EXAMPLES["compare"],
        samples=(
            Sample(
                title="Two groups",
                parameters={
                    "question": "Compare the average price of Bern and Rome in sales.csv",
                    "files": ["sales.csv"],
                },
            ),
        ),
    )
    async def compare(self, request: ComparisonRequest, task: Task, run: RunContext) -> Reply:
        """Compares two data files, two groups of rows or two stretches of time.

        The same measures stand side by side, with difference and change. Use it when somebody asks what differs between
        two of them. Returns both figures, the absolute and relative change, and rows added, removed or changed.
        """
        return await _run_analysis(request, task, run)


async def _run_analysis(request: DataRequest, task: Task, run: RunContext) -> Reply:
    deadline = RunDeadline(run)
    return await in_cancellable_thread(deadline, analyse, request, task, run, deadline)
