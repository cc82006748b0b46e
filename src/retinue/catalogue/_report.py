"""What a skill has found out, on its way to becoming a reply: sentences with sources, notes, warnings, tables, charts.

Every ready-made agent builds its reply with this; what its skill's result object holds beside is put into `figures`.
"""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import Field

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code, one_line, quote
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping, Model
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Warned, WarningType
from retinue.contract.table import Cell, Chart, Column, Table
from retinue.errors import FaultCode

__all__ = ["Report", "ReportData", "SourcedStatement", "Statement", "beyond", "comma_list", "plural"]

_SHOWN_ROWS: Final = 20
_SUBJECTS: Final = 50
_GAPS: Final = 5


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
    subjects: Annotated[tuple[str, ...], Field(max_length=_SUBJECTS)] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


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

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        note: str = "",
        limit: int = _SHOWN_ROWS,
        kinds: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Add the first rows, up to `limit`; a column called `place` leads somewhere.

        Args:
            title: Above them.
            columns: Their names.
            rows: As many cells each.
            note: Below them.
            limit: How many are shown.
            kinds: What columns hold that their cells do not tell: `time` or `source`, by name.
        """
        if not rows:
            return
        self.tables.append(
            Table(
                title=one_line(title),
                columns=tuple(
                    Column(name=name, kind=kinds.get(name) or _kind(name, [row[index] for row in rows]))
                    for index, name in enumerate(columns)
                ),
                rows=tuple(
                    tuple(one_line(cell) if isinstance(cell, str) else cell for cell in row) for row in rows[:limit]
                ),
                total_rows=len(rows) if len(rows) > limit else None,
                note=note,
            )
        )

    def about(self, names: Sequence[str]) -> None:
        """Name what the rows are about; each once."""
        self.subjects = list(dict.fromkeys([*self.subjects, *map(one_line, names)]))[:_SUBJECTS]

    def tell_gaps(self, skipped: Sequence[tuple[str, int, str]], left: Sequence[str], *, near: str = "") -> None:
        """Warn of files that were not read.

        Args:
            skipped: Those that cannot be read, as path, line (0 when there is none) and reason.
            left: Those that there was no time for.
            near: What was asked about: of what lies there is told first.
        """
        if left:
            named = ", ".join(map(one_line, left[:_GAPS])) + beyond(left, _GAPS)
            self.warn(
                "missing_data",
                f"Time was up before {plural(len(left), 'file')} had been read: {named}.",
                impact="What these files hold or use is not counted.",
                recovery="Allow more time, or ask again: what was read is remembered.",
            )
        if not skipped:
            return
        ranked = sorted(skipped, key=lambda one: not f"{one[0]}/".startswith(f"{near}/"))
        places = [f"{path}:{line}" if line else path for path, line, _ in ranked]
        reasons = [reason.rstrip(".") for _, _, reason in ranked]
        for place, reason in zip(places[:_GAPS], reasons, strict=False):
            self.note("{} was not read: {}.", code(place), quote(reason))
        more = f" {len(skipped) - _GAPS:,} are not listed." if len(skipped) > _GAPS else ""
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


def beyond(listed: Sized, shown: int) -> str:
    """What stands behind the first of a list: ` and 3 more`, or nothing."""
    return f" and {len(listed) - shown:,} more" if len(listed) > shown else ""


def comma_list(pieces: Sequence[Piece | Prose], most: int) -> Prose:
    """The first of some, and how many more there are, for a sentence."""
    shown = tuple(pieces[:most])
    return Prose(", ".join(["{}"] * len(shown)) + beyond(pieces, most), shown)


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _kind(name: str, values: Sequence[Cell]) -> Any:
    if name == "place":
        return "source"
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in values if one is not None]
    return "number" if numbers and all(numbers) else "text"
