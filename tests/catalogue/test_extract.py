"""What is quoted of a passage: sentences, cleaned of what only a renderer needs."""

import pytest
from hypothesis import given, strategies as st

from retinue.catalogue.researcher_analyst.extract import prose_of, signature_of


def quoted(path: str, text: str, start: int = 1) -> list[tuple[int, str]]:
    kind = "docs" if path.endswith((".md", ".rst")) else "code"
    return [(one.line, one.text) for one in prose_of(path, kind, text, start)]


def test_sentences_of_a_document_without_headings_lists_marks_and_links() -> None:
    text = (
        "# Engine\n\nThe **engine** runs [fast](http://x). It never stops.\n- Item *one* is here.\n"
        "> Quoted words stand here.\n"
    )
    assert quoted("a.md", text, 10) == [
        (12, "The engine runs fast."),
        (12, "It never stops."),
        (13, "Item *one* is here."),
        (14, "Quoted words stand here."),
    ]


def test_restructured_text_loses_roles_directives_and_underlines() -> None:
    text = (
        "Engine\n======\n\n.. note::\n\nSee :meth:`~app.Engine.run` and\n:data:`SECRET_KEY` for ``more``.\n"
        ".. _target:\n:param x: the thing itself\n"
    )
    assert quoted("a.rst", text) == [(6, "See `app.Engine.run` and `SECRET_KEY` for `more`.")]


def test_code_blocks_and_questions_are_not_quoted() -> None:
    text = "Do it like this::\n\n    engine.run(now)\n\nThen it is done.\n\n```python\nx = the(code)\n```\nHow do you stop it?\n"
    assert [text for _, text in quoted("a.md", text)] == ["Do it like this:", "Then it is done."]
    assert quoted("a.rst", "    app = Engine()\n    app.run(fast=True)\n") == []


def test_the_rows_of_a_table_are_told_one_by_one() -> None:
    text = "| name | what it is for |\n| --- | :-: |\n| cache | keeps what was read |\n"
    assert [text for _, text in quoted("a.md", text)] == ["name; what it is for", "cache; keeps what was read"]


def test_docstrings_and_comments_of_python_with_their_lines() -> None:
    text = (
        "def run(self, fast):\n"
        '    """Run the engine once.\n\n'
        "    It stops by itself.\n\n"
        "    Args:\n"
        "        fast: Whether to hurry up.\n"
        "        slow: Whether to take time.\n"
        '    """\n'
        "    # The order matters here.\n"
        "    return 1  # noqa: X\n"
    )
    assert quoted("a.py", text, 5) == [
        (6, "Run the engine once."),
        (8, "It stops by itself."),
        (11, "fast: Whether to hurry up."),
        (12, "slow: Whether to take time."),
        (14, "The order matters here."),
    ]


def test_a_passage_that_begins_inside_a_docstring() -> None:
    text = 'and this is still said here.\n"""\nx = 1\n'
    assert quoted("a.py", text) == [(1, "and this is still said here.")]


def test_one_line_docstrings_and_strings_that_are_none() -> None:
    assert quoted("a.py", "def f():\n    '''Says what it does.'''\n    x = '''\n    not said at all\n    '''\n") == [
        (2, "Says what it does.")
    ]


def test_comments_of_other_languages() -> None:
    text = "// Opens the door slowly.\n// And closes it.\nfn open() {}\n/* Never locks\n * the door. */\n"
    assert [text for _, text in quoted("a.rs", text)] == [
        "Opens the door slowly.",
        "And closes it.",
        "Never locks the door.",
    ]


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        (
            "@cached\ndef run(\n    self,\n    fast: bool = True,\n) -> int:\n    return 1",
            "def run(self, fast: bool = True) -> int",
        ),
        ("class A(B):\n    x = 1", "class A(B)"),
        ("async def f():\n    pass", "async def f()"),
        ("x = 1\ndef f(): pass", ""),
        ("", ""),
        ("def f(" + "a, " * 100 + "):\n    pass", "def f(" + "a, " * 50 + "a,…"),
    ],
)
def test_the_head_of_a_definition_on_one_line(text: str, signature: str) -> None:
    found = signature_of(text)
    assert found == signature or (len(found) == 160 and found.endswith("…"))


@given(st.text(alphabet="ab .:\n`'\"#*|-=_<>@()", max_size=120), st.sampled_from(["a.py", "a.md", "a.rst", "a.js"]))
def test_whatever_is_quoted_begins_in_a_line_of_the_passage(text: str, path: str) -> None:
    rows = text.split("\n")
    for line, sentence in quoted(path, text):
        assert 1 <= line <= len(rows)
        assert sentence
