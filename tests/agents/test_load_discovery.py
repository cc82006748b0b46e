"""Skills and commands of a project: found like agents, beside them, and passed over with a reason."""

from pathlib import Path

import pytest

from retinue.agents.definition_files import load_file
from retinue.agents.definition_folders import files_beside
from retinue.agents.discover import discover
from retinue.agents.load import NEEDS_MODEL
from retinue.agents.load.kinds import Kind, find_definition_files, kind_of
from retinue.agents.registry import Registry
from retinue.errors import InvalidInput

AGENT = "---\nname: {}\ndescription: Reviews. Use it.\n---\nYou are a reviewer.\n"


def put(root: Path, name: str, text: str = "Do it.\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def passed_over(registry: Registry) -> dict[str, str]:
    return {each.path: each.reason for each in registry.skipped}


def test_agents_skills_and_commands_of_one_name_live_side_by_side(tmp_path: Path) -> None:
    put(tmp_path, ".claude/agents/review.md", AGENT.format("review"))
    put(tmp_path, ".claude/commands/review.md")
    put(tmp_path, ".claude/commands/git/review.md")
    put(tmp_path, ".claude/skills/pdf/SKILL.md", AGENT.format("pdf"))
    put(tmp_path, ".claude/skills/pdf/scripts/x.py")
    put(tmp_path, ".claude/skills/pdf/.hidden/y")
    put(tmp_path, "skills/csv/skill.md", AGENT.format("csv"))
    put(tmp_path, ".retinue/skills/log/SKILL.md", AGENT.format("log"))
    registry = discover(tmp_path, trusted=False)
    assert registry.skipped == ()
    names = [definition.name for definition in registry.definitions()]
    assert names == ["command_git_review", "command_review", "csv", "log", "pdf", "review"]
    assert registry.get("pdf").definition.extras == {"files": ["scripts/x.py"]}
    assert registry.get("command-git-review").definition.extras["command"] == "/git:review"
    assert {skill.unavailable for each in registry.definitions() for skill in each.skills} == {NEEDS_MODEL}


def test_an_agent_keeps_its_name_before_a_skill(tmp_path: Path) -> None:
    put(tmp_path, ".claude/agents/review.md", AGENT.format("review"))
    put(tmp_path, ".claude/skills/review/SKILL.md", AGENT.format("review"))
    registry = discover(tmp_path, trusted=False)
    source = registry.get("review").definition.source
    assert source is not None
    assert source.file == ".claude/agents/review.md"
    assert "Two agents are called `review`" in passed_over(registry)[".claude/skills/review/SKILL.md"]


def test_what_is_no_skill_is_passed_over_with_a_reason(tmp_path: Path) -> None:
    put(tmp_path, ".claude/skills/empty/notes.txt")
    put(tmp_path, ".claude/skills/loose.md")
    put(tmp_path, ".claude/skills/bad/SKILL.md", "---\nname: bad\n---\nx")
    put(tmp_path, ".claude/commands/notes.txt")
    put(tmp_path, "skills/whatever/readme.md")
    put(tmp_path, "skills/file.txt")
    target = put(tmp_path, "elsewhere/SKILL.md", AGENT.format("elsewhere")).parent
    (tmp_path / ".claude/skills/linked").symlink_to(target)
    registry = discover(tmp_path, trusted=False)
    assert len(registry) == 0
    reasons = passed_over(registry)
    assert {name.rpartition("skills/")[2]: reason for name, reason in reasons.items()} == {
        "empty": "There is no `SKILL.md` in the folder.",
        "loose.md": "A skill is a folder with `SKILL.md` in it, and this is a file.",
        "bad/SKILL.md": "`description` is missing.",
        "linked": "A link to a folder is not followed.",
        ".claude/commands/notes.txt": "Files that end with '.txt' are not agents here.",
    }
    assert all(each.hint for each in registry.skipped)


def test_a_skill_file_that_leads_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    secret = put(tmp_path, "outside/SKILL.md", AGENT.format("secret"))
    folder = tmp_path / "project" / ".claude" / "skills" / "secret"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to(secret)
    registry = discover(tmp_path / "project", trusted=False)
    assert len(registry) == 0
    assert "leads out" in passed_over(registry)[".claude/skills/secret/SKILL.md"]


@pytest.mark.parametrize(
    ("file", "data", "kind"),
    [
        (".claude/agents/x.md", b"", "markdown"),
        ("x.md", b"", "markdown"),
        ("a/SKILL.md", b"", "skill"),
        (".claude/commands/skill.md", b"", "skill"),
        (".claude/commands/agents/x.md", b"", "command"),
        (".claude/agents/commands/x.md", b"", "markdown"),
        ("plugin/commands/x.MD", b"", "command"),
        ("commands/agents/x.md", b"", "markdown"),
        ("x.json", b"{", "json"),
        ("x.json", b'{"capabilities": ', "json"),
        ("x.json", b'{"name": "capabilities"}', "json"),
        ("x.json", b'{"capabilities": []}', "agent_json"),
        ("x.json", b'{"skills": [], "supportedInterfaces": []}', "a2a"),
        ("x.toml", b"", None),
    ],
)
def test_name_place_and_content_say_what_a_file_is(file: str, data: bytes, kind: Kind | None) -> None:
    assert kind_of(file, data) == kind


def test_folders_and_files_that_are_too_many_too_deep_or_closed_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retinue.agents.definition_folders._MAX_FILES", 1)
    monkeypatch.setattr("retinue.agents.definition_folders._MAX_BESIDE", 2)
    monkeypatch.setattr("retinue.agents.definition_folders._MAX_DEPTH", 2)
    put(tmp_path, ".claude/commands/a.md")
    put(tmp_path, ".claude/commands/b.md")
    put(tmp_path, ".claude/agents/a/b/deep.md")
    skill = put(tmp_path, "skills/x/SKILL.md", AGENT.format("x"))
    for name in ("1", "2", "3", "a/b/c/4"):
        put(skill.parent, name)
    reasons = passed_over(discover(tmp_path, trusted=False))
    assert "more than 1 definitions" in reasons[".claude/commands/b.md"]
    assert reasons[".claude/agents/a/b"] == "The folder is too deep to be searched."
    assert files_beside(skill) == ("1", "2")
    monkeypatch.setattr("retinue.agents.definition_folders._MAX_BESIDE", 9)
    assert files_beside(skill) == ("1", "2", "3")


def test_a_file_can_be_read_as_what_somebody_says_it_is(tmp_path: Path) -> None:
    path = put(tmp_path, "prompt.txt", "Fix $ARGUMENTS")
    assert load_file(path).errors[0].rule == "discovery/unknown-kind"
    assert load_file(path, kind="command").agents[0].definition.name == "command_prompt"


def test_definitions_are_gathered_from_a_folder_of_anything(tmp_path: Path) -> None:
    expected = [
        put(tmp_path, ".claude/agents/a.md"),
        put(tmp_path, ".claude/commands/deep/b.md"),
        put(tmp_path, "plugin/skills/c/SKILL.md"),
        put(tmp_path, "docs/d.md", AGENT.format("d")),
        put(tmp_path, "docs/e.json", '[{"name": "e", "description": "x", "input_schema": {}}]'),
    ]
    put(tmp_path, "plugin/skills/c/reference/f.md", AGENT.format("f"))
    put(tmp_path, "README.md", "# x\n")
    put(tmp_path, "package.json", '{"name": "x", "description": "y"}')
    put(tmp_path, "broken.json", "{")
    put(tmp_path, ".git/agents/g.md")
    put(tmp_path, "node_modules/agents/h.md")
    put(tmp_path, "agents/i.txt")
    assert find_definition_files(tmp_path) == tuple(sorted(expected))
    assert find_definition_files(tmp_path / ".claude/agents") == (expected[0],)


def test_too_many_definitions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retinue.agents.load.kinds.MAX_FILES", 1)
    put(tmp_path, "agents/a.md")
    put(tmp_path, "agents/b.md")
    with pytest.raises(InvalidInput, match="more than 1 definitions"):
        find_definition_files(tmp_path)
