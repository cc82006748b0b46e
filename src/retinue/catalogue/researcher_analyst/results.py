"""What the skill gives, as types."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from retinue.catalogue.researcher_analyst.parameters import Source
from retinue.contract.model import Count, Model

__all__ = [
    "CitedClaim",
    "DroppedClaim",
    "MemoryOrigin",
    "ModelSummary",
    "PassageKind",
    "Research",
    "ResearchFinding",
    "SearchedFiles",
    "SearchedMemory",
    "SearchedSources",
    "SearchedWeb",
    "SkippedSource",
    "SourceCitation",
]  # fmt: skip

PassageKind = Literal["definition", "passage", "usage", "mention", "overview"]
_Place = Annotated[str, Field(description="The place, as path:line; of a page its URL.")]
_Day = Annotated[str, Field(json_schema_extra={"format": "date"})]


class ResearchFinding(Model):
    """One passage that answers."""

    topic: str
    content: str
    source: _Place
    confidence: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="Absent where the question has no words to measure by."
    )
    path: str
    line_start: Count
    line_end: Count
    kind: PassageKind


class MemoryOrigin(Model):
    """Who had it remembered, when, and on whose word."""

    scope: Literal["project", "global"]
    remembered: _Day
    by: str
    run: str | None = None
    origin: str | None = None


class SourceCitation(Model):
    """Where a finding stands, and when it was read there."""

    source: _Place
    origin: Source
    path: str
    line: Annotated[Count, Field(description="Of a page, a line of its text as it was read.")]
    accessed: _Day
    revision: str | None = Field(default=None, description="The commit at which the file is as it was read.")
    title: str | None = Field(default=None, description="What a page is called.")
    memory: MemoryOrigin | None = None


class SearchedFiles(Model):
    """How much of one source was searched."""

    files: Count
    passages: Count


class SearchedMemory(SearchedFiles):
    """The same of memory."""

    memories: Count | None = Field(default=None, description="How many remembered in earlier runs were compared.")


class SearchedWeb(Model):
    """The same of the web."""

    service: str
    results: Count
    pages: Count
    passages: Count


class SearchedSources(Model):
    """How much was searched, by source."""

    docs: SearchedFiles | None = None
    memory: SearchedMemory | None = None
    code: SearchedFiles | None = None
    web: SearchedWeb | None = None


class SkippedSource(Model):
    """What was not searched, and why."""

    source: str
    reason: str


class CitedClaim(BaseModel):
    """A sentence of a model with what it rests on."""

    text: str
    cites: tuple[str, ...]


class DroppedClaim(BaseModel):
    """A sentence of a model that did not hold."""

    text: str
    reason: str


class ModelSummary(BaseModel):
    """Who wrote the answer, when a model was asked: each sentence with what it cites, and those that did not hold."""

    by: Literal["model", "rules"]
    model: str
    reason: str | None = None
    claims: tuple[CitedClaim, ...] = ()
    dropped: tuple[DroppedClaim, ...] = ()


class Research(Model):
    """What was found out."""

    answer: str = Field(
        description="The answer, made of quotations with their places, or written from them by a model; or that nothing"
        " was found, and where it was looked for."
    )
    findings: tuple[ResearchFinding, ...]
    citations: tuple[SourceCitation, ...]
    searched: SearchedSources
    not_searched: tuple[SkippedSource, ...]
    notes: tuple[str, ...] = ()
    confidence_basis: str = Field(description="How the confidence was computed.")
    terms: tuple[str, ...] = Field(description="The words that were searched for.")
    summary: ModelSummary | None = None
