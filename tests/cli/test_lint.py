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
    ("path", "message"), [("gone.json", "There is no file 'gone.json'."), ("x.txt", "'x.txt' is no definition.")]
)
def test_what_cannot_be_linted_is_said(retinue: Give, folder: Path, path: str, message: str) -> None:
    (folder / "x.txt").write_text("x")
    said = retinue("lint", path)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_nothing_to_lint_is_said(retinue: Give, folder: Path) -> None:
    said = retinue("lint", ".")
    assert said.code == 0
    assert said.err.splitlines() == [
        "No definition was found; they end with .json, .md or .py.",
        "nothing checked: 0 files, 0 errors, 0 warnings",
    ]


def test_too_many_files_are_refused(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.agents.lint import files

    monkeypatch.setattr(files, "MAX_FILES", 1)
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
    assert "there is no rule 'input/opne'. Did you mean `input/open`?" in said.err
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


@pytest.mark.row("A27", "A28")
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
    assert "name one PATH that is a folder" in retinue("lint", "new", "old", "--against", "old").err


def test_against_a_revision_of_no_repository_is_said(retinue: Give, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "agents" / "good.json", GOOD)
    said = retinue("lint", str(tmp_path / "elsewhere"), "--against", "HEAD")
    assert (said.code, said.out) == (2, "")
    assert "There is no folder 'HEAD', and no git repository" in said.err
    assert "next: Name the folder" in said.err
