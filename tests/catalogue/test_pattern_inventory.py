"""What the facts of many files come to together: which fixture a name means, who uses what, and the reuse score."""

from textwrap import dedent

import pytest

from retinue.catalogue.pattern_discovery.file_facts import RuleSentence, facts_of
from retinue.catalogue.pattern_discovery.inventory import (
    Inventory,
    Modules,
    build_inventory,
    reuse_of,
    reuse_of_words,
    rule_entry,
)
from retinue.catalogue.pattern_discovery.survey_report import Ranking, query_words
from retinue.tools.search.passages import is_test

FIXTURE = "import pytest\n@pytest.fixture\ndef {}({}): ...\n"


def of(files: dict[str, str]) -> Inventory:
    facts = {path: facts_of(path, dedent(text).encode(), is_test=is_test(path)) for path, text in files.items()}
    return build_inventory(dict(sorted(facts.items())))


def users(found: Inventory) -> dict[str, list[str]]:
    return {
        one.place: sorted(f"{path}:{name}" for path, name in one.fact.requested_by)
        for one in sorted(found.fixtures, key=lambda one: (one.path, one.line))
    }


# --- which fixture a name means -------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
def test_the_nearest_fixture_wins() -> None:
    found = of(
        {
            "conftest.py": FIXTURE.format("app", ""),
            "tests/conftest.py": FIXTURE.format("app", ""),
            "tests/test_far.py": "def test_far(app): ...",
            "tests/unit/test_own.py": FIXTURE.format("app", "")
            + dedent("""
                def test_own(app): ...
                class TestIt:
                    @pytest.fixture
                    def app(self): ...
                    def test_in_class(self, app): ...
                    class TestInner:
                        def test_in_inner(self, app): ...
                class TestOther:
                    def test_other(self, app): ...
            """),
            "other/test_root.py": "def test_root(app): ...",
        }
    )
    assert users(found) == {
        "conftest.py:2": ["other/test_root.py:test_root"],
        "tests/conftest.py:2": ["tests/test_far.py:test_far"],
        "tests/unit/test_own.py:2": ["tests/unit/test_own.py:TestOther::test_other", "tests/unit/test_own.py:test_own"],
        "tests/unit/test_own.py:7": [
            "tests/unit/test_own.py:TestIt::TestInner::test_in_inner",
            "tests/unit/test_own.py:TestIt::test_in_class",
        ],
    }


@pytest.mark.requirement("G5")
def test_a_fixture_that_asks_for_its_own_name_gets_the_next_one_out() -> None:
    found = of(
        {"conftest.py": FIXTURE.format("app", ""), "test_it.py": FIXTURE.format("app", "app") + "def test_it(app): ..."}
    )
    assert users(found) == {"conftest.py:2": ["test_it.py:app"], "test_it.py:2": ["test_it.py:test_it"]}


@pytest.mark.requirement("G5")
def test_a_module_puts_its_own_fixture_under_what_a_conftest_gives() -> None:
    found = of(
        {
            "conftest.py": FIXTURE.format("app", "") + "@pytest.fixture\ndef client(app): ...",
            "test_it.py": FIXTURE.format("app", "") + "def test_it(client): ...",
        }
    )
    # `client` asks for the conftest's own where nothing hides it, and for the module's in that module's tests.
    assert users(found) == {
        "conftest.py:2": ["conftest.py:client"],
        "conftest.py:4": ["test_it.py:test_it"],
        "test_it.py:2": ["conftest.py:client"],
    }


@pytest.mark.parametrize(
    ("imported", "in_conftest"),
    [
        ("from shared import app", False),
        ("from shared import *", False),
        ("from shared import app", True),
        ("from .shared import app", True),
        ("pytest_plugins = ['shared']", True),
        ("pytest_plugins = 'shared'", True),
    ],
)
def test_an_imported_fixture_can_be_seen(imported: str, *, in_conftest: bool) -> None:
    test = "def test_it(app): ..."
    files = {"shared.py": FIXTURE.format("app", ""), "conftest.py": imported, "test_it.py": test}
    if not in_conftest:
        files |= {"conftest.py": "", "test_it.py": f"{imported}\n{test}"}
    assert users(of(files)) == {"shared.py:2": ["test_it.py:test_it"]}


def test_a_fixture_of_another_folders_conftest_can_be_imported() -> None:
    found = of(
        {
            "a/__init__.py": "",
            "a/conftest.py": FIXTURE.format("app", ""),
            "b/conftest.py": "from a.conftest import app as ours",
            "b/test_it.py": "def test_it(ours): ...\ndef test_other(app): ...",
        }
    )
    assert users(found) == {"a/conftest.py:2": ["b/test_it.py:test_it"]}


def test_a_plugin_that_nobody_names_is_found_last() -> None:
    found = of({"src/plugin.py": FIXTURE.format("app", ""), "tests/test_it.py": "def test_it(app): ..."})
    assert users(found) == {"src/plugin.py:2": ["tests/test_it.py:test_it"]}


def test_what_autouse_fixtures_ask_for_is_used() -> None:
    found = of(
        {
            "conftest.py": FIXTURE.format("app", "")
            + "@pytest.fixture(autouse=True)\ndef quiet(app): ...\n@pytest.fixture\ndef round(round): ...",
            "test_it.py": "def test_it(): ...",
        }
    )
    assert users(found) == {"conftest.py:2": ["conftest.py:quiet"], "conftest.py:4": [], "conftest.py:6": []}


def test_fixtures_that_ask_for_each_other_end() -> None:
    found = of(
        {
            "conftest.py": FIXTURE.format("a", "b") + "@pytest.fixture\ndef b(a): ...",
            "test_it.py": "def test_it(a): ...",
        }
    )
    assert users(found) == {
        "conftest.py:2": ["conftest.py:b", "test_it.py:test_it"],
        "conftest.py:4": ["conftest.py:a"],
    }


# --- modules --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dotted", "importer", "expected"),
    [
        ("pkg.core.Engine", "tests/test_it.py", ("src/pkg/core.py", "Engine")),
        ("pkg.Engine", "tests/test_it.py", ("src/pkg/core.py", "Engine")),
        ("pkg.Other", "tests/test_it.py", ("src/pkg/core.py", "Other")),
        ("pkg.Engine.stop", "tests/test_it.py", ("src/pkg/core.py", "Engine")),
        ("src.pkg.core.Engine", "tests/test_it.py", ("src/pkg/core.py", "Engine")),
        (".core.Engine", "src/pkg/extra.py", ("src/pkg/core.py", "Engine")),
        (".Engine", "src/pkg/extra.py", ("src/pkg/core.py", "Engine")),
        ("..pkg.core.Engine", "src/pkg/extra.py", ("src/pkg/core.py", "Engine")),
        (".....core.Engine", "src/pkg/extra.py", None),
        ("helpers.make", "tests/a/test_it.py", ("tests/a/helpers.py", "make")),
        ("helpers.make", "tests/b/test_it.py", ("tests/b/helpers.py", "make")),
        ("json.dumps", "src/pkg/core.py", None),
        ("round.it", "x.py", None),
    ],
)
def test_an_import_leads_to_its_file(dotted: str, importer: str, expected: tuple[str, str] | None) -> None:
    files = {
        "src/pkg/__init__.py": "from .core import Engine\nfrom pkg.core import *",
        "src/pkg/core.py": "class Engine: ...\nclass Other: ...",
        "src/pkg/extra.py": "",
        "tests/a/helpers.py": "def make(): ...",
        "tests/b/helpers.py": "def make(): ...",
        "round.py": "from square import it",
        "square.py": "from round import it",
    }
    facts = {path: facts_of(path, text.encode(), is_test=False) for path, text in files.items()}
    assert Modules(facts).symbol(dotted, importer) == expected


@pytest.mark.requirement("G5")
def test_helpers_are_what_two_other_files_use() -> None:
    found = of(
        {
            "src/pkg/__init__.py": "from .core import run, once, here",
            "src/pkg/core.py": "import os\ndef run(): ...\ndef once(): ...\ndef here():\n    return os.name == 'nt'",
            "src/pkg/a.py": "from pkg import run, once",
            "src/pkg/b.py": "import pkg\npkg.run()",
            "src/pkg/sub/__init__.py": "from pkg.core import once\nonce()",
            "tests/helpers.py": "def check(): ...",
            "tests/test_a.py": "from helpers import check\nfrom pkg.core import run",
            "tests/test_b.py": "import helpers as h\nh.check()",
        }
    )
    assert [(one.name, one.row["kind"], one.row["used_in"]) for one in found.helpers] == [
        ("run", "source", ["src/pkg/a.py", "src/pkg/b.py", "tests/test_a.py"]),
        ("check", "test", ["tests/test_a.py", "tests/test_b.py"]),
        ("once", "source", ["src/pkg/a.py", "src/pkg/sub/__init__.py"]),
    ]


# --- steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
def test_steps_are_counted_by_the_lines_they_fit_and_lines_without_one_are_listed() -> None:
    found = of(
        {
            "features/it.feature": "Feature: it\n  Given an engine\n  And an engine\n  When it runs 3 times\n  Then it sings\n",
            "features/steps/it.py": (
                "from behave import *\n@given('an engine')\ndef a(c): ...\n@when('it runs {n} times')\ndef b(c, n): ...\n"
                "@step('it {does}')\ndef c(c): ...\n@then('nothing')\ndef d(c): ...\n@then('it weeps')\ndef e(c): ...\n"
            ),
        }
    )
    assert {one.name: one.row["used_in"] for one in found.steps} == {
        "an engine": ["features/it.feature:2", "features/it.feature:3"],
        "it runs {n} times": ["features/it.feature:4"],
        "it {does}": ["features/it.feature:4", "features/it.feature:5"],
        "nothing": [],
        "it weeps": [],
    }
    assert found.undefined == []


# --- scores ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
def test_the_reuse_score_is_the_share_of_what_is_asked_for_that_is_shared() -> None:
    conftest = "import pytest\n@pytest.fixture\ndef app(): ...\n@pytest.fixture\ndef alone(): ...\n"
    both = of({"conftest.py": conftest, "test_a.py": "def test_a(app): ...\ndef test_b(app, tmp_path, mocker): ..."})
    assert (reuse_of(both)["reuse_score"], reuse_of(both)["reuse_band"]) == (10, "all existing")
    less = reuse_of(of({"conftest.py": conftest, "test_a.py": "def test_a(app): ...\ndef test_b(app, alone): ..."}))
    assert (less["reuse_score"], less["reuse_band"]) == (7, "mostly existing")
    assert "new_patterns" not in less
    mixed = of({"conftest.py": conftest, "test_a.py": "def test_a(alone): ...", "a.feature": "Given nothing"})
    assert reuse_of(mixed)["new_patterns"] == [
        {"kind": "step", "need": "nothing", "source": "a.feature:1", "reason": "no step fits this line"},
        {"kind": "fixture", "need": "alone", "source": "conftest.py:4", "reason": "only one test uses it"},
    ]


def test_where_nothing_is_asked_for_there_is_no_score() -> None:
    assert reuse_of(of({"a.py": "x = 1"})).keys() == {"reuse_basis"}


@pytest.mark.requirement("G7")
@pytest.mark.parametrize(
    ("share", "score", "band"),
    [
        (1.0, 10, "all existing"),
        (0.99, 9, "mostly existing"),
        (0.7, 7, "mostly existing"),
        (0.5, 5, "mixed"),
        (0.4, 4, "mixed"),
        (0.3, 3, "novel"),
        (0.0, 0, "novel"),
    ],
)
def test_the_score_has_the_four_bands(share: float, score: int, band: str) -> None:
    reuse = reuse_of_words(share, ("rare",), "fixture")
    assert (reuse["reuse_score"], reuse["reuse_band"], "new_patterns" in reuse) == (score, band, score < 7)


def test_words_find_what_has_them_and_what_begins_them() -> None:
    rules = [rule_entry(RuleSentence(text, 1), "") for text in ("auth auth", "database pool", "clock")]
    words = query_words(
        "Which fixture gives me an authenticated database user?", purpose="Finds a fixture that gives it."
    )
    assert list(words.values()) == ["authenticated", "database", "user"]
    ranking = Ranking(rules, words)
    assert {one: ranking.reason(one) for one in ranking.scores} == {
        rules[0]: "it has `authenticated`",
        rules[1]: "it has `database`",
    }
    share, missing = ranking.coverage(rules[:2])
    assert missing == ("user",)
    assert 0.3 < share < 0.8
    nothing = Ranking(rules, {})
    assert nothing.scores == {}
    assert nothing.coverage(rules) == (0.0, ())
