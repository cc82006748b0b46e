"""What a skill has found out, on its way to becoming a reply: sentences with sources, notes, warnings, tables, charts.

Every ready-made agent builds its reply with this; what its skill's result object holds beside is put into `figures`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from retinue.agents.port import Reply
from retinue.catalogue._prose import code, first_of, markdown, one_line, plain_text, quote
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Outcome, Usage, Warned, WarningType
from retinue.contract.sanitize import printable
from retinue.contract.table import Cell, Chart, Series, Table, TableColumn
from retinue.contract.task import Question
from retinue.errors import FaultCode

_MAX_ROWS: Final = 20
_MAX_SUBJECTS: Final = 50
_MAX_GAPS: Final = 5
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the answer.

    Attributes:
        sentence: It may hold pieces, such as `code`; see `_prose`.
        source: Where it comes from (`path:line`, a commit, a URL); empty when it sums up others.
        block: Lines that belong below it, such as a list, a table or code; Markdown.
    """

    topic: str
    sentence: str
    source: str = ""
    confidence: float | None = None
    block: str = ""

    def to_text(self) -> str:
        """As it stands in plain text, with its source."""
        return plain_text(self.sentence) + (f" ({self.source})" if self.source else "")

    def to_markdown(self) -> str:
        """As it stands in Markdown, with its source and its block."""
        source = f" ({code(self.source)})" if self.source else ""
        return markdown(self.sentence + source) + (f"\n\n{self.block}" if self.block else "")

    def to_json(self) -> JsonMapping:
        """As a finding of the result object."""
        finding = {"topic": self.topic, "content": plain_text(self.sentence), "source": self.source}
        return finding if self.confidence is None else {**finding, "confidence": self.confidence}


class SourcedStatement(Model):
    """One sentence of the answer that has a source, as data."""

    topic: str = ""
    content: str
    source: str
    confidence: float | None = None


class ReportData(Model):
    """What every report leaves in a result object; the types that skills declare build on it."""

    answer: str
    findings: tuple[SourcedStatement, ...]
    notes: tuple[str, ...] = ()
    subjects: Annotated[tuple[str, ...], Field(max_length=_MAX_SUBJECTS)] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(slots=True)
class SkillReport:
    """What one skill has found out. Sentences, notes and warnings may hold pieces of foreign text; see `_prose`.

    Attributes:
        figures: The skill's result object, without what the statements add to it.
        source: Where statements come from that do not say it.
        files: The files that the answer rests on, beside those that statements name.
        subjects: What the rows are about, in order: people, files, components.
        questions: What a person has to say first.
        unanswered: Why the task was rejected, if it was.
        appendix: Markdown below everything else, such as the SQL that was run or a diff.
        usage: What was spent on models.
    """

    figures: JsonMapping = field(default_factory=dict[str, Any])
    statements: list[Statement] = field(default_factory=list[Statement])
    notes: list[str] = field(default_factory=list[str])
    warnings: list[Warned] = field(default_factory=list[Warned])
    tables: list[Table] = field(default_factory=list[Table])
    charts: list[Chart] = field(default_factory=list[Chart])
    source: str = ""
    files: list[str] = field(default_factory=list[str])
    subjects: list[str] = field(default_factory=list[str])
    questions: tuple[Question, ...] = ()
    unanswered: Fault | None = None
    appendix: str = ""
    usage: Usage | None = None

    def add(self, topic: str, sentence: str, *, source: str = "", confidence: float | None = None) -> None:
        """Add a sentence of the answer."""
        self.statements.append(Statement(one_line(topic), sentence, source or self.source, confidence))

    def note(self, note: str) -> None:
        """Add what bounds the answer, or how the request was read; each once."""
        if note not in self.notes:
            self.notes.append(note)

    def warn(self, kind: WarningType, message: str, *, impact: str, recovery: str = "") -> None:
        """Add a warning; with one, the answer is only partial."""
        self.warnings.append(Warned(type=kind, message=plain_text(message), impact=impact, recovery=recovery))

    def reject(
        self, message: str, *, hint: str, code: FaultCode = "missing_file", suggestions: Sequence[str] = ()
    ) -> None:
        """Say that there is nothing of what was asked for."""
        message, hint = plain_text(message), plain_text(hint)
        self.unanswered = Fault(
            code=code, message=message, hint=hint, suggestions=tuple(suggestions[:5]), retryable=False
        )

    def add_table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        note: str = "",
        limit: int = _MAX_ROWS,
        total: int | None = None,
        kinds: Mapping[str, Any] = MappingProxyType({}),
        units: Mapping[str, str | None] = MappingProxyType({}),
        text: Callable[[str], str] = one_line,
    ) -> None:
        """Add the first rows, up to `limit`; a column called `place` leads somewhere.

        Args:
            title: Above them.
            columns: Their names.
            rows: As many cells each.
            note: Below them.
            limit: How many are shown.
            total: How many there are, when `rows` are only the first.
            kinds: What columns hold that their cells do not tell: `time` or `source`, by name.
            units: What the numbers of columns count, by name.
            text: What is shown of a cell of text.
        """
        if not rows:
            return
        described: list[TableColumn] = []
        for name, cells in zip(columns, zip(*rows, strict=True), strict=True):
            numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in cells if one is not None]
            kind = "source" if name == "place" else "number" if numbers and all(numbers) else "text"
            label = one_line(name, limit=_MAX_NAME) or "(no name)"
            described.append(TableColumn(name=label, kind=kinds.get(name) or kind, unit=units.get(name)))
        first_rows = tuple(tuple(text(cell) if isinstance(cell, str) else cell for cell in row) for row in rows[:limit])
        total = len(rows) if total is None else total
        total_rows = total if total > len(first_rows) else None
        table = Table(
            title=one_line(title), columns=tuple(described), rows=first_rows, total_rows=total_rows, note=note
        )
        self.tables.append(table)

    def add_chart(
        self,
        title: str,
        labels: Sequence[Cell],
        values: Sequence[Cell],
        *,
        kind: Literal["bar", "line"] = "bar",
        unit: str | None = None,
    ) -> None:
        """Add one series over labels, called as the chart is."""
        names = ("no value" if label is None else one_line(str(label), limit=_MAX_NAME) for label in labels)
        numbers = tuple(value if isinstance(value, int | float) else None for value in values)
        data = Series(name=one_line(title), values=numbers)
        self.charts.append(Chart(title=one_line(title), kind=kind, labels=tuple(names), series=(data,), unit=unit))

    def append_sql(self, statement: str, *, limit: int) -> None:
        """State SQL below the answer; a long one stands in the data only, as does one that would end its own fence."""
        text = printable(statement)
        if text and len(text) <= limit and "```" not in text:
            self.appendix = f"```sql\n{text}\n```"

    def add_subjects(self, names: Sequence[Cell]) -> None:
        """Name what the rows are about; each once."""
        lines = (one_line(str(name)) for name in names if name is not None)
        self.subjects = list(dict.fromkeys([*self.subjects, *filter(None, lines)]))[:_MAX_SUBJECTS]

    def warn_of_gaps(self, skipped: Sequence[tuple[str, int, str]], unread: Sequence[str], *, near: str = "") -> None:
        """Warn of files that were not read.

        Args:
            skipped: Those that cannot be read, as path, line (0 when there is none) and reason.
            unread: Those that there was no time for.
            near: The folder or file that was asked about; its files are named first.
        """
        if unread:
            names = first_of(map(one_line, unread), _MAX_GAPS)
            self.warn(
                "missing_data",
                f"Time was up before {plural(len(unread), 'file')} had been read: {names}.",
                impact="What these files hold or use is not counted.",
                recovery="Allow more time, or ask again: what was read is remembered.",
            )
        if not skipped:
            return
        ranked = sorted(skipped, key=lambda one: not f"{one[0]}/".startswith(f"{near}/"))
        places = [f"{path}:{line}" if line else path for path, line, _ in ranked]
        reasons = [reason.rstrip(".") for _, _, reason in ranked]
        for place, reason in zip(places[:_MAX_GAPS], reasons, strict=False):
            self.note(f"{code(place)} was not read: {quote(reason)}.")
        more = f" {len(skipped) - _MAX_GAPS:,} are not listed." if len(skipped) > _MAX_GAPS else ""
        files = plural(len(skipped), "file")
        self.warn(
            "degraded_analysis",
            f"{files} could not be read, the first {one_line(places[0])} ({one_line(reasons[0])}).{more}",
            impact="What they hold or use is not counted.",
            recovery="Repair them, or leave them out of the project.",
        )

    def reply(self, **more: Any) -> Reply:
        """The reply that says all of it.

        Args:
            more: Further fields of the reply; they take the place of its own.
        """
        answer = "\n".join(one.to_text() for one in self.statements)
        question = " ".join(one.text for one in self.questions)
        data: JsonMapping = {
            **self.figures,
            "answer": answer or question or (self.unanswered.message if self.unanswered else ""),
            "findings": [one.to_json() for one in self.statements if one.source],
            "notes": [plain_text(note) for note in self.notes],
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "subjects": self.subjects,
        }
        places = (one.source.partition(":")[0] for one in self.statements if ":" in one.source)
        lines = [one.to_markdown() for one in self.statements]
        blocks = [*lines[:1], "\n".join(f"- {line}" for line in lines[1:])]
        blocks.append(markdown(" ".join(self.notes)))
        blocks.append(self.appendix if self.statements else "")
        outcome: Outcome = "rejected" if self.unanswered else "partial" if self.warnings else "success"
        fields: dict[str, Any] = {
            "data": data,
            "outcome": None if self.questions else outcome,
            "fault": self.unanswered,
            "content": "\n\n".join(filter(None, blocks)) or str(data["answer"]),
            "warnings": tuple(self.warnings),
            "questions": self.questions,
            "usage": self.usage,
            "files_read": tuple(dict.fromkeys([*self.files, *places])),
        }
        return Reply(**(fields | more))


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
