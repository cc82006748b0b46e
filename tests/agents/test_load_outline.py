"""Markdown, taken apart: sections, code blocks, and where each stands."""

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.load.operations import parse_outline
from tests.agents.trees import lint, markdown, put
from tests.examples import examples

TEXT = """\
---
name: x
---
Intro

# One ##
text
```json
{"a": 1,
 "b": 2}
```
## Two
# no heading? yes
> ```py
> # no heading
> x = 1
> ```
~~~
never closed
# no heading
"""


def test_sections_know_where_they_end() -> None:
    sections = [
        (each.heading, each.level, each.line, each.end, each.whole_end) for each in parse_outline(TEXT).sections
    ]
    assert sections == [
        ("", 0, 3, 5, 5),
        ("One", 1, 6, 11, 12),
        ("Two", 2, 12, 12, 12),
        ("no heading? yes", 1, 13, 21, 21),
    ]


def test_code_blocks_keep_their_place() -> None:
    first, quoted, last = parse_outline(TEXT).code_blocks
    assert (first.kind, first.line, first.column, first.text) == ("json", 9, 1, '{"a": 1,\n "b": 2}')
    assert first.place(first.text.index('"b"')) == (10, 2)
    assert (quoted.kind, quoted.line, quoted.column, quoted.text) == ("py", 15, 3, "# no heading\nx = 1")
    assert quoted.place(len("# no heading\nx")) == (16, 4)
    assert (last.kind, last.text) == ("", "never closed\n# no heading\n")


def test_prose_is_what_is_no_code_and_no_front_matter() -> None:
    read = parse_outline(TEXT)
    assert [number for number, _ in read.prose()] == [4, 5, 6, 7, 12, 13]
    assert read.section_at(1).level == 0
    assert read.section_at(12).heading == "Two"
    assert read.text_of(read.sections[1]) == 'text\n```json\n{"a": 1,\n "b": 2}\n```'
    assert read.text_of(read.sections[1], whole=True).endswith("## Two")


def test_a_front_matter_without_end_is_text() -> None:
    assert parse_outline("---\nname: x\n").body == 1
    assert parse_outline("").lines == ("",)


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.sampled_from(["# a", "## b", "```", "```json", "~~~", "text", "---", "> ```", "", "####### x", "  # c"])
    )
)
def test_every_line_is_in_exactly_one_section(lines: list[str]) -> None:
    read = parse_outline("\n".join(lines))
    covered = [number for each in read.sections for number in range(max(each.line, read.body), each.end + 1)]
    assert covered == list(range(read.body, len(read.lines) + 1))
    assert all(each.end <= each.whole_end <= len(read.lines) for each in read.sections)


@settings(max_examples=examples(100))
@given(st.text(max_size=300))
def test_any_text_has_an_outline(text: str) -> None:
    read = parse_outline(text)
    for fence in read.code_blocks:
        assert fence.place(0) == (fence.line, fence.column)


@pytest.mark.parametrize(
    "line",
    ["## Operations", "```json", "> ```", "| agent | operations |", "| x | `a` |", "**Operation:** {a | b}", "# x",
     "```" + "a" * 50 + "`", "**Agent:** x", "**Contract:** AGENT_CONTRACT v1.0", "a_" * 30, "/go", "- `x`"],
)  # fmt: skip
def test_a_long_text_of_one_kind_takes_no_time_to_speak_of(tmp_path: Path, line: str) -> None:
    put(tmp_path / "agents" / "a.md", markdown("a", f"{line}\n" * 8_000))
    put(tmp_path / "commands" / "go.md", f"{line}\n" * 8_000)
    lint(tmp_path)


def test_a_long_line_takes_no_time_to_speak_of(tmp_path: Path) -> None:
    for number, word in enumerate(("```a", "a_", "**Operation:** {a | ", "`", "| a ", "AGENT_", "/go ", "# ", "> ")):
        put(tmp_path / "agents" / f"a{number}.md", markdown(f"a{number}", word * 20_000 + "`"))
    lint(tmp_path)
