"""Names of tools: those of other programs are ours, and what is unknown is told with the nearest."""

from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from hypothesis import given, strategies as st

from retinue.agents.grants import ToolRule, mode_from
from retinue.agents.prompted import grants_from_settings, rules_from
from retinue.agents.prompted.definition_permissions import rule_findings
from retinue.agents.tool_references import ALIASES, parse_tool_reference
from retinue.errors import InvalidInput
from tests.tools.conftest import Repository


@pytest.mark.parametrize(
    ("said", "tool", "patterns"),
    [
        ("Read", "read", ()),
        ("Read(./src/**)", "read", ("./src/**",)),
        ("Bash(git log:*, git diff:*)", "shell", ("git log:*", "git diff:*")),
        ("Bash(*)", "shell", ()),
        ("WebFetch(domain:x.org)", "web_fetch", ("domain:x.org",)),
        ("MultiEdit", "edit", ()),
        ("Task", "delegate", ()),
        ("Agent(worker)", "delegate", ("worker",)),
        ("web_search", "web_search", ()),
        ("web-search", "web_search", ()),
        ("bash", "shell", ()),
        ("LSP", "lsp", ()),
        ("*", "*", ()),
        ("mcp__github", "mcp__github__*", ()),
        ("mcp__my_server", "mcp__my_server__*", ()),
        ("mcp__github__*", "mcp__github__*", ()),
        ("mcp__github__list_issues", "mcp__github__list_issues", ()),
        (" Grep ", "grep", ()),
    ],
)
def test_a_word_is_read_as_a_tool_of_ours(said: str, tool: str, patterns: tuple[str, ...]) -> None:
    word = parse_tool_reference(said)
    assert (word.tool, word.patterns, word.is_foreign) == (tool, patterns, False)


@pytest.mark.parametrize("said", ["", "a b", "(x)", "Read(", "1st", "Read(\n)", "é"])
def test_what_is_no_tool_is_refused(said: str) -> None:
    with pytest.raises(InvalidInput, match="is not a tool"):
        parse_tool_reference(said)


def test_a_tool_that_is_missing_is_told_with_the_nearest() -> None:
    assert parse_tool_reference("Redd").missing(["read", "grep"]) == "there is no tool `Redd`. Did you mean `read`?"
    assert parse_tool_reference("Frobnicate").missing(["read"]) == "there is no tool `Frobnicate`."
    assert parse_tool_reference("TodoWrite").missing([]) == "the tool `TodoWrite` of another program."


@given(st.text(max_size=80))
def test_any_text_is_a_tool_or_refused(said: str) -> None:
    try:
        read = parse_tool_reference(said).tool
    except InvalidInput:
        read = "refused"
    assert read


def test_every_name_of_ours_stays_what_it_is() -> None:
    assert {ours: parse_tool_reference(ours).tool for ours in ALIASES.values()} == {
        ours: ours for ours in ALIASES.values()
    }


# Settings


def test_words_of_the_settings_become_rules() -> None:
    assert rules_from({"allow": ["Bash(git log:*, git diff:*)"], "ask": ["WebFetch"], "deny": ["read(.env)"]}) == (
        ToolRule("allow", "shell", "git log:*"),
        ToolRule("allow", "shell", "git diff:*"),
        ToolRule("ask", "web_fetch"),
        ToolRule("deny", "read", ".env"),
    )


def test_every_word_that_is_no_permission_is_told() -> None:
    with pytest.raises(InvalidInput) as raised:
        rules_from({"allow": ["Bash(git", "read"], "deny": ["rm -rf"]})
    assert "`permissions.allow` holds 'Bash(git'" in raised.value.message
    assert "`permissions.deny` holds 'rm -rf'" in raised.value.message


@pytest.mark.parametrize("said", ["acceptEdits", "accept-edits", "accept_edits"])
def test_a_mode_is_read_in_any_spelling(said: str) -> None:
    assert mode_from(said) == "accept_edits"


def test_an_unknown_mode_names_the_nearest() -> None:
    with pytest.raises(InvalidInput) as raised:
        mode_from("acceptEdit")
    assert raised.value.suggestions == ("accept_edits",)
    with pytest.raises(InvalidInput, match="is not a valid permission mode"):
        mode_from("yolo")


def test_a_project_can_only_narrow() -> None:
    grants = grants_from_settings(
        {"allow": ["Bash(git:*)"]}, mode="acceptEdits", project={"allow": ["Bash"], "deny": ["Bash(git push:*)"]}
    )
    assert grants.rules == (ToolRule("allow", "shell"), ToolRule("deny", "shell", "git push:*"))
    assert grants.above is not None
    assert (grants.above.mode, grants.mode) == ("accept_edits", None)
    assert grants_from_settings({}).mode is None


@pytest.mark.parametrize("command", ["annotate f", "blame f", "diff-tree HEAD", "log", "range-diff @ @", "rev-list @"])
def test_a_rule_for_a_command_of_git_that_writes_by_an_option_is_named(tmp_path: Path, command: str) -> None:
    made = Repository(tmp_path / "repository")
    made.write("f", "x\n")
    made.commit("first")
    with suppress(CalledProcessError):
        made.git(*command.split(), "--output=made")
    assert (made.root / "made").exists(), "git writes it"
    name = command.partition(" ")[0]
    for pattern in (f"git {name}:*", f"git --no-pager {name}:*", f"git {name} *"):
        (found,) = rule_findings({"allow": (f"Bash({pattern})",)})
        assert found.rule == "permissions/can-write"
        assert "the tool `git` reads the history" in found.fix
    assert rule_findings({"allow": ("Bash(git log -1)", "Bash(git status:*)"), "deny": (f"Bash(git {name}:*)",)}) == ()
