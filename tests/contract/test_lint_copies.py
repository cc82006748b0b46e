"""Inline copies of a behaviour are found, wherever they stand and whatever was changed around them."""

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.lint import Passage, find_copies
from tests.examples import examples


def behaviour(name: str, *, lines: int = 60) -> Passage:
    text = "\n".join(
        f"{number}. Step {number} of {name}: look at every file of kind {number}." for number in range(lines)
    )
    return Passage(name, f".claude/agents/{name}.md", text, 5)


RESEARCHER, WRITER = behaviour("researcher"), behaviour("writer")


@pytest.mark.requirement("H11")
def test_a_copy_names_its_share_and_both_places() -> None:
    copied = "\n".join(RESEARCHER.text.split("\n")[10:40])
    caller = Passage("report", "commands/report.md", f"# Report\n\nAsk the researcher to:\n\n{copied}\n", 1)
    (found,) = find_copies([RESEARCHER, WRITER], [caller])
    assert (found.rule, found.severity, found.file, found.line, found.column) == (
        "behaviour/copy", "warning", "commands/report.md", 5, 1,
    )  # fmt: skip
    assert "50% of the behaviour of `researcher`" in found.message
    assert "30 lines between 5 and 34" in found.message
    assert ".claude/agents/researcher.md, lines 15 to 44" in found.message
    assert "Read and follow: .claude/agents/researcher.md" in found.fix


def test_white_space_capitals_and_bullets_make_no_difference() -> None:
    altered = "\n".join(f"   - **{line.upper()}**  " for line in RESEARCHER.text.split("\n")[:20])
    assert len(list(find_copies([RESEARCHER], [Passage("x", "x.md", altered)]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Read and follow: .claude/agents/researcher.md",
        "\n".join(RESEARCHER.text.split("\n")[:8]),  # too little of it
        "\n".join("short" for _ in range(100)),
        "",
    ],
)
def test_a_reference_a_few_lines_and_small_words_are_no_copy(text: str) -> None:
    assert list(find_copies([RESEARCHER], [Passage("x", "x.md", text)])) == []


def test_a_small_share_of_a_long_behaviour_is_a_copy_when_it_is_many_lines() -> None:
    long = behaviour("archivist", lines=1_000)
    some = "\n".join(long.text.split("\n")[100:145])
    few = "\n".join(long.text.split("\n")[100:130])
    assert len(list(find_copies([long], [Passage("x", "x.md", some)]))) == 1
    assert list(find_copies([long], [Passage("x", "x.md", few)])) == []


def test_what_many_behaviours_share_is_nobodys_own() -> None:
    preamble = behaviour("preamble", lines=30).text
    family = [Passage(name, f"{name}.md", f"{preamble}\n{behaviour(name).text}") for name in ("a", "b", "c")]
    assert list(find_copies(family, [Passage("x", "x.md", preamble)])) == []


def test_json_that_both_sides_show_is_no_copy() -> None:
    shape = "\n".join(f'  "field_of_the_request_{number}": "what is to be handed over",' for number in range(40))
    original = Passage("a", "a.md", f"{{\n{shape}\n}}")
    assert list(find_copies([original], [Passage("x", "x.md", original.text)])) == []


def test_a_behaviour_is_no_copy_of_itself() -> None:
    assert list(find_copies([RESEARCHER], [Passage("x", RESEARCHER.file, RESEARCHER.text)])) == []


@settings(max_examples=examples(50))
@given(st.lists(st.text(max_size=200), max_size=4), st.lists(st.text(max_size=200), max_size=4))
def test_any_texts_can_be_compared(originals: list[str], callers: list[str]) -> None:
    behaviours = [Passage(f"b{at}", f"b{at}.md", text) for at, text in enumerate(originals)]
    found = list(find_copies(behaviours, [Passage(f"c{at}", f"c{at}.md", text) for at, text in enumerate(callers)]))
    assert all(each.line and each.file for each in found)
