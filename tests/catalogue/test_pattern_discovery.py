"""What `pattern_discovery` answers over real files, through the boundary (G5, G6, G7, G8)."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import RunContext
from retinue.agents.registry import Registry
from retinue.catalogue import _tree, agents
from retinue.catalogue._names import fixture_facts
from retinue.catalogue._tree import TreeReading
from retinue.catalogue.pattern_discovery import PatternDiscovery
from retinue.catalogue.pattern_discovery.agent import is_read, read_project
from retinue.catalogue.pattern_discovery.file_facts import FileFacts, extract
from retinue.contract.event import Progress
from retinue.contract.result import Result
from retinue.contract.table import Table
from retinue.contract.task import Task
from retinue.engine.base import Outside
from retinue.errors import AccessDenied, InternalError, UnknownName
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Ask

AskIn = Callable[[Path], Ask]
T = TypeVar("T")

FILES = {
    "src/shop/__init__.py": "from .cart import Cart\n",
    "src/shop/cart.py": '''
        """The cart."""
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


def survey(ask: Ask, **parameters: Any) -> Result:
    return ask("pattern_discovery", "full_survey", **parameters)


def lookup(ask: Ask, query: str, **parameters: Any) -> Result:
    return ask("pattern_discovery", "fixture_lookup", query=query, **parameters)


def similar(ask: Ask, query: str = "", **parameters: Any) -> Result:
    return ask("pattern_discovery", "test_pattern_search", query=query, **parameters)


def focused(ask: Ask, domain: str, context: str = "", **parameters: Any) -> Result:
    return ask("pattern_discovery", "focused_domain", domain=domain, context=context, **parameters)


def good(result: Result) -> dict[str, Any]:
    assert (result.outcome, result.fault) == ("success", None)
    return result.data


# --- the whole inventory --------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
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
    assert (first["yields"], first["doc"], first["used_in"]) == (
        "Cart", "An empty cart.", ["tests/conftest.py", "tests/unit/test_cart.py"],
    )  # fmt: skip
    assert [(one["kind"], one["path"], one["lines"], one["count"]) for one in data["test_patterns"]] == [
        ("parametrize", "tests/unit/test_cart.py", ["9-15"], 1),
        ("mock", "tests/unit/test_cart.py", ["17-19"], 1),
        ("aaa", "tests/unit/test_cart.py", ["9-15"], 1),
        ("raises", "tests/unit/test_cart.py", ["17-19"], 1),
    ]
    assert [(one["text"], one["uses"]) for one in data["steps"]] == [("a cart with an apple", 1), ("nothing", 0)]
    assert [(one["symbol"], one["kind"], one["uses"]) for one in data["helpers"]] == [
        ("Cart", "source", 3), ("total_of", "source", 2),
    ]  # fmt: skip
    assert data["anti_patterns"] == [{"text": "Never call `total_of` twice.", "path": "docs/rules.md", "line": 3}]
    assert (data["reuse_score"], data["reuse_band"]) == (7, "mostly existing")
    assert data["counts"]["tests"] == 4
    assert data["counts"]["undefined_steps"] == 1


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("parameters", "begins", "subjects"),
    [
        ({"show": "fixtures"}, "There are 5 fixtures in 1 file; most used is `cart` (3).", ["cart", "full_cart"]),
        ({"show": "fixtures", "unused": True}, "There is 1 fixture that are not used in 1 file.", ["forgotten"]),
        ({"unused": True}, "There is 1 fixture that are not used in 1 file.", ["forgotten"]),
        ({"scope": "session"}, "There is 1 fixture of scope session in 1 file", ["prices"]),
        ({"show": "fixtures", "scope": "module"}, "There are no fixtures of scope module.", []),
        ({"autouse": True}, "There is 1 fixture with autouse in 1 file.", ["quiet"]),
        ({"show": "tests"}, "There are 4 tests in 2 files.", ["test_a_customer_buys"]),
        ({"pattern": "mock"}, "There is 1 test that replaces something by a mock in 1 file, of 4 tests in all", ["tests/unit/test_cart.py"]),
        ({"show": "tests", "pattern": "parametrize"}, "There is 1 parametrized test in 1 file", ["tests/unit/test_cart.py"]),
        ({"show": "tests", "pattern": "unittest"}, "There are no tests of `unittest` classes, of 4 tests in all.", []),
        ({"show": "steps"}, "There are 2 steps in 1 file; most used is `a cart with an apple` (1).", ["a cart with an apple"]),
        ({"undefined": True}, "There is 1 line without a step in 1 file.", ["the customer pays"]),
        ({"show": "steps", "unused": True}, "There is 1 step that are not used in 1 file.", ["nothing"]),
        ({"show": "helpers"}, "There are 2 helpers in 1 file; most used is `Cart` (3).", ["Cart"]),
        ({"show": "rules"}, "There is 1 documented prohibition in 1 file.", ["docs/rules.md"]),
        ({}, "4 tests in 2 files, 5 fixtures, 2 steps, 2 helpers and 1 documented", ["cart"]),
        ({"question": "what is forbidden?"}, "4 tests in 2 files, 5 fixtures", ["cart"]),
    ],
)  # fmt: skip
def test_what_is_to_be_shown_leads_the_answer(
    ask: Ask, parameters: dict[str, Any], begins: str, subjects: Sequence[str]
) -> None:
    result = survey(ask, **parameters)
    data = good(result)
    assert data["answer"].startswith(begins)
    assert data["subjects"][: len(subjects) or None] == list(subjects)
    for one in data["findings"]:
        path, _, line = one["source"].partition(":")
        lines = (ask.root / path).read_text(encoding="utf-8").count("\n") + 1
        assert not line or 1 <= int(line) <= lines
    for table in data["tables"]:
        assert Table.model_validate_json(json.dumps(table)).rows
    assert result.content


@pytest.mark.requirement("G5", "K14")
@pytest.mark.parametrize(
    ("show", "message"),
    [
        ("steps", "No step of behaviour-driven tests was found."),
        ("rules", "No document was found that forbids anything in so many words."),
        ("helpers", "No public function or class is used by two other files."),
        ("fixtures", "No fixture was found."),
    ],
)
def test_what_is_not_there_is_rejected(tmp_path: Path, ask_in: AskIn, show: str, message: str) -> None:
    result = survey(ask_in(plant(tmp_path, {"test_a.py": "def test_a(): ...\n"})), show=show)
    assert (result.outcome, result.fault and result.fault.message) == ("rejected", message)
    assert "reuse_score" not in result.data


def test_a_project_without_tests_has_none_to_count(tmp_path: Path, ask_in: AskIn) -> None:
    result = survey(ask_in(plant(tmp_path, {"a.md": "Never do it.\n"})), show="tests")
    assert (result.outcome, result.fault and result.fault.message) == ("rejected", "No test was found.")


def test_a_survey_is_limited_to_a_folder(ask: Ask) -> None:
    data = good(survey(ask, target="./tests/e2e/"))
    assert {one["path"] for one in (*data["fixtures"], *data["test_patterns"], *data["steps"])} == {
        "tests/e2e/steps.py"
    }
    assert data["counts"]["tests"] == 1


@pytest.mark.requirement("G5", "K14")
def test_an_empty_project_is_rejected(tmp_path: Path, ask_in: AskIn) -> None:
    result = survey(ask_in(plant(tmp_path, {"a.py": "x = 1\n"})))
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "missing_file")


@pytest.mark.requirement("G5")
@pytest.mark.parametrize("parameters", [{}, {"show": "steps", "undefined": True}, {"undefined": True}])
def test_a_project_that_has_only_feature_files_lists_their_lines(
    tmp_path: Path, ask_in: AskIn, parameters: dict[str, Any]
) -> None:
    root = plant(tmp_path, {"a.py": "x = 1\n", "b.feature": "Feature: b\n  Given a cart\n"})
    data = good(survey(ask_in(root), **parameters))
    assert "There is 1 line without a step in 1 file." in data["answer"]
    assert data["subjects"] == ["a cart"]
    assert {one["source"] for one in data["findings"]} == {"b.feature:2"}


@pytest.mark.requirement("G5")
def test_steps_that_are_not_there_are_none_even_where_some_are_undefined(tmp_path: Path, ask_in: AskIn) -> None:
    result = survey(ask_in(plant(tmp_path, {"b.feature": "Given a cart\n"})), show="steps")
    assert (result.outcome, result.fault and result.fault.message) == (
        "rejected",
        "No step of behaviour-driven tests was found.",
    )


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("target", "source"),
    [("src", "src/shop/cart.py:3"), ("docs", "docs/rules.md:3"), ("tests/e2e/steps.py", "tests/e2e/steps.py:2")],
)
def test_an_overview_cites_something_of_the_folder_asked_about(ask: Ask, target: str, source: str) -> None:
    assert good(survey(ask, target=target))["findings"][0]["source"] == source


# --- one domain -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G6")
@pytest.mark.parametrize(
    ("domain", "counts"),
    [
        ("e2e-testing", {"tests": 1, "fixtures": 1, "steps": 2, "helpers": 0, "anti_patterns": 0}),
        ("unit-testing", {"tests": 3, "fixtures": 5, "steps": 0, "helpers": 0, "anti_patterns": 0}),
        ("source-code", {"tests": 0, "fixtures": 0, "steps": 0, "helpers": 2, "anti_patterns": 0}),
        ("documentation", {"tests": 0, "fixtures": 0, "steps": 0, "helpers": 0, "anti_patterns": 1}),
    ],
)
def test_a_domain_has_only_what_belongs_to_it(ask: Ask, domain: str, counts: dict[str, int]) -> None:
    data = good(focused(ask, domain))
    assert {name: data["counts"][name] for name in counts} == counts
    assert "relevance" not in str(data)
    assert data["reuse_basis"] == "no context was stated"


@pytest.mark.requirement("G6")
def test_a_context_ranks_and_scores(ask: Ask) -> None:
    data = good(focused(ask, "unit-testing", "a cart with an apple"))
    assert data["fixtures"][0]["name"] == "full_cart"
    relevance = [one["relevance"] for one in data["fixtures"]]
    assert relevance == sorted(relevance, reverse=True)
    assert 0 < relevance[0] <= 1
    assert data["reuse_score"] == 10
    assert data["findings"][0]["confidence"] == relevance[0]


@pytest.mark.requirement("G6")
@pytest.mark.parametrize("domain", ["unit-testing", "documentation"])
def test_a_context_that_nothing_fits_is_not_said_to_be_missing(tmp_path: Path, ask_in: AskIn, domain: str) -> None:
    ask = ask_in(plant(tmp_path, {"test_a.py": "def test_a(): ...\n"}))
    result = focused(ask, domain, "zebra crossing")
    assert (result.outcome, result.data["reuse_basis"]) == ("rejected", "nothing has the words asked for")


@pytest.mark.requirement("G6")
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


@pytest.mark.requirement("K14")
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


@pytest.mark.requirement("G7")
def test_the_fixture_that_gives_something_is_found_with_what_it_is_made_of(ask: Ask) -> None:
    data = good(lookup(ask, "Which fixture gives me a cart with an apple?"))
    assert [one["name"] for one in data["matches"]][:2] == ["full_cart", "cart"]
    assert [one["name"] for one in data["composition"]] == ["prices", "cart", "full_cart"]
    assert data["matches"][0]["reason"] == "it has `cart`, `apple`"
    assert data["why_not_new"].startswith("`full_cart` gives `cart` and is used by 2 tests")
    assert (data["reuse_score"], data["reuse_band"]) == (10, "all existing")
    assert "new_patterns" not in data


@pytest.mark.requirement("G7")
def test_what_no_fixture_has_would_be_new(ask: Ask) -> None:
    data = good(lookup(ask, "a cart with an elephant, a giraffe and a zebra"))
    assert data["reuse_score"] < 7
    assert [one["need"] for one in data["new_patterns"]] == ["elephant", "giraffe", "zebra"]
    assert "why_not_new" not in data


@pytest.mark.requirement("G7")
def test_fixtures_are_combined_when_none_has_everything(ask: Ask) -> None:
    data = good(lookup(ask, "a forgotten cart"))
    assert [one["name"] for one in data["composition"]] in (
        ["prices", "cart", "forgotten"],
        ["forgotten", "prices", "cart"],
    )


def test_a_fixture_asked_for_by_name_stands_first(ask: Ask) -> None:
    data = good(lookup(ask, "the one with an apple", name="cart"))
    assert [one["name"] for one in data["matches"]] == ["cart", "prices", "full_cart"]
    assert good(lookup(ask, "", name="quiet"))["matches"][0]["name"] == "quiet"


@pytest.mark.requirement("G7")
@pytest.mark.parametrize(
    ("name", "relation", "begins", "subjects"),
    [
        ("prices", "dependents", "`prices` is used by `cart`.", ["cart"]),
        ("forgotten", "dependents", "`forgotten` is used by no other fixture.", []),
        ("full_cart", "dependencies", "`full_cart` depends on `cart`.", ["cart"]),
        ("prices", "dependencies", "`prices` depends on no other fixture.", []),
        ("cart", "users", "`cart` is used by 3 tests and fixtures in 2 files.", ["tests/conftest.py"]),
        ("full_cart", "users", "`full_cart` is used by 2 tests and fixtures in 2 files.", ["tests/e2e/test_buying.py"]),
        ("forgotten", "users", "`forgotten` is not used.", []),
    ],
)  # fmt: skip
def test_a_fixture_says_what_it_has_to_do_with_others(
    ask: Ask, name: str, relation: str, begins: str, subjects: Sequence[str]
) -> None:
    data = good(lookup(ask, "", name=name, relation=relation))
    assert data["answer"].startswith(begins)
    assert data["subjects"][: len(subjects) or None] == list(subjects)
    assert data["reuse_basis"] == "nothing was compared"


def test_what_a_fixture_is_made_of_comes_in_the_order_in_which_it_is_made(ask: Ask) -> None:
    data = good(lookup(ask, "", name="full_cart", relation="dependencies"))
    assert [one["name"] for one in data["composition"]] == ["prices", "cart", "full_cart"]


@pytest.mark.requirement("G7")
def test_a_fixture_of_a_name_that_is_not_here_is_rejected_with_the_nearest(ask: Ask) -> None:
    result = lookup(ask, "a cart with an apple", name="full_card", relation="users")
    assert (result.outcome, result.fault and result.fault.suggestions) == ("rejected", ("full_cart",))
    assert "no fixture called `full_card`" in str(result.fault)


def test_whose_users_are_meant_must_be_said(ask: Ask) -> None:
    result = lookup(ask, "who uses it", relation="users")
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "invalid_input")


def test_the_number_of_matches_is_bounded(ask: Ask) -> None:
    assert len(good(lookup(ask, "cart", limit=1))["matches"]) == 1


@pytest.mark.requirement("G7")
@pytest.mark.parametrize("files", [FILES, {"test_a.py": "def test_a(): ...\n"}], ids=["others", "none"])
def test_a_fixture_that_is_not_there_is_not_made_up(tmp_path: Path, ask_in: AskIn, files: dict[str, str]) -> None:
    result = lookup(ask_in(plant(tmp_path, files)), "a postgres connection")
    assert (result.outcome, result.fault and result.fault.code) == ("rejected", "missing_file")
    assert result.data["matches"] == []


# --- similar tests --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G8")
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


@pytest.mark.requirement("G8")
@pytest.mark.parametrize("target", ["src/shop/cart.py", "./src/shop/cart.py", "shop/cart.py"])
def test_the_tests_of_a_source_file_are_those_that_use_what_it_defines(ask: Ask, target: str) -> None:
    data = good(similar(ask, target=target))
    assert data["matches"][0]["path"] == "tests/unit/test_cart.py"
    assert data["notes"][0] == "Compared with `src/shop/cart.py`."


def test_tests_written_in_one_way_are_found_by_the_way_alone(ask: Ask) -> None:
    data = good(similar(ask, "how is it tested", pattern="mock"))
    assert [(one["path"], one["tests"]) for one in data["matches"]] == [
        ("tests/unit/test_cart.py", ["test_sending_fails"])
    ]


def test_a_test_file_and_a_folder_can_be_compared_with(ask: Ask) -> None:
    data = good(similar(ask, target="tests/e2e/test_buying.py"))
    assert {one["path"] for one in data["matches"]} <= {"tests/unit/test_cart.py"}
    assert data["notes"] == ["Compared with `tests/e2e/test_buying.py`."]
    assert good(similar(ask, target="src/shop"))["matches"][0]["path"] == "tests/unit/test_cart.py"


def test_the_tests_of_a_symbol_are_those_that_use_it(ask: Ask) -> None:
    data = good(similar(ask, "how is it tested", symbol="total_of"))
    assert [one["path"] for one in data["matches"]] == ["tests/unit/test_cart.py"]
    assert set(data["matches"][0]["tests"]) >= {"test_an_empty_cart_costs_nothing", "test_an_item_is_added"}


@pytest.mark.requirement("G8")
@pytest.mark.parametrize(
    ("query", "target", "code"),
    [
        ("elephants and giraffes", "", "missing_file"),
        ("an empty elephant, a giraffe and a zebra", "", "missing_file"),
        ("", "src/shop/stock.py", "missing_file"),
        ("", "gone.py", "missing_file"),
    ],
)
def test_where_no_test_fits_it_says_so(ask: Ask, query: str, target: str, code: str) -> None:
    (ask.root / "src/shop/stock.py").write_text("def recount(): ...\n")
    result = similar(ask, query, target=target)
    assert result.fault is not None
    assert result.fault.code == code


def test_a_project_without_tests_says_so(tmp_path: Path, ask_in: AskIn) -> None:
    result = similar(ask_in(plant(tmp_path, {"a.py": "def run(): ...\n"})), "run")
    assert (result.outcome, result.fault and result.fault.message) == ("rejected", "There are no tests here.")


# --- files that are trouble -----------------------------------------------------------------------------------------


@pytest.mark.requirement("G5", "K13")
def test_files_that_do_not_parse_are_listed_and_the_rest_is_answered(shop: Path, ask_in: AskIn) -> None:
    (shop / "src/broken.py").write_text("x = 1\ndef (:\n")
    (shop / "src/deep.py").write_bytes(b"x" + b".a" * 100_000)
    (shop / "src/large.py").write_bytes(b"#" * (2 * 1024 * 1024 + 1))
    (shop / "src/out.py").symlink_to("/etc/hostname")
    result = survey(ask_in(shop), show="fixtures")
    assert result.outcome == "partial"
    assert [one.type for one in result.warnings] == ["degraded_analysis"]
    notes = "\n".join(result.data["notes"])
    assert "`src/broken.py:2` was not read: it is not Python" in notes
    assert "`src/deep.py` was not read: it is nested too deeply to be read." in notes
    assert "`src/large.py` was not read: it holds 2,097,153 bytes" in notes
    assert len(result.data["fixtures"]) == 5


def test_names_out_of_files_are_shown_harmlessly(tmp_path: Path, ask_in: AskIn) -> None:
    text = 'import pytest\n@pytest.fixture(name="a\\x1b[31m`b")\ndef app():\n    """**bold** {0} {x}."""\n'
    result = survey(ask_in(plant(tmp_path, {"conftest.py": text})), show="fixtures")
    assert "\x1b" not in result.content + str(good(result)["answer"])
    assert "{0} {x}" in result.data["answer"]


def test_what_is_read_is_told_by_its_name() -> None:
    assert [path for path in ("a.py", "b.feature", "docs/c.txt", "README.txt", "d.rst", "words.txt", "CHANGES.rst", "e.js")
            if is_read(path)] == ["a.py", "b.feature", "docs/c.txt", "README.txt", "d.rst"]  # fmt: skip


# --- reading in batches, and remembering ----------------------------------------------------------------------------


class Context(LocalContext):
    """A context whose worker processes are replaced by what a test wants to happen."""

    offloaded: int = 0

    def __init__(
        self, root: Path, instead: Callable[[int, Sequence[tuple[str, bytes, str]]], Any], **options: Any
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
    monkeypatch.setattr(_tree, "_ALONE_BYTES", -1)
    monkeypatch.setattr(_tree, "_BATCH_FILES", 4)


def gathered(run: RunContext, cache: Path | None = None) -> TreeReading[FileFacts]:
    return asyncio.run(read_project(run, cache))


def test_batches_go_to_worker_processes(shop: Path, in_processes: None) -> None:
    async def read() -> TreeReading[FileFacts]:
        async with LocalContext(workspace=Workspace(shop)) as run:
            return await read_project(run, None)

    found = asyncio.run(read())
    assert (found.parsed, found.remembered, found.unread, found.skipped) == (10, 0, [], [])
    assert list(found.files) == sorted(found.files)


def test_without_processes_it_reads_itself(shop: Path, in_processes: None) -> None:
    def refuse(_: int, __: object) -> list[FileFacts]:
        raise AccessDenied("This run has no worker processes.")

    run = Context(shop, refuse)
    found = gathered(run)
    assert found.parsed == len(found.files) == 10
    assert isinstance(run.events[-1].body, Progress)


def test_the_one_file_that_ends_its_process_is_named(shop: Path, in_processes: None) -> None:
    def die(_: int, batch: Sequence[tuple[str, bytes, str]]) -> list[FileFacts]:
        if any(path == "src/shop/mail.py" for path, _, _ in batch):
            raise InternalError("The worker of `extract` died of SIGSEGV before it had answered.")
        return extract(batch)

    found = gathered(Context(shop, die))
    assert [(path, line) for path, line, _ in found.skipped] == [("src/shop/mail.py", 0)]
    assert found.skipped[0][2].startswith("reading it ended its process")
    assert len(found.files) == 9


def test_when_time_is_up_what_was_read_is_answered_and_the_rest_named(shop: Path, in_processes: None) -> None:
    now = 1_000_000_000_000

    def slow(number: int, batch: Sequence[tuple[str, bytes, str]]) -> list[FileFacts]:
        nonlocal now
        now += 60_000_000_000
        return extract(batch)

    run = Context(shop, slow, deadline_ns=now + 60_000_000_000, outside=Outside(clock=lambda: now))
    boundary = Boundary(Registry([PatternDiscovery]))
    task = Task(id="t", agent="pattern_discovery", skill="full_survey", parameters={"show": "fixtures"})
    found = gathered(run)
    assert found.unread
    assert found.files
    assert set(found.unread).isdisjoint(found.files)
    now = 1_000_000_000_000
    result = asyncio.run(
        boundary.call(task, Context(shop, slow, deadline_ns=now + 60_000_000_000, outside=Outside(clock=lambda: now)))
    )
    assert result.outcome == "partial"
    assert result.warnings[0].type == "missing_data"
    assert "Time was up before" in result.warnings[0].message


@pytest.mark.requirement("K13")
def test_a_file_that_vanishes_is_named(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = _tree.list_files

    def list_and_remove(workspace: Workspace) -> Any:
        found = listed(workspace)
        (shop / "src/shop/mail.py").unlink()
        return found

    monkeypatch.setattr(_tree, "list_files", list_and_remove)
    assert [path for path, _, _ in gathered(Context(shop, lambda _, batch: extract(batch))).skipped] == [
        "src/shop/mail.py"
    ]


@pytest.mark.requirement("G5")
def test_a_second_run_parses_only_what_changed(shop: Path, tmp_path: Path) -> None:
    def run() -> TreeReading[FileFacts]:
        return gathered(LocalContext(workspace=Workspace(shop)), tmp_path / "cache")

    first, second = run(), run()
    assert (first.parsed, second.parsed, second.remembered) == (10, 0, 10)
    assert second.files.keys() == first.files.keys()
    (shop / "src/shop/mail.py").write_text("def receive(): ...\n")
    (shop / "src/shop/page.py").rename(shop / "src/shop/pages.py")
    third = run()
    assert (third.parsed, third.remembered) == (1, 9)
    assert [one.symbol for one in third.files["src/shop/mail.py"].symbols] == ["receive"]


def test_the_same_content_is_read_once_for_each_kind_of_file(tmp_path: Path) -> None:
    text = "def test_a(): ...\n"
    root = plant(tmp_path / "it", {"test_a.py": text, "a.py": text, "test_b.py": text})
    found = gathered(LocalContext(workspace=Workspace(root)), tmp_path / "cache")
    assert {path: len(facts.tests) for path, facts in found.files.items()} == {
        "a.py": 0,
        "test_a.py": 1,
        "test_b.py": 1,
    }
    again = gathered(LocalContext(workspace=Workspace(root)), tmp_path / "cache")
    assert {path: len(facts.tests) for path, facts in again.files.items()} == {
        "a.py": 0,
        "test_a.py": 1,
        "test_b.py": 1,
    }


def test_a_damaged_cache_costs_time_and_nothing_else(shop: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = gathered(LocalContext(workspace=Workspace(shop)), cache)
    (path,) = cache.iterdir()
    data = path.read_bytes()
    for damaged in (b"", data[: len(data) // 2], data[:-40] + b"#" + data[-39:], data.replace(b"[", b"{")):
        path.write_bytes(damaged)
        second = gathered(LocalContext(workspace=Workspace(shop)), cache)
        assert (second.parsed > 0, second.parsed + second.remembered) == (True, 10)
        assert json.dumps(second.files) == json.dumps(first.files)
        assert gathered(LocalContext(workspace=Workspace(shop)), cache).remembered == 10


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_of_fixtures_and_symbols_are_facts_and_kept_until_a_file_changes(shop: Path, tmp_path: Path) -> None:
    facts = fixture_facts(Workspace(shop), tmp_path / "cache")
    assert facts.names == {
        "fixture": ("cart", "full_cart", "forgotten", "prices", "quiet"),
        "symbol": ("Cart", "total_of", "send"),
    }
    assert facts.is_complete
    assert fixture_facts(Workspace(shop), tmp_path / "cache") == facts
    (shop / "src/shop/mail.py").write_text("def send_by_post(): ...\n")
    assert "send_by_post" in fixture_facts(Workspace(shop), tmp_path / "cache").names["symbol"]


def test_names_can_be_asked_for_within_an_event_loop_and_without_a_cache(shop: Path) -> None:
    async def ask() -> int:
        return len(fixture_facts(Workspace(shop), None).names["fixture"])

    assert asyncio.run(ask()) == 5


# --- the agent ------------------------------------------------------------------------------------------------------


def test_what_a_parameter_means_stands_in_the_schema() -> None:
    skill = PatternDiscovery.definition.skill("full_survey")
    assert skill is not None
    show = skill.input_schema["properties"]["show"]
    meanings = dict(zip(show["enum"], show["enumDescriptions"], strict=True))
    assert "how many tests" in meanings["tests"]
    assert skill.input_schema["properties"]["target"]["x-facts"] == "path"
    assert skill.input_schema["required"] == ["show"]


def test_an_unknown_skill_names_those_there_are() -> None:
    with pytest.raises(UnknownName, match="has no skill"):
        asyncio.run(PatternDiscovery.run(Task(id="t", agent="pattern_discovery", skill="survey"), LocalContext()))


def test_without_a_workspace_it_is_refused() -> None:
    task = Task(id="t", agent="pattern_discovery", skill="full_survey", parameters={"show": "tests"})
    with pytest.raises(AccessDenied):
        asyncio.run(PatternDiscovery.run(task, LocalContext()))


def test_a_name_that_the_wire_has_leads_to_the_agent() -> None:
    assert Registry(agents()).get("pattern-discovery").definition.name == "pattern_discovery"
