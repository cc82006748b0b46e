"""What an operation has found out, on its way to becoming a reply: sentences with places, changes, the trace (G19)."""

from dataclasses import dataclass, field
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code_span
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Usage, Warned, WarningType
from retinue.contract.table import Table
from retinue.tools.lsp import Navigator, Step
from retinue.tools.refactor import Changes

__all__ = ["Report"]

_DIFF: Final = 20_000
_MOST: Final = 500


@dataclass(slots=True)
class Report:
    """One operation's findings.

    Attributes:
        figures: What the operation adds to the result object.
        symbols: Names that the answer is about, or that a change affects.
        files: Files that were analysed.
        written: Files that were written.
        failure: Why nothing came of it although it was tried: what that took is told all the same.
    """

    operation: str
    figures: JsonMapping = field(default_factory=dict[str, Any])
    statements: list[tuple[str, Prose, str]] = field(default_factory=list[tuple[str, Prose, str]])
    notes: list[Prose] = field(default_factory=list[Prose])
    warnings: list[Warned] = field(default_factory=list[Warned])
    tables: list[Table] = field(default_factory=list[Table])
    symbols: list[str] = field(default_factory=list[str])
    files: set[str] = field(default_factory=set[str])
    steps: list[Step] = field(default_factory=list[Step])
    changes: Changes = field(default_factory=lambda: Changes(()))
    written: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    unanswered: Fault | None = None
    usage: Usage | None = None
    failure: Fault | None = None

    def say(self, topic: str, template: str, *pieces: Piece | str, source: str) -> None:
        """Add a sentence of the answer; `source` is where it comes from."""
        self.statements.append((topic, Prose(template, pieces), source))

    def note(self, template: str, *pieces: Piece | str) -> None:
        """Add what a reader should know beside."""
        self.notes.append(Prose(template, pieces))

    def warn(self, kind: WarningType, message: str, *, impact: str, recovery: str = "") -> None:
        """Add a warning; with one, the answer is only partial."""
        self.warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery))

    def reject(self, message: str, *, hint: str) -> None:
        """Say that this cannot be answered as it was asked."""
        self.unanswered = Fault(code="invalid_input", message=message, hint=hint, retryable=False)

    def navigated(self, navigator: Navigator) -> None:
        """Take over what was asked of the language server."""
        self.steps = navigator.trace
        self.files |= navigator.files

    def reply(self) -> Reply:
        """The reply that says all of it."""
        diff = self.changes.diff()
        data: JsonMapping = {
            "operation": self.operation,
            "answer": "\n".join(f"{prose.plain()} ({source})" for _, prose, source in self.statements),
            "findings": [
                {"topic": topic, "content": prose.plain(), "source": source} for topic, prose, source in self.statements
            ],
            "notes": [note.plain() for note in self.notes],
            "changes": [
                {"file": each.path, "action": each.action, "content": each.after, "reasoning": each.reasoning}
                for each in self.changes.files
            ],
            "navigation_trace": [_step(each) for each in self.steps[:_MOST]],
            "affected_symbols": list(dict.fromkeys(self.symbols))[:_MOST],
            **self.figures,
            "metadata": {
                "lsp_operations": len(self.steps),
                "files_analyzed": len(self.files),
                "files_modified": len(self.written),
            },
        }
        if diff:
            data["diff"] = diff
        if self.tables:
            data["tables"] = [table.to_json() for table in self.tables]
        outcome: Outcome = "rejected" if self.unanswered else "partial" if self.warnings else "success"
        if self.failure:
            outcome = "error"
        return Reply(
            data=data,
            outcome=outcome,
            fault=self.failure or self.unanswered,
            content=self._markdown(diff),
            warnings=tuple(self.warnings),
            questions=self.questions,
            usage=self.usage,
            files_read=tuple(sorted(self.files)),
            files_written=self.written,
        )

    def _markdown(self, diff: str) -> str:
        lines = [f"- {prose.markdown()} ({code_span(source)})" for _, prose, source in self.statements]
        if diff:
            fence = "`" * (3 + diff.count("```") * 3 if "```" in diff else 3)
            shown = diff if len(diff) <= _DIFF else f"{diff[:_DIFF].rpartition(chr(10))[0]}\n…"
            lines += ["", f"{fence}diff", shown.rstrip("\n"), fence]
        if self.notes:
            lines += ["", *(f"Note: {note.markdown()}" for note in self.notes)]
        return "\n".join(lines)


def _step(step: Step) -> JsonMapping:
    return {
        "operation": step.operation,
        "from": step.asked,
        "to": step.found,
        "symbol": step.symbol,
        "execution_time_ms": round(step.duration_ns / 1e6, 3),
    }
