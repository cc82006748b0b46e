"""What the skill gives, as types."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.contract.model import Confidence, Count, JsonMapping, Model

from .parameters import Source

__all__ = ["PassageKind", "Research", "ResearchFinding", "SearchedSource", "SkippedSource", "SourceCitation"]

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
