"""What an agent may do, walked from the command to the file: a model that does what it was told not to, and real tools."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.llm.wire.script import Call, Reply
from tests.llm.wire.server import WireServer
from tests.llm.wire.test_command import retinue

AGENT = """\
---
name: clerk
description: Keeps files in order. Use when files must be kept. Returns what was done.
{keys}
---
You keep files.
"""


class Office:
    """A folder with one agent that thinks, the user's own permissions, and a model that follows a script."""

    def __init__(self, top: Path, *, permissions: str = "", keys: str = "") -> None:
        self.folder = top / "office"
        place = self.folder / ".claude" / "agents"
        place.mkdir(parents=True)
        (place / "clerk.md").write_text(AGENT.format(keys=keys).replace("\n\n", "\n", 1), encoding="utf-8")
        self._config = self.folder / "own" / "config" / "config.toml"
        self._config.parent.mkdir(parents=True)
        self._permissions = permissions

    def ask(self, *calls: Call, words: Sequence[str] = ("ask", "clerk", "Do it")) -> tuple[dict[str, Any], str]:
        """What the command came to as data, and what its model was told of its tools."""
        script = [*(Reply(calls=(call,)) for call in calls), Reply("Done.")]
        with WireServer(script) as server:
            self._config.write_text(
                f'[models]\ndefault = "openai:some-model"\n[models.base_url]\nopenai = "{server.url}/v1"\n'
                f"[permissions]\n{self._permissions}\n",
                encoding="utf-8",
            )
            said = retinue(self.folder, *words, "--json", OPENAI_API_KEY="x")
        assert said.returncode in {0, 1, 5}, said.stderr
        return json.loads(said.stdout), json.dumps(server.asked[-1].body)


def write(path: str) -> Call:
    return Call("write", {"path": path, "content": "x\n"})


def other_ways(office: Path) -> list[str]:
    """Paths that lead to `docs/a.md` and do not look like it."""
    (office / "docs").mkdir()
    (office / "open").symlink_to("docs")
    return [
        f"../{office.name}/docs/a.md",
        f"/proc/self/root{office}/docs/a.md",
        "open/a.md",
        "open/../docs/a.md",
        "./docs//a.md",
        str(office / "docs" / "a.md"),
        str(office / "open" / "a.md"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["write(docs/**)", "edit(docs/*)", "write(/{root}/docs/**)"])
def test_a_file_that_may_not_be_written_is_not_written_by_any_of_its_names(tmp_path: Path, rule: str) -> None:
    root = os.path.realpath(tmp_path / "office")
    office = Office(tmp_path, permissions=f'mode = "accept_edits"\ndeny = ["{rule.format(root=root)}"]')
    ways = other_ways(office.folder)
    _, told = office.ask(*map(write, ways), write("free.md"))
    assert not (office.folder / "docs" / "a.md").exists()
    assert (office.folder / "free.md").read_text() == "x\n"
    assert told.count("the rule deny") == len(ways)


@pytest.mark.slow
def test_a_rule_that_denies_a_link_holds_for_what_is_written_through_it(tmp_path: Path) -> None:
    office = Office(tmp_path, permissions='mode = "accept_edits"\ndeny = ["write(open/**)"]')
    other_ways(office.folder)
    office.ask(write("open/a.md"), write("open/../open/b.md"))
    assert list((office.folder / "docs").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["docs/**", "/{root}/docs/**"])
def test_a_rule_that_allows_a_folder_allows_nothing_that_a_link_in_it_leads_to(tmp_path: Path, rule: str) -> None:
    root = os.path.realpath(tmp_path / "office")
    office = Office(tmp_path, permissions=f'allow = ["write({rule.format(root=root)})"]')
    for name in ("src", "docs"):
        (office.folder / name).mkdir()
    (office.folder / "docs" / "up").symlink_to("../src")
    (office.folder / "src" / "back").symlink_to("../docs")
    _, told = office.ask(write("docs/up/x.py"), write("docs\\y.py"), write("src/back/a.md"))
    assert [path.name for path in (office.folder / "src").iterdir()] == ["back"]
    assert not (office.folder / "docs\\y.py").exists()
    assert (office.folder / "docs" / "a.md").exists()
    assert "it was not approved" in told


@pytest.mark.slow
def test_a_definition_that_reads_one_folder_reads_nothing_through_a_link_in_it(tmp_path: Path) -> None:
    office = Office(tmp_path, keys="tools: Read(docs/**), Grep(docs/**)")
    for name in ("src", "docs"):
        (office.folder / name).mkdir()
    (office.folder / "docs" / "up").symlink_to("../src")
    (office.folder / "docs" / "a.md").write_text("plain words\n")
    (office.folder / "src" / "x.py").write_text("zanzibar = 1\n")
    _, told = office.ask(
        Call("read", {"path": "docs/up/x.py"}),
        Call("grep", {"pattern": "zan", "files": "docs/up/*.py"}),
        Call("grep", {"pattern": "zan", "files": "docs/**"}),
        Call("read", {"path": "docs/a.md"}),
    )
    assert "zanzibar" not in told
    assert "plain words" in told


RIGHTS = [
    ".claude/settings.json", ".claude/agents/other.md", ".mcp.json", "retinue.toml", "sub/retinue.toml",
    ".github/workflows/ci.yml", ".vscode/tasks.json", ".envrc", ".CLAUDE/settings.json", "link/settings.json",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["accept_edits", "bypass_permissions"])
def test_files_that_grant_rights_are_asked_about_in_every_mode(tmp_path: Path, mode: str) -> None:
    office = Office(tmp_path, permissions=f'mode = "{mode}"\nallow = ["write(**)", "edit", "write(*.json)"]')
    (office.folder / "link").symlink_to(".claude")
    before = {path: path.stat().st_mtime_ns for path in office.folder.rglob("*") if path.is_file()}
    _, told = office.ask(*map(write, RIGHTS), write("plain.json"))
    changed = {path.name for path in office.folder.rglob("*") if path.is_file() and path not in before}
    assert {name for name in changed if name.endswith((".json", ".md", ".yml", ".envrc"))} == {"plain.json"}
    assert told.count("it was not approved") == len(RIGHTS)


@pytest.mark.slow
def test_a_rule_that_names_a_file_that_grants_rights_allows_it(tmp_path: Path) -> None:
    office = Office(tmp_path, permissions='allow = ["write(.github/workflows/*)"]')
    office.ask(write(".github/workflows/ci.yml"), write(".mcp.json"))
    assert (office.folder / ".github" / "workflows" / "ci.yml").exists()
    assert not (office.folder / ".mcp.json").exists()


MAKER = {
    "name": "maker",
    "description": "Makes a file. Use when a file must be made. Returns what was made.",
    "input_schema": {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
    "command": ["./maker"],
}


def with_maker(office: Office, **facts: object) -> None:
    """Put a program beside the agent, in a folder that the user trusts."""
    program, place = office.folder / "maker", office.folder / ".retinue" / "agents" / "maker.json"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho made > made.txt\necho '{\"made\": true}'\n")
    program.chmod(0o755)
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({**MAKER, **facts}))
    assert retinue(office.folder, "trust", "--yes").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["plan", "dont_ask", "default", "accept_edits"])
def test_a_program_that_does_not_say_what_it_touches_is_not_run_unasked(tmp_path: Path, mode: str) -> None:
    office = Office(tmp_path, permissions=f'mode = "{mode}"')
    with_maker(office)
    _, told = office.ask(Call("delegate", {"agent": "maker", "instruction": "Make it"}))
    assert not (office.folder / "made.txt").exists()
    assert "it may read and write and network" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("permissions", "facts"),
    [('allow = ["delegate(maker)"]', {}), ('mode = "dont_ask"', {"effects": []}), ('mode = "plan"', {"effects": []})],
)
def test_a_program_runs_where_a_rule_allows_it_or_it_says_that_it_touches_nothing(
    tmp_path: Path, permissions: str, facts: dict[str, object]
) -> None:
    office = Office(tmp_path, permissions=permissions)
    with_maker(office, **facts)
    office.ask(Call("delegate", {"agent": "maker", "instruction": "Make it"}))
    assert (office.folder / "made.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("words", [("ask", "maker", "Make it"), ("run", "--agent", "maker", "make a file")])
def test_the_mode_plan_holds_for_an_agent_that_the_user_calls_too(tmp_path: Path, words: tuple[str, ...]) -> None:
    office = Office(tmp_path, permissions='mode = "plan"')
    with_maker(office)
    said = retinue(office.folder, *words, RETINUE_PERMISSIONS_MODE="plan")
    assert said.returncode != 0
    assert "does not declare its effects" in said.stderr + said.stdout
    assert not (office.folder / "made.txt").exists()


ODD = """
[permissions]
allow = ["Bash(git log:*)", "Bash(make test:*)"]
deny = ["Raed(.env)", "Read(~/.env)", "Read('.env')", "WebFetch(example.org)", "Read(.env)", "mcp__x", "NOTES_*"]
"""
TOLD = ["can write: by `--output`", "there is no tool `Raed`", "(~/.env)` fits nothing", "quotes", "`domain:`"]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("config", "show"), ("doctor",), ("run", "do something odd")])
def test_rules_that_fit_nothing_or_can_write_are_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    config = tmp_path / "own" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(ODD)
    said = retinue(tmp_path, *words)
    shown = " ".join((said.stdout + said.stderr).split())
    for told in TOLD:
        assert told in shown
    for sound in ("make test", "'Read(.env)'", "mcp__x", "NOTES_"):
        assert f"holds {sound}" not in shown
        assert f"holds '{sound}" not in shown


@pytest.mark.slow
def test_a_rule_with_empty_parentheses_allows_no_program(tmp_path: Path) -> None:
    config = tmp_path / "own" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\nallow = ["Bash()"]\n')
    said = retinue(tmp_path, "run", "what changed")
    assert said.returncode != 0
    assert "Bash()" in said.stderr
    assert "no pattern between its parentheses" in retinue(tmp_path, "config", "show").stderr


@pytest.mark.slow
def test_an_agent_whose_limit_would_not_hold_is_no_agent_and_lint_says_why(tmp_path: Path) -> None:
    office = Office(tmp_path, keys="deniedTools: Bash\npermissionMode: yolo\nmaxTurns: 0")
    linted = retinue(office.folder, "lint", ".claude")
    assert linted.returncode == 6
    for told in ("deniedTools", "yolo", "maxTurns"):
        assert told in linted.stdout
    assert retinue(office.folder, "ask", "clerk", "Do it", RETINUE_MODELS_DEFAULT="openai:x").returncode != 0
