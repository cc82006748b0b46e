"""What a skill has found out, on its way to becoming a reply: sentences with sources, tables, charts, the SQL run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code, one_line
from retinue.catalogue.data_analyst.shown import plural
from retinue.contract.fault import Fault
from retinue.contract.question import Question
from retinue.contract.result import Warned, WarningType
from retinue.contract.sanitize import printable
from retinue.contract.table import Cell, Chart, Column, Series, Table
from retinue.errors import FaultCode
from retinue.tools.data import Rows, Source

__all__ = ["Report", "chart_of", "table_of"]

_SUBJECTS: Final = 50
_TABLE_ROWS: Final = 200
_NAME: Final = 200
_TEXT: Final = 500
_COLUMNS: Final = 12
_SHOWN_SQL: Final = 700
_IN_COLUMN: Final = re.compile(r"In column ('[^']*'), (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Statement:
    topic: str
    prose: Prose
    source: str


@dataclass(slots=True)
class Report:
    """What one skill has found out.

    Attributes:
        sql: The statements run, each runnable by itself.
        understood: How the words were read: measures, groups, filters, order.
        about: The columns that the answer is about: what is noted of others is left out. Empty for all.
        unanswered: Why this is no answer to the question, when it is none.
    """

    sources: Sequence[Source] = ()
    statements: list[_Statement] = field(default_factory=list[_Statement])
    notes: list[str] = field(default_factory=list[str])
    warnings: list[Warned] = field(default_factory=list[Warned])
    tables: list[Table] = field(default_factory=list[Table])
    charts: list[Chart] = field(default_factory=list[Chart])
    metrics: dict[str, int | float] = field(default_factory=dict[str, int | float])
    subjects: list[str] = field(default_factory=list[str])
    sql: list[str] = field(default_factory=list[str])
    understood: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    matched_rows: int | None = None
    questions: tuple[Question, ...] = ()
    of_columns: list[str] = field(default_factory=list[str])
    about: set[str] = field(default_factory=set[str])
    unanswered: Fault | None = None

    def say(self, topic: str, template: str, *pieces: Piece | str, source: str) -> None:
        """Add a sentence of the answer."""
        self.statements.append(_Statement(one_line(topic), Prose(template, pieces), source))

    def note(self, *texts: str) -> None:
        """Add notes, each once."""
        self.notes += [text for text in dict.fromkeys(texts) if text not in self.notes]

    def warn(self, kind: WarningType, message: str, *, impact: str, recovery: str = "") -> None:
        """Add a warning; with one, the answer is only partial."""
        self.warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery))

    def reject(self, message: str, *, hint: str, code: FaultCode = "missing_file") -> None:
        """Say that there is nothing of what was asked for."""
        self.unanswered = Fault(code=code, message=message, hint=hint, retryable=False)

    def opened(self, *sources: Source, notes: Sequence[str] = ()) -> None:
        """Name the files that were read, with what makes them less than whole, and how their columns were read."""
        self.of_columns += notes
        self.sources = (*self.sources, *sources)
        for source in sources:
            if source.skipped_total:
                first = source.skipped[0] if source.skipped else None
                where = f", the first at {source.path}:{first.line} ({first.reason})" if first else ""
                self.warn(
                    "missing_data",
                    one_line(f"{plural(source.skipped_total, 'line')} of {source.path} could not be read{where}."),
                    impact="No figure counts them.",
                    recovery="Fix these lines, and ask again.",
                )

    def show(self, table: Table, chart: Chart | None = None) -> None:
        """Add rows to look at, and a drawing of them."""
        self.tables.append(table)
        if chart is not None:
            self.charts.append(chart)

    def name_subjects(self, names: Sequence[Cell]) -> None:
        """Say what the rows of the answer are about, in order."""
        known = [one_line(str(name)) for name in names if name is not None and str(name).strip()]
        self.subjects += [name for name in dict.fromkeys(known) if name not in self.subjects]
        del self.subjects[_SUBJECTS:]

    def reply(self) -> Reply:
        """The reply that says all of it."""
        said = [{"topic": one.topic, "content": one.prose.plain(), "source": one.source} for one in self.statements]
        notes = list(dict.fromkeys([*self._notes_of_files(), *self.notes]))
        asked = " ".join(question.text for question in self.questions)
        data: dict[str, Any] = {
            "answer": "\n".join(f"{one['content']} ({one['source']})" for one in said) or asked,
            "findings": said,
            "notes": notes,
            "subjects": self.subjects,
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "metrics": self.metrics,
            "row_count": sum(source.rows for source in self.sources),
            "sql": ";\n".join(self.sql),
            "understood": self.understood,
            "files": [source.path for source in self.sources],
        }
        if self.matched_rows is not None:
            data["matched_rows"] = self.matched_rows
        return Reply(
            data=data,
            outcome=None
            if self.questions
            else "rejected"
            if self.unanswered
            else "partial"
            if self.warnings
            else "success",
            fault=self.unanswered,
            content=self._markdown(notes) or asked,
            warnings=tuple(self.warnings),
            files_read=tuple(source.path for source in self.sources),
            questions=self.questions,
        )

    def _notes_of_files(self) -> list[str]:
        """What the files' own notes say of the columns that matter here."""
        if self.questions:
            return []
        noted = [*(note for source in self.sources for note in source.notes), *self.of_columns]
        return _merged(self._of_what_matters(noted))

    def _of_what_matters(self, noted: list[str]) -> list[str]:
        if not self.about:
            return noted
        fields = {field.name for source in self.sources for field in source.fields}
        others = [repr(name) for name in fields - self.about]
        return [
            note
            for note in noted
            if any(repr(name) in note for name in self.about) or not any(name in note for name in others)
        ]

    def _markdown(self, notes: Sequence[str]) -> str:
        if not self.statements:
            return ""
        lead, *rest = [f"{one.prose.markdown()} ({code(one.source).markdown()})" for one in self.statements]
        blocks = [lead]
        if rest:
            blocks.append("\n".join(f"- {line}" for line in rest))
        if notes:
            blocks.append(" ".join(Prose("{}", (Piece(one_line(note), "quote"),)).markdown() for note in notes))
        if statement := self._statement():
            blocks.append(f"```sql\n{statement}\n```")
        return "\n\n".join(blocks)

    def _statement(self) -> str:
        """The SQL for a reader; a long one stands in the data only, as does one that would end its own fence."""
        statement = printable(";\n".join(self.sql))
        return statement if len(statement) <= _SHOWN_SQL and "```" not in statement else ""


def _merged(notes: Sequence[str]) -> list[str]:
    """Notes that say the same of several columns, as one."""
    found: dict[str, list[str]] = {}
    for note in notes:
        match = _IN_COLUMN.fullmatch(note)
        found.setdefault(note if match is None else match[2], []).append("" if match is None else match[1])
    return [
        rest if not names[0] else f"In column {names[0]}, {rest}" if len(names) == 1 else _in_columns(names, rest)
        for rest, names in found.items()
    ]


def _in_columns(names: Sequence[str], rest: str) -> str:
    more = f" and {len(names) - _COLUMNS} more" if len(names) > _COLUMNS else ""
    return f"In columns {', '.join(names[:_COLUMNS])}{more}, {rest}"


def table_of(
    rows: Rows, *, title: str = "", units: dict[str, str] | None = None, total: int | None = None, note: str = ""
) -> Table:
    """The first rows of an answer as a table; long texts are cut, which the columns of a log need."""
    kept = rows.rows[:_TABLE_ROWS]
    columns = tuple(
        _column(name, [row[place] for row in kept], (units or {}).get(name)) for place, name in enumerate(rows.columns)
    )
    count = len(rows.rows) if total is None else total
    more = count > len(kept) or rows.truncated
    return Table(
        title=one_line(title),
        columns=columns,
        rows=tuple(tuple(_cell(value) for value in row) for row in kept),
        total_rows=count if more and not (rows.truncated and total is None) else None,
        note=note,
    )


def _column(name: str, values: list[Cell], unit: str | None) -> Column:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None]
    kind = "number" if numbers and all(numbers) else "text"
    return Column(name=one_line(name, longest=_NAME) or "(no name)", kind=kind, unit=unit)


def _cell(value: Cell) -> Cell:
    return one_line(value, longest=_TEXT) if isinstance(value, str) and len(value) > _TEXT else value


def chart_of(labels: Sequence[Cell], values: Sequence[Cell], *, title: str, line: bool, unit: str | None) -> Chart:
    """One series over labels."""
    numbers = tuple(value if isinstance(value, int | float) else None for value in values)
    return Chart(
        title=one_line(title),
        kind="line" if line else "bar",
        labels=tuple(one_line(str(label), longest=_NAME) if label is not None else "no value" for label in labels),
        series=(Series(name=one_line(title), values=numbers),),
        unit=unit,
    )
