"""Which files of a tree count, as what, and what cannot be read."""

import os
from pathlib import Path

import pytest

from retinue.agents.lint import collect_files, source_files as files_module
from retinue.agents.lint.source_files import kind_of
from retinue.errors import InvalidInput, MissingFile
from tests.agents.trees import lint, markdown, put, tool

FRONT = b"---\nname: a\ndescription: b\n---\n"
CARD = b'{"name": "a", "description": "b", "input_schema": {}}'
AGENT = b"from retinue import agent\n\n@agent\ndef f(): ...\n"


@pytest.mark.parametrize(
    ("path", "data", "kind"),
    [
        (".claude/agents/weather.md", b"no front matter", "agent"),
        (".claude/agents/deep/er/weather.md", FRONT, "agent"),
        (".claude/agents/prompts/weather.md", b"a prompt", None),
        (".claude/agents/README.md", b"# The agents", None),
        (".claude/agents/README.md", b"**Agent:** x", "text"),
        (".claude/agents/README.md", FRONT, "agent"),
        (".claude/commands/git/sync.md", b"", "command"),
        (".claude/commands/README.md", b"# The commands", None),
        (".claude/docs/guides/commands/sync.md", b"# How to sync", None),
        (".claude/skills/x/SKILL.md", b"", "skill"),
        (".claude/skills/x/skill.md", b"", "skill"),
        (".claude/skills/x/references/more.md", b"text", None),
        ("skills/x/agents/grader.md", b"a prompt", None),
        ("skills/x/agents/grader.md", FRONT, "agent"),
        ("skills/x/commands/do.md", b"", "command"),
        ("skills/x/assets/data.json", b"{}", None),
        ("agents/x.json", b"{", "json"),
        ("agents/x.json", b'{"descripton": "b", "name": "a"}', "json"),
        ("agents/registry.json", b'{"agents": {}}', None),
        ("agents/schema.json", b'{"$schema": "x", "description": "b"}', None),
        ("tools/x.json", CARD, "json"),
        ("tools/x.json", b"[" + CARD + b", 3]", "json"),
        ("tools/x.json", b"{", None),
        ("package.json", b'{"name": "a", "description": "b"}', None),
        ("post.md", FRONT, "agent"),
        ("docs/use.md", b"subagent_type: weather", "text"),
        ("docs/use.md", b"nothing", None),
        ("src/a.py", AGENT, "python"),
        ("src/test_a.py", AGENT, None),
        ("tests/a.py", AGENT, None),
        ("src/a.py", b"@agent\ndef f(): ...", None),
        ("src/a.py", b"AGENT_OPERATIONS = {}", "text"),
    ],
)
def test_a_file_is_what_its_place_or_else_its_content_says(path: str, data: bytes, kind: str | None) -> None:
    assert kind_of(path.split("/"), data) == kind


def test_files_come_sorted_and_each_once(tmp_path: Path) -> None:
    first = put(tmp_path / "agents" / "a.md", markdown("a"))
    put(tmp_path / "agents" / "b.md", markdown("b"))
    (tmp_path / "agents" / "link.md").symlink_to(first)
    names = [file.path.name for file in collect_files([tmp_path, first, tmp_path / "agents"])]
    assert names == ["a.md", "b.md"]


def test_hidden_and_foreign_folders_are_not_entered(tmp_path: Path) -> None:
    for folder in (".git", "node_modules", "__pycache__", ".venv"):
        put(tmp_path / folder / "agents" / "a.md", markdown("a"))
    put(tmp_path / ".retinue" / "agents" / "b.md", markdown("b"))
    assert [file.path.name for file in collect_files([tmp_path])] == ["b.md"]


def test_a_file_named_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    for name, kind in (("a.md", "agent"), ("b.json", "json"), ("c.py", "python"), ("SKILL.md", "skill")):
        (file,) = collect_files([put(tmp_path / name, "x")])
        assert file.kind == kind


def test_what_is_not_there_or_no_definition_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        collect_files([tmp_path / "gone"])
    with pytest.raises(InvalidInput, match="is not a definition"):
        collect_files([put(tmp_path / "a.txt", "x")])


def test_more_definitions_than_anybody_reads_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_FILES", 1)
    put(tmp_path / "agents" / "a.md", markdown("a"))
    put(tmp_path / "README.md", "**Agent:** a")
    assert len(collect_files([tmp_path])) == 2
    put(tmp_path / "agents" / "b.md", markdown("b"))
    with pytest.raises(InvalidInput, match="more than 1 definitions"):
        collect_files([tmp_path])


def test_what_cannot_be_read_is_a_finding_where_a_definition_was_meant(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "circle.md").symlink_to("circle.md")
    (tmp_path / "circle.md").symlink_to("circle.md")
    os.mkfifo(tmp_path / "agents" / "pipe.json")
    put(tmp_path / "agents" / "large.json", " " * (2**20 + 1))
    put(tmp_path / "agents" / "bytes.md", "").write_bytes(b"---\nname: \xff\n---\n")
    found = lint(tmp_path)
    assert {Path(each.file or "").name for each in found} == {"circle.md", "pipe.json", "large.json", "bytes.md"}
    assert all(each.rule.startswith("load/") and each.severity == "error" for each in found)


def test_a_name_that_is_no_utf8_is_shown_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.json")).write_text("{", encoding="utf-8")
    assert {each.file for each in lint(tmp_path)} == {f"{folder.as_posix()}/\\xff.json"}


def test_a_python_tool_is_judged_and_never_run(tmp_path: Path) -> None:
    put(tmp_path / "boom.py", "import retinue\nraise SystemExit\n@retinue.agent\ndef f(a): ...\n")
    put(tmp_path / "w.json", tool())
    assert "python/annotation" in {each.rule for each in lint(tmp_path)}
