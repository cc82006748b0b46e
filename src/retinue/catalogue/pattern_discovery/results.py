"""What the skills give, as types."""

from typing import Annotated, Final, Literal

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.contract.model import Confidence, Count, Model

from .parameters import Domain, PatternKind

__all__ = [
    "DomainPatterns", "FixtureFacts", "FixtureMatch", "FixtureMatches", "HelperFacts", "Inventories", "NewPattern",
    "PatternFacts", "Prohibition", "SimilarTestFile", "SimilarTests", "StepFacts",
]  # fmt: skip

_BANDS: Final = "10 all existing, 7 to 9 mostly, 4 to 6 mixed, 0 to 3 novel; absent where not measured."


class _Placed(Model):
    path: str
    relevance: Confidence | None = Field(None, description="How well it fits the context, where one was stated.")


class _Used(_Placed):
    used_in: tuple[str, ...] = Field(description="Who uses it: files, or lines; at most 20.")
    uses: Count = Field(description="How many use it: tests and fixtures by name, lines, or files.")


class FixtureFacts(_Used):
    """A pytest fixture."""

    name: str
    line_start: Count = Field(description="With its decorators, as `pytest --fixtures -v` shows it.")
    line_end: Count
    doc: str
    scope: str
    autouse: bool
    params: tuple[str, ...]
    yields: str = Field(description="What a test gets: an annotation, a constructor or an expression.")
    depends_on: tuple[str, ...]


class FixtureMatch(FixtureFacts):
    """A fixture that fits, and why."""

    score: Confidence = Field(description="Its BM25 over the most that the words could reach.")
    reason: str


class PatternFacts(_Placed):
    """The tests of one file that are written in one way."""

    kind: PatternKind
    lines: tuple[str, ...] = Field(description="As start-end.")
    count: Count


class Prohibition(_Placed):
    """A sentence of a document that says what must not be done."""

    line: Count
    text: str


class StepFacts(_Used):
    """A step of behaviour-driven tests."""

    kind: Literal["given", "when", "then", "step"]
    line: Count
    text: str


class HelperFacts(_Used):
    """A public symbol that other files use."""

    kind: Literal["source", "test"]
    line: Count
    symbol: str
    signature: str
    doc: str


class NewPattern(Model):
    """Something that nothing here serves."""

    kind: str
    need: str
    reason: str
    source: str | None = None


class _Reuse(ReportData):
    reuse_score: Annotated[int, Field(ge=0, le=10)] | None = Field(None, description=_BANDS)
    reuse_band: Literal["all existing", "mostly existing", "mixed", "novel"] | None = None
    reuse_basis: str = Field(description="How the score was computed.")
    new_patterns: tuple[NewPattern, ...] | None = Field(None, description="What nothing serves, below a score of 7.")


class Inventories(_Reuse):
    """The whole inventory, each list at most 500 long."""

    fixtures: tuple[FixtureFacts, ...]
    test_patterns: tuple[PatternFacts, ...]
    steps: tuple[StepFacts, ...]
    helpers: tuple[HelperFacts, ...]
    anti_patterns: tuple[Prohibition, ...]
    counts: dict[str, Count] = Field(description="How many there are of everything, and of files read.")


class DomainPatterns(Inventories):
    """The inventory of one domain, ranked by the context."""

    domain: Domain


class FixtureMatches(_Reuse):
    """The fixtures that fit, and what they are made of."""

    matches: tuple[FixtureMatch, ...]
    composition: tuple[FixtureFacts, ...] = Field(description="What the matches are made of, in pytest's order.")
    why_not_new: str | None = None


class SimilarTestFile(Model):
    """A file with tests that fit."""

    path: str
    lines: tuple[str, ...] = Field(description="As start-end.")
    tests: tuple[str, ...]
    fixtures: tuple[str, ...]
    mocks: tuple[str, ...]
    asserts: Count = Field(description="In these lines.")
    score: Confidence


class SimilarTests(ReportData):
    """The test files that fit best."""

    matches: tuple[SimilarTestFile, ...]
    basis: str = Field(description="How the score was computed.")
