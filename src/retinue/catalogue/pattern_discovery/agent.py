"""The agent itself: typed skills over the tests, helpers and documents of a project, which it reads for them.

Tests are collected from files that are named or placed as tests are; pytest's own settings are not read.
"""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._content_cache import ContentCache
from retinue.catalogue._names import fixture_facts
from retinue.catalogue._prose import phrases
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue._tree import TreeReader, TreeReading
from retinue.contract.definition import Sample
from retinue.contract.event import Progress
from retinue.contract.model import JsonMapping
from retinue.engine.blocking import in_thread
from retinue.tools.search.passages import is_test, kind_of

from .file_facts import VERSION, FileFacts, extract, is_historical
from .inventory import LIST_LIMIT, Inventory, build_inventory, narrow, reuse_of
from .parameters import (
    Domain,
    DomainPatterns,
    DomainSearch,
    FixtureMatches,
    FixtureSearch,
    Inventories,
    SimilarTests,
    Survey,
    TestSearch,
)
from .survey_report import look_up, query_words, rank_by_context, report_similar_tests, report_survey

_Work: TypeAlias = Callable[[Inventory, SkillReport], None]
"""Says what a skill finds in an inventory."""

_READS: Final[dict[str, Any]] = {"effects": ("read",), "timeout_s": 180}
_APP: Final[JsonMapping] = {
    "name": "app", "path": "tests/conftest.py", "line_start": 5, "line_end": 9, "doc": "The application under test.",
    "scope": "function", "autouse": False, "params": [], "yields": "Flask", "depends_on": [],
    "used_in": ["tests/test_app.py"], "uses": 2,
}  # fmt: skip
_ANSWER: Final[JsonMapping] = {"answer": "…", "findings": [], "tables": [], "subjects": ["app"], "notes": []}
_LISTS: Final[JsonMapping] = {
    **_ANSWER, "fixtures": [_APP], "test_patterns": [], "steps": [], "helpers": [], "anti_patterns": [],
    "counts": {"files": 3, "tests": 2, "fixtures": 1}, "reuse_score": 10, "reuse_band": "all existing",
    "reuse_basis": "10 times the share of what tests ask for that something shared serves.",
}  # fmt: skip
_FIXTURES: Final[JsonMapping] = {
    **_ANSWER, "matches": [{**_APP, "score": 0.7, "reason": "it has `application`"}], "composition": [_APP],
    "reuse_basis": "10 times the share of the request's words that the matches have together.",
}  # fmt: skip
_TEST_FILE: Final[JsonMapping] = {
    "path": "tests/test_app.py", "lines": ["4-9"], "tests": ["test_application"], "fixtures": ["app"], "mocks": [],
    "asserts": 2, "score": 0.64,
}  # fmt: skip
_TESTS: Final = {**_ANSWER, "matches": [_TEST_FILE], "basis": "Its BM25 over the best that the words could reach."}
_SURVEYS: Final = phrases("""
    list all fixtures of this project; which fixtures are there; are there unused fixtures; which fixtures does no
    test use; what is tested with mocks; where do we use monkeypatch; which tests are parametrized; which tests follow
    arrange act assert; take stock of the test patterns; survey the reusable patterns; which BDD steps exist; which
    steps are undefined; list the helper functions that are used most; what do the docs forbid; what must not be done
    in this project; list the anti-patterns; which fixtures are session scoped; show autouse fixtures; which test
    classes use unittest; how many fixtures are defined in conftest; how many tests are there; how many tests does
    this project have
""")
_DOMAINS: Final = phrases("""
    which unit testing patterns exist for sessions; what can I reuse for end-to-end tests of the login; show e2e
    testing patterns for uploads; patterns in the source code for parsing configuration; which documentation rules
    apply to security; reusable unit-testing patterns for the command line; which reusable patterns are there already
    for testing templates; source-code helpers relevant to file handling; documentation prohibitions about deployment;
    rank the unit testing patterns that help with the cache
""")
_LOOKUPS: Final = phrases("""
    which fixture gives me a test client; is there a fixture for a temporary database; find a fixture that provides an
    authenticated user; which existing fixture sets up the application; do I need a new fixture for a request context;
    I need a fixture with a command line runner; what fixture should I use for uploads; how do I combine fixtures to
    get a signed in client; my test needs a session, what should I use; I am writing a test and need an open
    connection; which fixtures depend on app; what does the client fixture depend on; which tests use the client
    fixture; who uses the runner fixture
""")
_SEARCHES: Final = phrases("""
    how is the parser tested; how are sessions tested; how do we test uploads; how do the existing tests check the
    cache; find tests similar to what I need for the parser; which tests could I follow for a new command; find
    similar tests for src/app.py; which existing tests exercise the config loader; give me test examples for the http
    client; what do the tests of the template engine look like; how well is the login tested; are timeouts tested
    anywhere; is there a test for the upload; which tests cover the retry logic
""")


@retinue.agent(
    name="pattern_discovery",
    version="1.0",
    category="analysis",
    tags=("patterns", "fixtures", "tests", "reuse", "helpers"),
    wire_names={"markdown_json": "pattern-discovery"},
    tier="small",
    tools=("read",),
)
class PatternDiscovery:
    """Discovers what a Python project already has that new tests and code can build on.

    These are fixtures, test patterns, steps, helpers and documented prohibitions. Use it when somebody asks which
    fixtures, mocks or helpers exist, who uses them, or how something is tested; not for what code does or who wrote it.
    Returns an inventory with places, and a reuse score.
    """

    def __init__(self, *, cache_dir: str | PathLike[str] | None = None) -> None:
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        output=Inventories,
        instruction_field="question",
        target_field="target",
        **_READS,
        examples=_SURVEYS,
        samples=(Sample(parameters={"show": "fixtures"}, answer=_LISTS),),
    )
    async def full_survey(self, survey: Survey, run: RunContext) -> Reply:
        """Takes stock of a project's reusable patterns, and counts them.

        These are pytest fixtures with who uses them, tests and the ways they are written, BDD steps, helpers and
        documented prohibitions. Use it when somebody asks what fixtures, tests, mocks, steps or helpers there are, how
        many, or which are unused. Returns the whole inventory with places and a reuse score.
        """

        def work(inventory: Inventory, report: SkillReport) -> None:
            report.figures = _lists(inventory, report) | reuse_of(inventory)
            report_survey(inventory, survey, report)

        return await self._work(work, run, target=survey.target)

    @retinue.skill(
        output=DomainPatterns,
        instruction_field="context",
        target_field="target",
        **_READS,
        examples=_DOMAINS,
        samples=(Sample(parameters={"context": "application"}, answer={"domain": "unit-testing", **_LISTS}),),
    )
    async def focused_domain(self, search: DomainSearch, run: RunContext) -> Reply:
        """Takes stock of reusable patterns of one domain, and ranks them by what they are wanted for.

        A domain is end-to-end tests, unit tests, source code or documentation. Use it when somebody plans work of one
        kind and asks which reusable patterns or helpers exist for it already. Returns the patterns of that domain with
        their relevance and a reuse score.
        """
        words = query_words(search.context, purpose=str(self.focused_domain.__doc__))

        def work(inventory: Inventory, report: SkillReport) -> None:
            basis = "nothing has the words asked for" if words else "no context was stated"
            report.figures = {**_lists(inventory, report), "domain": search.domain, "reuse_basis": basis}
            if not words:
                report_survey(inventory, Survey(show="overview"), report)
            elif not rank_by_context(inventory, words, report):
                hint = "Use the project's own words, or ask for another domain or folder."
                report.reject(f"There is nothing of {search.domain} that has the words asked for.", hint=hint)

        return await self._work(work, run, domain=search.domain, target=search.target)

    @retinue.skill(
        output=FixtureMatches,
        instruction_field="query",
        **_READS,
        facts=lambda discovery, workspace: fixture_facts(workspace, discovery.cache_dir),
        examples=_LOOKUPS,
        samples=(Sample(parameters={"query": "the application"}, answer=_FIXTURES),),
    )
    async def fixture_lookup(self, search: FixtureSearch, run: RunContext) -> Reply:
        """Finds the existing fixture that gives what a test needs, or says who uses a fixture and what it depends on.

        Use it when somebody writes a test and asks which fixture to use or combine to get, make or set up something,
        whether there is one that provides it already or a new one is needed, or which tests and fixtures build on one.
        Returns the matches with scores and reasons, the composition in order, and a reuse score.
        """
        words = query_words(search.query, purpose=str(self.fixture_lookup.__doc__))
        return await self._work(lambda inventory, report: look_up(inventory, search, words, report), run)

    @retinue.skill(
        output=SimilarTests,
        instruction_field="query",
        **_READS,
        target_field="target",
        facts=lambda discovery, workspace: fixture_facts(workspace, discovery.cache_dir),
        examples=_SEARCHES,
        samples=(Sample(parameters={"query": "the application"}, answer=_TESTS),),
    )
    async def test_pattern_search(self, search: TestSearch, run: RunContext) -> Reply:
        """Finds the two or three test files most similar to a description, a symbol or a source file.

        Use it when somebody asks how something is tested, how well, or which tests cover, check or exercise it, or
        wants existing tests as examples to follow for something new. Returns the matching files with the lines of their
        best tests, mocks and assertions.
        """
        words = query_words(search.query, purpose=str(self.test_pattern_search.__doc__))
        return await self._work(lambda inventory, report: report_similar_tests(inventory, search, words, report), run)

    async def _work(self, work: _Work, run: RunContext, *, domain: Domain | None = None, target: str = "") -> Reply:
        """Read the project, put it together, and have `work` say what it finds of a domain in a folder or file."""
        folder = run.workspace.relative(run.workspace.resolve(target or "."))
        run.emit(Progress("listing files"))
        reading = await read_project(run, self.cache_dir)
        report = SkillReport()
        # Not watched: it takes a tenth of what reading took, and without it nothing could be handed over.
        await in_thread(lambda: work(narrow(build_inventory(reading.files), domain, folder), report))
        if reading.unread:  # what is missing may be in what was not read
            report.unanswered = None
        if "reuse_score" in report.figures and report.unanswered is None:
            report.note(f"Reuse score {report.figures['reuse_score']} of 10 ({report.figures['reuse_band']}).")
        reading.report_gaps(report, near=folder)
        return report.reply()


def _lists(inventory: Inventory, report: SkillReport) -> JsonMapping:
    """The lists of a result, each up to a bound that is said, and how many there are."""
    lists = inventory.lists()
    for name, entries in lists.items():
        if len(entries) > LIST_LIMIT:
            report.note(f"`{name}` lists the first {LIST_LIMIT} of {len(entries):,}.")
    more = {"files": len(inventory.files), "tests": len(inventory.tests), "undefined_steps": len(inventory.undefined)}
    return {**inventory.rows({}), "counts": {name: len(entries) for name, entries in lists.items()} | more}


def is_read(path: str) -> bool:
    """Whether a file of this name may hold anything that is looked for here."""
    # A text file that is not called as documents are is more often data.
    is_data = path.endswith(".txt") and not path.rpartition("/")[2][:1].isupper() and "doc" not in path.lower()
    is_document = kind_of(path) == "docs" and not is_data and not is_historical(path)
    return is_document or path.endswith((".py", ".feature"))


async def read_project(run: RunContext, cache_dir: Path | None) -> TreeReading[FileFacts]:
    """Read every file that matters, or as many as there is time for until the run's deadline."""
    read, root = TypeAdapter(FileFacts).validate_python, str(run.workspace.root)
    cache = await in_thread(lambda: ContentCache(cache_dir, root, prefix="patterns", version=VERSION, decode=read))
    deadline = RunDeadline(run)
    reader = TreeReader(run, extract, is_read, cache, deadline, tag=lambda path: "test" if is_test(path) else "")
    reading = await reader.read()
    reading.skipped += [(path, file.error_line, file.error) for path, file in reading.files.items() if file.error]
    return reading
