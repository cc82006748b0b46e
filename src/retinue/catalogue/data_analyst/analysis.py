"""One task over data files: what may be asked and answered, which file it is about, and what is asked of it.

What is asked stands in typed parameters. A question in words is read by the reader, in one place, where they are empty.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, NoReturn

from pydantic import Field

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import ReportData
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.event import Progress
from retinue.contract.model import Many, Model
from retinue.contract.table_query import Condition, GroupCondition, Grouping, Measure, Ordering, TableQuery
from retinue.contract.task import Question, Task
from retinue.errors import BudgetExceeded, InvalidInput, YourError
from retinue.orchestration.reader.tables import TableReading, example_questions, read_table_question
from retinue.tools.data.database import Data
from retinue.tools.data.sources import kind_of

from .columns import Columns, data_files, files_in_question, locate_files
from .compare import compare_files, compare_groups, profile
from .findings import Findings
from .log_parse import summarise_log
from .query import aggregate, resolve_query, with_percentiles

_MAX_CANDIDATES: Final = 8
"""Files whose columns are looked at when none is named."""
_MAX_OPTIONS: Final = 24
_MEANING: Final = "meaning_"
_DATA_PATH: Final = (
    r"\.([cC][sS][vV]|[tT][sS][vV]|[jJ][sS][oO][nN]|[jJ][sS][oO][nN][lL]|[nN][dD][jJ][sS][oO][nN]"
    r"|[pP][aA][rR][qQ][uU][eE][tT]|[lL][oO][gG])(\.[gG][zZ])?$|\.[lL][oO][gG][.-][0-9][0-9-]*(\.[gG][zZ])?$"
)
_Path = Annotated[str, Field(min_length=1, max_length=1000, pattern=_DATA_PATH)]
_Column = Annotated[str, Field(min_length=1, max_length=300)]
_Point = Annotated[float, Field(ge=0, le=100)]


class DataRequest(Model):
    """Data files, and a question about them in words where there are no typed parameters."""

    question: str = Field(
        max_length=10_000,
        json_schema_extra={"default": ""},
        description="The question in plain words; empty when the parameters say it all.",
    )
    files: Many[_Path] = Field(
        default=(),
        max_length=20,
        json_schema_extra={"uniqueItems": True},
        description="The data files (CSV, TSV, JSON, JSONL, Parquet or log), as paths; an empty list means the one"
        " that the question is about.",
    )


class LogRequest(DataRequest):
    """Entries of a log."""

    where: Annotated[Many[Condition], Field(max_length=50, description="What a row must fulfil, all of it.")] = ()


class TableRequest(LogRequest):
    """Figures of a table."""

    measures: Annotated[Many[Measure], Field(max_length=20, description="The figures.")] = ()
    group_by: Many[Grouping] = Field(
        default=(), max_length=5, description="What rows are put together by; `unit` puts times into buckets."
    )
    order: Ordering = Field(
        default=Ordering(), description="What comes first; empty means the largest figure, or the first in time."
    )
    limit: Annotated[int, Field(ge=0, le=10_000, description="How many groups or rows, at most; 0 means all.")] = 0
    meanings: Annotated[
        dict[str, Annotated[str, Field(max_length=300)]],
        Field(
            max_length=50,
            json_schema_extra={"default": {}},
            description="Which column an ambiguous word of the question means, by the word.",
        ),
    ] = Field(default_factory=dict[str, str])

    def query(self) -> TableQuery:
        """The query that these parameters make; an empty order means no order."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in TableQuery.model_fields if hasattr(self, name)}
        parts["order"] = None if self.order == Ordering() else self.order
        return TableQuery(**parts)


class AggregateRequest(TableRequest):
    """Figures of a table, of groups that fulfil something, or the rows themselves."""

    having: Many[GroupCondition] = Field(default=(), max_length=10, description="What a group must fulfil, all of it.")
    select: Many[_Column] = Field(
        default=(), max_length=100, description="List the rows themselves with these columns, `*` for all, not figures."
    )
    averaged: bool = Field(default=False, description="Give the mean of the figure over all groups, not a row a group.")


class PercentileRequest(TableRequest):
    """Percentiles of a column of numbers."""

    percentiles: Many[_Point] = Field(
        default=(), max_length=20, description="Which percentiles; an empty list means 50, 90, 95 and 99."
    )


class ComparisonRequest(TableRequest):
    """Two files, or two sides of one."""

    key: Many[_Column] = Field(
        default=(),
        max_length=20,
        description="The columns that tell rows of two files apart; an empty list means an id column.",
    )


class Analysis(ReportData):
    """What a skill has computed."""

    metrics: dict[str, float] = Field(description="Single figures by name, exact.")
    row_count: Annotated[int, Field(ge=0, description="Rows read.")]
    matched_rows: Annotated[int, Field(ge=0, description="Rows that fulfil the conditions.")] | None = None
    sql: str = Field(description="The statements run, in DuckDB's SQL; on a log they name the table of its lines.")
    understood: dict[str, tuple[str, ...]] = Field(description="The parts of the query in words.")
    files: tuple[str, ...] = Field(description="The files read.")


class _NoAnswer(Exception):
    """There is no answer, and the findings say why."""


def analyse(request: DataRequest, task: Task, run: RunContext, deadline: RunDeadline) -> Reply:
    """Answer what `request` asks."""
    with Data(run.workspace, check=deadline.check) as data:
        analyzer = _Analyzer(request, task, run, deadline, data)
        with suppress(_NoAnswer):
            match request:
                case AggregateRequest() | PercentileRequest():
                    analyzer.aggregate(request)
                case ComparisonRequest():
                    analyzer.compare(request)
                case LogRequest():
                    analyzer.summarise_log(request)
                case _:
                    profile(analyzer.target_file(), analyzer.findings, emit=run.emit)
        return analyzer.findings.reply()


@dataclass
class _Analyzer:
    request: DataRequest
    task: Task
    run: RunContext
    deadline: RunDeadline
    data: Data
    findings: Findings = field(default_factory=Findings)

    def aggregate(self, request: AggregateRequest | PercentileRequest) -> None:
        columns, reading, query = self._resolve_request(request)
        if reading is not None and reading.is_open and query == TableQuery():  # "what is in flights.csv"
            profile(columns, self.findings, emit=self.run.emit)
            return
        if isinstance(request, PercentileRequest):
            # "The median price", where no percentiles are named, is that figure.
            figures = query.measures if reading is not None and not request.percentiles else ()
            if not figures or any(one.function in ("count", "percentile") for one in figures):
                query = with_percentiles(query, columns, request.percentiles)
        if not (query.measures or query.select):
            query = query.model_copy(update={"measures": (Measure(function="count"),)})
        self.run.emit(Progress("computing"))
        aggregate(columns, resolve_query(query, columns), self.findings)

    def summarise_log(self, request: LogRequest) -> None:
        columns = self.target_file(only="log")
        if columns.source.kind != "log":
            raise InvalidInput(
                f"{columns.source.path!r} is read as {columns.source.kind}, not as a log.",
                hint="Name a file that ends in .log, or use `aggregate`.",
                path="/parameters/files",
            )
        self.run.emit(Progress("computing"))
        # A summary is of all that was logged at the time that the words name; only typed conditions narrow it further.
        query = None if request.where else self._read_question(self._files_and_question[1], columns).query
        time_conditions = (
            () if query is None else tuple(one for one in query.where if columns.resolve(one.column).kind == "time")
        )
        conditions = resolve_query(TableQuery(where=(*request.where, *time_conditions)), columns).where
        summarise_log(columns, self.findings, conditions=conditions)

    def compare(self, request: ComparisonRequest) -> None:
        files, rest = self._files_and_question
        if len(files) > 1:
            first, second = self._open_file(files[0]), self._open_file(files[1])
            query = request.query() if request.measures else self._read_question(rest, first).query or TableQuery()
            measures = resolve_query(TableQuery(measures=query.measures), first).measures
            compare_files(first, second, self.findings, key=request.key, measures=measures)
            return
        columns, _, query = self._resolve_request(request)
        query = resolve_query(query, columns)
        self.run.emit(Progress("computing"))
        if compare_groups(columns, query, self.findings):
            return
        if query.group_by:
            aggregate(columns, query, self.findings)
        else:
            self.findings.reject(
                "It is not clear what is compared with what.",
                hint="Name two values of one column, two months or years, or two files.",
                code="invalid_input",
            )

    # -- files and words

    def _open_file(self, path: str) -> Columns:
        """A file as columns; what it lacks goes into the findings."""
        columns = self._read_columns(path)
        self.findings.add_file(columns)
        return columns

    def _read_columns(self, path: str) -> Columns:
        self.run.emit(Progress("reading the file", path))
        return Columns(self.data, self.data.open(path), check=self.deadline.check)

    @cached_property
    def _files_and_question(self) -> tuple[list[str], str]:
        """The files that are named, and the question without them."""
        question_files, rest = files_in_question(self.run.workspace, self.request.question)
        target = [self.task.target] if self.task.target and kind_of(self.task.target) is not None else []
        answers = [line.partition(": ")[2] for line in self.task.context.constraints if line.startswith("file: ")]
        return locate_files(self.run.workspace, self.request.files) or target or answers or question_files, rest

    def _candidates(self, *, only: str = "") -> list[str]:
        """The file that is named first, or all that it may be."""
        first, *others = self._files_and_question[0] or [""]
        if others:
            self.findings.warn(
                "incomplete_context",
                f"Only `{first}` was read, not {first_of(map(code, others))}.",
                impact="No figure counts the others.",
                recovery="Ask about one file at a time, or compare two.",
            )
        return [first] if first else data_files(self.run.workspace, only=only)

    def target_file(self, *, only: str = "") -> Columns:
        """The one file there is, or that is named, as a whole; of one kind, when `only` names it.

        Raises:
            _NoAnswer: There are several.
        """
        path, *others = paths = self._candidates(only=only)
        if others:
            self._ask("file", "file", paths)
        if not self._files_and_question[0]:
            self.findings.note(f"No file was named; {code(path)} is the only data here.")
        return self._open_file(path)

    def _resolve_request(self, request: TableRequest) -> tuple[Columns, TableReading | None, TableQuery]:
        """The file that is asked about, how the words were read, and what is asked of it.

        Raises:
            _NoAnswer: No file fits the words, or several do.
        """
        files, rest = self._files_and_question
        query = request.query()
        if query.measures or query.select or (files and not rest.strip()):
            return self.target_file(), None, query
        paths = self._candidates()
        readings: dict[str, tuple[Columns, TableReading]] = {}
        for path in paths[:_MAX_CANDIDATES]:
            try:
                columns = self._read_columns(path)
            except (YourError, BudgetExceeded):  # whatever is wrong with it, the file that is meant may be another
                if len(paths) == 1:
                    raise
                continue
            readings[path] = columns, self._read_question(rest, columns)
        path = self._choose_file(readings)
        columns, reading = readings[path]
        if not files:
            self.findings.note(f"No file was named; {code(path)} is the one that fits.")
        self.findings.add_file(columns)
        self.findings.quote_notes(reading.notes)
        if (words := reading.query) is None:
            return columns, reading, query
        # What the words ask for, with typed parts in the place of theirs.
        parts: dict[str, Any] = {name: getattr(query, name) for name in TableQuery.model_fields}
        parts = {name: part for name, part in parts.items() if part not in ((), None, 0, False)}
        values = [one.value for one in (*words.where, *words.share_conditions, *words.having)]
        if query.limit in values and not words.limit:
            parts.pop("limit", None)  # "at most 100" is no limit, though a binder takes it for one
        return columns, reading, words.model_copy(update=parts)

    def _read_question(self, question: str, columns: Columns) -> TableReading:
        """The question as the reader understands it; answers that were given to earlier questions count."""
        pairs = (line.partition(": ") for line in self.task.context.constraints)
        answers = {key.removeprefix(_MEANING): value for key, _, value in pairs if key.startswith(_MEANING)}
        meanings = self.request.meanings if isinstance(self.request, TableRequest) else {}
        return read_table_question(question, columns.facts(), meanings={**answers, **meanings})

    def _choose_file(self, readings: Mapping[str, tuple[Columns, TableReading]]) -> str:
        """The one file that the question can be read with.

        Raises:
            _NoAnswer: There is no such file, or there are several.
        """
        complete = [path for path, (_, one) in readings.items() if one.query is not None and one.is_about]
        partial = [path for path, (_, one) in readings.items() if one.ambiguity is not None]
        matches = complete or partial or [path for path, (_, one) in readings.items() if one.query or one.is_open]
        if len(matches) > 1:
            self._ask("file", "file", matches)
        if matches and (complete or not partial):
            return matches[0]
        if partial and (ambiguity := readings[partial[0]][1].ambiguity):
            id_ = f"{_MEANING}{ambiguity.words.casefold()}"[:64]
            what = "figure" if ambiguity.options[0] == "mean" else "column"
            self._ask(id_, f"{what} is `{ambiguity.words}`", ambiguity.options)
        nearest = min(readings.values(), key=lambda one: len(one[1].unread), default=None)
        if nearest is None:
            self.findings.reject("None of the data files here can be read.", hint="Name one, to see what is wrong.")
            raise _NoAnswer
        columns, reading = nearest
        words = first_of(map(code, reading.unread[:8]))
        names = first_of(columns, _MAX_OPTIONS, more=", …")
        self.findings.reject(
            f"{words or 'The question'} cannot be read as a question about `{columns.source.path}`.",
            hint=f"Its columns are {names}. Ask for example: {'; '.join(example_questions(columns.facts()))}.",
            code="invalid_input",
        )
        raise _NoAnswer

    def _ask(self, id_: str, what: str, options: Sequence[str]) -> NoReturn:
        """Ask the person which one is meant."""
        text = f"Which {what}? Available: {first_of(options, _MAX_OPTIONS, more=', …')}."
        self.findings.questions = (Question(id=id_, text=text, kind="choice", options=tuple(options[:_MAX_OPTIONS])),)
        raise _NoAnswer
