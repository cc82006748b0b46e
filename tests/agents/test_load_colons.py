"""A text with a colon in it and no quotes around it: read where it means one thing, refused where it may mean two."""

import json

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load import LoadedAgents, load_markdown
from retinue.agents.load.command import load_command
from retinue.agents.load.markdown import load_skill
from retinue.contract.finding import Finding

BODY = "You judge stories.\n"


def load(front: str) -> LoadedAgents:
    return load_markdown(f"---\n{front}\n---\n{BODY}".encode(), file=".claude/agents/judge.md")


def only_warning(loaded: LoadedAgents) -> Finding:
    assert len(loaded.agents) == 1
    (warning,) = [each for each in loaded.findings if each.severity == "warning"]
    assert warning.rule == "load/unquoted-colon"
    return warning


def description_of(loaded: LoadedAgents) -> str:
    (agent,) = loaded.agents
    return agent.definition.description


@pytest.mark.requirement("H8")
@pytest.mark.parametrize(
    "text",
    [
        "Judges stories. Use it so: always.",
        r'Examples:\n\n<example>\nuser: "Judge it"\n</example>',
        "Ends with a colon:",
        "Two: of: them",
        "A tab:\tfollows",
        'Back\\slash and "quotes": kept',
        "naïve: übergrößer \u2014 ✓",
    ],
)
def test_a_description_of_one_line_with_a_colon_is_read_to_the_letter(text: str) -> None:
    loaded = load(f"name: judge\ndescription: {text}\nmodel: sonnet")
    assert description_of(loaded) == text
    assert only_warning(loaded).line == 3


def test_the_warning_stands_at_the_colon_and_says_what_to_write() -> None:
    warning = only_warning(load("name: judge\ndescription:  Use it so: always"))
    assert (warning.line, warning.column, warning.path) == (3, 24, "/description")
    assert "`description: |`" in warning.fix


def test_what_the_fix_says_ends_the_warning() -> None:
    loaded = load("name: judge\ndescription: |\n  Use it so: always")
    assert description_of(loaded).strip() == "Use it so: always"
    assert not [each for each in loaded.findings if each.severity == "warning"]


@pytest.mark.parametrize(
    "front",
    [
        "name: judge\ndescription: Examples: <example>\nuser: hi\ncolor: red",
        "name: judge\ndescription: Use it so: always,\n  and more",
        "name: judge\ndescription: Use it so: always,\n- and more",
        "name: judge\ndescription: Use it so: always # or never",
        'name: judge\ndescription: "Use it" so: always',
        "name: judge\ndescription: [Use it so: always",
        "name: judge\ndescription: Use it so: always\nname: judge",
        "name: judge\ndescription: Use it so: always\ntools: Read: Write",
    ],
)
def test_what_could_mean_something_else_is_refused(front: str) -> None:
    loaded = load(front)
    assert loaded.agents == ()
    (error,) = loaded.errors
    assert error.rule == "load/parse-error"
    assert error.fix


@pytest.mark.parametrize("line_break", ["\u2028", "\u2029", "\x85"])
def test_a_line_break_that_only_yaml_knows_is_no_crash(line_break: str) -> None:
    (error,) = load(f"name: judge\n{line_break * 5}note: a: b").errors
    assert error.rule == "load/parse-error"


def test_skills_and_commands_are_read_the_same_way() -> None:
    data = f"---\nname: judge\ndescription: Use it so: always\n---\n{BODY}".encode()
    only_warning(load_skill(data, file="skills/judge/SKILL.md"))
    data = f"---\nargument-hint: <story: a path>\ndescription: Judges.\n---\n{BODY} $1".encode()
    loaded = load_command(data, file=".claude/commands/judge.md")
    assert only_warning(loaded).path == "/argument-hint"
    assert loaded.agents[0].definition.extras["argument-hint"] == "<story: a path>"


_NO_BREAKS = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff\ufffe\uffff#")


@given(st.text(_NO_BREAKS))
def test_a_colon_never_changes_what_a_text_says(text: str) -> None:
    said = f"Says {text}: so"
    assert description_of(load(f"name: judge\ndescription: {said}\nmodel: sonnet")) == said


@given(st.text(max_size=60))
def test_strict_yaml_is_read_as_before(text: str) -> None:
    loaded = load(f"name: judge\ndescription: {json.dumps('x' + text)}")
    assert not [each for each in loaded.findings if each.rule == "load/unquoted-colon"]
