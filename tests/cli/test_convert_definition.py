"""`retinue convert-definition`."""

import json
from pathlib import Path

import pytest

from retinue.errors import AccessDenied
from tests.cli.conftest import Give

AGENT = """---
name: {name}
description: Reviews a change. Use it before a merge. Returns a list of remarks.
tools: Read, Grep
model: opus
color: red
---

You are a reviewer.
"""
TOOL = {
    "name": "weather",
    "description": "Says what the sky will be like.",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def house(folder: Path) -> Path:
    """A project with agents, a command and a skill."""
    put(folder, ".claude/agents/code-review.md", AGENT.format(name="code-review"))
    put(folder, ".claude/agents/team/security.md", AGENT.format(name="security"))
    put(folder, ".claude/commands/git/sync.md", "Sync $1.\n")
    put(folder, ".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\nDo.\n")
    put(folder, "README.md", "# Read me\n")
    return folder


def test_one_definition_goes_to_stdout_and_its_losses_to_stderr(retinue: Give, house: Path) -> None:
    said = retinue("convert-definition", "--to", "skill", ".claude/agents/code-review.md")
    assert said.code == 0
    assert said.out.startswith("---\nname: code-review\n")
    assert "lost code_review: /extras/color (the format has no word for it)" in said.err
    assert said.err.endswith("done: 1 definition converted, 1 with losses\n")


def test_a_whole_folder_is_migrated_at_once(retinue: Give, house: Path) -> None:
    said = retinue("convert-definition", ".", "--to", "json", "--output", "agents/")
    assert (said.code, said.out) == (0, "")
    assert sorted(path.name for path in (house / "agents").iterdir()) == [
        "code-review.json",
        "command-git-sync.json",
        "pdf.json",
        "security.json",
    ]
    assert json.loads((house / "agents/security.json").read_text())["instructions"] == "You are a reviewer."
    assert ".claude/agents/code-review.md → agents/code-review.json" in said.err
    assert said.err.endswith("done: 4 definitions converted\n")


def test_skills_get_a_folder_each(retinue: Give, house: Path) -> None:
    assert retinue("convert-definition", ".claude/agents", "--to", "skill", "-o", "out").code == 0
    assert (house / "out/code-review/SKILL.md").is_file()
    assert (house / "out/security/SKILL.md").is_file()


def test_nothing_is_replaced_unless_asked_to(retinue: Give, house: Path) -> None:
    put(house, "out/security.md", "mine")
    said = retinue("convert-definition", ".claude/agents", "--to", "markdown", "--output", "out")
    assert said.code == 2
    assert "'out/security.md' would be replaced." in said.err
    assert "--force" in said.err
    assert [path.name for path in (house / "out").iterdir()] == ["security.md"]
    assert (house / "out/security.md").read_text() == "mine"
    assert retinue("convert-definition", ".claude/agents", "--to", "markdown", "--output", "out", "--force").code == 0
    assert "You are a reviewer." in (house / "out/security.md").read_text()


def test_two_definitions_never_go_into_one_file(retinue: Give, house: Path) -> None:
    put(house, "more/security.md", AGENT.format(name="security"))
    said = retinue("convert-definition", ".claude/agents", "more", "--to", "json", "--output", "out/")
    assert said.code == 2
    assert "would both be written to 'out/security.json'" in said.err
    assert not (house / "out").exists()
    words = ("convert-definition", ".claude/agents", "more", "--to", "json", "--keep-folders")
    assert retinue(*words, "--output", "out").code == 0
    assert sorted(path.relative_to(house / "out").as_posix() for path in (house / "out").rglob("*.json")) == [
        "code-review.json",
        "security.json",
        "team/security.json",
    ]


def test_several_definitions_need_a_folder(retinue: Give, house: Path) -> None:
    said = retinue("convert-definition", ".claude/agents", "--to", "json")
    assert (said.code, said.out) == (2, "")
    assert "2 definitions were found. Name a folder for them with --output." in said.err


def test_strict_writes_nothing_that_would_lose_something(retinue: Give, house: Path) -> None:
    words = ("convert-definition", ".claude/agents/code-review.md", "--strict", "--to")
    said = retinue(*words, "skill", "--output", "out.md")
    assert (said.code, said.out) == (6, "")
    assert said.err.endswith("refused: 1 definition not converted, 1 with losses\n")
    assert not (house / "out.md").exists()
    assert retinue(*words, "json", "--output", "out.json").code == 0
    assert (house / "out.json").exists()


def test_the_name_of_the_output_says_the_format(retinue: Give, house: Path) -> None:
    assert retinue("convert-definition", ".claude/agents/code-review.md", "-o", "x.agent-card.json").code == 0
    assert json.loads((house / "x.agent-card.json").read_text())["skills"]
    said = retinue("convert-definition", ".claude/agents/code-review.md")
    assert said.code == 2
    assert "Name the format to write with --to" in said.err


def test_for_programs_everything_is_one_document(retinue: Give, house: Path) -> None:
    data = retinue("convert-definition", ".claude/skills", "--to", "a2a", "--url", "https://a.example", "--json").data
    (pdf,) = data["definitions"]
    assert (data["format"], pdf["name"], pdf["source"]) == ("a2a", "pdf", ".claude/skills/pdf/SKILL.md")
    assert json.loads(pdf["text"])["supportedInterfaces"][0]["url"] == "https://a.example"
    assert {loss["field"] for loss in pdf["losses"]} == {"/skills/0/unavailable", "/instructions"}
    written = retinue("convert-definition", ".claude/skills", "--to", "json", "--output", "out/", "--json").data
    assert written["definitions"][0]["file"] == "out/pdf.json"
    assert "text" not in written["definitions"][0]


def test_tools_come_and_go(retinue: Give, folder: Path) -> None:
    put(folder, "tools.json", json.dumps([TOOL, {**TOOL, "name": "tides"}]))
    assert retinue("convert-definition", "tools.json", "--to", "markdown", "--output", "out").code == 0
    said = retinue("convert-definition", "out/tides.md", "--to", "tool_use")
    assert json.loads(said.out) == {**TOOL, "name": "tides"}


def test_skills_of_one_agent_are_tools_and_one_agent_again(retinue: Give, folder: Path) -> None:
    skills = [{**TOOL, "name": "today"}, {**TOOL, "name": "tomorrow"}]
    put(folder, "sky.json", json.dumps({"name": "sky", "description": "Knows the sky.", "skills": skills}))
    put(folder, "tools.json", retinue("convert-definition", "sky.json", "--to", "tool_use").out)
    assert [tool["name"] for tool in json.loads((folder / "tools.json").read_text())] == ["sky__today", "sky__tomorrow"]
    again = json.loads(retinue("convert-definition", "tools.json", "--to", "json").out)
    assert (again["name"], [skill["name"] for skill in again["skills"]]) == ("sky", ["today", "tomorrow"])


def test_cards_of_both_kinds_come_and_go(retinue: Give, house: Path) -> None:
    for form in ("a2a", "agent-json"):
        put(house, "card.json", retinue("convert-definition", ".claude/agents/code-review.md", "--to", form).out)
        said = retinue("convert-definition", "card.json", "--to", "json")
        assert said.code == 0
        assert json.loads(said.out)["description"].startswith("Reviews a change.")


def test_one_broken_file_does_not_keep_the_others(retinue: Give, house: Path) -> None:
    put(house, ".claude/agents/bad.md", "---\nname: bad\n---\n")
    said = retinue("convert-definition", ".claude/agents", "--to", "json", "--output", "out")
    assert said.code == 6
    assert ".claude/agents/bad.md:2:1: error load/missing-key `description` is missing." in said.err
    assert said.err.endswith("failed: 2 definitions converted, 1 file could not be\n")
    assert len(list((house / "out").iterdir())) == 2


def test_a_file_without_a_definition_is_said_to_have_none(retinue: Give, folder: Path) -> None:
    put(folder, "notes.txt", "Fix $ARGUMENTS.")
    said = retinue("convert-definition", "notes.txt", "--to", "json")
    assert said.code == 6
    assert "Files that end with '.txt' are not definitions." in said.err
    assert json.loads(retinue("convert-definition", "notes.txt", "--from", "command", "--to", "json").out)["command"]


def test_a_folder_without_a_definition_is_said_to_have_none(retinue: Give, folder: Path) -> None:
    said = retinue("convert-definition", ".", "--to", "json")
    assert (said.code, said.out) == (6, "")
    assert ".: error load/none No definition found here." in said.err
    assert "fix: Definitions end with .json or .md" in said.err
    machine = retinue("convert-definition", ".", "--to", "json", "--json")
    assert (machine.code, machine.err) == (6, "")
    assert [each["rule"] for each in machine.data["findings"]] == ["load/none"]


def test_of_many_definitions_the_losses_are_told_together(retinue: Give, folder: Path) -> None:
    for number in range(40):
        put(folder, f".claude/agents/a{number}.md", AGENT.format(name=f"agent-{number}"))
    said = retinue("convert-definition", ".claude/agents", "--to", "tool_use", "--output", "out")
    assert said.code == 0
    assert "/instructions in 40" in said.err
    assert said.err.endswith("done: 40 definitions converted, 40 with losses\n")
    assert len(said.err.splitlines()) < 10


def test_files_beside_a_skill_are_said_to_stay(retinue: Give, folder: Path) -> None:
    put(
        folder,
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads PDF. Use it for PDF. Returns text.\n---\nRead.",
    )
    put(folder, "skills/pdf/scripts/read.py", "print()")
    said = retinue("convert-definition", "skills", "--to", "markdown", "--output", "out/")
    assert "left pdf: 1 file beside it, not copied" in said.err
    machine = retinue("convert-definition", "skills", "--to", "markdown", "--json")
    assert machine.data["definitions"][0]["not_copied"] == ["scripts/read.py"]


def test_a_full_disk_says_how_many_were_written(retinue: Give, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(house, ".claude/agents/other.md", AGENT.format(name="other"))
    written: list[Path] = []

    def deliver(text: str, output: Path | None) -> None:
        if written:
            raise AccessDenied(f"{str(output)!r}: No space left on device.", hint="Look.")
        assert output is not None
        written.append(output)

    monkeypatch.setattr("retinue.cli.convert_definition.deliver", deliver)
    said = retinue("convert-definition", ".claude/agents", "--to", "markdown", "--output", "out")
    assert said.code == 2
    assert "No space left on device. 1 of " in said.err
    assert "`--force`" in said.err


def test_a_name_that_cannot_be_printed_is_escaped(retinue: Give, folder: Path) -> None:
    put(folder, ".claude/agents/\x1b[31mred\n.md", AGENT.format(name="red"))
    said = retinue("convert-definition", ".claude/agents", "--to", "json", "--output", "out/")
    assert ".claude/agents/\\x1b[31mred\\n.md → out/red.json" in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gone.md", "--to", "json"), "No such file: 'gone.md'."),
        ((".", "--to", "skil"), "Did you mean 'skill'?"),
        ((".", "--to", "xyz"), "'xyz' is none of markdown, skill, tool_use, json, agent_json, a2a."),
        ((".", "--from", "comand", "--to", "json"), "Did you mean 'command'?"),
        ((), "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said(retinue: Give, folder: Path, words: tuple[str, ...], message: str) -> None:
    said = retinue("convert-definition", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


@pytest.mark.parametrize("spelling", ["SKILL.md", "Skill", "skill"])
def test_formats_are_known_in_any_spelling(retinue: Give, house: Path, spelling: str) -> None:
    assert retinue("convert-definition", ".claude/agents/code-review.md", "--to", spelling).code == 0


def test_a_place_that_cannot_be_written_is_said(retinue: Give, house: Path) -> None:
    put(house, "file", "x")
    said = retinue("convert-definition", ".claude/agents", "--to", "json", "--output", "file/inner/")
    assert said.code == 2
    assert "Cannot create" in said.err


def test_hostile_text_moves_no_cursor(retinue: Give, folder: Path) -> None:
    name = "x\x1b[2J\u202e.md"
    put(folder, name, "---\nname: a\ndescription: b\ncolor: c\n---\n")
    said = retinue("convert-definition", name, "--to", "skill")
    assert "\x1b" not in said.err
    assert "\u202e" not in said.err


def test_a_readme_beside_agents_is_none_of_them(retinue: Give, folder: Path) -> None:
    put(folder, ".claude/agents/README.md", "# Our agents\n")
    put(folder, ".claude/agents/a.md", AGENT.format(name="a"))
    put(folder, ".claude/agents/NOTES.md", AGENT.format(name="notes"))
    said = retinue("convert-definition", ".claude/agents", "--to", "json", "--json")
    assert said.code == 0
    assert {each["name"] for each in said.data["definitions"]} == {"a", "notes"}
