"""What the skills take, as types."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from retinue.agents.python import Choices, FromFacts
from retinue.contract.model import Model

__all__ = ["Domain", "DomainSearch", "FixtureSearch", "PatternKind", "Survey", "TestSearch"]

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
        Field(
            description="What leads the answer; the result holds the whole inventory.",
            json_schema_extra={"default": "overview"},
        ),
    ]
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
