"""What the skills give, as types."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.contract.model import Count, Model

_Amount = Annotated[float, Field(ge=0)]


class ChangedFile(Model):
    """What becomes of one file."""

    file: str
    action: Literal["edit", "create", "delete"]
    content: str
    reasoning: str


class NavigationStep(Model):
    """One question to a language server."""

    operation: str
    question: str = Field(alias="from")
    answer: str = Field(alias="to")
    symbol: str
    execution_time_ms: _Amount


class WorkMetadata(Model):
    """What the work took."""

    lsp_operations: Count
    files_analyzed: Count
    files_modified: Count


class CodeWork(ReportData):
    """What was found out about code, and what becomes of it."""

    operation: str
    changes: tuple[ChangedFile, ...]
    navigation_trace: tuple[NavigationStep, ...]
    affected_symbols: tuple[str, ...]
    metadata: WorkMetadata


class DefinedSymbol(Model):
    """One thing that a file defines."""

    file: str
    name: str
    kind: str
    signature: str
    doc: str = Field(default="", description="The first line of what it says of itself.")
    line: Count
    first_line: Count
    last_line: Count
    depth: Count = Field(description="How many others it stands in.")
    container: str = ""
    complexity: Count | None = None


class CodeAnalysis(CodeWork):
    """Figures of code."""

    metrics: dict[str, _Amount] = Field(default={}, description="Figures: lines, complexity, counts.")
    outline: tuple[DefinedSymbol, ...] = ()


class ReviewIssue(Model):
    """One thing to look at."""

    rule: str
    severity: Literal["high", "medium", "low"]
    file: str
    line: Count
    message: str
    fix: str = ""
    found_by: str


class CodeReview(CodeWork):
    """What a review found."""

    issues: tuple[ReviewIssue, ...] = ()


class DocumentationCoverage(Model):
    """How much of the public names is documented."""

    public: Count
    documented: Count
    missing: tuple[DefinedSymbol, ...]
    signatures: tuple[DefinedSymbol, ...]


class CodeDocumentation(CodeWork):
    """The documentation of code."""

    documentation: DocumentationCoverage | None = None


class ProjectTests(Model):
    """How the project's own tests went."""

    command: str
    passed: bool
    ending: Literal["passed", "failed", "hung", "not run"] = Field(
        description="`hung`: they were ended when their time was up."
    )
    passed_before: bool | None = Field(
        default=None, description="Whether they pass without the change; looked at when they fail with it."
    )
    output: str
    execution_time_ms: _Amount


class CodeChange(CodeWork):
    """A change as a diff."""

    diff: str = ""
    reasoning: str = Field(default="", description="Of a proposed one: why, in the model's words.")
    tests: ProjectTests | None = None
