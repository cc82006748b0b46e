"""The agent itself: reads a task, opens files in a thread, gives a reply. How figures come about stands beside."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.task import Task
from retinue.errors import BudgetExceeded, InvalidInput, YourError
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.catalogue.data_analyst.columns import Columns
    from retinue.catalogue.data_analyst.reading import Reading
    from retinue.catalogue.data_analyst.report import Report
    from retinue.catalogue.data_analyst.wanted import Condition, Measure, Wanted
    from retinue.tools.data import Data

__all__ = ["DataAnalyst"]

_INSTALL: Final = "install retinue[data]"
_OF_DATA: Final = frozenset(
    {
        "data", "dataset", "csv", "parquet", "json", "log", "logs", "columns", "rows", "table", "percentile",
        "percentiles", "quartiles",
    }
)  # fmt: skip
"""Words that are about data, whatever the file holds."""


class DataAnalyst:
    """Answers questions about data files and logs in figures, each with the SQL that gave it."""

    @property
    def definition(self) -> Definition:
        """What it says of itself; without DuckDB every skill says how to get it."""
        return load_definition(__package__ or "") if _has_engine() else _unavailable()

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do one of its skills. What the words leave open comes back as questions.

        Raises:
            UnknownName: The skill is none of its own, or a typed parameter names no column.
            MissingFile: There is no such file, or no data file at all.
            InvalidInput: A file or parameter cannot be used.
            NotInstalled: DuckDB is not here.
        """
        work = _WORK.get(task.skill or "")
        if work is None:
            raise no_such_skill(self.definition, task.skill, _WORK)
        watch = Watch(run)
        return await in_watched_thread(watch, _in_database, work, task, run, run.workspace, watch)


@cache
def _has_engine() -> bool:
    return find_spec("duckdb") is not None


@cache
def _unavailable() -> Definition:
    whole = load_definition(__package__ or "")
    skills = tuple(skill.model_copy(update={"unavailable": _INSTALL}) for skill in whole.skills)
    return whole.model_copy(update={"skills": skills})


@dataclass(slots=True)
class _Work:
    """One task under way."""

    task: Task
    run: RunContext
    workspace: Workspace
    watch: Watch
    data: "Data"
    report: "Report"

    @property
    def question(self) -> str:
        """Its words."""
        return str(self.task.parameters.get("question") or self.task.instruction)

    def open(self, path: str) -> "Columns":
        """A file as columns; what it lacks goes into the report."""
        from retinue.catalogue.data_analyst.columns import read_columns  # noqa: PLC0415 - when it is needed

        self.run.emit(Progress("reading the file", path))
        columns = read_columns(self.data, self.data.open(path), check=self.watch.check)
        self.report.opened(columns.source, notes=columns.notes)
        return columns

    def choose(self, *, least: int = 1, only: str = "") -> tuple[str, ...]:
        """The files; none when that has to be asked."""
        from retinue.catalogue.data_analyst.files import choose  # noqa: PLC0415 - as above

        chosen = choose(self.task, self.workspace, question=self.question, least=least, only=only, fits=self._fits)
        if chosen.is_foreign:
            self.report.reject("No data file here has what the words speak of.", hint="Name the file, or a column.")
            return ()
        if chosen.question is not None:
            self.report.questions = (chosen.question,)
            return ()
        if chosen.note:
            self.report.note(chosen.note)
        return chosen.paths

    def one_file(self, *, only: str = "") -> "Columns | None":
        """The one file that is read; that others were named is said."""
        paths = self.choose(only=only)
        if len(paths) > 1:
            others = ", ".join(f"`{path}`" for path in paths[1:])
            self.report.warn(
                "incomplete_context",
                f"Only `{paths[0]}` was read, not {others}.",
                impact="No figure counts the others.",
                recovery="Ask about one file at a time, or compare two.",
            )
        return self.open(paths[0]) if paths else None

    def understood(self) -> "tuple[Columns, Reading] | None":
        """The one file and the words read with it; None when there is no file, or something must be asked first."""
        columns = self.one_file()
        if columns is None:
            return None
        reading = self.read(columns)
        self.report.questions = reading.questions
        return None if reading.questions or reading.calculation else (columns, reading)

    def read(self, columns: "Columns") -> "Reading":
        """The words of the task, read with these columns; what they leave open goes into the report."""
        from retinue.catalogue.data_analyst.reading import Reading, read  # noqa: PLC0415 - as above
        from retinue.catalogue.data_analyst.request import answers_in, is_typed  # noqa: PLC0415
        from retinue.catalogue.data_analyst.wanted import Wanted  # noqa: PLC0415

        given = self.task.parameters
        if not self.question.strip():
            return Reading(Wanted())
        files = tuple(source.path for source in self.report.sources)
        answers = answers_in(given, self.task.context.constraints)
        reading = read(self.question, columns, files=files, answers=answers)
        if reading.calculation and not is_typed(given):
            self.report.reject(
                f"`{reading.calculation}` asks for a calculation that is not done here: figures are of one column.",
                hint="Add a column that holds it to the file, or ask for the figure of each column by itself.",
                code="invalid_input",
            )
            return Reading(Wanted(), calculation=reading.calculation)
        if is_typed(given) and reading.questions:
            # A program has said what it wants: what its words leave open is only noted.
            open_words = ", ".join(
                f"“{one.id.removeprefix('meaning_').replace('_', ' ')}”" for one in reading.questions
            )
            self.report.note(f"Not read from the words: {open_words}.")
            return Reading(Wanted(), reading.percentiles)
        self.report.note(*reading.notes)
        return reading

    def times_said(self, columns: "Columns") -> "tuple[Condition, ...]":
        """The stretches of time that the words name."""
        from retinue.catalogue.data_analyst.reading import read  # noqa: PLC0415 - as above

        if not self.question.strip():
            return ()
        files = tuple(source.path for source in self.report.sources)
        times = {one.name for one in columns.times}
        conditions = read(self.question, columns, files=files).wanted.conditions
        return tuple(one for one in conditions if one.column in times)

    def wanted(self, columns: "Columns", reading: "Reading") -> "Wanted":
        """What is wanted, typed parameters included."""
        from retinue.catalogue.data_analyst.request import wanted_of  # noqa: PLC0415 - as above

        return wanted_of(reading, self.task.parameters, columns)

    def _fits(self, path: str) -> int | None:
        from retinue.catalogue.data_analyst.columns import read_columns  # noqa: PLC0415 - as above
        from retinue.catalogue.data_analyst.reading import read  # noqa: PLC0415

        try:
            columns = read_columns(self.data, self.data.open(path), check=self.watch.check)
        except (YourError, BudgetExceeded):  # whatever is wrong with it, the file that is meant may be another
            return None
        reading = read(self.question, columns, files=(path,))
        if not reading.speaks_of_it and not (reading.is_open or _OF_DATA & set(self.question.casefold().split())):
            return None
        return len(reading.questions) + len(reading.unused) + (not reading.speaks_of_it)


def _in_database(
    work: Callable[["_Work"], None], task: Task, run: RunContext, workspace: Workspace, watch: Watch
) -> Reply:
    from retinue.catalogue.data_analyst.report import Report  # noqa: PLC0415 - when it is needed
    from retinue.tools.data import Data  # noqa: PLC0415

    report = Report()
    with Data(workspace, check=watch.check) as data:
        work(_Work(task, run, workspace, watch, data, report))
    return report.reply()


def _profile(work: _Work) -> None:
    columns = work.one_file()
    if columns is not None:
        _describe(work, columns)


def _describe(work: _Work, columns: "Columns") -> None:
    from retinue.catalogue.data_analyst.profile import profile  # noqa: PLC0415 - when it is needed

    profile(
        work.data,
        columns,
        work.report,
        check=work.watch.check,
        progress=lambda done, total: work.run.emit(Progress("describing columns", "", done, total)),
    )


def _aggregate(work: _Work) -> None:
    from retinue.catalogue.data_analyst.aggregate import aggregate  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.data_analyst.compare import compare_groups, opposed  # noqa: PLC0415
    from retinue.catalogue.data_analyst.percentiles import percentiles  # noqa: PLC0415
    from retinue.catalogue.data_analyst.request import is_typed  # noqa: PLC0415

    understood = work.understood()
    if understood is None:
        return
    columns, reading = understood
    if reading.is_open and not is_typed(work.task.parameters):
        _describe(work, columns)  # "what is in flights.csv"
        return
    work.run.emit(Progress("computing"))
    wanted = work.wanted(columns, reading)
    if (sides := opposed(wanted)) is not None and not (wanted.rows or is_typed(work.task.parameters)):
        compare_groups(work.data, columns, sides[0], sides[1], work.report)
    elif reading.percentiles and not work.task.parameters.get("measures"):
        percentiles(work.data, columns, wanted, work.report, asked=reading.percentiles)
    else:
        aggregate(work.data, columns, wanted, work.report)


def _percentiles(work: _Work) -> None:
    from retinue.catalogue.data_analyst.aggregate import aggregate  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.data_analyst.percentiles import percentiles  # noqa: PLC0415

    understood = work.understood()
    if understood is None:
        return
    columns, reading = understood
    if not work.task.parameters.get("percentiles") and _asks_for_a_figure(work.question, reading):
        aggregate(work.data, columns, work.wanted(columns, reading), work.report)
        return
    given = work.task.parameters.get("percentiles")
    typed = tuple(map(float, cast("list[float]", given))) if isinstance(given, list) else ()
    work.run.emit(Progress("computing"))
    percentiles(work.data, columns, work.wanted(columns, reading), work.report, asked=typed or reading.percentiles)


def _asks_for_a_figure(question: str, reading: "Reading") -> bool:
    """Whether the words want one figure, such as the median, and say nothing of percentiles."""
    is_one = all(one.function not in ("count", "percentile") for one in reading.wanted.measures)
    return is_one and not reading.percentiles and bool(question.strip())


def _log_parse(work: _Work) -> None:
    from retinue.catalogue.data_analyst.log_parse import log_parse  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.data_analyst.reading import Reading  # noqa: PLC0415
    from retinue.catalogue.data_analyst.wanted import Wanted  # noqa: PLC0415

    columns = work.one_file(only="log")
    if columns is None:
        return
    if columns.source.kind != "log":
        raise InvalidInput(
            f"{columns.source.path!r} is read as {columns.source.kind}, not as a log.",
            hint="Name a file that ends in .log, or use `aggregate`.",
            path="/parameters/files",
        )
    work.run.emit(Progress("computing"))
    # A summary is of all that was logged at the time that the words name; only typed conditions narrow it further.
    reading = Reading(Wanted(conditions=work.times_said(columns)))
    log_parse(work.data, columns, work.report, conditions=work.wanted(columns, reading).conditions)


def _compare(work: _Work) -> None:
    from retinue.catalogue.data_analyst.compare import compare_files, compare_groups, key_of, sides_of  # noqa: PLC0415
    from retinue.contract.question import Question  # noqa: PLC0415

    paths = work.choose(least=1)
    if not paths:
        return
    first = work.open(paths[0])
    if len(paths) > 1:
        second = work.open(paths[1])
        given = work.task.parameters.get("key")
        key = key_of(first, second, cast("list[str]", given) if isinstance(given, list) else [])
        measures = _measures_said(work, first)
        if work.report.unanswered is None:
            compare_files(work.data, first, second, work.report, key=key, measures=measures)
        return
    reading = work.read(first)
    if reading.questions or reading.calculation:
        work.report.questions = reading.questions
        return
    wanted = work.wanted(first, reading)
    found = sides_of(wanted)
    if found is None:
        if wanted.groups:
            from retinue.catalogue.data_analyst.aggregate import aggregate  # noqa: PLC0415 - as above

            aggregate(work.data, first, wanted, work.report)
            return
        text = "What is compared with what? Name two values of one column, two stretches of time, or two files."
        work.report.questions = (Question(id="sides", text=text),)
        return
    work.run.emit(Progress("computing"))
    compare_groups(work.data, first, found[0], found[1], work.report)


def _measures_said(work: _Work, columns: "Columns") -> "tuple[Measure, ...]":
    reading = work.read(columns)
    return () if reading.questions or reading.calculation else work.wanted(columns, reading).measures


_WORK: Final[Mapping[str, Callable[[_Work], None]]] = {
    "profile": _profile,
    "aggregate": _aggregate,
    "percentiles": _percentiles,
    "log_parse": _log_parse,
    "compare": _compare,
}
