"""What is read out of one file: fixtures, tests, steps, symbols and rules, and what is said of a file that is none."""

import json
from textwrap import dedent

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from retinue.catalogue.pattern_discovery.file_facts import (
    CaseFacts,
    FileFacts,
    Fixture,
    StepSentence,
    extract,
    facts_of,
    is_historical,
    phrases_of,
    rules_of,
)
from retinue.catalogue.pattern_discovery.inventory import matcher_of


def read(text: str, *, path: str = "tests/test_it.py") -> FileFacts:
    facts = facts_of(path, dedent(text).encode(), is_test=path.startswith("tests/"))
    assert facts.error == ""
    return facts


def fixtures(text: str) -> dict[str, Fixture]:
    return {one.name: one for one in read(text).fixtures}


def case(text: str) -> CaseFacts:
    (found,) = read(text).tests
    return found


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n@pytest.fixture\ndef it(): ...",
        "import pytest\n@pytest.fixture()\ndef it(): ...",
        "import pytest as pt\n@pt.fixture(scope='function')\ndef it(): ...",
        "from pytest import fixture\n@fixture\ndef it(): ...",
        "from pytest import fixture as given\n@given()\nasync def it(): ...",
        "import pytest_asyncio\n@pytest_asyncio.fixture\nasync def it(): ...",
        "import pytest\n@pytest.fixture(name='it')\ndef other(): ...",
        "import pytest\nif True:\n    @pytest.fixture\n    def it(): ...",
        "import pytest\ntry:\n    pass\nexcept ValueError:\n    @pytest.fixture\n    def it(): ...",
    ],
)
def test_a_fixture_is_found_in_every_form(text: str) -> None:
    assert list(fixtures(text)) == ["it"]
    assert fixtures(text)["it"].scope == "function"


@pytest.mark.parametrize(
    "text",
    ["def fixture(): ...\n@fixture\ndef it(): ...", "import other\n@other.fixture\ndef it(): ..."],
)
def test_what_is_only_called_fixture_is_none(text: str) -> None:
    assert fixtures(text) == {}


@pytest.mark.requirement("G5")
def test_a_fixture_says_all_of_itself() -> None:
    found = fixtures('''
        import pytest

        @pytest.mark.usefixtures("quiet")
        @pytest.fixture(scope="module", params=["a", 1 + 1], autouse=True)
        def engine(request, tmp_path, clock, size=3, *, mode):
            """An engine.

            With a tail.
            """
            request.getfixturevalue("late")
            made = Engine(tmp_path)
            yield made
    ''')["engine"]
    assert found == Fixture(
        name="engine",
        owner="",
        line_start=4,
        line_end=13,
        doc="An engine.",
        scope="module",
        autouse=True,
        params=["'a'", "1 + 1"],
        yields="Engine",
        depends_on=["tmp_path", "clock", "mode", "quiet", "late"],
    )


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("body", "yields"),
    [
        ("def it() -> Engine: ...", "Engine"),
        ("def it() -> Iterator[Engine]: yield x", "Engine"),
        ("def it() -> 'Generator[Engine, None, None]': yield x", "Engine"),
        ("def it() -> None: ...", ""),
        ("def it(): return Engine(1)", "Engine"),
        ("def it(): return app.client()", "app.client()"),
        ("def it():\n    a = b = Engine()\n    return b", "Engine"),
        ("def it():\n    with opened() as file:\n        yield file", "opened()"),
        ("def it():\n    def inner():\n        return 1", ""),
        ("def it(base): return base", "base"),
        ("def it():\n    a = a\n    return a", "a"),
        ("async def it(): return await connect()", "connect()"),
        ("def it(): return None", ""),
        ("def it():\n    yield", ""),
    ],
)
def test_what_a_fixture_gives_is_named(body: str, yields: str) -> None:
    assert fixtures(f"import pytest\n@pytest.fixture\n{body}")["it"].yields == yields


def test_a_scope_that_a_function_decides_is_dynamic() -> None:
    assert fixtures("import pytest\n@pytest.fixture(scope=decide, params=ALL)\ndef it(): ...")["it"].scope == "dynamic"


def test_fixtures_of_classes_leave_out_the_instance() -> None:
    found = read("""
        import pytest
        class TestA:
            class TestB:
                @pytest.fixture
                def it(self, tmp_path): ...
                @staticmethod
                @pytest.fixture
                def other(tmp_path): ...
        class Mixin:
            @pytest.fixture
            def mixed(self): ...
    """).fixtures
    assert [(one.owner, one.name, list(one.depends_on)) for one in found] == [
        ("TestA::TestB", "it", ["tmp_path"]),
        ("TestA::TestB", "other", ["tmp_path"]),
        ("Mixin", "mixed", []),
    ]


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("body", "requests"),
    [
        ("def test_a(app, tmp_path): ...", ["app", "tmp_path"]),
        ("def test_a(app=1, *, client): ...", ["client"]),
        ("@pytest.mark.parametrize('app', [1], indirect=True)\ndef test_a(app): ...", ["app"]),
        ("@pytest.mark.usefixtures('app', 'db')\ndef test_a(): ...", ["app", "db"]),
        ("def test_a(request):\n    request.getfixturevalue('app')", ["app"]),
        ("pytestmark = [pytest.mark.usefixtures('quiet')]\ndef test_a(app): ...", ["app", "quiet"]),
        ("pytestmark = pytest.mark.usefixtures('quiet')\ndef test_a(): ...", ["quiet"]),
    ],
)
def test_what_a_test_asks_for(body: str, requests: list[str]) -> None:
    head = "import pytest\nfrom unittest import mock\nfrom hypothesis import given, strategies as st\n"
    assert list(case(head + body).requests) == requests


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("@pytest.mark.parametrize('a', [1])\ndef test_a(a): ...", ["parametrize"]),
        ("def test_a(monkeypatch): ...", ["mock"]),
        ("def test_a():\n    with mock.patch('x'): ...", ["mock"]),
        ("def test_a():\n    m = MagicMock()", ["mock"]),
        ("def test_a():\n    a = 1\n    b = f(a)\n\n    assert b == 2", ["aaa"]),
        ("def test_a():\n    # Arrange\n    a = 1\n    # Act\n    f(a)\n    # Assert\n    assert a", ["aaa"]),
        ("def test_a():\n    'Doc.'\n    a = 1\n\n    b = f(a)\n    assert b == 2\n    assert a", ["aaa"]),
        ("def test_a():\n    a = 1\n    b = f(a)\n    assert b == 2", []),
        ("def test_a():\n    a = 1\n\n    assert a\n    b = 1\n    assert b", []),
        ("def test_a():\n    with pytest.raises(ValueError):\n        f()", ["raises"]),
        ("@given(st.text())\ndef test_a(x): ...", ["property"]),
        ("class TestA:\n    def test_a(self): ...", ["class"]),
        ("class A(unittest.TestCase):\n    def test_a(self): ...", ["unittest"]),
    ],
)
def test_how_a_test_is_written(body: str, kinds: list[str]) -> None:
    head = (
        "import pytest, unittest\nfrom unittest import mock\nfrom unittest.mock import MagicMock\n"
        "from hypothesis import given, strategies as st\n"
    )
    assert list(case(head + body).patterns) == kinds


def test_assertions_of_all_kinds_count() -> None:
    found = case("""
        import pytest
        def test_a(mocker):
            assert 1
            self.assertEqual(1, 1)
            m.assert_called_once_with(1)
            self.asserted()
            with pytest.warns(UserWarning):
                assert 2
    """)
    assert (found.asserts, list(found.mocks)) == (5, ["mocker"])


def test_only_files_that_pytest_collects_have_tests() -> None:
    assert read("def test_a(): ...", path="src/checks.py").tests == []


# --- steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
def test_steps_of_both_libraries_are_found_and_a_drawn_test_is_none() -> None:
    found = read("""
        from pytest_bdd import given, when, parsers
        from behave import then as so
        import hypothesis

        @given("an engine")
        def engine(): ...

        @when(parsers.parse("it runs {n:d} times"))
        @when(parsers.re(r"it runs (?P<n>\\d+) rounds"))
        def runs(n): ...

        @so(u"it stops")
        def stops(context): ...

        @hypothesis.given("no step")
        def test_no(x): ...
    """)
    assert [(one.kind, one.text, one.form) for one in found.steps] == [
        ("given", "an engine", "exact"),
        ("when", "it runs {n:d} times", "parse"),
        ("when", "it runs (?P<n>\\d+) rounds", "re"),
        ("then", "it stops", "parse"),
    ]


@pytest.mark.parametrize(
    ("head", "kind", "form"),
    [
        ("from behave import *\n@given", "given", "parse"),
        ("from behave import given\n@given", "given", "parse"),
        ("from behave import step\n@step", "step", "parse"),
        ("from behave import Given as so\n@so", "given", "parse"),
        ("import behave as b\n@b.given", "given", "parse"),
        ("from behave import *\nfrom pytest_bdd import given\n@given", "given", "exact"),
        ("from pytest_bdd import *\n@given", "given", "exact"),
    ],
)
def test_the_library_that_a_step_comes_from_says_how_its_text_is_read(head: str, kind: str, form: str) -> None:
    (step,) = read(f"{head}('a {{thing}}')\ndef a_thing(context, thing): ...").steps
    assert (step.kind, step.form) == (kind, form)
    assert bool(matcher_of(step).match("a cup")) is (form == "parse")


def test_lines_of_a_feature_file_have_the_kind_of_the_line_before_them() -> None:
    text = 'Feature: x\n  Given a\n    """\n    When quoted\n    """\n  And b\n  When c\n  * d\n  Then e\n  But f\n'
    assert [(one.kind, one.text, one.line) for one in phrases_of(text)] == [
        ("given", "a", 2), ("given", "b", 6), ("when", "c", 7), ("when", "d", 8), ("then", "e", 9), ("then", "f", 10),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "form", "phrase", "expected"),
    [
        ("it stops", "exact", "it stops", True),
        ("it stops", "exact", "it stops now", False),
        ("it runs {n:d} times", "parse", "it runs 12 times", True),
        ("it runs {n:d} times", "parse", "it runs times", False),
        ("{a} and {b} meet", "parse", "x and y meet", True),
        (r"^it runs (?P<n>\d+) times?$", "re", "it runs 3 time", True),
        (r"it (?:runs|stops) at [0-9]+\.5", "re", "it stops at 7.5", True),
        (r"it runs", "re", "it walks", False),
    ],
)
def test_a_step_fits_its_lines(text: str, form: str, phrase: str, *, expected: bool) -> None:
    assert bool(matcher_of(StepSentence("given", text, 1, form)).match(phrase)) is expected


@given(st.lists(st.text(alphabet="ab *[?", max_size=5), min_size=1, max_size=6), st.text(alphabet="ab", max_size=3))
def test_whatever_stands_in_the_gaps_fits(pieces: list[str], between: str) -> None:
    assert matcher_of(StepSentence("given", "{x}".join(pieces), 1, "parse")).match(between.join(pieces))


@given(st.text(alphabet=r"ab()[]\*+?{}|^$.", max_size=30), st.text(max_size=10))
def test_an_expression_of_a_stranger_is_never_run(pattern: str, phrase: str) -> None:
    matcher_of(StepSentence("given", pattern, 1, "re")).match(phrase)


# --- symbols --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
def test_public_symbols_are_found_with_their_heads() -> None:
    found = read(
        '''
        import os, sys
        from typing import overload
        LIMIT = 3
        @overload
        def run(a: int) -> int: ...
        @overload
        def run(a: str) -> str: ...
        def run(a):
            """Run it."""
        def _private(): ...
        async def stop() -> None: ...
        class Engine(Base): ...
        ''',
        path="src/it.py",
    ).symbols
    assert [(one.symbol, one.signature) for one in found] == [
        ("run", "def run(a)"),
        ("stop", "async def stop() -> None"),
        ("Engine", "class Engine(Base)"),
    ]


# --- rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    "sentence",
    [
        "Never call it twice.",
        "Do not run it as root.",
        "Please don't edit this file.",
        "**Do not share the key.**",
        "Avoid globals.",
        "The lock must not be held.",
        "Callers mustn't sleep.",
        "If it fails, never try again.",
        "It should not be run as root.",
        "You should never trust it.",
        "Globals are not allowed here.",
    ],
)
def test_an_order_not_to_is_a_rule(sentence: str) -> None:
    assert [one.text for one in rules_of(sentence)] == [sentence.strip("*")]


@pytest.mark.parametrize(
    "sentence",
    [
        "It never blocks.",
        "You do not need to call it.",
        "Don't worry.",
        "Don't forget to look.",
        "It is about people, never the tools.",
        "To avoid loops, it counts.",
        "It does not run.",
        "Order should not matter.",
        "You may not find it.",
        "Why should you not use it?",
        "These are stable, and don't require care.",
        "It is a note about nothing.",
    ],
)
def test_a_description_is_no_rule(sentence: str) -> None:
    assert list(rules_of(sentence)) == []


def test_rules_stand_with_the_line_on_which_they_begin_and_code_is_left_out() -> None:
    text = dedent("""
        # Never mind this heading

        Some text first. Never call it from a
        thread, says ``engine``. And more.

        - Do not stop. It goes on.
        - Fine

        ```
        never run this
        ```

        .. warning:: Do not use it.

        For example::

            never this

        .. code-block:: sh

            do not run

        > Avoid tabs.
    """)
    assert [(one.line, one.text) for one in rules_of(text)] == [
        (4, "Never call it from a thread, says `engine`."),
        (7, "Do not stop."),
        (14, "Do not use it."),
        (24, "Avoid tabs."),
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/guide.md", True),
        ("CHANGELOG.md", False),
        ("LICENSE.txt", False),
        ("docs/changes.rst", False),
        ("doc/announce/release-2.0.rst", False),
    ],
)
def test_the_past_and_the_law_are_no_rules(path: str, *, expected: bool) -> None:
    assert is_historical(path) is not expected


@given(st.text(alphabet=st.sampled_from("ab.!? \n`*>-#:'"), max_size=200))
def test_rules_stand_on_lines_there_are(text: str) -> None:
    whole = f"{text}\n\nNever do it."
    found = list(rules_of(whole))
    assert all(1 <= one.line <= len(whole.splitlines()) for one in found)


# --- files that are none --------------------------------------------------------------------------------------------


@pytest.mark.requirement("G5")
@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"x = 1\ndef broken(:\n", 2, "not Python"),
        (b"a\0b", 0, "not Python"),
        (b"# coding: nonsense\n", 0, "not Python"),
        (b"\xff\xfe\xfd = 1", 0, "not Python"),
        (b"-" * 200_000 + b"1", 0, "too deeply"),
        (b"x" + b".a" * 100_000, 0, "too deeply"),
        (b"(" * 5_000, 1, "not Python"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_why(data: bytes, line: int, reason: str) -> None:
    facts = facts_of("src/bad.py", data, is_test=False)
    assert reason in facts.error
    assert facts.error_line in (line, 0, 1)


def test_a_deep_but_legal_file_is_read_or_says_that_it_is_too_deep() -> None:
    facts = facts_of("src/deep.py", b"x = " + b"+".join([b"1"] * 3_000) + b"\n", is_test=False)
    assert facts.error in ("", "it is nested too deeply to be read")


def test_an_encoding_is_the_one_that_the_file_declares() -> None:
    data = "# -*- coding: latin-1 -*-\ndef gr\u00fc\u00dfe():\n    '''Gr\u00fc\u00dfe.'''\n".encode("latin-1")
    (symbol,) = facts_of("src/it.py", data, is_test=False).symbols
    assert (symbol.symbol, symbol.doc) == ("gr\u00fc\u00dfe", "Gr\u00fc\u00dfe.")


def test_an_invalid_escape_is_its_authors_business() -> None:
    assert facts_of("src/it.py", b"x = '\\d'\n", is_test=False).error == ""


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    for path in ("a.py", "a.feature", "a.md"):
        assert isinstance(facts_of(path, data, is_test=True), FileFacts)


@given(
    st.lists(
        st.sampled_from(
            [
                "import pytest", "from pytest import *", "@pytest.fixture", "def test_a(x, *, y=1):", "class TestA(B):",
                "    pass", "    yield x", "x = pytest.fixture(f)", "    @pytest.fixture(name=n)", "    def it(): ...",
                "pytestmark = []", "if x:", "lambda: 1", "@given('x')",
            ]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_facts_survive_json_as_they_are(lines: list[str]) -> None:
    (facts,) = extract([("tests/test_it.py", "\n".join(lines).encode(), "test")])
    said = json.dumps(facts)
    assert json.dumps(TypeAdapter(FileFacts).validate_python(json.loads(said))) == said
