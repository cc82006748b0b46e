"""The agent: typed skills over data files and logs. How figures come about stands beside."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.data_analyst.parameters import (
    NO_MEANINGS,
    NOTHING,
    USUAL_ORDER,
    Analysis,
    Averaged,
    Files,
    GroupBy,
    Having,
    Key,
    Limit,
    Meanings,
    Measures,
    Order,
    Points,
    QuestionText,
    Select,
    Where,
)
from retinue.contract.definition import Sample
from retinue.contract.event import Progress
from retinue.contract.facts import Facts
from retinue.contract.question import Question
from retinue.contract.table_query import Condition, Measure, Ordering, TableQuery
from retinue.contract.task import Task
from retinue.errors import BudgetExceeded, InvalidInput, YourError

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.data_analyst.columns import Columns
    from retinue.catalogue.data_analyst.report import Report
    from retinue.orchestration.reader.tables import TableReading
    from retinue.tools.data import Data
    from retinue.tools.workspace import Workspace

__all__ = ["DataAnalyst"]

_TRIED: Final = 8
"""Files whose columns are looked at when none is named."""
_OPTIONS: Final = 24
_MEANING: Final = "meaning_"


def _without_duckdb() -> str:
    """What is missing here, and how to get it."""
    return "" if find_spec("duckdb") else "install retinue[data]"


class _HasCache(Protocol):
    """As the class says below; its name is the agent's."""

    cache_dir: Path | None


def _facts(analyst: "_HasCache", workspace: "Workspace") -> Facts:
    """The tables that lie here."""
    from retinue.catalogue.data_analyst.facts import read_facts  # noqa: PLC0415 - DuckDB is not needed to list agents

    return Facts() if _without_duckdb() else read_facts(workspace, analyst.cache_dir)


_PRICES: Final[dict[str, Any]] = {
    "answer": "The mean of `price` by `city`: `Bern`: 7.5, `Rome`: 4. (sales.csv)",
    "findings": [
        {
            "topic": "mean price",
            "content": "The mean of `price` by `city`: `Bern`: 7.5, `Rome`: 4.",
            "source": "sales.csv",
        }
    ],
    "notes": [],
    "subjects": ["Bern", "Rome"],
    "tables": [],
    "charts": [],
    "metrics": {"groups": 2},
    "row_count": 4,
    "sql": 'SELECT "city" AS "city", avg("price") AS "mean price", count(*) AS rows\nFROM \'sales.csv\'\n'
    "GROUP BY 1\nORDER BY 2 DESC NULLS LAST, 1",
    "understood": {"measure": ["mean of `price`"], "group": ["city"]},
    "files": ["sales.csv"],
    "matched_rows": 4,
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

    def __init__(self, *, cache_dir: "str | PathLike[str] | None" = None) -> None:
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        output=Analysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        unavailable=_without_duckdb,
        facts=_facts,
        examples=(
            "what is in flights.csv",
            "what does data.csv contain",
            "describe the columns of sales.parquet",
            "profile the file orders.csv",
            "which columns does customers.csv have",
            "are there missing values in survey.csv",
            "how clean is the data in events.jsonl",
            "give me an overview of the dataset",
            "does payments.csv have duplicate rows",
            "summarise the table data/weather.csv",
            "what types do the columns of users.json have",
            "check the quality of the data in sessions.csv",
            "how many empty cells has each column",
            "show the first rows and the ranges of the columns",
        ),
        samples=(
            Sample(title="What a file holds", parameters={"question": "What is in sales.csv?", "files": ["sales.csv"]}),
        ),
    )
    async def profile(self, run: RunContext, task: Task, *, question: QuestionText, files: Files = NOTHING) -> Reply:
        """Describes a data file column by column: types, empty cells, distinct values, ranges, duplicates.

        Use it when somebody asks what is in a file or whether its data is sound. Returns a table with a row for each
        column, and what looks wrong.
        """
        return await _in_thread(run, task, lambda work: work.profile(files, question))

    @retinue.skill(
        output=Analysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        unavailable=_without_duckdb,
        facts=_facts,
        examples=(
            "what is the average departure delay by carrier in flights.csv",
            "how many orders were placed in March",
            "top 10 customers by revenue",
            "which endpoint is the slowest in access.log",
            "how many requests returned status 500",
            "what share of orders was paid by card",
            "total sales per month",
            "which product sold the most",
            "how many different users are there in events.jsonl",
            "what is the maximum temperature per city",
            "what are the three slowest endpoints in access.log",
            "count the rows where the country is missing",
            "how many errors per hour are in app.log",
            "show the trend of signups over time in users.csv",
            "which region has the lowest revenue",
            "what is the median price of items without a discount",
            "what percentage of flights left more than 30 minutes late",
            "the warmest and the coldest city in weather.csv",
            "number of rows per category",
            "sum of the amounts in invoices.csv",
            "give the average duration of a session in sessions.csv",
            "busiest hour of the day",
            "how many machines were built by Siemens after 1990",
            "which suppliers delivered fewer than 100 parts",
            "which brand has the most models",
            "how many orders came in the first quarter, not counting returns",
            "average waiting time on weekends vs weekdays",
        ),
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
    async def aggregate(
        self,
        run: RunContext,
        task: Task,
        *,
        question: QuestionText,
        files: Files = NOTHING,
        measures: Measures = NOTHING,
        group_by: GroupBy = NOTHING,
        where: Where = NOTHING,
        having: Having = NOTHING,
        order: Order = USUAL_ORDER,
        limit: Limit = 0,
        select: Select = NOTHING,
        averaged: Averaged = False,
        meanings: Meanings = NO_MEANINGS,
    ) -> Reply:
        """Computes counts, totals, averages, shares and rankings over the rows of a data file.

        It knows filters, groups and time buckets. Use it when somebody asks how many, how much, on average, per group,
        or for the top few. Returns the figures, a table, a chart and the SQL.
        """
        query = _query(
            measures=measures,
            group_by=group_by,
            where=where,
            having=having,
            order=order,
            limit=limit,
            select=select,
            averaged=averaged,
        )
        return await _in_thread(run, task, lambda work: work.aggregate(files, question, query, meanings))

    @retinue.skill(
        output=Analysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        unavailable=_without_duckdb,
        facts=_facts,
        examples=(
            "what is the 95th percentile of the response time in access.log",
            "p99 latency per endpoint",
            "give me the p50, p90 and p99 of duration in requests.csv",
            "show the quartiles of price",
            "percentiles of the arrival delay by origin",
            "what is the 90th percentile of order value per country",
            "how are the response times distributed",
            "deciles of income in survey.csv",
            "p95 of the upload times",
            "what is the spread of the values in amount",
            "latency distribution of each endpoint in requests.csv",
            "how long do the slowest five percent of requests take",
        ),
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
    async def percentiles(
        self,
        run: RunContext,
        task: Task,
        *,
        question: QuestionText,
        files: Files = NOTHING,
        percentiles: Points = NOTHING,
        measures: Measures = NOTHING,
        group_by: GroupBy = NOTHING,
        where: Where = NOTHING,
        order: Order = USUAL_ORDER,
        limit: Limit = 0,
        meanings: Meanings = NO_MEANINGS,
    ) -> Reply:
        """Computes percentiles of a column of numbers, for all rows or for each group.

        Use it when somebody asks for a median, p95, quartiles or the spread of values. Returns the percentiles in a
        table, with the SQL.
        """
        query = _query(measures=measures, group_by=group_by, where=where, order=order, limit=limit)
        return await _in_thread(
            run, task, lambda work: work.aggregate(files, question, query, meanings, percentiles=percentiles)
        )

    @retinue.skill(
        output=Analysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        unavailable=_without_duckdb,
        facts=_facts,
        examples=(
            "summarise access.log",
            "what happened in app.log",
            "what errors are in server.log",
            "analyse the log file logs/nginx.log",
            "parse error.log and tell me what went wrong",
            "are there bursts of requests in access.log",
            "give me an overview of the web server log",
            "which messages are most frequent in the log",
            "look through syslog.log for problems",
            "show the warnings of worker.log",
            "which errors does the log hold and when did they begin",
            "did anything fail during the night in worker.log",
        ),
        samples=(
            Sample(title="A log as a whole", parameters={"question": "Summarise access.log", "files": ["access.log"]}),
        ),
    )
    async def log_parse(
        self, run: RunContext, task: Task, *, question: QuestionText, files: Files = NOTHING, where: Where = NOTHING
    ) -> Reply:
        """Summarises a log: entries, time span, levels or statuses, commonest paths and messages, errors over time.

        It names slowest paths and bursts too. Use it when somebody asks what a log says or what went wrong in it.
        Returns sentences with path:line of first examples, tables and charts.
        """
        return await _in_thread(run, task, lambda work: work.summarise_log(files, question, where))

    @retinue.skill(
        output=Analysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        unavailable=_without_duckdb,
        facts=_facts,
        examples=(
            "compare the average delay of UA and DL in flights.csv",
            "how do the figures of old.csv differ from those of new.csv",
            "compare january with february sales",
            "how do orders.csv and orders_new.csv differ",
            "which rows changed from prices_v1.csv to prices_v2.csv",
            "compare revenue in Germany and France",
            "did response times get worse from Monday to Tuesday",
            "how did the average order value change from 2023 to 2024",
            "compare the sales of two years",
            "is the average price in shop_a.csv higher than in shop_b.csv",
            "did we sell more in spring than in autumn",
            "which rows are in users_old.csv but not in users_new.csv",
        ),
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
    async def compare(
        self,
        run: RunContext,
        task: Task,
        *,
        question: QuestionText,
        files: Files = NOTHING,
        key: Key = NOTHING,
        measures: Measures = NOTHING,
        group_by: GroupBy = NOTHING,
        where: Where = NOTHING,
        order: Order = USUAL_ORDER,
        limit: Limit = 0,
        meanings: Meanings = NO_MEANINGS,
    ) -> Reply:
        """Compares two data files, two groups of rows or two stretches of time.

        The same measures stand side by side, with difference and change. Use it when somebody asks what differs between
        two of them. Returns both figures, the absolute and relative change, and rows added, removed or changed.
        """
        query = _query(measures=measures, group_by=group_by, where=where, order=order, limit=limit)
        return await _in_thread(run, task, lambda work: work.compare(files, question, query, meanings, key=key))


def _query(*, order: Ordering, **parts: Any) -> TableQuery:
    """What typed parameters ask for; an order that says nothing is none."""
    return TableQuery(order=None if order == Ordering() else order, **parts)


async def _in_thread(run: RunContext, task: Task, work: "Callable[[_Work], None]") -> Reply:
    watch = Watch(run)
    return await in_watched_thread(watch, _in_database, work, task, run, run.workspace, watch)


def _in_database(
    do: "Callable[[_Work], None]", task: Task, run: RunContext, workspace: "Workspace", watch: Watch
) -> Reply:
    from retinue.catalogue.data_analyst.report import Report  # noqa: PLC0415 - when it is needed
    from retinue.tools.data import Data  # noqa: PLC0415

    report = Report()
    with Data(workspace, check=watch.check) as data:
        do(_Work(task, run, workspace, watch, data, report))
    return report.reply()


@dataclass(slots=True)
class _Work:
    """One task under way."""

    task: Task
    run: RunContext
    workspace: "Workspace"
    watch: Watch
    data: "Data"
    report: "Report"

    def profile(self, files: Sequence[str], question: str) -> None:
        columns = self._one_file(files, question)
        if columns is not None:
            self._describe(columns)

    def aggregate(
        self,
        files: Sequence[str],
        question: str,
        query: TableQuery,
        meanings: Mapping[str, str],
        *,
        percentiles: Sequence[float] | None = None,
    ) -> None:
        from retinue.catalogue.data_analyst.aggregate import aggregate  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.data_analyst.percentiles import with_percentiles  # noqa: PLC0415
        from retinue.catalogue.data_analyst.query import checked_query  # noqa: PLC0415

        found = self._columns_and_query(files, question, query, meanings)
        if found is None:
            return
        columns, asked = found
        if asked is None:  # "what is in flights.csv"
            self._describe(columns)
            return
        if percentiles is not None and (percentiles or not _is_one_figure(asked, question)):
            asked = with_percentiles(asked, columns, percentiles)
        self.run.emit(Progress("computing"))
        if not (asked.measures or asked.select):
            asked = asked.model_copy(update={"measures": (Measure(function="count"),)})
        aggregate(self.data, columns, checked_query(asked, columns), self.report)

    def summarise_log(self, files: Sequence[str], question: str, where: Sequence[Condition]) -> None:
        from retinue.catalogue.data_analyst.log_parse import log_parse  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.data_analyst.query import checked_query  # noqa: PLC0415

        columns = self._one_file(files, question, only="log")
        if columns is None:
            return
        if columns.source.kind != "log":
            raise InvalidInput(
                f"{columns.source.path!r} is read as {columns.source.kind}, not as a log.",
                hint="Name a file that ends in .log, or use `aggregate`.",
                path="/parameters/files",
            )
        self.run.emit(Progress("computing"))
        # A summary is of all that was logged at the time that the words name; only typed conditions narrow it further.
        times = {one.name for one in columns.times}
        _, rest = self._named(files, question)
        reading = self._read(rest, columns, {})
        spoken = reading.query.where if reading.query is not None and not where else ()
        conditions = (*where, *(one for one in spoken if one.column in times))
        query = checked_query(TableQuery(where=conditions), columns)
        log_parse(self.data, columns, self.report, conditions=query.where)

    def compare(
        self,
        files: Sequence[str],
        question: str,
        query: TableQuery,
        meanings: Mapping[str, str],
        *,
        key: Sequence[str],
    ) -> None:
        from retinue.catalogue.data_analyst.aggregate import aggregate  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.data_analyst.compare import compare_files, compare_groups, key_of, sides_of  # noqa: PLC0415
        from retinue.catalogue.data_analyst.query import checked_query  # noqa: PLC0415

        named, rest = self._named(files, question)
        if len(named) > 1:
            first, second = self._open(named[0]), self._open(named[1])
            reading = self._read(rest, first, meanings)
            spoken = reading.query.measures if reading.query is not None else ()
            measures = checked_query(TableQuery(measures=query.measures or spoken), first).measures
            columns_of_key = key_of(first, second, key)
            compare_files(self.data, first, second, self.report, key=columns_of_key, measures=measures)
            return
        found = self._columns_and_query(files, question, query, meanings)
        if found is None:
            return
        columns, asked = found
        asked = checked_query(asked or query, columns)
        sides = sides_of(asked)
        self.run.emit(Progress("computing"))
        if sides is not None:
            compare_groups(self.data, columns, sides[0], sides[1], self.report)
        elif asked.group_by:
            aggregate(self.data, columns, asked, self.report)
        else:
            self.report.reject(
                "It is not clear what is compared with what.",
                hint="Name two values of one column, two months or years, or two files.",
                code="invalid_input",
            )

    def _describe(self, columns: "Columns") -> None:
        from retinue.catalogue.data_analyst.profile import profile  # noqa: PLC0415 - when it is needed

        profile(
            self.data,
            columns,
            self.report,
            check=self.watch.check,
            progress=lambda done, total: self.run.emit(Progress("describing columns", "", done, total)),
        )

    # -- files and words

    def _open(self, path: str, *, is_read: bool = True) -> "Columns":
        """A file as columns; what it lacks goes into the report."""
        from retinue.catalogue.data_analyst.columns import read_columns  # noqa: PLC0415 - when it is needed

        if is_read:
            self.run.emit(Progress("reading the file", path))
        columns = read_columns(self.data, self.data.open(path), check=self.watch.check)
        if is_read:
            self.report.opened(columns.source, notes=columns.notes)
        return columns

    def _named(self, files: Sequence[str], question: str) -> tuple[list[str], str]:
        """The files that are named, and the question without them."""
        from retinue.catalogue.data_analyst.files import named_files, where_they_are  # noqa: PLC0415 - as above
        from retinue.tools.data import kind_of  # noqa: PLC0415

        spoken, rest = named_files(self.workspace, question)
        target = [self.task.target] if self.task.target and kind_of(self.task.target) is not None else []
        answers = [line.partition(": ")[2] for line in self.task.context.constraints if line.startswith("file: ")]
        return where_they_are(self.workspace, list(files)) or target or answers or spoken, rest

    def _one_file(self, files: Sequence[str], question: str, *, only: str = "") -> "Columns | None":
        """The one file that is read; None when it has to be asked which."""
        from retinue.catalogue.data_analyst.files import data_files  # noqa: PLC0415 - as above

        named, _ = self._named(files, question)
        if named:
            return self._first(named)
        there = data_files(self.workspace, only=only)
        if len(there) > 1:
            self._ask_which(there)
            return None
        self.report.note(f"No file was named; `{there[0]}` is the only data here.")
        return self._open(there[0])

    def _first(self, paths: Sequence[str]) -> "Columns":
        if len(paths) > 1:
            others = ", ".join(f"`{path}`" for path in paths[1:])
            self.report.warn(
                "incomplete_context",
                f"Only `{paths[0]}` was read, not {others}.",
                impact="No figure counts the others.",
                recovery="Ask about one file at a time, or compare two.",
            )
        return self._open(paths[0])

    def _ask_which(self, paths: Sequence[str]) -> None:
        listed = ", ".join(paths[:_OPTIONS])
        text = f"Which file? Available: {listed}{', …' if len(paths) > _OPTIONS else ''}."
        self.report.questions = (Question(id="file", text=text, kind="choice", options=tuple(paths[:_OPTIONS])),)

    def _columns_and_query(
        self, files: Sequence[str], question: str, query: TableQuery, meanings: Mapping[str, str]
    ) -> "tuple[Columns, TableQuery | None] | None":
        """The file with what is asked of it: typed, or read from the words. None when there is no answer to that.

        The query is None when the words ask only what the file holds.
        """
        named, rest = self._named(files, question)
        is_typed = bool(query.measures or query.select)
        if named:
            columns = self._first(named)
            reading = None if is_typed or not rest.strip() else self._read(rest, columns, meanings)
        elif is_typed:
            only = self._one_file(files, question)
            if only is None:
                return None
            columns, reading = only, None
        else:
            chosen = self._fitting(rest, meanings)
            if chosen is None:
                return None
            columns, reading = chosen
        if reading is None:
            return columns, query
        if reading.query is None and not reading.is_open:
            self._refuse({columns.source.path: (columns, reading)})
            return None
        if reading.query is None:
            return columns, None if query == TableQuery() else query
        self.report.note(*reading.notes)
        return columns, _merged(reading.query, query)

    def _read(self, question: str, columns: "Columns", meanings: Mapping[str, str]) -> "TableReading":
        from retinue.orchestration.reader.tables import read_table_question  # noqa: PLC0415 - only for words

        said = (line.partition(": ") for line in self.task.context.constraints)
        answers = {key.removeprefix(_MEANING): value for key, _, value in said if key.startswith(_MEANING)}
        return read_table_question(question, columns.facts(), meanings={**answers, **meanings})

    def _fitting(self, question: str, meanings: Mapping[str, str]) -> "tuple[Columns, TableReading] | None":
        """The one file here that the words can be read with; that there is none, or several, goes into the report."""
        from retinue.catalogue.data_analyst.files import data_files  # noqa: PLC0415 - as above

        there = data_files(self.workspace)
        read: dict[str, tuple[Columns, TableReading]] = {}
        for path in there[:_TRIED]:
            try:
                columns = self._open(path, is_read=False)
            except (YourError, BudgetExceeded):  # whatever is wrong with it, the file that is meant may be another
                if len(there) == 1:
                    raise
                continue
            read[path] = columns, self._read(question, columns, meanings)
        complete = [path for path, (_, one) in read.items() if one.query is not None and one.is_about]
        partial = [path for path, (_, one) in read.items() if one.ambiguity is not None]
        fitting = complete or partial or ([path for path, (_, one) in read.items() if one.query or one.is_open])
        if len(fitting) > 1:
            self._ask_which(fitting)
            return None
        if not fitting:
            self._refuse(read)
            return None
        columns, reading = read[fitting[0]]
        self.report.note(f"No file was named; `{fitting[0]}` is the one that fits.")
        self.report.opened(columns.source, notes=columns.notes)
        return columns, reading

    def _refuse(self, read: "Mapping[str, tuple[Columns, TableReading]]") -> None:
        """Ask what an ambiguous word means; or say which words name nothing, what there is, and what would work."""
        from retinue.orchestration.reader.tables import example_questions  # noqa: PLC0415 - as above

        ambiguity = next((one.ambiguity for _, one in read.values() if one.ambiguity is not None), None)
        if ambiguity is not None:
            text = f"Which column is `{ambiguity.words}`? Available: {', '.join(ambiguity.options[:_OPTIONS])}."
            self.report.questions = (
                Question(
                    id=f"{_MEANING}{ambiguity.words.casefold()}"[:64],
                    text=text,
                    kind="choice",
                    options=ambiguity.options[:_OPTIONS],
                ),
            )
            return
        nearest = min(read.items(), key=lambda one: len(one[1][1].unread), default=None)
        if nearest is None:
            self.report.reject("None of the data files here can be read.", hint="Name one, to see what is wrong.")
            return
        path, (columns, reading) = nearest
        self.report.sources = ()
        words = ", ".join(f"`{word}`" for word in reading.unread[:8])
        examples = example_questions(columns.facts())
        self.report.reject(
            f"{words or 'The question'} cannot be read as a question about `{path}`.",
            hint=f"Its columns are {', '.join(columns.names[:24])}{', …' if len(columns) > _OPTIONS else ''}."
            f" Ask for example: {'; '.join(examples)}.",
            code="invalid_input",
        )


def _merged(spoken: TableQuery, typed: TableQuery) -> TableQuery:
    """What the words ask for, with typed parts in the place of theirs."""
    parts: dict[str, Any] = {
        name: value for name in TableQuery.model_fields if (value := getattr(typed, name)) not in ((), None, 0, False)
    }
    compared = [one.value for one in (*spoken.where, *spoken.within, *spoken.having)]
    if typed.limit in compared and not spoken.limit:
        parts.pop("limit", None)  # "at most 100" is no limit, though a binder takes it for one
    return spoken.model_copy(update=parts)


def _is_one_figure(query: TableQuery, question: str) -> bool:
    """Whether the words want a figure such as the median, and say nothing of percentiles."""
    return bool(question.strip()) and all(one.function not in ("count", "percentile") for one in query.measures)
