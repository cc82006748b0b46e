"""What the skill takes and gives, as types, and what each of its values means."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal, TypeAlias, cast, get_args

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.contract.model import Confidence, Count, JsonMapping, Many, Model
from retinue.tools.search.passages import kind_of

Source: TypeAlias = Literal["web", "docs", "memory", "code"]
SOURCES: Final[tuple[Source, ...]] = get_args(Source)
"""In the order of spec 000."""

_DepthName: TypeAlias = Literal["quick_scan", "deep_dive", "comprehensive"]
Form: TypeAlias = Literal["summary", "detailed_report", "bullet_points"]
FocusName: TypeAlias = Literal["explain", "define", "uses", "files", "value"]

_MEMORY: Final = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "MEMORY.md", "copilot-instructions.md")
_REMEMBERED: Final = ("*.claude/*memor*.md", "*.claude/*memor*.txt")


@dataclass(frozen=True, slots=True)
class Depth:
    """The figures of one depth.

    Attributes:
        seconds: Most time it may take.
        findings: Most findings.
        per_file: Most findings from one file.
        candidates: How many passages are compared.
        usages: How many uses of each identifier are shown.
        pages: Most pages of the web that are read.
    """

    seconds: float
    findings: int
    per_file: int
    candidates: int
    usages: int
    pages: int


DEPTHS: Final[dict[_DepthName, Depth]] = {
    "quick_scan": Depth(seconds=300, findings=5, per_file=3, candidates=40, usages=0, pages=3),
    "deep_dive": Depth(seconds=900, findings=10, per_file=4, candidates=80, usages=3, pages=5),
    "comprehensive": Depth(seconds=1800, findings=20, per_file=6, candidates=160, usages=5, pages=8),
}
"""5, 15 and 30 minutes are upper bounds (A5); a search takes seconds."""


class ResearchRequest(Model):
    """What is to be found, and where."""

    task: str = Field(
        min_length=10, description="What to find, in plain words; name files and identifiers as they are written."
    )
    depth: _DepthName = Field(
        description="How far to go: quick_scan takes at most 5 minutes, deep_dive 15, comprehensive 30."
    )
    sources: Many[Source] = Field(
        default=SOURCES,
        json_schema_extra={"uniqueItems": True, "default": list(SOURCES)},
        description="Where to look: the web, documents, memory, or code. Nothing leaves the machine unless the web "
        "is named and a search service is there.",
    )
    output_format: Form = Field(default="summary", description="The form of the written answer.")
    paths: Many[Annotated[str, Field(min_length=1, max_length=1000), FromFacts("path")]] = Field(
        default=(), max_length=50, description="Only these files and folders; empty for all."
    )
    focus: Annotated[
        FocusName,
        Choices(
            explain="prose that explains: what happens, how does it work, how do I, why, what is it, what does it say",
            define="the definition of a name: where is it defined, which function, class or module implements it",
            uses="the places of use: who calls it, who uses it, where is it used, callers, usages, who imports it",
            files="a list of files: which files mention it, which documents or tests refer to it, list the files",
            value="a value or setting: how many, how long, how often, which port, which version, what is the default, "
            "what is the limit",
        ),
    ] = Field(default="explain", description="What kind of passage answers.")

    @property
    def local(self) -> tuple[Source, ...]:
        """The sources that are here, in the order of spec 000."""
        return tuple(one for one in SOURCES if one in self.sources and one != "web")

    @property
    def names_web(self) -> bool:
        """Whether the web is asked for on purpose: all four are the default, so only another list names it."""
        return "web" in self.sources and len(self.sources) < len(SOURCES)

    @property
    def bounds(self) -> Depth:
        """How far to go."""
        return DEPTHS[self.depth]


def source_of(path: str) -> Source | None:
    """The source a file belongs to: what a project wrote down for its agents is memory, not documentation.

    An odd name may stand in quotation marks, as git quotes it.
    """
    path = path.removesuffix('"') if path.startswith('"') else path
    if path.rpartition("/")[2] in _MEMORY or any(fnmatchcase(path.lower(), one) for one in _REMEMBERED):
        return "memory"
    kind = kind_of(path)
    return cast("Source", kind) if kind in {"docs", "code"} else None


PassageKind = Literal["definition", "passage", "usage", "mention", "overview"]
_Place = Annotated[str, Field(description="The place, as path:line; of a page its URL.")]


class ResearchFinding(Model):
    """One passage that answers."""

    topic: str
    content: str
    source: _Place
    confidence: Confidence | None = Field(None, description="Absent where the question has no words to measure by.")
    path: str
    line_start: Count
    line_end: Count
    kind: PassageKind


class SourceCitation(Model):
    """Where a finding stands, and when it was read there."""

    source: _Place
    origin: Source
    path: str
    line: Count = Field(description="Of a page, a line of its text as it was read.")
    accessed: str = Field(json_schema_extra={"format": "date"})
    revision: str | None = Field(None, description="The commit at which the file is as it was read.")
    title: str | None = Field(None, description="What a page is called.")
    memory: dict[str, str] | None = Field(
        None,
        description="Who had it remembered (`by`), when (`remembered`), in which `run` and `scope`, and its `origin`.",
    )


class SearchedSource(Model):
    """How much of one source was searched."""

    files: Count | None = None
    passages: Count
    service: str | None = Field(None, description="Who searched the web.")
    results: Count | None = None
    pages: Count | None = None


class SkippedSource(Model):
    """What was not searched, and why."""

    source: str
    reason: str


class Research(Model):
    """What was found out."""

    answer: str = Field(
        description="The answer, made of quotations with their places, or written from them by a model; or that nothing"
        " was found, and where it was looked for."
    )
    findings: tuple[ResearchFinding, ...]
    citations: tuple[SourceCitation, ...]
    searched: dict[Source, SearchedSource] = Field(description="How much was searched, by source.")
    not_searched: tuple[SkippedSource, ...]
    notes: tuple[str, ...] = ()
    confidence_basis: str = Field(description="How the confidence was computed.")
    terms: tuple[str, ...] = Field(description="The words that were searched for.")
    summary: JsonMapping | None = Field(
        default=None,
        description="Who wrote the answer when a model was asked: `by`, `model`, `claims` with what each cites, those"
        " `dropped` because they did not hold, or the `reason` why there are none.",
    )
