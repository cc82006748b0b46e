"""What the skills take and give, as types."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.catalogue._report import ReportData
from retinue.contract.model import Count, Model

Show: TypeAlias = Literal["about", "definition", "references", "callers", "callees", "implementations"]

_Path = Annotated[str, Field(max_length=4096, description="A file, relative to the workspace.")]
_Apply = Annotated[bool, Field(description="Write the change; without it there is only the diff.")]


class EntryPoint(Model):
    """A file, or a symbol in it."""

    file_path: _Path = ""
    symbol_name: Annotated[str, FromFacts("symbol")] = Field(
        default="", max_length=300, description="A name as the code has it: `helper` or `Class.method`."
    )


class EntryPosition(Model):
    """A character of a file."""

    file_path: Annotated[_Path, Field(min_length=1)]
    line: Annotated[int, Field(ge=1, description="Which line, counted from 1.")]
    character: Annotated[int, Field(ge=1, description="Which character of the line, counted from 1.")]


class Constraints(Model):
    """What the work must keep to."""

    preserve_behavior: Annotated[bool, Field(description="What the code does must stay the same.")] = True
    max_files: Annotated[int, Field(ge=1, le=200, description="How many files may change.")] = 5
    run_tests: Annotated[bool, Field(description="Run the project's own tests over the change, in a copy.")] = False


class CodeScope(Model):
    """Which code is meant, and what the work must keep to."""

    task: str = Field(
        max_length=20_000,
        json_schema_extra={"default": ""},
        description="What is wanted, in plain words, for the record; the other parameters say it all.",
    )
    path: Annotated[str, FromFacts("path")] = Field(
        default="", max_length=4096, description="The source file or folder that is meant."
    )
    entry_point: Annotated[
        EntryPosition | EntryPoint,
        Field(
            # Said beside the references too: a reader that follows none of them must not take it for free text.
            json_schema_extra={"type": "object", "properties": {}, "default": {}},
            description="Where to begin, instead of `path`: a file with a symbol or a position.",
        ),
    ] = EntryPoint()
    scope: Annotated[
        Literal["symbol", "file", "module", "project"],
        Choices(
            symbol="what is named: a symbol, file or folder",
            file="the whole file",
            module="the module or package, the folder around a file",
            project="the whole project, the whole codebase",
        ),
    ] = Field(
        default="symbol",
        description="How much of the code is meant; a symbol when one is named, else its file, else all.",
    )
    constraints: Annotated[Constraints, Field(description="What the work must keep to.")] = Constraints()

    @property
    def file(self) -> str:
        """The file or folder; empty when none is named."""
        return (self.entry_point.file_path or self.path).rstrip("/")

    @property
    def name(self) -> str:
        """The symbol; empty when none is named."""
        return self.entry_point.symbol_name if isinstance(self.entry_point, EntryPoint) else ""

    @property
    def position(self) -> tuple[int, int] | None:
        """Line and character, from 1; None when only names are given."""
        entry = self.entry_point
        return (entry.line, entry.character) if isinstance(entry, EntryPosition) else None


class CodeTarget(CodeScope):
    """A symbol, or whatever else of the code is meant."""

    symbol: Annotated[str, FromFacts("symbol")] = Field(
        default="", max_length=300, description="The function, class, method or constant, as the code has it."
    )

    @property
    def name(self) -> str:
        """The symbol; empty when none is named."""
        return super().name or self.symbol


class NavigationTarget(CodeTarget):
    """A symbol or file, and what is to be told of it."""

    show: Annotated[
        Show,
        Choices(
            about="everything about a symbol; what a file defines",
            definition="where it is defined, declared, located; jump to the definition",
            references="where it is used, who uses it; usages, uses, references, mentions, occurrences",
            callers="who calls, what calls, what invokes it, called from, called by; callers, incoming calls",
            callees="which functions does it call, what does it call; callees, outgoing calls",
            implementations="what implements, overrides, subclasses or inherits from it; implementations",
        ),
    ] = Field(default="about", description="What is to be told of the symbol.")


class RefactoringRequest(CodeTarget):
    """A refactoring."""

    kind: Annotated[
        Literal["auto", "rename", "move", "extract"],
        Choices(
            auto="the one that the other parameters make",
            rename="give a symbol another name: rename a to b, call it b",
            move="put a symbol into another file: move a to y.py, relocate it",
            extract="make a function of lines: extract lines 3 to 9 into b, pull them out",
        ),
    ] = Field(default="auto", description="Which refactoring; `auto` is the one that the other parameters make.")
    new_name: Annotated[str, FromFacts("identifier")] = Field(
        default="", max_length=200, description="What it is to be called: the new name."
    )
    target_file: Annotated[str, Field(max_length=4096, description="The file that something moves to.")] = ""
    first_line: Annotated[int, Field(ge=0, description="The first line to extract, from 1.")] = 0
    last_line: Annotated[int, Field(ge=0, description="The last line to extract; 0 means the first one only.")] = 0
    apply: _Apply = False


class ChangeRequest(CodeScope):
    """A change that a model is to make."""

    task: str = Field(min_length=10, max_length=20_000, description="What is wrong or wanted, in plain words.")
    apply: _Apply = False


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
    depth: Count = Field(description="How many others contain it.")
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
