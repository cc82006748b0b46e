"""What the skills take and give, as types."""

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.catalogue._report import ReportData
from retinue.contract.model import Confidence, Count, Model

Domain: TypeAlias = Literal["e2e-testing", "unit-testing", "source-code", "documentation"]
PatternKind: TypeAlias = Literal["parametrize", "mock", "aaa", "class", "unittest", "raises", "property"]

_Words = Annotated[str, Field(max_length=10_000)]
_Place = Annotated[str, Field(max_length=1000), FromFacts("path")]
_Folder = Annotated[_Place, Field(description="A folder or file to stay in; empty means the whole project.")]
_Pattern = Annotated[
    Literal["any", PatternKind],
    Choices(
        parametrize="parametrized tests, pytest.mark.parametrize, table-driven tests",
        mock="tests that replace something: mocks, mocked, stubs, patch, monkeypatch, MagicMock",
        aaa="tests in three parts: arrange, act, assert, AAA",
        **{"class": "tests in classes: test classes, class-based tests"},
        unittest="tests of unittest classes: unittest, TestCase",
        raises="tests that expect an error: pytest.raises, expected exceptions and warnings",
        property="property tests: hypothesis, property-based tests",
    ),
    Field(description="Only tests that are written in this way."),
]


class Survey(Model):
    """What of the inventory leads the answer, and which part of it counts."""

    question: _Words = Field(default="", description="The question in plain words; the other parameters say it all.")
    show: Annotated[
        Literal["overview", "tests", "fixtures", "steps", "helpers", "rules"],
        Choices(
            overview="everything at a glance: overview, inventory, take stock, survey of what there is to build on",
            tests="the tests: how many tests, number of tests, list the tests, which tests, test cases, test functions",
            fixtures="the pytest fixtures: which fixtures are there, how many fixtures, list fixtures, conftest",
            steps="steps of behaviour-driven tests: BDD steps, gherkin, scenarios, feature files, behave",
            helpers="functions and classes that several files use: helpers, utilities, shared or reusable functions",
            rules="what the documents forbid: prohibitions, forbidden, prohibited, anti-patterns, must not, never do,"
            " not allowed, avoid, don'ts",
        ),
    ] = Field(
        description="What leads the answer; the result holds the whole inventory.",
        json_schema_extra={"default": "overview"},
    )
    target: _Folder = ""
    unused: bool = Field(
        default=False, description="Only what nobody uses: unused, never used, not used, dead, orphaned, obsolete."
    )
    undefined: bool = Field(
        default=False,
        description="Only lines of feature files without a step: undefined, missing, unimplemented steps.",
    )
    scope: Annotated[
        Literal["", "session", "package", "module", "class", "function"],
        Choices(
            session="session scoped, session scope, session-wide fixtures",
            package="package scoped, package scope",
            module="module scoped, module scope",
            **{"class": "class scoped, class scope"},
            function="function scoped, function scope",
        ),
    ] = Field(default="", description="Only fixtures of this scope.")
    autouse: bool = Field(default=False, description="Only autouse fixtures: used automatically, without asking.")
    pattern: _Pattern = "any"


class DomainSearch(Model):
    """What something is wanted for, and where it is looked for."""

    context: Annotated[_Words, Field(description="What the patterns are wanted for; they are ranked by these words.")]
    domain: Annotated[
        Domain,
        Choices(
            **{
                "e2e-testing": "end-to-end tests: e2e, integration, acceptance, functional, browser tests",
                "unit-testing": "unit tests, unit testing patterns",
                "source-code": "the source code: source-code patterns, helpers, functions to reuse",
                "documentation": "the documents: documentation rules, what the docs prohibit",
            }
        ),
    ] = Field(default="unit-testing", description="Which part of the project to look at.")
    target: _Folder = ""


class FixtureSearch(Model):
    """Which fixture is meant, by its name or by what it gives, and what is to be said of it."""

    query: Annotated[_Words, Field(description="What the test needs, in words that a fixture may have.")]
    name: Annotated[str, Field(max_length=300, description="The fixture's own name."), FromFacts("fixture")] = ""
    relation: Annotated[
        Literal["definition", "users", "dependents", "dependencies"],
        Choices(
            definition="the fixture itself: what it is, what it gives, where it is defined, whether there is one",
            users="who uses it: which tests use the fixture, used by, usages of, requests, how many tests use it",
            dependents="fixtures that build on it: which fixtures depend on it, which fixtures build on it,"
            " dependents of, built on, based on",
            dependencies="what it builds on: what does it depend on, what does it need, dependencies of, fixture chain",
        ),
    ] = Field(default="definition", description="What is to be said; all but `definition` need its name.")
    limit: Annotated[int, Field(ge=1, le=20, description="At most so many matches.")] = 5


class TestSearch(Model):
    """What the tests that are looked for have to do with."""

    __test__ = False

    query: Annotated[_Words, Field(description="What is to be tested, in words that such a test may have.")]
    target: Annotated[_Place, Field(description="A source or test file to find similar tests for.")] = ""
    symbol: Annotated[str, FromFacts("symbol")] = Field(
        default="", max_length=300, description="A function or class that the tests use."
    )
    pattern: _Pattern = "any"
    limit: Annotated[int, Field(ge=1, le=10, description="At most so many files.")] = 3


_BANDS: Final = "10 all existing, 7 to 9 mostly, 4 to 6 mixed, 0 to 3 novel; absent where not measured."


class _WithPlace(Model):
    path: str
    relevance: Confidence | None = Field(None, description="How well it fits the context, where one was stated.")


class _Used(_WithPlace):
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


class PatternFacts(_WithPlace):
    """The tests of one file that are written in one way."""

    kind: PatternKind
    lines: tuple[str, ...] = Field(description="As start-end.")
    count: Count


class Prohibition(_WithPlace):
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
