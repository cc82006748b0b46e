"""`retinue lint`."""

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Give

GOOD: dict[str, Any] = {
    "name": "weather_reporter",
    "description": "Looks up what the sky will be like at a place. Use it when somebody asks about the weather; not for the climate. "
    "Returns a forecast as text.",
    "input_schema": {
        "type": "object",
        "properties": {
            "place": {
                "type": "string",
                "description": "A town or village, as people there call it.",
                "minLength": 1,
                "maxLength": 100,
            }
        },
        "required": ["place"],
        "additionalProperties": False,
    },
}


def put(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return file


def test_a_sound_definition_is_clean(retinue: Give, folder: Path) -> None:
    put(folder / "good.json", GOOD)
    said = retinue("lint", "good.json")
    assert said.code == 0
    assert said.out == ""
    assert said.err == "clean: 1 file, 0 errors, 0 warnings, 1 note (--notes lists them)\n"


def test_notes_are_listed_when_asked_for(retinue: Give, folder: Path) -> None:
    put(folder / "good.json", GOOD)
    for words in (("--notes",), ("--select", "skill/output")):
        said = retinue("lint", "good.json", *words)
        assert "info skill/output" in said.out
        assert said.err == "clean: 1 file, 0 errors, 0 warnings, 1 note\n"
    retinue("lint", "good.json", "--output", "report.txt")
    assert "info skill/output" in (folder / "report.txt").read_text()
    assert [each["severity"] for each in retinue("lint", "good.json", "--json").data["findings"]] == ["info"]


def test_every_finding_says_place_rule_and_what_to_do(retinue: Give, folder: Path) -> None:
    put(folder / "bad.json", '{\n  "name": "bad",\n  "descripton": "x",\n  "input_schema": {"type": "objct"}\n}')
    said = retinue("lint", "bad.json")
    assert said.code == 6
    assert "bad.json:1:1: error load/missing-key `description` is missing." in said.out
    assert "bad.json:4:20 /input_schema/type: error schema/enum" in said.out
    assert said.out.count("fix: ") >= 2
    assert said.err.startswith("failed: 1 file, ")


def test_findings_for_programs(retinue: Give, folder: Path) -> None:
    put(folder / "bad.json", {**GOOD, "name": "Bad Name!"})
    data = retinue("lint", "--json", "bad.json").data
    assert data["files"] == 1
    assert all(each["rule"] and each["message"] and each["file"] == "bad.json" for each in data["findings"])


def test_warnings_fail_when_strict(retinue: Give, folder: Path) -> None:
    put(folder / "thin.json", {**GOOD, "description": "Weather."})
    assert retinue("lint", "thin.json").code == 0
    assert retinue("lint", "--strict", "thin.json").code == 6


def test_a_finding_in_a_list_stands_where_its_definition_begins(retinue: Give, folder: Path) -> None:
    put(
        folder / "two.json", f"[\n{json.dumps(GOOD)},\n{json.dumps({**GOOD, 'name': 'other', 'description': 'Hm.'})}\n]"
    )
    findings = retinue("lint", "--json", "two.json").data["findings"]
    assert {each["line"] for each in findings if each["path"] == "/1/description"} == {3}
    assert {each["line"] for each in findings} == {2, 3}


def test_of_a_folder_only_what_means_to_be_a_definition_is_read(retinue: Give, folder: Path) -> None:
    put(folder / "docs" / "weather.json", GOOD)
    put(folder / "docs" / "all.json", [GOOD, 3])
    put(folder / "docs" / "package.json", {"name": "x", "description": "y"})
    put(folder / "docs" / "schema.json", {"properties": {"name": 1, "description": 2, "input_schema": 3}})
    put(folder / "docs" / "broken.json", "{")
    put(folder / "README.md", "# Read me\n")
    put(folder / "post.md", "---\nname: a\ndescription: b\n---\ntext\n")
    put(folder / ".claude" / "agents" / "none.md", "no front matter\n")
    put(folder / ".hidden" / "agents" / "x.json", "{")
    put(folder / "node_modules" / "agents" / "x.json", "{")
    put(folder / "agents" / "note.txt", "text")
    said = retinue("lint", ".", "--json").data
    assert {each["file"] for each in said["findings"] if each["severity"] == "error"} == {
        "docs/all.json",
        ".claude/agents/none.md",
    }
    assert said["files"] == 4


def test_a_folder_of_agents_is_taken_at_its_word(retinue: Give, folder: Path) -> None:
    put(folder / "agents" / "x.json", "{")
    assert retinue("lint", "agents").code == 6
    assert retinue("lint", "agents/x.json", "agents").err.endswith("1 file, 1 error, 0 warnings\n")


@pytest.mark.parametrize(
    ("path", "message"), [("gone.json", "There is no file 'gone.json'."), ("x.txt", "'x.txt' is not a definition.")]
)
def test_what_cannot_be_linted_is_said(retinue: Give, folder: Path, path: str, message: str) -> None:
    (folder / "x.txt").write_text("x")
    said = retinue("lint", path)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_a_check_of_nothing_is_no_silent_pass(retinue: Give, folder: Path) -> None:
    said = retinue("lint", ".")
    assert said.code == 0
    assert ".:1:1: warning load/nothing No definition found in '.'." in said.out
    assert said.err == "nothing checked: 0 files, 0 errors, 1 warning\n"
    data = retinue("lint", ".", "--json")
    assert (data.code, [each["rule"] for each in data.data["findings"]]) == (0, ["load/nothing"])
    assert retinue("lint", ".", "--strict").code == 6


def test_too_many_files_are_refused(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.agents.lint import source_files

    monkeypatch.setattr(source_files, "MAX_FILES", 1)
    put(folder / "agents" / "x.json", GOOD)
    put(folder / "agents" / "y.json", GOOD)
    assert "holds more than 1 definitions" in retinue("lint", ".").err


# Which rules.


def test_rules_are_selected_and_ignored_by_the_beginning_of_their_id(retinue: Give, folder: Path) -> None:
    put(folder / "thin.json", {**GOOD, "description": "Weather.", "colour": 1})

    def rules(*words: str) -> set[str]:
        return {each["rule"] for each in retinue("lint", "--json", "thin.json", *words).data["findings"]}

    assert rules() > {"definition/description-when", "load/unknown-key", "skill/output"}
    assert rules("--select", "definition/") == {each for each in rules() if each.startswith("definition/")}
    assert rules("--ignore", "definition", "--ignore", "skill") == {"load/unknown-key"}
    assert rules("--select", "definition", "--ignore", "definition/description-") == set()
    assert retinue("lint", "thin.json", "--strict", "--ignore", "definition").code == 0


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_rule_that_there_is_not_is_said_with_the_nearest(retinue: Give, folder: Path, option: str) -> None:
    put(folder / "good.json", GOOD)
    said = retinue("lint", "good.json", option, "input/opne")
    assert said.code == 2
    assert "no such rule 'input/opne'. Did you mean `input/open`?" in said.err
    assert "`retinue explain` lists them" in retinue("lint", "good.json", option, "#").err


def test_the_settings_of_a_project_say_what_to_ignore(retinue: Give, folder: Path) -> None:
    put(folder / "thin.json", {**GOOD, "description": "Weather."})
    put(folder / "retinue.toml", '[lint]\nignore = ["definition/", "skill/"]\n')
    assert retinue("lint", "--json", "thin.json").data["findings"] == []


# Forms.


def test_a_report_in_junit(retinue: Give, folder: Path) -> None:
    put(folder / "agents" / "good.json", {**GOOD, "colour": "blue"})
    put(folder / "agents" / "bad.json", "{")
    put(folder / "agents" / "thin.json", {**GOOD, "description": "Weather."})
    said = retinue("lint", "agents", "--format", "junit")
    assert said.code == 6
    cases = {case.attrib["classname"]: case for case in ET.fromstring(said.out.encode())[0]}
    assert cases["agents/bad.json"].find("failure") is not None
    assert cases["agents/good.json"].find("failure") is None
    assert "load/unknown-key" in (cases["agents/good.json"].findtext("system-out") or "")
    assert "definition/description-when" in (cases["agents/thin.json"].findtext("system-out") or "")
    strict = ET.fromstring(retinue("lint", "agents", "--format", "junit", "--strict").out.encode())[0]
    assert int(strict.attrib["failures"]) > 1


def test_a_report_in_sarif(retinue: Give, folder: Path) -> None:
    put(folder / "agents" / "bad.json", '{\n "name": "bad"\n}')
    data = retinue("lint", "agents", "--format", "sarif").data
    (run,) = data["runs"]
    assert run["tool"]["driver"]["name"] == "retinue"
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert {each["artifactLocation"]["uri"] for each in places} == {"agents/bad.json"}
    assert all(each["region"]["startLine"] and each["region"]["startColumn"] for each in places)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.sarif", '{"$schema"'), ("a.xml", "<?xml"), ("a.json", "{"), ("a.txt", "agents/bad.json:1:")],
)
def test_the_ending_of_a_file_says_the_form(retinue: Give, folder: Path, name: str, begins: str) -> None:
    put(folder / "agents" / "bad.json", "{")
    said = retinue("lint", "agents", "--output", name)
    assert (said.code, said.out) == (6, "")
    assert said.err.startswith("failed: 1 file, 1 error")
    assert (folder / name).read_text(encoding="utf-8").startswith(begins)


def test_two_forms_at_once_are_refused(retinue: Give, folder: Path) -> None:
    put(folder / "good.json", GOOD)
    assert retinue("lint", "good.json", "--json", "--format", "sarif").code == 2
    assert retinue("lint", "good.json", "--output", "no/such/folder.txt").code == 2


def test_nothing_in_a_finding_moves_the_cursor(retinue: Give, folder: Path) -> None:
    put(folder / "evil.json", {**GOOD, "\x1b[2J\u202e": 1})
    for form in ("text", "json", "junit", "sarif"):
        out = retinue("lint", "evil.json", "--format", form).out
        assert "\x1b" not in out
        assert "\u202e" not in out


# What was before.


@pytest.mark.requirement("A27", "A28")
def test_what_breaks_callers_of_an_earlier_revision_fails(retinue: Give, folder: Path) -> None:
    put(folder / "agents" / "w.json", GOOD)
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=n@e.org", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    assert retinue("lint", "agents", "--against", "HEAD").code == 0
    (folder / "agents" / "w.json").unlink()
    put(folder / "agents" / "other.json", {**GOOD, "name": "other"})
    said = retinue("lint", "agents", "--against", "HEAD")
    assert said.code == 6
    assert "agents/w.json:1:1: error compatibility/agent-removed" in said.out
    assert "names no commit" in retinue("lint", "agents", "--against", "nonsense").err


def test_an_earlier_folder_can_be_named(retinue: Give, folder: Path) -> None:
    put(folder / "old" / "agents" / "w.json", GOOD)
    put(folder / "new" / "agents" / "x.json", {**GOOD, "name": "other"})
    said = retinue("lint", "new", "--against", "old")
    assert said.code == 6
    assert "new/agents/w.json:1:1: error compatibility/agent-removed" in said.out
    assert "name one folder as PATH" in retinue("lint", "new", "old", "--against", "old").err


def test_against_a_revision_of_no_repository_is_said(retinue: Give, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "agents" / "good.json", GOOD)
    said = retinue("lint", str(tmp_path / "elsewhere"), "--against", "HEAD")
    assert (said.code, said.out) == (2, "")
    assert "'HEAD' is neither a folder nor a git revision" in said.err
    assert "next: Name the folder" in said.err


# Links.


AGENT = """\
---
name: {name}
description: Keeps notes. Use when something is to be kept. Returns the note.
{more}---
You are a keeper of notes.
"""


def commit(folder: Path) -> None:
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=n@e.org", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def test_linked_definitions_are_checked_and_compared(retinue: Give, folder: Path) -> None:
    put(folder / "shared" / "roles" / "w.json", GOOD)
    put(
        folder / "shared" / "go" / "start.md",
        "---\ndescription: Starts. Use at dawn.\n---\n**Agent:** weather-reporter\n",
    )
    (folder / ".claude" / "agents").mkdir(parents=True)
    (folder / ".claude" / "agents" / "w.json").symlink_to("../../shared/roles/w.json")
    (folder / ".claude" / "commands").symlink_to("../shared/go")
    commit(folder)
    said = retinue("lint", ".claude", "--against", "HEAD")
    assert (said.code, said.err.partition(",")[0]) == (0, "clean: 2 files")
    put(folder / "shared" / "roles" / "w.json", {**GOOD, "name": "other"})
    said = retinue("lint", ".claude", "--against", "HEAD")
    assert said.code == 6
    assert ".claude/agents/w.json:1:1: error compatibility/agent-removed" in said.out
    (folder / ".claude" / "agents" / "w.json").unlink()
    assert "compatibility/agent-removed" in retinue("lint", ".claude", "--against", "HEAD").out


def test_a_linked_folder_that_went_away_took_its_agents_with_it(retinue: Give, folder: Path) -> None:
    put(folder / "shared" / "w.json", GOOD)
    put(folder / ".claude" / "agents" / "other.json", {**GOOD, "name": "other"})
    (folder / ".claude" / "agents" / "linked").symlink_to("../../shared")
    commit(folder)
    (folder / ".claude" / "agents" / "linked").unlink()
    assert ".claude/agents/linked/w.json:1:1: error compat" in retinue("lint", ".claude", "--against", "HEAD").out


def test_links_that_lead_out_nowhere_or_in_a_circle_are_findings_and_end(
    retinue: Give, folder: Path, tmp_path: Path
) -> None:
    put(folder / ".claude" / "agents" / "w.json", GOOD)
    put(tmp_path / "elsewhere" / "agents" / "x.json", GOOD)
    agents = folder / ".claude" / "agents"
    (agents / "out").symlink_to(tmp_path / "elsewhere")
    (agents / "gone").symlink_to("../../vendor/agents")
    (agents / "me.md").symlink_to("me.md")
    (agents / "up").symlink_to("..")
    (folder / "docs").symlink_to("nowhere")
    said = retinue("lint", ".")
    assert said.code == 6
    found = [line for line in said.out.splitlines() if " error " in line]
    assert [line.partition(":")[0] for line in found] == [f".claude/agents/{name}" for name in ("gone", "me.md", "out")]
    assert "leads nowhere: '../../vendor/agents'" in found[0]
    assert "leads out of the project" in found[2]


# Slips, what stands there for another purpose, and what a program can mend.


def test_slips_in_tools_models_and_operations_are_found_and_fixed(retinue: Give, folder: Path) -> None:
    keeper = AGENT.format(
        name="note-keeper", more="tools: Read, Grpe, mcp__notes, TaskGet\nmodel: sonet\nargument-hint: one: two\n"
    )
    put(folder / ".claude" / "agents" / "k.md", keeper)
    put(folder / ".claude" / "agents" / "ticket.json", {**GOOD, "name": "ticket", "skills": None})
    said = retinue("lint", ".claude")
    assert "a.md" not in said.out
    assert (
        "k.md:4:1 /tools: warning definition/tool There is no tool 'Grpe'.\n    fix: Did you mean `Grep`?" in said.out
    )
    assert (
        "k.md:5:1 /model: warning definition/model There is no model 'sonet'.\n    fix: Did you mean `sonnet`?"
        in said.out
    )
    assert "TaskGet" not in said.out
    assert "mcp__notes" not in said.out
    said = retinue("lint", ".claude", "--fix", "--select", "definition", "--select", "load")
    assert said.err.endswith("3 fixed\n")
    text = (folder / ".claude" / "agents" / "k.md").read_text(encoding="utf-8")
    assert text == keeper.replace("Grpe", "Grep").replace("sonet", "sonnet").replace("one: two", '"one: two"')
    assert retinue("lint", ".claude", "--fix").err.count("fixed") == 0


def test_a_project_s_own_agent_is_proposed_before_a_ready_made_one(retinue: Give, folder: Path) -> None:
    put(folder / ".claude" / "agents" / "a.md", AGENT.format(name="research-analysis", more=""))
    put(
        folder / ".claude" / "commands" / "go.md",
        "---\ndescription: Goes. Use it.\n---\n**Agent:** researcher-analysis\n",
    )
    said = retinue("lint", ".claude", "--select", "call")
    assert "There is no agent 'researcher-analysis' here.\n    fix: Did you mean `research-analysis`?" in said.out
    retinue("lint", ".claude", "--fix")
    assert "**Agent:** research-analysis\n" in (folder / ".claude" / "commands" / "go.md").read_text(encoding="utf-8")


def test_manifests_and_templates_are_no_definitions(retinue: Give, folder: Path) -> None:
    put(folder / "good.json", GOOD)
    manifest = {"name": "tools", "description": "A plugin.", "skills": "./skills/", "capabilities": ["read", "write"]}
    put(folder / "plugin.json", manifest)
    put(folder / "template.json", {"name": "stack", "description": "A stack.", "parameters": {"size": {"default": 3}}})
    assert retinue("lint", ".").err.startswith("clean: 1 file,")


@pytest.mark.requirement("H9", "H11")
def test_a_prompt_that_is_a_behaviour_is_found(retinue: Give, folder: Path) -> None:
    prompt = (
        "Task {\n  prompt: |\n    You are a research specialist.\n    You MUST create files at specified paths.\n"
        "    Your steps are:\n    1. Analyze topic\n    2. Search codebase\n    3. Create report\n}\n"
    )
    good = "Task {\n  prompt: |\n    Read and follow: .claude/agents/a.md\n    1. Login\n    2. Logout\n}\n"
    head = "---\ndescription: Goes. Use it.\n---\n"
    put(folder / ".claude" / "commands" / "bad.md", f"{head}```yaml\n{prompt}```\n")
    put(folder / ".claude" / "commands" / "good.md", f"{head}```yaml\n{good}```\n")
    put(folder / ".claude" / "commands" / "told.md", f"{head}```yaml\n# WRONG: do not do this\n{prompt}```\n")
    said = retinue("lint", ".claude", "--select", "behaviour")
    assert [line.split(" warning ")[0] for line in said.out.splitlines() if "warning" in line] == [
        ".claude/commands/bad.md:6:1:"
    ]


@pytest.mark.requirement("P5", "P6", "C28")
def test_cards_are_judged_by_their_schemas_endpoints_and_required_keys(retinue: Give, folder: Path) -> None:
    skill = {
        "name": "sales",
        "description": "Gives the sales of a year.",
        "endpoint": "/agents/b/m/sales",
        "method": "POST",
    }
    card = {
        "name": "metrics",
        "description": "Gives figures. Use for sales. Returns figures.",
        "version": "1.0",
        "endpoints": {"tasks": "/agents/b/m/tasks"},
        "capabilities": [{**skill, "input_schema": {"type": "objct"}, "output_schema": {"type": 7}}],
    }
    put(folder / "agent.json", card)
    said = retinue("lint", "agent.json", "--json")
    places = {each["path"]: each["rule"] for each in said.data["findings"] if each["severity"] == "error"}
    assert places["/capabilities/0/input_schema/type"] == "schema/enum"
    assert "/capabilities/0/output_schema/type" in places
    for endpoint in ("//evil.example/x", "/agents/../admin", "javascript:x"):
        put(folder / "agent.json", {**card, "capabilities": [{**skill, "endpoint": endpoint}]})
        assert retinue("lint", "agent.json").code == 6
    put(
        folder / "agent.json",
        {**card, "capabilities": [{**skill, "endpoint": "https://evil.example/agents/b/m/sales"}]},
    )
    assert "warning agent_http/endpoint" in retinue("lint", "agent.json").out
    put(
        folder / "card.json",
        {"name": "x", "description": "Y.", "skills": [{"name": "z", "description": "Z."}], "supportedInterfaces": []},
    )
    said = retinue("lint", "card.json", "--select", "load/card-key")
    assert said.code == 6
    assert said.out.count(": error load/card-key") == 6


def test_known_findings_wait_in_a_baseline(retinue: Give, folder: Path) -> None:
    put(folder / "agents" / "bad.json", {**GOOD, "name": "Bad Name!"})
    assert retinue("lint", "agents", "--update-baseline").code == 2
    said = retinue("lint", "agents", "--baseline", "known.json", "--update-baseline")
    assert (said.code, said.out) == (0, "")
    put(folder / "agents" / "bad.json", "\n\n" + json.dumps({**GOOD, "name": "Bad Name!"}))
    assert retinue("lint", "agents", "--baseline", "known.json").code == 0
    put(folder / "agents" / "worse.json", "{")
    said = retinue("lint", "agents", "--baseline", "known.json")
    assert said.code == 6
    assert "bad.json" not in said.out
    assert "in the baseline" in said.err
    put(folder / "known.json", "[]")
    said = retinue("lint", "agents", "--baseline", "known.json")
    assert (said.code, "not a baseline" in said.err) == (2, True)


@pytest.mark.requirement("C10")
@pytest.mark.parametrize("name", ["\u0430dmin", "ad\u200bmin", '"admin\\0"', '"ad\\nmin"'])
def test_a_name_that_looks_like_another_is_refused(retinue: Give, folder: Path, name: str) -> None:
    file = folder / ".claude" / "agents" / "admin.md"
    file.parent.mkdir(parents=True)
    text = f"---\nname: {name}\ndescription: Does it. Use when it is asked for. Returns words.\n---\nDo it.\n"
    file.write_text(text, encoding="utf-8")
    said = retinue("lint", ".", "--json")
    assert said.code == 6
    assert "load/bad-name" in said.out
    assert retinue("ask", "admin", "hello").code == 2
