"""Spec 003's own guards: every quirk as a case.

The tables say what the code printed in the spec does with each text.
"""

import pytest
from hypothesis import given, strategies as st

from retinue.contract import sanitize, spec_exact
from retinue.errors import AccessDenied, InvalidInput
from tests.contract import spec_guards

TRAVERSAL = "Directory traversal not allowed"


@pytest.mark.requirement("K16", "C12")
@pytest.mark.parametrize(
    "path", ["src/a.py", "docs/tickets/x.md", "tests//x", ".claude/agents/a.md", "./src/x", "src/.x"]
)
def test_a_path_under_the_four_folders_passes(path: str):
    assert spec_guards.validate_file_path(path) is True


@pytest.mark.requirement("K16", "C12")
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../x", TRAVERSAL),
        ("src/foo..bar.py", TRAVERSAL),
        ("/src/x", "Path outside allowed directories: /src/x"),
        ("/etc/passwd", "Path outside allowed directories: /etc/passwd"),
        ("src/a\0", "Invalid characters in path"),
        ("src/a\n", "Invalid characters in path"),
        ("src/a\r", "Invalid characters in path"),
        ("", "Path not in allowed directories: ."),
        ("src", "Path not in allowed directories: src"),
        ("src/", "Path not in allowed directories: src"),
        ("docs/tickets/", "Path not in allowed directories: docs/tickets"),
        ("docs/vision/ROADMAP.md", "Path not in allowed directories: docs/vision/ROADMAP.md"),
        ("README.md", "Path not in allowed directories: README.md"),
        ("CLAUDE.md", "Path not in allowed directories: CLAUDE.md"),
        ("..\n", TRAVERSAL),
        ("/..", TRAVERSAL),
    ],
)
def test_a_path_is_refused_in_the_specs_words(path: str, message: str):
    with pytest.raises(InvalidInput) as caught:
        spec_guards.validate_file_path(path)
    assert caught.value.message == message


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("STORY-0001.2.3", "story"),
        ("STORY-0001.2.3\n", "story"),
        ("BUG-\u0660\u0660\u0660\u0661", "bug"),
        ("INIT-0001\n", None),
        ("EPIC-0001.\u0663", ""),
        ("TASK-0001.2.3.4", "task"),
    ],
)
def test_a_ticket_id_may_end_in_a_line_feed_and_use_any_digits(text: str, kind: str | None):
    assert spec_guards.validate_ticket_id(text, kind) == text


@pytest.mark.requirement("K17")
@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", None, "Ticket ID cannot be empty"),
        ("", "story", "Ticket ID cannot be empty"),
        ("BUG-1", None, "Invalid ticket ID format: BUG-1"),
        ("BUG-0001\n\n", None, "Invalid ticket ID format: BUG-0001\n\n"),
        (" BUG-0001", "bug", "Invalid ticket ID format:  BUG-0001"),
        ("BUG-0001", "story", "Ticket ID BUG-0001 is type bug, expected story"),
        ("BUG-0001", "saga", "Ticket ID BUG-0001 is type bug, expected saga"),
    ],
)
def test_a_ticket_id_is_refused_in_the_specs_words(text: str, kind: str | None, message: str):
    with pytest.raises(InvalidInput) as caught:
        spec_guards.validate_ticket_id(text, kind)
    assert caught.value.message == message


@pytest.mark.requirement("K18")
@pytest.mark.parametrize(
    "name", ["STORY-0001.2.3", "plan/STORY-0001.2.3", "feature/my-feature", "X-\u0663", "a/-", "a/B-1"]
)
def test_a_branch_of_the_three_forms_passes(name: str):
    assert spec_guards.validate_branch_name(name) == name


@pytest.mark.requirement("K18", "C14")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Branch name cannot be empty"),
        ("a/..", "Directory traversal in branch name"),
        ("/a/b", "Absolute paths not allowed in branch names"),
        ("a/b\n", "Control characters not allowed in branch names"),
        *((name, f"Branch name doesn't match expected patterns: {name}") for name in ("main", "master", "HEAD", "feature/v2-api", "release/1.2", "a/b/c", "a/b\x7f")),
    ],
)  # fmt: skip
def test_a_branch_is_refused_in_the_specs_words(name: str, message: str):
    with pytest.raises(InvalidInput) as caught:
        spec_guards.validate_branch_name(name)
    assert caught.value.message == message


@pytest.mark.requirement("K19", "C36")
def test_html_tables_and_entities_pass_the_specs_escape():
    assert spec_guards.escape_markdown("<b>|~&=") == "<b>|~&="
    assert spec_guards.escape_markdown("\\*[x](y)") == r"\\\*\[x\]\(y\)"


@pytest.mark.requirement("K19")
@given(st.text() | st.text(st.sampled_from("\\`*_{}[]()#+-.!<x")))
def test_each_of_the_fifteen_gets_one_backslash(text: str):
    assert spec_guards.escape_markdown(text) == "".join(
        f"\\{character}" if character in "\\`*_{}[]()#+-.!" else character for character in text
    )


@pytest.mark.requirement("K20")
def test_user_input_is_cleaned_and_measured_before():
    assert spec_guards.sanitize_user_input("a\0\r\nb\rc\r\r\n") == "a\nb\nc\n\n"
    assert spec_guards.sanitize_user_input("\r\0\n") == "\n"
    with pytest.raises(InvalidInput) as caught:
        spec_guards.sanitize_user_input("abc", 2)
    assert caught.value.message == "Content exceeds maximum length (2)"


@given(st.text())
def test_the_decided_content_guard_does_what_the_spec_does(text: str):
    assert sanitize.clean_content(text) == spec_guards.sanitize_user_input(text)


@given(st.lists(st.sampled_from(["src/", "tests/", ".", "a", "/"]), max_size=6).map("".join))
def test_every_path_the_spec_takes_is_taken_by_the_decided_guard(path: str):
    try:
        spec_guards.validate_file_path(path)
    except InvalidInput:
        return
    try:
        sanitize.check_workspace_path(path)
    except AccessDenied as error:
        pytest.fail(error.message)


@pytest.mark.requirement("K25", "C3")
@pytest.mark.parametrize(
    "answer",
    [
        {"status": "success", "agent": "a", "version": "1.0", "result": None},
        {"status": "partial", "agent": "a", "version": 7, "result": {}},
        {"status": "error", "agent": "a", "version": "", "error_type": "no such word"},
    ],
)
def test_the_specs_own_check_asks_for_little(answer: dict[str, object]):
    spec_exact.validate_agent_contract(answer, "a")


@pytest.mark.requirement("K25", "C3")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({}, "Missing required fields: ['status', 'agent', 'version']"),
        ({"agent": "b", "version": "1.0"}, "Missing required fields: ['status']"),
        ({"status": "x", "agent": "b", "version": "1.0"}, "Agent mismatch: expected a, got b"),
        ({"status": "x", "agent": "a", "version": "1.0"}, "Invalid status: x"),
        ({"status": ["success"], "agent": "a", "version": "1.0"}, "Invalid status: ['success']"),
        ({"status": "success", "agent": "a", "version": "1.0"}, "Success/partial status requires 'result' field"),
        ({"status": "partial", "agent": "a", "version": "1.0"}, "Success/partial status requires 'result' field"),
        ({"status": "error", "agent": "a", "version": "1.0"}, "Error status requires 'error_type' field"),
    ],
)
def test_an_answer_is_refused_in_the_specs_words(answer: dict[str, object], message: str):
    with pytest.raises(InvalidInput) as caught:
        spec_exact.validate_agent_contract(answer, "a")
    assert caught.value.message == message
