"""What an operation has found out, on its way to becoming a reply: sentences with sources, figures, reservations."""

from dataclasses import dataclass, field
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, code, name, title
from retinue.catalogue.git_state_analyzer.moments import day_of
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Warned, WarningType
from retinue.contract.table import Chart, Table
from retinue.tools.git import Commit, Git

__all__ = ["Report", "Statement", "by", "commit_source", "plural", "short"]

_SUBJECTS: Final = 50


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of the answer, and where it comes from."""

    topic: str
    prose: Prose
    source: str


@dataclass(slots=True)
class Report:
    """What one operation has found out.

    Attributes:
        figures: The result object of the operation, without what the statements add.
        notes: How the question was read, and what bounds the figures.
        tables: Rows worth looking at.
        charts: Counts worth looking at.
        subjects: What the rows are about, in order: people, files, releases.
        unanswered: Why this is no answer to the question, when it is none.
    """

    figures: JsonMapping = field(default_factory=dict[str, Any])
    statements: list[Statement] = field(default_factory=list[Statement])
    notes: list[Prose] = field(default_factory=list[Prose])
    warnings: list[Warned] = field(default_factory=list[Warned])
    tables: list[Table] = field(default_factory=list[Table])
    charts: list[Chart] = field(default_factory=list[Chart])
    subjects: list[str] = field(default_factory=list[str])
    unanswered: Fault | None = None

    def say(self, topic: str, template: str, *pieces: Piece | str, source: str) -> None:
        """Add a statement."""
        self.statements.append(Statement(topic, Prose(template, pieces), source))

    def note(self, template: str, *pieces: Piece | str) -> None:
        """Add a note."""
        self.notes.append(Prose(template, pieces))

    def reject(self, message: str, *, hint: str) -> None:
        """Say that the question is about something that is not here."""
        self.unanswered = Fault(code="missing_file", message=message, hint=hint, retryable=False)

    def warn(self, kind: WarningType, message: str, *, impact: str, recovery: str = "") -> None:
        """Add a warning; with one, the answer is only partial."""
        self.warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery))

    def reply(self, git: Git) -> Reply:
        """The reply that says all of it."""
        said = [{"topic": one.topic, "content": one.prose.plain(), "source": one.source} for one in self.statements]
        data = {
            **self.figures,
            "answer": "\n".join(f"{one['content']} ({one['source']})" for one in said),
            "findings": said,
            "notes": [note.plain() for note in self.notes],
            "metadata": {"git_commands_run": [" ".join(_shown(word) for word in words) for words in git.commands]},
        }
        looked_at = {
            "tables": [table.to_json() for table in self.tables],
            "charts": [chart.to_json() for chart in self.charts],
            "subjects": list(dict.fromkeys(self.subjects))[:_SUBJECTS],
        }
        data |= {key: listed for key, listed in looked_at.items() if listed}
        return Reply(
            data=data,
            outcome="rejected" if self.unanswered else "partial" if self.warnings else "success",
            fault=self.unanswered,
            content=self._markdown(),
            warnings=tuple(self.warnings),
        )

    def _markdown(self) -> str:
        lead, *rest = [f"{one.prose.markdown()} ({code(one.source).markdown()})" for one in self.statements]
        blocks = [lead]
        if rest:
            blocks.append("\n".join(f"- {line}" for line in rest))
        if self.notes:
            blocks.append(" ".join(note.markdown() for note in self.notes))
        return "\n\n".join(blocks)


def by(commit: Commit) -> tuple[Piece, str, Piece]:
    """Who, when and what, for a sentence about a commit."""
    return name(commit.author), day_of(commit.date), title(commit.subject)


def commit_source(commit: Commit | str) -> str:
    """A commit as a source."""
    return f"commit {short(commit if isinstance(commit, str) else commit.sha)}"


def short(sha: str) -> str:
    """The beginning of an id, as people write it."""
    return sha[:10]


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 commit`, `2,000 commits`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _shown(word: str) -> str:
    # A format holds NUL as `%x00`; only spaces would be misread.
    return word if word and not any(character.isspace() for character in word) else repr(word)
