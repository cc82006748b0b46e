"""Five agents to plan for: the shape of a catalogue, with examples as their authors would write them.

Their own definitions, so that what is proven of planning does not move with anybody's examples.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import PurePosixPath
from typing import Any, Final

from retinue.contract.definition import Definition, Effect, Skill
from retinue.orchestration.reader.parameters import ReaderEnvironment

_TEXT: Final[dict[str, Any]] = {"type": "string", "maxLength": 10_000, "description": "The question in plain words."}
_DATA: Final = r"\.(?:csv|tsv|json|jsonl|ndjson|parquet|log)(?:\.gz)?$"
_DATA_FILES: Final[dict[str, Any]] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "pattern": _DATA},
    "description": "The data files it is about.",
    "default": [],
}
_PATHS: Final[dict[str, Any]] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "default": [],
    "description": "Only these.",
}


def _skill(
    name: str,
    description: str,
    examples: Sequence[str],
    *,
    needed: Sequence[str] = ("question",),
    effects: tuple[Effect, ...] = ("read",),
    **properties: Any,
) -> Skill:
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": list(needed),
        "properties": {"question": _TEXT, **properties},
    }
    return Skill(
        name=name,
        description=description,
        input_schema=schema,
        instruction_field="question",
        effects=effects,
        examples=tuple(examples),
    )


GIT: Final = Definition(
    name="git_state_analyzer",
    description="Reads a git repository's history and state, and names the commits that say so. Use it when somebody asks "
    "who changed something, when, how often or what is not committed yet; not for what code or documents say.",
    tags=("git", "history", "commits", "authors", "branch"),
    skills=(
        _skill(
            "branch_status",
            "Tells where a branch stands: its commits and files against its base, ahead and behind its upstream, and what "
            "is uncommitted. Returns the branch, its commits and its changed files.",
            (
                "is the work tree clean",
                "what is uncommitted right now",
                "which branch am I on",
                "how far is this branch ahead of main",
                "do I have unpushed commits",
                "what have I staged",
                "show the branch status",
                "which files are changed but not committed",
                "am I behind the remote",
                "are there untracked files",
            ),
            branch={"type": "string", "default": "", "description": "Which branch to look at."},
            base={"type": "string", "default": "", "description": "What to compare the branch with."},
        ),
        _skill(
            "commit_analysis",
            "Analyses the commit history: who changed what and when, how many commits, the largest, the main authors, the "
            "files changed most, releases, and whether messages keep a form.",
            (
                "who changed the parser most recently",
                "who wrote the configuration module",
                "when did the readme last change",
                "how many commits were made last month",
                "what changed since version 2.0",
                "who are the main authors",
                "show the last 5 commits",
                "which commits are the largest",
                "which files change most often",
                "what did Ada commit last week",
                "who first added the cache",
                "who touched the readme in March 2025",
                "do commit messages follow the conventional format",
                "when was the last release",
                "how often was the setup file modified",
                "summarise the recent history",
            ),
            paths=_PATHS,
            exclude_paths={**_PATHS, "description": "Not commits that touch these."},
            since={"type": "string", "default": "", "description": "Only commits of this date or later."},
            until={"type": "string", "default": "", "description": "Only commits of this date or earlier."},
            exclude_merges={"type": "boolean", "default": False, "description": "Whether merges are left out."},
            limit={"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "How many commits."},
        ),
    ),
)
RESEARCHER: Final = Definition(
    name="researcher_analyst",
    description="Searches a project's documents, code and memory files for what answers a question, and quotes it with file "
    "and line. Use it when somebody asks how something works, where it is defined, why it is so or what the documents say.",
    tags=("research", "documentation", "code", "search", "explain"),
    skills=(
        _skill(
            "research",
            "Finds the passages that answer a question and quotes them with file and line.",
            (
                "how does the parser work",
                "what does the boundary check before it calls an agent",
                "where is the retry policy defined",
                "explain how sessions are stored",
                "find the documentation about configuration",
                "which files mention the cache",
                "why is the journal written in one transaction",
                "what is a blueprint",
                "how do I register an error handler",
                "where are environment variables read",
                "what does the function load_config do",
                "what happens when a request times out",
                "describe the architecture of the project",
                "what are the rules for naming things",
                "what do the docs say about testing",
                "what does the README say about installation",
                "what is the default timeout",
                "which licence is used",
            ),
            sources={
                "type": "array",
                "items": {"enum": ["web", "docs", "memory", "code"]},
                "default": ["web", "docs", "memory", "code"],
                "description": "Where to look.",
            },
        ),
    ),
)
ANALYST: Final = Definition(
    name="data_analyst",
    description="Answers questions about data files (CSV, JSON, JSONL, Parquet, logs) with figures, and states the SQL. Use "
    "it when somebody asks for numbers out of a data file; not for commits or documents.",
    tags=("data", "csv", "log", "statistics"),
    skills=(
        _skill(
            "profile",
            "Describes a data file: its columns with types, nulls, distinct values, smallest, largest and top values.",
            (
                "profile orders.csv",
                "which columns does sales.parquet have",
                "describe the data in stations.csv",
                "how many rows are in the file",
                "are there missing values in users.csv",
                "what is in readings.jsonl",
                "give me an overview of the data set",
                "check the data quality of export.csv",
            ),
            files=_DATA_FILES,
        ),
        _skill(
            "aggregate",
            "Computes counts, sums, averages, smallest and largest of a data file's columns, by groups and filters.",
            (
                "what is the average delay per carrier in flights.csv",
                "total sales by country",
                "how many orders were shipped in March according to orders.csv",
                "which station has the highest temperature in readings.jsonl",
                "top 5 customers by revenue",
                "number of rows per status in the table",
                "mean price of products in stock",
                "share of cancelled orders in the data",
                "monthly revenue over time from sales.csv",
            ),
            files=_DATA_FILES,
        ),
        _skill(
            "percentiles",
            "Computes the median and other percentiles of a column of a data file.",
            (
                "95th percentile of the response time",
                "median order value in orders.csv",
                "p50, p90 and p99 of duration",
                "what is the median delay per airport",
                "quartiles of the price column",
                "tail latency per endpoint in the log",
                "the 99th percentile of latency from access.log",
                "how are the durations distributed",
            ),
            files=_DATA_FILES,
        ),
        _skill(
            "log_parse",
            "Reads a log file: how many entries, which levels and status codes, errors by hour, the slowest endpoints.",
            (
                "what errors are in app.log",
                "summarise access.log",
                "which endpoints are the slowest in access.log",
                "how many 500 responses per hour in the log",
                "parse server.log",
                "top paths in the access log",
                "errors per hour in the log file",
                "which requests failed according to the log",
            ),
            files=_DATA_FILES,
        ),
        _skill(
            "compare",
            "Compares two data files, two groups of rows or two periods: what was added, removed and changed, and by how "
            "much.",
            (
                "compare orders.csv with orders_old.csv",
                "what is the difference between 2024.csv and 2025.csv",
                "compare March with April in sales.csv",
                "did revenue grow between the two files",
                "compare carrier UA with DL in flights.csv",
                "which rows were added since the old export",
                "diff these two data files",
                "how do weekdays differ from weekends in the data",
            ),
            files=_DATA_FILES,
        ),
    ),
)
PATTERNS: Final = Definition(
    name="pattern_discovery",
    description="Finds what a project's tests and code already have to build on: fixtures, test patterns, steps, helpers and "
    "prohibitions. Use it before writing new tests or helpers.",
    tags=("tests", "fixtures", "patterns", "reuse"),
    skills=(
        _skill(
            "full_survey",
            "Surveys the whole project for fixtures, test patterns, steps, helpers and documented prohibitions.",
            (
                "survey the test patterns of this project",
                "what can be reused in the tests",
                "list all fixtures and helpers",
                "which fixtures are unused",
                "give an overview of the testing patterns",
                "what do the docs forbid",
                "which tests use mocks",
                "what is tested with parametrize",
            ),
        ),
        _skill(
            "focused_domain",
            "Finds the patterns of one domain: end-to-end tests, unit tests, source code or documentation.",
            (
                "which patterns do the unit tests use",
                "patterns for end-to-end tests of the login",
                "helpers in the source code for parsing dates",
                "what patterns are there in the documentation",
                "how are the e2e tests built",
                "reusable code for retries",
                "unit testing patterns around the cache",
                "conventions of the source code for errors",
            ),
        ),
        _skill(
            "fixture_lookup",
            "Finds the fixture that gives what a test needs, with its scope, its dependencies and where it is used.",
            (
                "which fixture gives me a database connection",
                "is there a fixture for a logged in user",
                "find a fixture that makes a temporary project",
                "what does the client fixture depend on",
                "which fixtures depend on app",
                "where is the runner fixture defined",
                "fixture for a fake server",
                "who uses the db fixture",
            ),
        ),
        _skill(
            "test_pattern_search",
            "Finds the tests that are most like a description or that cover a source file.",
            (
                "find tests like the one I want to write for uploads",
                "which tests cover the parser",
                "is there a test for invalid input",
                "how is the session tested",
                "show similar tests to test_login",
                "which test files check the error handling",
                "an example of a test with a mocked clock",
                "find the tests of the payment module",
            ),
        ),
    ),
)
SUPERVISOR: Final = Definition(
    name="research_supervisor",
    description="Looks several things up one by one in the documents and the code of a project, side by side, and sets the "
    "answers beside each other.",
    composes=True,
    skills=(
        _skill(
            "research_each",
            "Looks each of several subjects up: what the documents or the code say, promise or require of each of them.",
            (
                "compare them with what the docs say",
                "what do the docs promise for each of them",
                "look each of them up in the documentation",
                "what does the code say about each of these",
                "find out for each of those what the documentation requires",
                "compare each with the documented limits",
                "research all of these one by one",
                "what is documented about each",
                "compare them with the specification",
            ),
            needed=("question", "subjects"),
            subjects={"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "What to look up."},
        ),
    ),
)
EVERYBODY: Final = (GIT, RESEARCHER, ANALYST, PATTERNS, SUPERVISOR)

FILES: Final = (
    "README.md",
    "CHANGELOG.md",
    "access.log",
    "data/orders.csv",
    "data/readings.jsonl",
    "data/2024/returns.csv",
    "data/2025/returns.csv",
    "docs/api.md",
    "docs/guide.md",
    "src/app.py",
    "src/parser.py",
    "tests/test_parser.py",
)


def _find(name: str) -> Sequence[str]:
    return [path for path in FILES if PurePosixPath(path).name == PurePosixPath(name).name]


def _exists(path: str) -> bool:
    wanted = path.rstrip("/")
    return wanted in FILES or any(file.startswith(f"{wanted}/") for file in FILES)


PROJECT: Final = ReaderEnvironment(today=date(2026, 3, 18), exists=_exists, find=_find)
"""A workspace of these files, on a Wednesday."""
