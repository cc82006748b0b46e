"""What was found out for one request, on its way to becoming a reply: sentences with places, tables, reservations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code, one_line, quote
from retinue.catalogue.pattern_discovery.gather import Gathered
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Warned
from retinue.contract.table import Cell, Column, Table

__all__ = ["Report", "plural"]

_SHOWN: Final = 20
_SUBJECTS: Final = 50
_SKIPPED: Final = 5


@dataclass(frozen=True, slots=True)
class _Statement:
    topic: str
    prose: Prose
    source: str
    confidence: float | None


@dataclass(slots=True)
class Report:
    """What one skill has found out.

    Attributes:
        folder: Where the request wants to look; empty for everywhere.
        figures: The result object of the skill, without what is said about it.
        subjects: The names that the rows are about, in their order.
        unanswered: Why this is no answer, when it is none.
    """

    gathered: Gathered
    folder: str = ""
    figures: JsonMapping = field(default_factory=dict[str, Any])
    subjects: list[str] = field(default_factory=list[str])
    unanswered: Fault | None = None
    _statements: list[_Statement] = field(default_factory=list[_Statement])
    _notes: list[Prose] = field(default_factory=list[Prose])
    _tables: list[Table] = field(default_factory=list[Table])

    def say(
        self, topic: str, template: str, *pieces: Piece | str, source: str, confidence: float | None = None
    ) -> None:
        """Add a sentence of the answer, with its place."""
        self._statements.append(_Statement(topic, Prose(template, pieces), source, confidence))

    def note(self, template: str, *pieces: Piece | str) -> None:
        """Add what bounds the answer."""
        self._notes.append(Prose(template, pieces))

    def reject(self, message: str, *, hint: str, suggestions: Sequence[str] = ()) -> None:
        """Say that what was asked for is not here."""
        self.unanswered = Fault(
            code="missing_file", message=message, hint=hint, suggestions=tuple(suggestions[:5]), retryable=False
        )

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, note: str = "") -> None:
        """Add rows; a column called `place` leads somewhere, one of numbers is set as such. Only the first are kept."""
        if not rows:
            return
        kinds = [
            "source" if name == "place" else "number" if isinstance(rows[0][index], int) else "text"
            for index, name in enumerate(columns)
        ]
        self._tables.append(
            Table.model_validate(
                {
                    "title": one_line(title),
                    "columns": tuple(
                        Column.model_validate({"name": name, "kind": kind})
                        for name, kind in zip(columns, kinds, strict=True)
                    ),
                    "rows": tuple(
                        tuple(one_line(cell) if isinstance(cell, str) else cell for cell in row)
                        for row in rows[:_SHOWN]
                    ),
                    "total_rows": len(rows) if len(rows) > _SHOWN else None,
                    "note": note,
                }
            )
        )

    def about(self, names: Sequence[str]) -> None:
        """Name what the rows are about; each once."""
        self.subjects = list(dict.fromkeys([*self.subjects, *map(one_line, names)]))

    def reply(self) -> Reply:
        """The reply that says all of it."""
        warnings = self._warnings()
        said: list[JsonMapping] = [
            {
                "topic": one.topic,
                "content": one.prose.plain(),
                "source": one.source,
                **({} if one.confidence is None else {"confidence": one.confidence}),
            }
            for one in self._statements
        ]
        answer = "\n".join(
            f"{one['content']} ({one['source']})" if one["source"] else str(one["content"]) for one in said
        )
        data = {
            **self.figures,
            "answer": answer or (self.unanswered.message if self.unanswered else ""),
            "findings": [one for one in said if one["source"]],
            "tables": [table.to_json() for table in self._tables],
            "subjects": self.subjects[:_SUBJECTS],
            "notes": [note.plain() for note in self._notes],
        }
        return Reply(
            data=data,
            outcome="rejected" if self.unanswered else "partial" if warnings else "success",
            fault=self.unanswered,
            content=self._markdown(),
            files_read=tuple(dict.fromkeys(one.source.partition(":")[0] for one in self._statements if one.source)),
            warnings=tuple(warnings),
        )

    def _warnings(self) -> list[Warned]:
        """What makes the answer less than whole: files that were not read, and why."""
        found: list[Warned] = []
        left = self.gathered.left
        # What was asked about comes first: only the first are named.
        skipped = sorted(self.gathered.skipped, key=lambda one: not f"{one[0]}/".startswith(f"{self.folder}/"))
        if left:
            missing = ", ".join(left[:_SKIPPED]) + (
                f" and {len(left) - _SKIPPED:,} more" if len(left) > _SKIPPED else ""
            )
            found.append(
                Warned(
                    type="missing_data",
                    message=f"Time was up before {plural(len(left), 'file')} had been read: {missing}.",
                    impact="What these files hold or use is not counted.",
                    recovery="Allow more time, or ask again: what was read is remembered.",
                )
            )
        for path, line, reason in skipped[:_SKIPPED]:
            self.note("{} was not read: {}.", code(_place(path, line)), quote(reason.rstrip(".")))
        if skipped:
            path, line, reason = skipped[0]
            first = f"{_place(path, line)} ({one_line(reason).rstrip('.')})"
            more = f" {len(skipped) - _SKIPPED:,} are not listed." if len(skipped) > _SKIPPED else ""
            found.append(
                Warned(
                    type="degraded_analysis",
                    message=f"{plural(len(skipped), 'file')} could not be read, the first {first}.{more}",
                    impact="What they hold or use is not counted.",
                    recovery="Repair them, or leave them out of the project.",
                )
            )
        for note in self.gathered.notes:
            self.note("{}", quote(note))
        return found

    def _markdown(self) -> str:
        lines = [
            f"{one.prose.markdown()} ({code(one.source).markdown()})" if one.source else one.prose.markdown()
            for one in self._statements
        ]
        blocks = lines[:1]
        if lines[1:]:
            blocks.append("\n".join(f"- {line}" for line in lines[1:]))
        if self._notes:
            blocks.append(" ".join(note.markdown() for note in self._notes))
        return "\n\n".join(blocks) or (self.unanswered.message if self.unanswered else "")


def _place(path: str, line: int) -> str:
    return f"{path}:{line}" if line else path


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 file`, `2,000 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
