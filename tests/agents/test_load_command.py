"""Slash commands: prompts with placeholders, as agents that take arguments and as callers."""

from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load import NEEDS_MODEL, LoadedAgents, load_command
from retinue.agents.load.command import CommandArguments, command_name, parse_arguments
from retinue.contract import schema
from retinue.contract.definition import Definition

FILE = ".claude/commands/git/sync.md"


def load(text: str, *, file: str = FILE) -> LoadedAgents:
    return load_command(text.encode(), file=file)


def definition_of(loaded: LoadedAgents) -> Definition:
    (agent,) = loaded.agents
    return agent.definition


def takes(text: str) -> dict[str, Any]:
    return definition_of(load(text)).skills[0].input_schema


def test_a_command_becomes_an_agent_beside_the_one_of_its_name() -> None:
    loaded = load(
        "---\n"
        "description: Brings a branch up to date.\n"
        "argument-hint: <branch> [merge|rebase]\n"
        "allowed-tools: Bash(git fetch:*), Bash(git rebase:*), Read\n"
        "model: sonnet\n"
        "version: '1.4'\n"
        "tags: git, daily\n"
        "---\n"
        "\n"
        "Bring $1 up to date by $2; see @docs/git.md and @AGENTS.md, ask @ada.\n"
    )
    assert loaded.findings == ()
    definition = definition_of(loaded)
    assert definition.name == "command_git_sync"
    assert definition.aliases == ()
    assert (definition.version, definition.tags) == ("1.4", ("git", "daily"))
    assert definition.wire_names == {}
    assert (definition.tier, definition.model) == ("medium", None)
    assert definition.tools == ("Bash(git fetch:*)", "Bash(git rebase:*)", "Read")
    assert definition.extras == {
        "command": "/git:sync",
        "argument-hint": "<branch> [merge|rebase]",
        "files": ["docs/git.md", "AGENTS.md"],
    }
    (skill,) = definition.skills
    assert (skill.name, skill.unavailable, skill.instruction_field) == ("command_git_sync", NEEDS_MODEL, None)
    assert skill.input_schema["required"] == ["branch"]
    assert skill.input_schema["properties"]["argument_2"]["enum"] == ["merge", "rebase"]


@pytest.mark.requirement("K23")
def test_a_command_is_a_caller_too() -> None:
    loaded = load("Ask them.\n\n**Agent:** ticket-analyzer\n**Operation:** story-deep\n**Target:** $1\n")
    (call,) = loaded.calls
    assert (call.agent, call.skill, call.target, call.source.line) == ("ticket-analyzer", "story-deep", None, 3)


def test_a_key_that_means_another_is_said_to_as_commands_spell_it() -> None:
    (finding,) = load("---\nargument_hnt: Read\n---\nFix it.").findings
    assert (finding.rule, finding.fix) == ("load/unknown-key", "Did you mean 'argument-hint'?")


def test_tools_limit_a_command_too() -> None:
    loaded = load("---\ntools: Read\n---\nFix it.")
    assert definition_of(loaded).tools == ("Read",)
    assert [finding.rule for finding in loaded.findings] == ["load/other-key"]


def test_without_front_matter_the_first_line_describes_it() -> None:
    assert definition_of(load("\n\n## Fix it: $ARGUMENTS\n\nmore")).description == "Fix it: $ARGUMENTS"
    assert definition_of(load("x" * 300)).description == "x" * 199 + "…"
    assert definition_of(load("---\nmodel: opus\n---\n")).description == "Does what `/git:sync` says."


def test_a_command_that_says_nothing_to_do_is_warned_of() -> None:
    (finding,) = load("---\ndescription: x\n---\n").findings
    assert (finding.rule, finding.severity) == ("load/no-instructions", "warning")


def test_commands_to_the_shell_are_text_and_never_run() -> None:
    loaded = load("---\ndescription: x\n---\n\nNow: !`rm -rf /`\n  and !`git status`.\n")
    assert [(each.rule, each.severity, each.line, each.column) for each in loaded.findings] == [
        ("load/shell-text", "info", 5, 6),
        ("load/shell-text", "info", 6, 7),
    ]
    assert len(load("!`ls` " * 100).findings) == 20


@pytest.mark.parametrize(
    ("file", "typed"),
    [
        (".claude/commands/review.md", "/review"),
        (".claude/commands/git/sync.md", "/git:sync"),
        ("/home/commands/x/.claude/commands/a/commands/b.md", "/a:commands:b"),
        ("plugins/x/commands/deploy/now.md", "/deploy:now"),
        ("review.md", "/review"),
    ],
)
def test_what_is_typed_is_the_path_below_the_folder(file: str, typed: str) -> None:
    assert command_name(file) == typed


def test_a_command_whose_file_is_no_name_is_refused() -> None:
    loaded = load("Do it.", file=".claude/commands/---.md")
    assert [finding.rule for finding in loaded.errors] == ["load/bad-name"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\nmodule: os\n---\nx", "names code"),
        ("---\n- a\n---\nx", "front matter must be"),
        ("---\ndescription: x\n", "has no end"),
        ("---\ndescription: [\n---\nx", "YAML"),
        ("---\nallowed-tools: 3\n---\nx", "list of texts"),
    ],
)
def test_a_broken_command_gives_no_agent(text: str, message: str) -> None:
    loaded = load(text)
    assert loaded.agents == ()
    assert message in loaded.errors[0].message


# What it takes.


def properties(taken: CommandArguments) -> dict[str, Any]:
    return cast("dict[str, Any]", taken.schema["properties"])


def test_everything_that_follows_is_one_free_text() -> None:
    schema_of = takes("Fix $ARGUMENTS")
    assert list(schema_of["properties"]) == ["arguments"]
    assert schema_of["required"] == []
    assert definition_of(load("Fix $ARGUMENTS")).skills[0].instruction_field == "arguments"


@pytest.mark.parametrize(
    ("hint", "body", "names", "required"),
    [
        ("", "do $1", ["argument_1"], ["argument_1"]),
        ("", "do $2", ["argument_1", "argument_2"], ["argument_1", "argument_2"]),
        ("[pr-number] <who>", "do $1", ["pr_number", "who"], ["who"]),
        ("[a] [a]", "do $1", ["a", "argument_2"], []),
        ("[--fast]", "do $1", ["argument_1"], []),
        ("[env=staging]", "do $1", ["env"], []),
        ("add [tag] | remove [tag]", "do $1", ["argument_1"], ["argument_1"]),
        ("<file>", "do $ARGUMENTS", ["arguments"], ["arguments"]),
        ("[file]", "do it", ["arguments"], []),
        ("[file]", "do $1 of $ARGUMENTS", ["arguments"], []),
        ("", "it costs $5,000 and $1.50, \\$1, $$1, $10, $HOME", ["arguments"], []),
    ],
)
def test_the_hint_and_the_body_say_what_it_takes(hint: str, body: str, names: list[str], required: list[str]) -> None:
    taken = parse_arguments(hint, body)
    assert taken.schema["required"] == required
    assert list(properties(taken)) == names


def test_a_choice_of_words_is_typed() -> None:
    taken = parse_arguments("[staging|production]", "deploy to $ARGUMENTS")
    assert properties(taken)["arguments"]["enum"] == ["staging", "production"]
    assert taken.free is None
    assert parse_arguments("<staging|production>", "deploy to $1").free is None
    assert parse_arguments("<place>", "deploy to $1").free == "place"


@given(st.text(st.sampled_from(list("<>[]|-= abc$123")), max_size=30), st.text(max_size=50))
def test_any_hint_gives_a_schema_that_holds(hint: str, body: str) -> None:
    taken = parse_arguments(hint, body)
    assert [found for found in schema.check_schema(taken.schema) if found.severity == "error"] == []
    assert taken.free is None or taken.free in properties(taken)


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: f"---\n{text}\n---\n{text}".encode("utf-8", "replace"))
)
def test_any_bytes_give_an_agent_or_an_error(data: bytes) -> None:
    loaded = load_command(data, file=FILE)
    assert bool(loaded.agents) != bool(loaded.errors)


@pytest.mark.parametrize("piece", ["!`", "@a/", "$ARGUMENTS ", "$1 ", "<a> ", "a|b|"])
def test_no_text_takes_longer_than_its_length(piece: str) -> None:
    assert load(piece * 20_000).agents
    parse_arguments(piece * 20_000, piece * 20_000)
