"""How a question to the researcher is read before anything is searched: documents, versions, spelling, what is unwanted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.catalogue.researcher_analyst.documents import document_called, has_literal, meant_by, near_to
from retinue.catalogue.researcher_analyst.evidence import says_alike
from retinue.catalogue.researcher_analyst.question import read_question
from retinue.catalogue.researcher_analyst.raising import asks_for_errors, raised_in
from retinue.contract.result import Result
from retinue.contract.task import Context
from tests.catalogue.conftest import Ask, Repository

AskIn = Callable[[Path], Ask]

CHANGES = """\
# Changes

## Version 1.1.0

Released 2024-03-01

- Drop support for Python 3.8.
- The typing of the lid is exact.
- The whistle can be turned off.

## Version 1.0.0

- Drop support for Python 3.7. Needs steam >= 1.3.8.
- The receiver of a signal may be weak.
"""
CODE = '''\
class Spout:
    """Where the water comes out."""


def pour(cup):
    """Pour into a cup.

    Raises:
        FullCup: The cup is full,
            or nearly.
        NoCup: There is none.
    """
    def check():
        if not cup:
            raise NoCup("no cup")
        raise Broken from None
    return check()


def wash(cup):
    """Wash it.

    :raises Soap: there is no soap
    """


def after():
    raise Other
'''


@pytest.fixture
def ask(make_repository: Callable[..., Repository], ask_in: AskIn) -> Ask:
    made = make_repository("kitchen")
    made.write("CHANGES.md", CHANGES)
    made.write("src/pour.py", CODE)
    made.write("docs/index.md", "# Guide\n\nThe guide tells how tea is made.\n")
    made.write("docs/reference/index.md", "# Reference\n\nThe reference lists every part.\n")
    made.write("docs/cli.rst", "Options\n=======\n\nUse ``-k`` to keep it warm.\n\nKeep the option of tea open.\n")
    made.commit("docs: all of it")
    return ask_in(made.root)


def answer(result: Result) -> str:
    assert result.fault is None, result.fault
    found: str = result.data["answer"]
    return found


def test_the_section_of_a_version_is_told_without_what_is_unwanted(ask: Ask) -> None:
    said = answer(ask.research("what does the CHANGES file say for 1.1.0, but not about typing?"))
    assert said == ("Version 1.1.0: Drop support for Python 3.8. The whistle can be turned off. (CHANGES.md:3)")


@pytest.mark.parametrize(
    "question", ["what does the changelog say about 1.1.0", "what is in the release notes of 1.1.0"]
)
def test_the_changelog_is_found_by_what_it_is(ask: Ask, question: str) -> None:
    assert answer(ask.research(question)).startswith("Version 1.1.0: Drop support")


def test_a_version_is_found_as_it_is_and_told_with_its_heading(ask: Ask) -> None:
    result = ask.research("wich version droped python 3.8 suport?")
    assert answer(result).startswith("Version 1.1.0: Drop support for Python 3.8.")
    assert result.data["notes"] == ["Read `wich` as `which`, `suport` as `support`."]
    assert "Read `wich` as `which`" in result.content


@pytest.mark.parametrize(
    ("question", "notes"),
    [
        ("what is the reciever of a signal", ["Read `reciever` as `receiver`."]),
        ("what are the receivers of a signal", []),
        ("where is the valve defined", []),
        ("what is `recever`", []),
    ],
)
def test_only_what_is_misspelled_is_spelled_otherwise(ask: Ask, question: str, notes: list[str]) -> None:
    found: dict[str, Any] = ask.research(question).data
    assert found["notes"] == notes


def test_a_short_option_is_found_as_it_is(ask: Ask) -> None:
    assert answer(ask.research("what is the -k option for")).startswith("Use `-k` to keep it warm.")


def test_of_two_files_of_one_name_it_is_asked_which(ask: Ask) -> None:
    result = ask.research("what does index.md say?")
    assert result.lifecycle == "input_required"
    (question,) = result.questions
    assert question.options == ("docs/index.md", "docs/reference/index.md")
    told = Context(constraints=(f"n1.{question.id}: docs/reference/index.md",))
    answered = ask("researcher_analyst", "research", told=told, depth="quick_scan", task="what does index.md say?")
    assert answer(answered).startswith("The reference lists every part.")
    assert ask.research("what does index.md say about tea").lifecycle == "ended"
    assert {one["path"] for one in ask.research("where is index.md").data["findings"]} == set(question.options)


def test_what_a_function_raises_is_told(ask: Ask) -> None:
    said = answer(ask.research("which exceptions does pour raise?")).split("\n")[0]
    assert "Raises: FullCup: The cup is full, or nearly; NoCup: There is none. It raises `Broken`." in said


def test_errors_are_read_from_docstrings_and_statements() -> None:
    lines = CODE.split("\n")
    assert raised_in(lines, lines.index("def wash(cup):") + 1) == "Raises: Soap: there is no soap."
    assert raised_in(lines, lines.index("def after():") + 1) == "It raises `Other`."
    assert raised_in(lines, 1) == ""
    numpy = [
        "def f():",
        '    """Do it.',
        "",
        "    Raises",
        "    ------",
        "    KeyError",
        "        It is gone.",
        '    """',
    ]
    assert raised_in(numpy, 1) == "Raises: KeyError It is gone."
    assert asks_for_errors("when is it late") is False
    assert asks_for_errors("what does it throw")


def test_which_files_are_meant() -> None:
    paths = ["README.md", "docs/README.md", "src/app.py", "src/inner/app.py", "tests/app.py", "LICENSE", "NEWS.rst"]
    assert meant_by("README.md", paths) == ["README.md"]
    assert meant_by("app.py", paths) == ["src/app.py", "src/inner/app.py"]
    assert meant_by("gone.py", paths) == []
    assert near_to("ap.py", paths) == ("src/app.py", "tests/app.py", "src/inner/app.py")
    assert [document_called(name, paths) for name in ("readme", "licence", "change log", "notes")] == [
        "README.md", "LICENSE", "NEWS.rst", ""
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("literal", "text", "stands"),
    [
        ("3.8", "Python 3.8.", True), ("3.8", "v3.8", True), ("3.8", "1.3.8", False), ("3.8", "3.8.1", False),
        ("3.8", "3.80", False), ("-k", "use -k.", True), ("-k", "--k", False), ("-k", "-ki", False),
    ],
)  # fmt: skip
def test_a_literal_stands_only_as_it_is(literal: str, text: str, stands: bool) -> None:
    assert has_literal(literal, text) is stands


def test_words_in_a_row_are_told_from_words_apart() -> None:
    weights = {"cart": 1.0, "hold": 1.0}
    assert says_alike("how much a cart may hold", weights, "LIMIT: how many items a cart\nmay hold.")
    assert not says_alike("how much a cart may hold", weights, "A cart is what you may hold.")
    assert not says_alike("what is it for", weights, "That is what is it for.")


@given(st.text(max_size=200))
def test_any_question_can_be_read_and_spelled_again(text: str) -> None:
    asked = read_question(text)
    assert read_question(asked.whole) == asked
    assert asked.respelled({"suport": "support"}).whole.count("suport ") <= asked.whole.count("suport ")
