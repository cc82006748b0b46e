"""`retinue memory`: what agents remember, shown harmlessly, and deleted when asked."""

import os
from pathlib import Path

import pytest

from retinue.tools.memory import Memory, Provenance, Scope
from tests.cli.conftest import Give


@pytest.fixture
def remembered(folder: Path) -> Path:
    add(
        folder,
        "project",
        "The lake is deep.\nAnd cold.",
        Provenance("researcher", "run-1", "page https://example.org/"),
    )
    add(folder, "project", "Tests run with \x1b[2Jmake test.", Provenance("person"))
    add(folder, "global", "The user likes short answers.", Provenance("person"))
    return folder


def add(folder: Path, scope: Scope, text: str, source: Provenance) -> None:
    with Memory(Path(os.environ["RETINUE_STATE_DIR"]), scope, project=folder) as memory:
        memory.add(text, source)


def test_memories_are_listed_newest_first(retinue: Give, remembered: Path) -> None:
    said = retinue("memory")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("m2  ")
    assert lines[1] == "  Tests run with \\u{1b}[2Jmake test."
    assert lines[2].endswith(", by researcher, run run-1, page https://example.org/")
    assert lines[3:] == ["  The lake is deep.", "  And cold."]
    assert len(retinue("memory", "list", "-n", "1", "--json").data) == 1
    assert [each["text"] for each in retinue("memory", "list", "--scope", "global", "--json").data] == [
        "The user likes short answers."
    ]


def test_a_folder_inside_the_project_has_the_same_memories(
    retinue: Give, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (remembered / "src").mkdir()
    monkeypatch.chdir(remembered / "src")
    assert len(retinue("memory", "list", "--json").data) == 2


def test_memories_are_found_by_words(retinue: Give, remembered: Path) -> None:
    assert [each["id"] for each in retinue("memory", "search", "how", "deep?", "--json").data] == ["m1"]
    assert "No memories match" in retinue("memory", "search", "mountain").err


def test_of_several_ids_all_that_can_be_are_forgotten_and_the_others_told(retinue: Give, remembered: Path) -> None:
    said = retinue("memory", "forget", "m1", "m8", "m2", "m9")
    assert said.code == 2
    assert all(f"Deleted {name}: " in said.err for name in ("m1", "m2"))
    assert all(repr(name) in said.err for name in ("m8", "m9"))
    assert retinue("memory", "list", "--json").data == []


def test_memories_are_forgotten(retinue: Give, remembered: Path) -> None:
    assert "Deleted m1: The lake is deep." in retinue("memory", "forget", "m1").err
    assert [each["id"] for each in retinue("memory", "forget", "m2", "m2", "--json").data] == ["m2"]
    assert "No memories." in retinue("memory").err
    said = retinue("memory", "forget", "m1", "--json")
    assert (said.code, said.error["code"]) == (2, "invalid_input")


def test_a_damaged_file_is_moved_away_only_when_asked(retinue: Give, remembered: Path) -> None:
    with Memory(Path(os.environ["RETINUE_STATE_DIR"]), "project", project=remembered) as memory:
        memory.path.write_bytes(b"no database" * 500)
    said = retinue("memory")
    assert said.code != 0
    assert "retinue memory set-aside" in said.err
    assert "damaged" in retinue("memory", "set-aside", "--json").data["moved_to"]
    assert "No memories." in retinue("memory").err
    assert "Moved to" in retinue("memory", "set-aside").err
    assert "There is no memory file to set aside." in retinue("memory", "set-aside").err
