"""What the skills give, as types."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.catalogue.pattern_discovery.parameters import Domain, PatternKind
from retinue.contract.model import Confidence, Count, Model

__all__ = [
    "DomainPatterns", "FixtureFacts", "FixtureMatch", "FixtureMatches", "HelperFacts", "Inventories", "NewPattern",
    "PatternFacts", "Prohibition", "SimilarTestFile", "SimilarTests", "StepFacts",
]  # fmt: skip

_Relevance: TypeAlias = Annotated[
    Confidence | None, Field(description="How well it fits the context; absent where none was stated.")
]
_Files: TypeAlias = Annotated[tuple[str, ...], Field(description="Who uses it: files, or lines; at most 20.")]


class FixtureFacts(Model):
    """A pytest fixture."""

    name: str
    path: str
    line_start: Annotated[Count, Field(description="With its decorators, as `pytest --fixtures -v` shows it.")]
    line_end: Count
    doc: str
    scope: str
    autouse: bool
    params: tuple[str, ...]
    yields: Annotated[str, Field(description="What a test gets: an annotation, a constructor or an expression.")]
    tears_down: bool
    depends_on: tuple[str, ...]
    used_in: _Files
    uses: Annotated[Count, Field(description="How many tests and fixtures ask for it by name.")]
    owner: Annotated[str | None, Field(alias="class", description="The class it is defined in.")] = None
    relevance: _Relevance = None


class FixtureMatch(FixtureFacts):
    """A fixture that fits, and why."""

    score: Annotated[Confidence, Field(description="Its BM25 over the most that the words could reach.")]
    reason: str


class PatternFacts(Model):
    """The tests of one file that are written in one way."""

    kind: PatternKind
    path: str
    lines: Annotated[tuple[str, ...], Field(description="As start-end.")]
    count: Count
    by: Annotated[tuple[str, ...] | None, Field(description="By what things are replaced.")] = None
    relevance: _Relevance = None


class Prohibition(Model):
    """A sentence of a document that says what must not be done."""

    path: str
    line: Count
    text: str
    relevance: _Relevance = None


class StepFacts(Prohibition):
    """A step of behaviour-driven tests."""

    kind: Literal["given", "when", "then", "step"]
    used_in: _Files
    uses: Count


class HelperFacts(Model):
    """A public symbol that other files use."""

    path: str
    line: Count
    symbol: str
    kind: Literal["source", "test"]
    signature: str
    doc: str
    used_in: _Files
    uses: Count
    relevance: _Relevance = None


class NewPattern(Model):
    """Something that nothing here serves."""

    kind: str
    need: str
    reason: str
    source: str | None = None


class _Reuse(Model):
    reuse_score: Annotated[
        Annotated[int, Field(ge=0, le=10)] | None,
        Field(description="10 all existing, 7 to 9 mostly, 4 to 6 mixed, 0 to 3 novel; absent where not measured."),
    ] = None
    reuse_band: Literal["all existing", "mostly existing", "mixed", "novel"] | None = None
    reuse_basis: Annotated[str, Field(description="How the score was computed.")]
    new_patterns: Annotated[
        tuple[NewPattern, ...] | None, Field(description="What nothing there serves; only where the score is below 7.")
    ] = None


class Inventories(ReportData, _Reuse):
    """The whole inventory, each list at most 500 long."""

    fixtures: tuple[FixtureFacts, ...]
    test_patterns: tuple[PatternFacts, ...]
    steps: tuple[StepFacts, ...]
    helpers: tuple[HelperFacts, ...]
    anti_patterns: tuple[Prohibition, ...]
    counts: Annotated[dict[str, Count], Field(description="How many there are of everything, and of files read.")]


class DomainPatterns(Inventories):
    """The inventory of one domain, ranked by the context."""

    domain: Domain


class FixtureMatches(ReportData, _Reuse):
    """The fixtures that fit, and what they are made of."""

    matches: tuple[FixtureMatch, ...]
    composition: Annotated[
        tuple[FixtureFacts, ...],
        Field(description="What the matches are made of, in the order in which pytest makes it."),
    ]
    why_not_new: str | None = None


class SimilarTestFile(Model):
    """A file with tests that fit."""

    path: str
    lines: Annotated[tuple[str, ...], Field(description="As start-end.")]
    tests: tuple[str, ...]
    fixtures: tuple[str, ...]
    mocks: tuple[str, ...]
    asserts: Annotated[Count, Field(description="In these lines.")]
    patterns: tuple[str, ...]
    score: Confidence


class SimilarTests(ReportData):
    """The test files that fit best."""

    matches: tuple[SimilarTestFile, ...]
    basis: Annotated[str, Field(description="How the score was computed.")]
