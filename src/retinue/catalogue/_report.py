"""What a skill has found out, on its way to becoming a reply: sentences with sources, notes, warnings, tables, charts.

Every ready-made agent builds its reply with this; what its skill's result object holds beside is put into `figures`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code, one_line
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Warned, WarningType
from retinue.contract.table import Cell, Chart, Column, Table
from retinue.errors import FaultCode

__all__ = ["Report", "Statement", "plural"]

_SHOWN_ROWS: Final = 20
_SUBJECTS: Final = 50


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the answer.

    Attributes:
        source: Where it comes from (`path:line`, a commit, a URL); empty when it sums up others.
        block: Lines that belong below it, such as a list, a table or code; Markdown.
    """

    topic: str
    prose: Prose
    source: str = ""
    confidence: float | None = None
    block: str = ""

    def plain(self) -> str:
        """As it stands in plain text, with its source."""
        return f"{self.prose.plain()} ({self.source})" if self.source else self.prose.plain()

    def markdown(self) -> str:
        """As it stands in Markdown, with its source and its block."""
        source = f" ({code(self.source).markdown()})" if self.source else ""
        return self.prose.markdown() + source + (f"\n\n{self.block}" if self.block else "")

    def to_json(self) -> JsonMapping:
        """As a finding of the result object."""
        finding = {"topic": self.topic, "content": self.prose.plain(), "source": self.source}
        return finding if self.confidence is None else {**finding, "confidence": self.confidence}


@dataclass(slots=True)
class Report:
    """What one skill has found out.

    Attributes:
        figures: The skill's result object, without what the statements add to it.
        files: The files that the answer rests on, beside those that statements name.
        subjects: What the rows are about, in order: people, files, components.
        questions: What a person has to say first.
        unanswered: Why this is no answer, when it is none.
        appendix: Markdown below everything else, such as the SQL that was run or a diff.
    """

    figures: JsonMapping = field(default_factory=dict[str, Any])
    statements: list[Statement] = field(default_factory=list[Statement])
    notes: list[Prose] = field(default_factory=list[Prose])
    warnings: list[Warned] = field(default_factory=list[Warned])
    tables: list[Table] = field(default_factory=list[Table])
    charts: list[Chart] = field(default_factory=list[Chart])
    files: list[str] = field(default_factory=list[str])
    subjects: list[str] = field(default_factory=list[str])
    questions: tuple[Question, ...] = ()
    unanswered: Fault | None = None
    appendix: str = ""

    def say(
        self,
        topic: str,
        template: str,
        *pieces: Piece | Prose | str,
        source: str = "",
        confidence: float | None = None,
        block: str = "",
    ) -> None:
        """Add a sentence of the answer."""
        self.statements.append(Statement(one_line(topic), Prose(template, pieces), source, confidence, block))

    def note(self, template: str, *pieces: Piece | Prose | str) -> None:
        """Add what bounds the answer, or how the request was read; each once."""
        note = Prose(template, pieces)
        if note not in self.notes:
            self.notes.append(note)

    def warn(self, kind: WarningType, message: str, *, impact: str, recovery: str = "") -> None:
        """Add a warning; with one, the answer is only partial."""
        self.warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery))

    def reject(
        self, message: str, *, hint: str, code: FaultCode = "missing_file", suggestions: Sequence[str] = ()
    ) -> None:
        """Say that there is nothing of what was asked for."""
        self.unanswered = Fault(
            code=code, message=message, hint=hint, suggestions=tuple(suggestions[:5]), retryable=False
        )

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, note: str = "") -> None:
        """Add rows; a column called `place` leads somewhere. Only the first 20 are shown."""
        if not rows:
            return
        self.tables.append(
            Table(
                title=one_line(title),
                columns=tuple(
                    Column(name=name, kind=_kind(name, [row[index] for row in rows]))
                    for index, name in enumerate(columns)
                ),
                rows=tuple(
                    tuple(one_line(cell) if isinstance(cell, str) else cell for cell in row)
                    for row in rows[:_SHOWN_ROWS]
                ),
                total_rows=len(rows) if len(rows) > _SHOWN_ROWS else None,
                note=note,
            )
        )

    def about(self, names: Sequence[str]) -> None:
        """Name what the rows are about; each once."""
        self.subjects = list(dict.fromkeys([*self.subjects, *map(one_line, names)]))[:_SUBJECTS]

    def reply(self, **more: Any) -> Reply:
        """The reply that says all of it.

        Args:
            more: Further fields of the reply; they take the place of its own.
        """
        answer = "\n".join(one.plain() for one in self.statements)
        question = " ".join(one.text for one in self.questions)
        data: JsonMapping = {
            **self.figures,
            "answer": answer or question or (self.unanswered.message if self.unanswered else ""),
            "findings": [one.to_json() for one in self.statements if one.source],
            "notes": [note.plain() for note in self.notes],
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "subjects": self.subjects,
        }
        places = (one.source.partition(":")[0] for one in self.statements if ":" in one.source)
        fields: dict[str, Any] = {
            "data": data,
            "outcome": self._outcome(),
            "fault": self.unanswered,
            "content": self._markdown() or str(data["answer"]),
            "warnings": tuple(self.warnings),
            "questions": self.questions,
            "files_read": tuple(dict.fromkeys([*self.files, *places])),
        }
        return Reply(**(fields | more))

    def _outcome(self) -> Outcome | None:
        if self.questions:
            return None
        return "rejected" if self.unanswered else "partial" if self.warnings else "success"

    def _markdown(self) -> str:
        lines = [one.markdown() for one in self.statements]
        blocks = lines[:1]
        if lines[1:]:
            blocks.append("\n".join(f"- {line}" for line in lines[1:]))
        if self.notes:
            blocks.append(" ".join(note.markdown() for note in self.notes))
        if self.appendix and self.statements:
            blocks.append(self.appendix)
        return "\n\n".join(blocks)


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _kind(name: str, values: Sequence[Cell]) -> Any:
    if name == "place":
        return "source"
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in values if one is not None]
    return "number" if numbers and all(numbers) else "text"
