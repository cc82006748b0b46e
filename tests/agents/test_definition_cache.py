"""What definition files say is kept between runs by their content; what did not change is not parsed again."""

import json
from pathlib import Path

import pytest

from retinue.agents import definition_files
from retinue.agents.discover import discover
from retinue.agents.registry import Registry
from retinue.agents.wrapped import CommandAgent

AGENT = "---\nname: {}\ndescription: Reviews. Use it.\nmore: [1, 2.5, null, {{deep: null}}]\n---\nYou are a reviewer.\n"
OPERATIONS = "## Operations\n- `find_it`: finds it.\n- `fix_it`: fixes it.\n"
TOOL = {"name": "teller", "description": "Tells. Use it.", "input_schema": {"type": "object", "default": None}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    files = {
        ".claude/agents/reviewer.md": AGENT.format("reviewer") + OPERATIONS,
        ".claude/agents/broken.md": "---\nname: [\n---\n",
        ".claude/commands/git/sync.md": "Run !`git pull` with @docs/a.md as $1.\n",
        ".claude/skills/pdf/SKILL.md": AGENT.format("pdf"),
        ".claude/skills/pdf/a.py": "",
        "agents/teller.json": json.dumps(TOOL),
        ".retinue/agents/runner.json": json.dumps({**TOOL, "name": "runner", "command": ["./run"]}),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are parsed, in their order."""
    files: list[str] = []
    load = definition_files.load

    def noted(data: bytes, **more: object) -> object:
        files.append(str(more["file"]))
        return load(data, **more)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(definition_files, "load", noted)
    return files


def facts(registry: Registry) -> object:
    return registry.definitions(), registry.skipped, registry.findings


def test_the_second_time_nothing_is_parsed_and_the_same_is_said(root: Path, tmp_path: Path, parsed: list[str]) -> None:
    fresh = discover(root, trusted=False)
    first = discover(root, trusted=False, cache_dir=tmp_path / "kept")
    parsed.clear()
    second = discover(root, trusted=False, cache_dir=tmp_path / "kept")
    assert parsed == []
    assert facts(second) == facts(first) == facts(fresh)
    assert [skill.name for skill in second.get("reviewer").definition.skills] == ["reviewer", "find_it", "fix_it"]
    assert {each.path for each in second.skipped} == {".claude/agents/broken.md", ".retinue/agents/runner.json"}


def test_only_what_changed_is_parsed(root: Path, tmp_path: Path, parsed: list[str]) -> None:
    discover(root, trusted=False, cache_dir=tmp_path / "kept")
    parsed.clear()
    (root / ".claude/agents/reviewer.md").write_text(AGENT.format("checker"), encoding="utf-8")
    (root / ".claude/skills/pdf/b.py").touch()
    (root / "agents/teller.json").unlink()
    registry = discover(root, trusted=False, cache_dir=tmp_path / "kept")
    assert sorted(parsed) == [".claude/agents/reviewer.md", ".claude/skills/pdf/SKILL.md"]
    assert [each.name for each in registry.definitions()] == ["checker", "command_git_sync", "pdf"]
    assert facts(registry) == facts(discover(root, trusted=False))
    (kept,) = (tmp_path / "kept").iterdir()
    assert b"teller" not in kept.read_bytes()


def test_trust_is_asked_each_time(root: Path, tmp_path: Path) -> None:
    for trusted in (True, False, True):
        registry = discover(root, trusted=trusted, cache_dir=tmp_path / "kept")
        running = [each for each in registry if isinstance(each, CommandAgent)]
        assert [each.definition.name for each in running] == ["runner"] * trusted


@pytest.mark.parametrize("damage", ["cut", "text", "link", "other code", "other shape"])
def test_a_damaged_or_foreign_file_counts_as_none(root: Path, tmp_path: Path, parsed: list[str], damage: str) -> None:
    discover(root, trusted=False, cache_dir=tmp_path / "kept")
    (kept,) = (tmp_path / "kept").iterdir()
    head, _, body = kept.read_bytes().partition(b"\n")
    match damage:
        case "cut":
            kept.write_bytes(head + b"\n" + body[:-9])
        case "text":
            kept.write_bytes(b"\xff\n\0")
        case "link":
            kept.rename(tmp_path / "elsewhere")
            kept.symlink_to(tmp_path / "elsewhere")
        case "other code":
            kept.write_bytes(b"0" + head[1:] + b"x\n" + body)
        case _:
            kept.write_bytes(head + b'\n{"x":{"definitions":[{"name":1}]}}')
    parsed.clear()
    assert facts(discover(root, trusted=False, cache_dir=tmp_path / "kept")) == facts(discover(root, trusted=False))
    assert len(parsed) == 2 * 6


def test_projects_are_kept_apart(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "agents").mkdir(parents=True)
    (other / "agents/teller.json").write_text(json.dumps({**TOOL, "name": "other"}), encoding="utf-8")
    for folder, there in ((root, 4), (other, 1), (root, 4)):
        assert len(discover(folder, trusted=False, cache_dir=tmp_path / "kept")) == there
