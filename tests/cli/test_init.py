"""`retinue init --claude`: what Claude Code is given follows from the definitions, and what a person wrote stays."""

import json
import re
import sys
from pathlib import Path

import pytest

from retinue.catalogue import agents
from tests.cli.conftest import Give

DEFINITIONS = {
    name: agent.definition for agent in agents() if (name := agent.definition.wire_names.get("markdown_json"))
}


def written(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((folder / ".claude").rglob("*.md"))
    }


@pytest.mark.requirement("K21", "K27", "C27")
def test_what_is_written_passes_our_own_lint_without_a_note(retinue: Give, folder: Path) -> None:
    said = retinue("init", "--claude", "--json")
    assert said.code == 0
    assert set(said.data["created"]) == set(written(folder))
    assert len(said.data["created"]) == 1 + 2 * len(DEFINITIONS)
    found = retinue("lint", ".claude", "--notes", "--strict", "--json")
    assert (found.code, found.data["findings"]) == (0, [])


@pytest.mark.requirement("K21", "K23", "K27")
@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_operation_is_described_called_and_listed(retinue: Give, folder: Path, name: str) -> None:
    retinue("init", "--claude")
    files, definition = written(folder), DEFINITIONS[name]
    agent, command = files[f".claude/agents/{name}.md"], files[f".claude/commands/{name}.md"]
    for skill in definition.skills:
        operation = skill.name.replace("_", "-")
        assert f"### `{operation}`\n\n{skill.description}\n" in agent
        assert f"**Agent:** {name}\n**Operation:** {operation}\n**Target:** $2\n" in command
        assert re.search(rf"\| `{name}` \|.*`{operation}`", files[".claude/AGENT_CONTRACT.md"])
        for member in (skill.output_schema or {}).get("properties", {}):
            assert f"- Result {member} (" in agent
    statuses = [json.loads(block)["status"] for block in re.findall(r"```json\n(.*?)```", agent, re.DOTALL)]
    assert statuses == ["success", "partial", "error"]
    assert "[AGENT_CONTRACT.md](../AGENT_CONTRACT.md), version 1.0" in agent


@pytest.mark.requirement("K24", "K26")
def test_a_command_says_what_to_do_with_each_kind_of_answer(retinue: Give, folder: Path) -> None:
    retinue("init", "--claude")
    command = written(folder)[".claude/commands/git-state-analyzer.md"]
    assert "retinue parse --dialect markdown_json --level strict" in command
    for words in ("warning with its impact and recovery", "`recovery_suggestions`", "failed to respond"):
        assert words in command


@pytest.mark.requirement("C27")
@pytest.mark.parametrize(
    ("file", "before", "after", "rule"),
    [
        ("commands/git-state-analyzer.md", "**Operation:** branch-status", "**Operation:** branch-state", "call/operation"),
        ("commands/git-state-analyzer.md", "**Agent:** git-state-analyzer", "**Agent:** git-analyser", "call/agent"),
        ("AGENT_CONTRACT.md", "`branch-status`", "`branch-state`", "operation/differs"),
        ("AGENT_CONTRACT.md", "**Version:** 1.0", "**Version:** 1.1", "contract/version"),
        ("agents/git-state-analyzer.md", "**Contract:** This agent follows", "See", "contract/line"),
    ],
)  # fmt: skip
def test_what_is_changed_by_hand_so_that_it_no_longer_agrees_is_found(
    retinue: Give, folder: Path, *, file: str, before: str, after: str, rule: str
) -> None:
    retinue("init", "--claude")
    path = folder / ".claude" / file
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert rule in {one["rule"] for one in retinue("lint", ".claude", "--json").data["findings"]}


def test_nothing_that_a_person_wrote_is_overwritten_without_force(retinue: Give, folder: Path) -> None:
    path = folder / ".claude" / "agents" / "git-state-analyzer.md"
    path.parent.mkdir(parents=True)
    path.write_text("Mine.\n", encoding="utf-8")
    first = retinue("init", "--claude", "--json").data
    assert first["kept"] == [".claude/agents/git-state-analyzer.md"]
    assert path.read_text(encoding="utf-8") == "Mine.\n"
    other = folder / ".claude" / "commands" / "pattern-discovery.md"
    other.write_bytes(other.read_bytes().replace(b"\n", b"\r\n"))
    second = retinue("init", "--claude")
    assert (second.code, second.out.count("unchanged"), second.out.count("kept")) == (0, 2 * len(DEFINITIONS), 1)
    forced = retinue("init", "--claude", "--force", "--json").data
    assert (forced["updated"], forced["kept"]) == ([".claude/agents/git-state-analyzer.md"], [])
    assert "Mine." not in path.read_text(encoding="utf-8")


def test_a_check_writes_nothing_and_says_what_is_out_of_date(retinue: Give, folder: Path) -> None:
    missing = retinue("init", "--claude", "--check")
    assert (missing.code, written(folder)) == (6, {})
    assert "missing" in missing.out
    retinue("init", "--claude")
    assert retinue("init", "--claude", "--check").code == 0
    # As an earlier version wrote it: other words, and the digest of these.
    path = folder / ".claude" / "AGENT_CONTRACT.md"
    text = path.read_text(encoding="utf-8").replace("Paths are relative", "Paths were relative")
    path.write_text(text, encoding="utf-8")
    assert retinue("init", "--claude", "--check", "--json").data["kept"] == [".claude/AGENT_CONTRACT.md"]
    from retinue.agents.write import claude_code

    plain = re.sub("changed: [0-9a-f]{16}", "changed: {}", text)
    digest = claude_code._digest(plain)  # pyright: ignore[reportPrivateUsage]
    path.write_text(plain.replace("changed: {}", f"changed: {digest}"), encoding="utf-8")
    stale = retinue("init", "--claude", "--check")
    assert (stale.code, "out of date" in stale.out) == (6, True)
    assert retinue("init", "--claude", "--json").data["updated"] == [".claude/AGENT_CONTRACT.md"]


def test_a_link_out_of_the_project_is_not_followed(
    retinue: Give, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (folder / ".claude").symlink_to(outside)
    said = retinue("init", "--claude")
    assert (said.code, list(outside.iterdir())) == (2, [])


@pytest.mark.requirement("K21", "K30")
def test_the_written_agent_does_not_hide_the_one_that_it_asks(retinue: Give, folder: Path) -> None:
    retinue("init", "--claude")
    listed = retinue("agents", "git_state_analyzer", "--json").data
    assert [one["name"] for one in listed["skills"]][:2] == ["branch_status", "commit_analysis"]
    block = "**Agent:** git-state-analyzer\n**Operation:** branch-state\n**Target:** main\n**Context:** Before work.\n"
    answer = json.loads(retinue("ask", "--in", "markdown_json", stdin=block).out)
    assert (answer["status"], answer["error_type"], answer["agent"]) == ("error", "invalid_input", "git-state-analyzer")
    assert "branch_status" in json.dumps(answer)
    unknown = retinue("ask", "--in", "markdown_json", stdin=block.replace("git-state", "git-stat"))
    assert unknown.code == 2
    assert "git_state_analyzer" in unknown.err
    assert "git_state_analyzer" in json.dumps(json.loads(unknown.out)["recovery_suggestions"])


@pytest.mark.requirement("K2", "K24", "C25", "C26")
def test_a_block_is_answered_by_an_envelope_whatever_it_says_beside_its_operation(retinue: Give, folder: Path) -> None:
    (folder / "conftest.py").write_text("import pytest\n\n\n@pytest.fixture\ndef shop():\n    return 1\n")
    block = "**Agent:** pattern-discovery\n**Operation:** full-survey\n**Target:** .\n**Context:** {}\n"
    for context in ("Pre-work validation before starting story", "which fixtures are there"):
        answer = json.loads(retinue("ask", "--in", "markdown_json", stdin=block.format(context)).out)
        assert (answer["agent"], answer["operation"]) == ("pattern-discovery", "full-survey")
        assert answer["status"] in {"success", "partial"}
    for text in ("Hello!", "", block.format("x").replace("**Operation:** full-survey", "")):
        said = retinue("ask", "pattern-discovery", "--in", "markdown_json", stdin=text)
        answer = json.loads(said.out)
        assert (answer["status"], answer["agent"], said.code in {2, 5, 6}) == ("error", "pattern-discovery", True)
        assert isinstance(answer["metadata"]["execution_time_ms"], int)


@pytest.mark.slow
@pytest.mark.requirement("K23", "K29", "K30")
def test_the_command_that_a_written_agent_runs_conforms(retinue: Give, folder: Path) -> None:
    (folder / "tests").mkdir()
    (folder / "tests" / "test_a.py").write_text("def test_a():\n    assert True\n", encoding="utf-8")
    retinue("init", "--claude")
    agent = written(folder)[".claude/agents/pattern-discovery.md"]
    found = re.search(r"`retinue (ask pattern-discovery --in markdown_json)`", agent)
    assert found is not None
    program = f"{sys.executable} -m retinue {found[1]}"
    said = retinue(
        "check", "--command", program, "--dialect=markdown_json", "--agent=pattern-discovery",
        "--operation=full-survey", "--target=tests", "--json",
    )  # fmt: skip
    broken = {each["id"]: each["wrong"] for each in said.data["requirements"] if each["outcome"] == "failed"}
    assert broken == {}
