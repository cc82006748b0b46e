"""Spec 003's own guards: every quirk as a case.

The tables say what the code printed in the spec does with each text.
"""

import pytest
from hypothesis import given, strategies as st

from retinue.contract import sanitize, spec_exact
from retinue.errors import AccessDenied, InvalidInput
from tests.contract import spec_guards

TRAVERSAL = "Directory traversal not allowed"


@pytest.mark.parametrize(
    "path", ["src/a.py", "docs/tickets/x.md", "tests//x", ".claude/agents/a.md", "./src/x", "src/.x"]
)
def test_a_path_under_the_four_folders_passes(path: str):
    assert spec_guards.validate_file_path(path) is True


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


def test_user_input_is_cleaned_and_measured_before():
    assert spec_guards.sanitize_user_input("a\0\r\nb\rc\r\r\n") == "a\nb\nc\n\n"
    assert spec_guards.sanitize_user_input("\r\0\n") == "\n"
    with pytest.raises(InvalidInput) as caught:
        spec_guards.sanitize_user_input("abc", 2)
    assert caught.value.message == "Content exceeds maximum length (2)"


@pytest.mark.requirement("K20")
@given(st.text())
def test_the_decided_content_guard_does_what_the_spec_does(text: str):
    assert sanitize.clean_content(text) == spec_guards.sanitize_user_input(text)


@pytest.mark.requirement("K16", "C12", "C13")
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
