"""What `pattern_discovery` answers over real files, through the boundary (G5, G6, G7, G8)."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar
from zlib import crc32

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import RunContext
from retinue.agents.registry import Registry
from retinue.catalogue import _remembered, agents
from retinue.catalogue.pattern_discovery import (
    PatternDiscovery,
    gather as gather_module,
)
from retinue.catalogue.pattern_discovery.extract import extract
from retinue.catalogue.pattern_discovery.facts import FileFacts
from retinue.catalogue.pattern_discovery.gather import gather, is_read
from retinue.catalogue.pattern_discovery.remembered import Remembered
from retinue.catalogue.pattern_discovery.settings import Collected, collected_by
from retinue.contract.event import Progress
from retinue.contract.result import Result
from retinue.contract.table import Table
from retinue.contract.task import Task
from retinue.engine.outside import Outside
from retinue.errors import AccessDenied, InternalError, UnknownName
from retinue.orchestration.reader.router import Router
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask

AskIn = Callable[[Path], Ask]
T = TypeVar("T")

FILES = {
    "src/shop/__init__.py": "from .cart import Cart\n",
    "src/shop/cart.py": '''
        """The cart."""
        import sys

        WINDOWS = sys.platform == "win32"

        class Cart:
            """What a customer wants to buy."""
            def add(self, item): ...

        def total_of(cart):
            """What a cart costs."""
            return 0
    ''',
    "src/shop/page.py": "from shop import Cart\nfrom shop.cart import total_of\n",
    "src/shop/mail.py": "def send(): ...\n",
    "tests/conftest.py": '''
        import pytest
        from shop import Cart

        @pytest.fixture(scope="session")
        def prices():
            """The prices of one day."""
            return {"apple": 1}

        @pytest.fixture
        def cart(prices):
            """An empty cart."""
            cart = Cart(prices)
            yield cart
            cart.close()

        @pytest.fixture
        def full_cart(cart):
            """A cart with an apple in it."""
            cart.add("apple")
            return cart

        @pytest.fixture
        def forgotten(): ...

        @pytest.fixture(autouse=True)
        def quiet(): ...
    ''',
    "tests/unit/test_cart.py": """
        import pytest
        from unittest import mock
        from shop.cart import Cart, total_of

        def test_an_empty_cart_costs_nothing(cart):
            assert total_of(cart) == 0

        @pytest.mark.parametrize("item", ["apple", "pear"])
        def test_an_item_is_added(full_cart, item):
            full_cart.add(item)
            before = total_of(full_cart)

            assert before == 1
            assert full_cart

        def test_sending_fails(cart, monkeypatch):
            with mock.patch("shop.mail.send"), pytest.raises(ValueError):
                cart.buy()
    """,
    "tests/e2e/test_buying.py": "def test_a_customer_buys(full_cart):\n    assert full_cart\n",
    "tests/e2e/steps.py": (
        "from pytest_bdd import given, then\n@given('a cart with an apple')\ndef a(): ...\n"
        "@then('nothing')\ndef b(): ...\n"
    ),
    "tests/e2e/buy.feature": "Feature: buy\n  Given a cart with an apple\n  Then the customer pays\n",
    "docs/rules.md": "# Rules\n\nNever call `total_of` twice. It is slow.\n",
    "CHANGELOG.md": "Do not read this.\n",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return plant(tmp_path / "shop", FILES)


@pytest.fixture
def ask(shop: Path, ask_in: AskIn) -> Ask:
    return ask_in(shop)


def survey(ask: Ask, question: str = "", **parameters: Any) -> Result:
    return ask("pattern_discovery", "full_survey", question=question, **parameters)


def lookup(ask: Ask, question: str, **parameters: Any) -> Result:
    return ask("pattern_discovery", "fixture_lookup", question=question, **parameters)


def similar(ask: Ask, question: str = "", **parameters: Any) -> Result:
    return ask("pattern_discovery", "test_pattern_search", question=question, **parameters)


def focused(ask: Ask, domain: str, context: str = "", **parameters: Any) -> Result:
    question = parameters.pop("question", "")
    return ask("pattern_discovery", "focused_domain", question=question, domain=domain, context=context, **parameters)


def good(result: Result) -> dict[str, Any]:
    assert (result.outcome, result.fault) == ("success", None)
    return result.data


# --- the whole inventory --------------------------------------------------------------------------------------------


@pytest.mark.row("G5")
def test_a_survey_lists_everything_with_its_place(ask: Ask) -> None:
    data = good(survey(ask))
    assert [
        (one["name"], one["path"], one["line_start"], one["uses"], one["depends_on"]) for one in data["fixtures"]
    ] == [
        ("cart", "tests/conftest.py", 10, 3, ["prices"]),
        ("full_cart", "tests/conftest.py", 17, 2, ["cart"]),
        ("prices", "tests/conftest.py", 5, 1, []),
        ("forgotten", "tests/conftest.py", 23, 0, []),
        ("quiet", "tests/conftest.py", 26, 0, []),
    ]
    first = data["fixtures"][0]
    assert (first["yields"], first["doc"], first["tears_down"], first["used_in"]) == (
        "Cart", "An empty cart.", True, ["tests/conftest.py", "tests/unit/test_cart.py"],
    )  # fmt: skip
    assert [(one["kind"], one["path"], one["lines"], one["count"]) for one in data["test_patterns"]] == [
        ("parametrize", "tests/unit/test_cart.py", ["9-15"], 1),
        ("mock", "tests/unit/test_cart.py", ["17-19"], 1),
        ("aaa", "tests/unit/test_cart.py", ["9-15"], 1),
        ("raises", "tests/unit/test_cart.py", ["17-19"], 1),
    ]
    assert [(one["text"], one["uses"]) for one in data["steps"]] == [("a cart with an apple", 1), ("nothing", 0)]
    assert [(one["symbol"], one["kind"], one["uses"]) for one in data["helpers"]] == [
        ("Cart", "source", 3), ("total_of", "source", 2), ("WINDOWS", "platform", 0),
    ]  # fmt: skip
    assert data["anti_patterns"] == [{"text": "Never call `total_of` twice.", "path": "docs/rules.md", "line": 3}]
    assert (data["reuse_score"], data["reuse_band"]) == (7, "mostly existing")
    assert data["counts"]["tests"] == 4
    assert data["counts"]["undefined_steps"] == 1


@pytest.mark.row("G5")
@pytest.mark.parametrize(
    ("question", "begins", "subjects"),
    [
        ("Which fixtures are there?", "There are 5 fixtures in 1 file; most used is `cart`", ["cart", "full_cart"]),
        ("Which fixtures depend on prices?", "1 fixture depends on `prices`: `cart`.", ["cart"]),
        ("which fixtures depend on forgotten", "No fixture depends on `forgotten`.", []),
        ("which fixtures depend on something else", "There are 5 fixtures", ["cart"]),
        ("What does full_cart depend on?", "`full_cart` depends on `cart`.", ["cart"]),
        ("what does prices depend on?", "`prices` depends on no other fixture.", []),
        ("what does it depend on?", "There are 5 fixtures", ["cart"]),
        ("Are there unused fixtures?", "1 of 5 fixtures is used by no test and no other fixture: `forgotten`.", []),
        ("which fixtures are session scoped", "There is 1 fixture of scope session in 1 file", ["prices"]),
        ("which fixtures are module scoped", "No fixture of scope module was found.", []),
        ("list autouse fixtures", "There is 1 fixture with autouse in 1 file", ["quiet"]),
        ("which fixtures are in tests/conftest.py", "There are 5 fixtures in 1 file; most used is `cart`", ["cart"]),
        ("how many tests use cart", "`cart` is used by 3 tests and fixtures in 2 files, 1 of them fixtures.", ["tests/conftest.py"]),
        ("which test checks Cart", "`tests/unit/test_cart.py`: `test_", ["tests/unit/test_cart.py"]),
        ("what is the fixture `cart`", "`cart` gives `Cart`, is used by 3 tests and fixtures in 2 files", ["cart"]),
        ("which tests use the full_cart fixture", "`full_cart` is used by 2 tests and fixtures", ["tests/e2e/test_buying.py"]),
        ("who uses total_of", "`def total_of(cart)`, used in 2 other files", ["total_of", "src/shop/page.py"]),
        ("who uses what", "There are 5 fixtures", ["cart"]),
        ("What is tested with mocks?", "There is 1 test that replaces something by a mock in 1 file, of 4 tests in all", ["tests/unit/test_cart.py"]),
        ("which tests are parametrized", "There is 1 parametrized test in 1 file", ["tests/unit/test_cart.py"]),
        ("which tests use unittest", "There are no tests of `unittest` classes.", []),
        ("which steps are there", "There are 2 steps; 1 line of feature files fit none.", ["a cart with an apple"]),
        ("which steps are undefined", "1 line of feature files fit no step; the first is then the customer pays", []),
        ("which steps are unused", "There is 1 step that no feature file uses", ["nothing"]),
        ("what helpers are there", "There are 3 helpers; most used is `Cart`, in 3 other files.", ["Cart"]),
        ("what platform helpers are there", "There is 1 platform helper; most used is `WINDOWS`", ["WINDOWS"]),
        ("what must not be done", "1 sentence in 1 document say what must not be done.", ["docs/rules.md"]),
        ("how is Cart tested?", "`tests/unit/test_cart.py`: `test_", ["tests/unit/test_cart.py"]),
        ("how is zebra tested?", "4 tests in 2 files", ["cart"]),
        ("give me an overview", "4 tests in 2 files, 5 fixtures, 2 steps, 3 helpers and 1 documented", ["cart"]),
    ],
)  # fmt: skip
def test_the_question_decides_what_leads_the_answer(
    ask: Ask, question: str, begins: str, subjects: Sequence[str]
) -> None:
    result = survey(ask, question)
    data = good(result)
    assert data["answer"].startswith(begins)
    assert data["subjects"][: len(subjects)] == list(subjects)
    for one in data["findings"]:
        path, _, line = one["source"].partition(":")
        lines = (ask.root / path).read_text(encoding="utf-8").count("\n") + 1
        assert not line or 1 <= int(line) <= lines
    for table in data["tables"]:
        assert Table.model_validate_json(json.dumps(table)).rows
    assert result.content


def test_every_fixture_is_used_is_said(tmp_path: Path, ask_in: AskIn) -> None:
    files = {"test_a.py": "import pytest\n@pytest.fixture\ndef app(): ...\ndef test_a(app): ...\n"}
    data = good(survey(ask_in(plant(tmp_path, files)), "unused fixtures"))
    assert data["answer"] == "Each fixture is used somewhere (1 in all)."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("which steps are there", "No step of behaviour-driven tests was found."),
        ("what is forbidden", "No document was found that forbids anything in so many words."),
        ("which helpers are there", "No public function or class is used by two other files."),
        ("which platform helpers are there", "No public function or class asks for the operating system."),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, ask_in: AskIn, question: str, answer: str) -> None:
    data = good(survey(ask_in(plant(tmp_path, {"test_a.py": "def test_a(): ...\n"})), question))
    assert data["answer"] == answer
    assert "reuse_score" not in data


def test_a_survey_is_limited_to_a_folder(ask: Ask) -> None:
    data = good(survey(ask, target="./tests/e2e/"))
    assert {one["path"] for one in (*data["fixtures"], *data["test_patterns"], *data["steps"])} == {
        "tests/e2e/steps.py"
    }
    assert data["counts"]["tests"] == 1


@pytest.mark.row("G5", "K14")
def test_an_empty_project_is_rejected(tmp_path: Path, ask_in: AskIn) -> None:
    result = survey(ask_in(plant(tmp_path, {"a.py": "x = 1\n"})), "which fixtures are there")
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "missing_file")


# --- one domain -----------------------------------------------------------------------------------------------------


@pytest.mark.row("G6")
@pytest.mark.parametrize(
    ("domain", "counts"),
    [
        ("e2e-testing", {"tests": 1, "fixtures": 1, "steps": 2, "helpers": 0, "anti_patterns": 0}),
        ("unit-testing", {"tests": 3, "fixtures": 5, "steps": 0, "helpers": 0, "anti_patterns": 0}),
        ("source-code", {"tests": 0, "fixtures": 0, "steps": 0, "helpers": 3, "anti_patterns": 0}),
        ("documentation", {"tests": 0, "fixtures": 0, "steps": 0, "helpers": 0, "anti_patterns": 1}),
    ],
)
def test_a_domain_has_only_what_belongs_to_it(ask: Ask, domain: str, counts: dict[str, int]) -> None:
    data = good(focused(ask, domain))
    assert {name: data["counts"][name] for name in counts} == counts
    assert "relevance" not in str(data)
    assert data["reuse_basis"] == "no context was stated"


@pytest.mark.row("G6")
def test_a_context_ranks_and_scores(ask: Ask) -> None:
    data = good(focused(ask, "unit-testing", "a cart with an apple"))
    assert data["fixtures"][0]["name"] == "full_cart"
    relevance = [one["relevance"] for one in data["fixtures"]]
    assert relevance == sorted(relevance, reverse=True)
    assert 0 < relevance[0] <= 1
    assert data["reuse_score"] == 10
    assert data["findings"][0]["confidence"] == relevance[0]


@pytest.mark.row("G6")
@pytest.mark.parametrize(
    ("domain", "context", "topic"),
    [
        ("e2e-testing", "a customer buys", "test pattern"),
        ("e2e-testing", "given a cart with an apple", "fixture"),
        ("e2e-testing", "nothing but steps", "step"),
        ("source-code", "what a cart costs", "helper"),
        ("documentation", "call total_of", "prohibition"),
    ],
)
def test_every_kind_of_pattern_can_fit_best(
    tmp_path: Path, ask_in: AskIn, domain: str, context: str, topic: str
) -> None:
    buying = "import pytest\n@pytest.mark.parametrize('a', [1])\ndef test_a_customer_buys(full_cart, a): ...\n"
    root = plant(tmp_path / "shop", {**FILES, "tests/e2e/test_buying.py": buying})
    data = good(focused(ask_in(root), domain, context))
    assert topic in {one["topic"] for one in data["findings"]}


def test_a_domain_that_has_nothing_is_rejected(tmp_path: Path, ask_in: AskIn) -> None:
    root = plant(tmp_path, {"test_a.py": "def test_a(): ...\n", "docs/logo.svg": ""})
    result = focused(ask_in(root), "documentation", target="docs")
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "missing_file")


@pytest.mark.row("K14")
@pytest.mark.parametrize(
    ("target", "code"), [("nowhere", "missing_file"), ("/etc", "access_denied"), ("../..", "access_denied")]
)
def test_a_place_that_is_not_in_the_workspace_is_a_fault(tmp_path: Path, ask_in: AskIn, target: str, code: str) -> None:
    result = survey(ask_in(plant(tmp_path, {"test_a.py": "def test_a(): ...\n"})), target=target)
    assert (result.useful, result.fault and result.fault.code) == (False, code)


def test_what_could_not_be_read_of_the_place_asked_about_is_named_first(tmp_path: Path, ask_in: AskIn) -> None:
    files = {f"test_{number}.py": "def (\n" for number in range(9)}
    root = plant(tmp_path, {**files, "z/test_bad.py": "\ndef (\n", "z/test_a.py": "def test_a(): ...\n"})
    result = survey(ask_in(root), target="z/../z/")
    assert result.warnings[0].message.startswith("10 files could not be read, the first z/test_bad.py:2 (")


def test_an_unknown_domain_is_refused(ask: Ask) -> None:
    result = focused(ask, "e2e")
    assert result.fault is not None
    assert result.fault.code == "invalid_input"


# --- one fixture ----------------------------------------------------------------------------------------------------


@pytest.mark.row("G7")
def test_the_fixture_that_gives_something_is_found_with_what_it_is_made_of(ask: Ask) -> None:
    data = good(lookup(ask, "Which fixture gives me a cart with an apple?"))
    assert [one["fixture"] for one in data["matches"]][:2] == ["full_cart", "cart"]
    assert [one["fixture"] for one in data["composition"]] == ["prices", "cart", "full_cart"]
    assert (
        data["matches"][0]["reason"]
        == "its name has `cart`; what it gives has `cart`; its docstring has `cart`, `apple`; what it depends on has `cart`"
    )
    assert data["why_not_new"].startswith("`full_cart` gives `cart` and is used by 2 tests")
    assert (data["reuse_score"], data["reuse_band"]) == (10, "all existing")
    assert "new_patterns" not in data


@pytest.mark.row("G7")
def test_what_no_fixture_has_would_be_new(ask: Ask) -> None:
    data = good(lookup(ask, "a cart with an elephant, a giraffe and a zebra"))
    assert data["reuse_score"] < 7
    assert [one["need"] for one in data["new_patterns"]] == ["elephant", "giraffe", "zebra"]
    assert "why_not_new" not in data


@pytest.mark.row("G7")
def test_fixtures_are_combined_when_none_has_everything(ask: Ask) -> None:
    data = good(lookup(ask, "a forgotten cart"))
    assert [one["fixture"] for one in data["composition"]] in (
        ["prices", "cart", "forgotten"],
        ["forgotten", "prices", "cart"],
    )


def test_a_fixture_asked_for_by_name_stands_first(ask: Ask) -> None:
    assert good(lookup(ask, "what about `cart`, the one with an apple"))["matches"][0]["fixture"] == "cart"


def test_the_number_of_matches_is_bounded(ask: Ask) -> None:
    assert len(good(lookup(ask, "cart", limit=1))["matches"]) == 1


@pytest.mark.row("G7")
@pytest.mark.parametrize("files", [FILES, {"test_a.py": "def test_a(): ...\n"}], ids=["others", "none"])
def test_a_fixture_that_is_not_there_is_not_made_up(tmp_path: Path, ask_in: AskIn, files: dict[str, str]) -> None:
    result = lookup(ask_in(plant(tmp_path, files)), "a postgres connection")
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "missing_file")
    assert result.data["matches"] == []


# --- similar tests --------------------------------------------------------------------------------------------------


@pytest.mark.row("G8")
def test_similar_tests_come_with_lines_mocks_and_assertions(ask: Ask) -> None:
    data = good(similar(ask, "sending fails"))
    first = data["matches"][0]
    assert (first["path"], first["lines"][0], first["tests"][0]) == (
        "tests/unit/test_cart.py",
        "17-19",
        "test_sending_fails",
    )
    assert first["mocks"] == ["monkeypatch", "patch"]
    assert first["asserts"] >= 1
    assert 0 < first["score"] <= 1


@pytest.mark.row("G8")
@pytest.mark.parametrize("target", ["src/shop/cart.py", "./src/shop/cart.py", "shop/cart.py"])
def test_the_tests_of_a_source_file_are_those_that_use_what_it_defines(ask: Ask, target: str) -> None:
    data = good(similar(ask, target=target))
    assert data["matches"][0]["path"] == "tests/unit/test_cart.py"
    assert data["notes"][0] == "Compared with `src/shop/cart.py`."


def test_tests_written_in_one_way_are_found_by_the_way_alone(ask: Ask) -> None:
    data = good(similar(ask, "what is tested with mocks"))
    assert [(one["path"], one["tests"]) for one in data["matches"]] == [
        ("tests/unit/test_cart.py", ["test_sending_fails"])
    ]


def test_a_file_named_in_the_question_is_compared(ask: Ask) -> None:
    data = good(similar(ask, "find tests like tests/e2e/test_buying.py"))
    assert {one["path"] for one in data["matches"]} <= {"tests/unit/test_cart.py"}
    assert data["notes"] == ["Compared with `tests/e2e/test_buying.py`."]


@pytest.mark.row("G8")
@pytest.mark.parametrize(
    ("question", "target", "code"),
    [
        ("elephants and giraffes", "", "missing_file"),
        ("", "src/shop/stock.py", "missing_file"),
        ("", "gone.py", "missing_file"),
    ],
)
def test_where_no_test_fits_it_says_so(ask: Ask, question: str, target: str, code: str) -> None:
    (ask.root / "src/shop/stock.py").write_text("def recount(): ...\n")
    result = similar(ask, question, target=target)
    assert result.fault is not None
    assert result.fault.code == code


def test_a_project_without_tests_says_so(tmp_path: Path, ask_in: AskIn) -> None:
    result = similar(ask_in(plant(tmp_path, {"a.py": "def run(): ...\n"})), "run")
    assert (result.outcome, result.fault and result.fault.message) == ("rejected", "There are no tests here.")


# --- files that are trouble -----------------------------------------------------------------------------------------


@pytest.mark.row("G5", "K13")
def test_files_that_do_not_parse_are_listed_and_the_rest_is_answered(shop: Path, ask_in: AskIn) -> None:
    (shop / "src/broken.py").write_text("x = 1\ndef (:\n")
    (shop / "src/deep.py").write_bytes(b"x" + b".a" * 100_000)
    (shop / "src/large.py").write_bytes(b"#" * (2 * 1024 * 1024 + 1))
    (shop / "src/out.py").symlink_to("/etc/hostname")
    result = survey(ask_in(shop), "which fixtures are there")
    assert result.outcome == "partial"
    assert [one.type for one in result.warnings] == ["degraded_analysis"]
    notes = "\n".join(result.data["notes"])
    assert "`src/broken.py:2` was not read: it is not Python" in notes
    assert "`src/deep.py` was not read: it is nested too deeply to be read." in notes
    assert "`src/large.py` was not read: it holds 2,097,153 bytes" in notes
    assert len(result.data["fixtures"]) == 5


def test_names_out_of_files_are_shown_harmlessly(tmp_path: Path, ask_in: AskIn) -> None:
    text = 'import pytest\n@pytest.fixture(name="a\\x1b[31m`b")\ndef app():\n    """**bold** {0} {x}."""\n'
    result = survey(ask_in(plant(tmp_path, {"conftest.py": text})), "which fixtures are there")
    assert "\x1b" not in result.content + str(good(result)["answer"])
    assert "{0} {x}" in result.data["answer"]


def test_what_is_read_is_told_by_its_name() -> None:
    assert [path for path in ("a.py", "b.feature", "docs/c.txt", "README.txt", "d.rst", "words.txt", "CHANGES.rst", "e.js")
            if is_read(path)] == ["a.py", "b.feature", "docs/c.txt", "README.txt", "d.rst"]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "collected"),
    [
        ({}, ["test_a.py"]),
        ({"pytest.ini": "[pytest]\npython_files = check_*.py it/*.py\n"}, ["check_b.py", "it/c.py"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = ['check_*.py']\n"}, ["check_b.py"]),
        ({"pyproject.toml": "[tool.pytest]\npython_files = 'check_*.py'\n"}, ["check_b.py"]),
        ({"pyproject.toml": "[tool.pytest.ini_options]\npython_files = 3\n"}, ["test_a.py"]),
        ({"pyproject.toml": "[project]\nname = 'x'\n", "tox.ini": "[pytest]\npython_files=it/*.py"}, ["it/c.py"]),
        ({"pyproject.toml": "not toml", "setup.cfg": "[tool:pytest]\npython_files = check_*.py"}, ["check_b.py"]),
        ({"pyproject.toml": "tool = 3"}, ["test_a.py"]),
        ({"pytest.ini": "no section"}, ["test_a.py"]),
    ],
)
def test_pytests_own_settings_say_which_files_have_tests(
    tmp_path: Path, files: dict[str, str], collected: list[str]
) -> None:
    found = collected_by(Workspace(plant(tmp_path, files)))
    assert [path for path in ("test_a.py", "check_b.py", "it/c.py", "it/c.txt") if path in found] == collected


def test_no_pattern_collects_nothing() -> None:
    assert "test_a.py" not in Collected(())


# --- reading in batches, and remembering ----------------------------------------------------------------------------


class Context(LocalContext):
    """A context whose worker processes are replaced by what a test wants to happen."""

    offloaded: int = 0

    def __init__(
        self, root: Path, instead: Callable[[int, Sequence[tuple[str, bytes, bool]]], Any], **options: Any
    ) -> None:
        super().__init__(workspace=Workspace(root), **options)
        self._instead = instead

    async def offload(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        assert function is extract
        self.offloaded += 1
        return self._instead(self.offloaded, *args, **kwargs)


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a tree is, it is given to worker processes, a few files at a time."""
    monkeypatch.setattr(gather_module, "_ALONE_BYTES", -1)
    monkeypatch.setattr(gather_module, "_BATCH_FILES", 4)


def gathered(run: RunContext, cache: Path | None = None) -> gather_module.Gathered:
    return asyncio.run(gather(run, workspace=run.workspace, cache_dir=cache))


def test_batches_go_to_worker_processes(shop: Path, in_processes: None) -> None:
    async def read() -> gather_module.Gathered:
        async with LocalContext(workspace=Workspace(shop)) as run:
            return await gather(run, workspace=run.workspace, cache_dir=None)

    found = asyncio.run(read())
    assert (found.parsed, found.remembered, found.left, found.skipped) == (10, 0, [], [])
    assert list(found.facts) == sorted(found.facts)


def test_without_processes_it_reads_itself(shop: Path, in_processes: None) -> None:
    def refuse(_: int, __: object) -> list[FileFacts]:
        raise AccessDenied("This run has no worker processes.")

    run = Context(shop, refuse)
    found = gathered(run)
    assert found.parsed == len(found.facts) == 10
    assert isinstance(run.events[-1].body, Progress)


def test_the_one_file_that_ends_its_process_is_named(shop: Path, in_processes: None) -> None:
    def die(_: int, batch: Sequence[tuple[str, bytes, bool]]) -> list[FileFacts]:
        if any(path == "src/shop/mail.py" for path, _, _ in batch):
            raise InternalError("The worker of `extract` died of SIGSEGV before it had answered.")
        return extract(batch)

    found = gathered(Context(shop, die))
    assert [(path, line) for path, line, _ in found.skipped] == [("src/shop/mail.py", 0)]
    assert found.skipped[0][2].startswith("reading it ended its process")
    assert len(found.facts) == 10


def test_when_time_is_up_what_was_read_is_answered_and_the_rest_named(shop: Path, in_processes: None) -> None:
    now = 1_000_000_000_000

    def slow(number: int, batch: Sequence[tuple[str, bytes, bool]]) -> list[FileFacts]:
        nonlocal now
        now += 60_000_000_000
        return extract(batch)

    run = Context(shop, slow, deadline_ns=now + 60_000_000_000, outside=Outside(clock=lambda: now))
    boundary = Boundary(Registry([PatternDiscovery()]))
    task = Task(id="t", agent="pattern_discovery", skill="full_survey", parameters={"question": "which fixtures"})
    found = gathered(run)
    assert found.left
    assert found.facts
    assert set(found.left).isdisjoint(found.facts)
    now = 1_000_000_000_000
    result = asyncio.run(
        boundary.call(task, Context(shop, slow, deadline_ns=now + 60_000_000_000, outside=Outside(clock=lambda: now)))
    )
    assert result.outcome == "partial"
    assert result.warnings[0].type == "missing_data"
    assert "Time was up before" in result.warnings[0].message


@pytest.mark.row("K13")
def test_a_file_that_vanishes_is_named(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = gather_module.list_files

    def list_and_remove(workspace: Workspace) -> Any:
        found = listed(workspace)
        (shop / "src/shop/mail.py").unlink()
        return found

    monkeypatch.setattr(gather_module, "list_files", list_and_remove)
    assert [path for path, _, _ in gathered(Context(shop, lambda _, batch: extract(batch))).skipped] == [
        "src/shop/mail.py"
    ]


@pytest.mark.row("G5")
def test_a_second_run_parses_only_what_changed(shop: Path, tmp_path: Path) -> None:
    def run() -> gather_module.Gathered:
        return gathered(LocalContext(workspace=Workspace(shop)), tmp_path / "cache")

    first, second = run(), run()
    assert (first.parsed, second.parsed, second.remembered) == (10, 0, 10)
    assert second.facts.keys() == first.facts.keys()
    (shop / "src/shop/mail.py").write_text("def receive(): ...\n")
    (shop / "src/shop/page.py").rename(shop / "src/shop/pages.py")
    third = run()
    assert (third.parsed, third.remembered) == (1, 9)
    assert [one.name for one in third.facts["src/shop/mail.py"].symbols] == ["receive"]


def test_the_same_content_is_read_once_for_each_kind_of_file(tmp_path: Path) -> None:
    text = "def test_a(): ...\n"
    root = plant(tmp_path / "it", {"test_a.py": text, "a.py": text, "test_b.py": text})
    found = gathered(LocalContext(workspace=Workspace(root)), tmp_path / "cache")
    assert {path: len(facts.tests) for path, facts in found.facts.items()} == {
        "a.py": 0,
        "test_a.py": 1,
        "test_b.py": 1,
    }
    again = gathered(LocalContext(workspace=Workspace(root)), tmp_path / "cache")
    assert {path: len(facts.tests) for path, facts in again.facts.items()} == {
        "a.py": 0,
        "test_a.py": 1,
        "test_b.py": 1,
    }


def cache_of(folder: Path, root: Path) -> Path:
    path = Remembered(folder, str(root)).path
    assert path is not None
    return path


def _one_byte(data: bytes) -> bytes:
    return data[:-40] + b"#" + data[-39:]


def _another_version(data: bytes) -> bytes:
    return data.replace(b"retinue-patterns-", b"retinue-patterns-9", 1)


def _empty(_: bytes) -> bytes:
    return b""


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _no_json(data: bytes) -> bytes:
    return data.replace(b"[", b"{")


@pytest.mark.parametrize(
    ("damage", "remembered"), [(_one_byte, 9), (_another_version, 0), (_empty, 0), (_cut, None), (_no_json, 0)]
)
def test_a_damaged_cache_costs_time_and_nothing_else(
    shop: Path, tmp_path: Path, damage: Callable[[bytes], bytes], remembered: int | None
) -> None:
    cache = tmp_path / "cache"
    first = gathered(LocalContext(workspace=Workspace(shop)), cache)
    path = cache_of(cache, shop)
    path.write_bytes(damage(path.read_bytes()))
    second = gathered(LocalContext(workspace=Workspace(shop)), cache)
    assert second.parsed + second.remembered == 10
    assert remembered is None or second.remembered == remembered
    assert repr(second.facts).replace("(", "[").replace(")", "]") == repr(first.facts).replace("(", "[").replace(
        ")", "]"
    )
    assert gathered(LocalContext(workspace=Workspace(shop)), cache).remembered == 10


def test_facts_that_are_none_are_not_believed(tmp_path: Path) -> None:
    body = b"[1,2]"
    cache = cache_of(tmp_path, tmp_path)
    key = "a" * 64
    cache.write_bytes(b"retinue-patterns-1\n%b %08x %b\n" % (key.encode(), crc32(body), body))
    assert Remembered(tmp_path, str(tmp_path)).get(key) is None
    assert Remembered(tmp_path, str(tmp_path)).get("b" * 64) is None


def test_a_cache_that_is_a_link_is_not_followed(shop: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "elsewhere").write_text("mine")
    cache_of(cache, shop).symlink_to(tmp_path / "elsewhere")
    assert gathered(LocalContext(workspace=Workspace(shop)), cache).remembered == 0
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert gathered(LocalContext(workspace=Workspace(shop)), cache).remembered == 10


def test_a_cache_that_cannot_be_written_is_a_note(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    found = gathered(LocalContext(workspace=Workspace(shop)), tmp_path / "cache")
    assert len(found.facts) == 10
    assert "could not be kept" in found.notes[0]


def test_the_cache_is_bounded_and_the_users_own(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_remembered, "_MOST_BYTES", 2_000)
    cache = tmp_path / "cache"
    left = cache_of(cache, shop).with_name(f"{cache_of(cache, shop).name}.1.tmp")
    cache.mkdir()
    left.write_text("half")
    os.utime(left, (0, 0))
    gathered(LocalContext(workspace=Workspace(shop)), cache)
    assert 0 < cache_of(cache, shop).stat().st_size <= 2_000
    assert cache_of(cache, shop).stat().st_mode & 0o077 == 0
    assert not left.exists()


def test_an_unknown_skill_names_those_there_are() -> None:
    agent = PatternDiscovery()
    with pytest.raises(UnknownName, match="does not do"):
        asyncio.run(agent.run(Task(id="t", agent="pattern_discovery", skill="survey"), LocalContext()))


def test_without_a_workspace_it_is_refused() -> None:
    with pytest.raises(AccessDenied):
        asyncio.run(
            PatternDiscovery().run(Task(id="t", agent="pattern_discovery", skill="full_survey"), LocalContext())
        )


@pytest.mark.row("G5", "G6", "G7", "G8")
@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("which fixtures depend on app", "full_survey"),
        ("are there fixtures that nobody uses", "full_survey"),
        ("what do the docs forbid", "full_survey"),
        ("which tests use monkeypatch", "full_survey"),
        ("which unit testing patterns exist for uploads", "focused_domain"),
        ("what can I reuse for e2e tests of the checkout", "focused_domain"),
        ("which fixture gives me a logged in user", "fixture_lookup"),
        ("do I need a new fixture for a mail server", "fixture_lookup"),
        ("how is parse_date tested", "test_pattern_search"),
        ("find tests similar to src/parser.py", "test_pattern_search"),
        ("how does the parser work", "research"),
        ("who changed the fixtures most recently", "commit_analysis"),
    ],
)
def test_questions_are_routed_to_the_skill_that_answers_them(clause: str, expected: str) -> None:
    routing = Router([agent.definition for agent in agents()]).route(clause)
    assert not routing.abstained
    assert routing.candidates[0].skill == expected


def test_a_name_that_the_wire_has_leads_to_the_agent() -> None:
    assert Registry(agents()).get("pattern-discovery").definition.name == "pattern_discovery"
