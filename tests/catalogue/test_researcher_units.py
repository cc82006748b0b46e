"""What is quoted as a whole: a paragraph with its list, table or code; a definition with what it says of itself."""

import pytest
from hypothesis import given, strategies as st

from retinue.catalogue.researcher_analyst.quotations import Unit, paragraphs, units_of
from retinue.tools.search.index import PassageHit


def read(text: str, included: str = "") -> list[Unit]:
    return paragraphs(text.split("\n"), 1, lambda _: included)


def test_a_sentence_that_leads_to_something_never_stands_alone() -> None:
    (unit,) = read("You can set it so:\n\n```python\nx = 1\n```\n\n## More\n\nAn introduction to nothing:\n")
    assert (unit.start, unit.text, unit.block, unit.is_code) == (1, "You can set it so:", "```python\nx = 1\n```", True)


def test_a_short_list_belongs_to_its_paragraph_and_a_long_one_is_read_item_by_item() -> None:
    (short,) = read("There are two kinds:\n\n- **one** is red\n- two is blue\n")
    assert short.block.split("\n") == ["- **one** is red", "- two is blue"]
    items = read("Kinds:\n\n" + "".join(f"- **kind {number}** is here\n" for number in range(20)))
    assert [(one.start, one.text, one.above) for one in items[:2]] == [
        (3, "kind 0 is here", "Kinds:"),
        (4, "kind 1 is here", "Kinds:"),
    ]


def test_a_table_belongs_to_its_paragraph_and_a_long_one_is_read_row_by_row() -> None:
    head = "The faults:\n\n| code | meaning |\n| --- | --- |\n"
    (short,) = read(f"{head}| late | Time was up. |\n")
    assert short.block.endswith("| late | Time was up. |")
    rows = read(head + "".join(f"| code{number} | Number {number}. |\n" for number in range(20)))
    assert (rows[-1].start, rows[-1].text) == (24, "code19; Number 19.")


def test_restructured_text_is_read_as_documents_are() -> None:
    text = (
        "Engine\n======\n\nSee :meth:`~app.Engine.run` and `the docs <http://x>`_::\n\n    run(now)\n\n"
        ".. note:: It stops.\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n.. data:: LIMIT\n\n   How many.\n"
        "\n.. _target:\n\n.. literalinclude:: a.py\n"
    )
    assert [(one.start, one.text, one.block) for one in read(text, "y = 2\n")] == [
        (4, "See `app.Engine.run` and the docs:", "```text\nrun(now)\n```"),
        (8, "It stops.", "```text\nx = 1\n```"),
        (16, "`LIMIT`: How many.", "```py\ny = 2\n```"),
    ]


def test_admonitions_are_prose() -> None:
    assert [one.text for one in read("!!! note\n    Beware of it.\n\n```{warning}\nIt bites.\n```\n")] == [
        "Beware of it.",
        "It bites.",
    ]


@pytest.mark.parametrize(
    ("name", "code", "signature", "text"),
    [
        ("run", '@cached\ndef run(\n    self,\n    fast: bool = True,\n) -> int:\n    """Go."""', "def run(self, fast: bool = True) -> int", "Go."),
        ("A", "class A(B):\n    x = 1", "class A(B)", ""),
        ("f", "# Says why.\nasync def f():\n    pass", "async def f()", "Says why."),
        ("LIMIT", "LIMIT = 10", "LIMIT = 10", ""),
        ("f", "def f(:", "def f(:", ""),
    ],
)  # fmt: skip
def test_a_definition_is_its_head_and_what_it_says(name: str, code: str, signature: str, text: str) -> None:
    rows = code.split("\n")
    (unit,) = units_of(PassageHit("a.py", "code", 1, len(rows), name, "", 0.0), rows)
    assert (unit.signature, unit.text) == (signature, text)


@pytest.mark.parametrize(
    ("path", "code", "signature", "text"),
    [
        ("a.rs", "// Opens the door.\nfn open() {\n}", "fn open() {", "Opens the door."),
        ("a.rs", "    // To open the door.\n    fn open() {\n    }", "fn open() {", "To open the door."),
        ("a.js", "/**\n * To open it.\n */\nfunction open() {}", "function open() {}", "To open it."),
        ("a.sql", "-- To open it.\nCREATE TABLE open (a);", "CREATE TABLE open (a);", "To open it."),
        ("a.sh", "#!/bin/sh\n# To open it.\nopen() {", "open() {", "To open it."),
        ("a.h", "// How wide.\n#define open 3", "#define open 3", "How wide."),
        ("a.rs", "#[must_use]\nfn open() {", "fn open() {", ""),
    ],
)
def test_a_definition_in_another_language_is_its_line_and_the_comment_above(
    path: str, code: str, signature: str, text: str
) -> None:
    rows = code.split("\n")
    (unit,) = units_of(PassageHit(path, "code", 1, len(rows), "open", "", 0.0), rows)
    assert (unit.signature, unit.text) == (signature, text)


@given(st.text(alphabet="ab .:\n`'\"#*|-=_<>@()!", max_size=160))
def test_every_unit_lies_in_its_text_and_says_something(text: str) -> None:
    rows = text.split("\n")
    for unit in read(text):
        assert 1 <= unit.start <= len(rows)
        assert unit.text or unit.block
    for path in ("a.py", "a.js"):
        assert units_of(PassageHit(path, "code", 1, len(rows), "a", "", 0.0), rows)
