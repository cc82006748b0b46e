"""`retinue lint`."""

import json
from pathlib import Path
from typing import Any

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
    assert said.err == "clean: 1 file, 0 errors, 0 warnings\n"


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
    assert {each["line"] for each in findings if each["path"] == "/description"} == {3}
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
    assert "No definition was found" in said.err


def test_too_many_files_are_refused(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.cli import lint

    monkeypatch.setattr(lint, "_MOST", 1)
    put(folder / "agents" / "x.json", GOOD)
    put(folder / "agents" / "y.json", GOOD)
    assert "holds more than 1 definitions" in retinue("lint", ".").err
