"""`retinue trust`, with nobody at the terminal."""

from pathlib import Path

import pytest

from tests.cli.conftest import Give


@pytest.fixture
def code(folder: Path) -> Path:
    file = folder / ".retinue" / "agents" / "team.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        'import retinue\n\n\n@retinue.agent\ndef f(task: str) -> str:\n    """Echoes."""\n    return task\n'
    )
    return file


def test_nobody_there_means_no(retinue: Give, code: Path) -> None:
    said = retinue("trust")
    assert (said.code, said.out) == (2, "")
    assert ".retinue/agents/team.py  7 lines" in said.err
    assert "error: Cannot ask for confirmation without a terminal." in said.err
    assert "next: Review the files, then run `retinue trust --yes`." in said.err
    assert "f" not in [each["name"] for each in retinue("agents", "--json").data["agents"]]


def test_yes_lets_the_code_in_until_it_changes(retinue: Give, code: Path) -> None:
    assert retinue("trust", "--yes").code == 0
    assert "f" in [each["name"] for each in retinue("agents", "--json").data["agents"]]
    code.write_text(code.read_text() + "# more\n")
    assert "f" not in [each["name"] for each in retinue("agents", "--json").data["agents"]]
    assert "changed since; not trusted any more" in retinue("trust", "--list").out
    assert "changed since you trusted them" in retinue("trust", "--yes").err
    assert "changed since" not in retinue("trust", "--yes").err


def test_what_is_trusted_is_listed(retinue: Give, code: Path, folder: Path) -> None:
    assert "No trusted folders." in retinue("trust", "--list").err
    retinue("trust", str(folder), "--yes")
    assert retinue("trust", "--list").out == f"{folder}\n"
    assert retinue("trust", "--list", "--json").data == [{"folder": str(folder), "kind": "project", "trusted": True}]


def test_trust_can_be_taken_back_also_of_a_folder_that_is_gone(retinue: Give, code: Path, folder: Path) -> None:
    data = retinue("trust", "--yes", "--json").data
    assert data == {"folder": str(folder), "trusted": True, "files": [".retinue/agents/team.py"]}
    moved = folder.rename(folder.with_name("moved"))
    assert "No longer trusted" in retinue("trust", str(folder), "--revoke").err
    assert retinue("trust", str(folder), "--revoke", "--json").data["was_trusted"] is False
    assert "Was not trusted" in retinue("trust", str(moved), "--revoke").err


def test_a_folder_without_code_can_be_trusted_too(retinue: Give, folder: Path) -> None:
    assert "names code in 0 files." in retinue("trust", "--yes").err


def test_a_folder_that_is_not_there_is_said(retinue: Give, folder: Path) -> None:
    assert retinue("trust", "nowhere", "--yes").code == 2


def test_a_damaged_store_is_said(retinue: Give, code: Path, home: Path) -> None:
    retinue("trust", "--yes")
    (home / "state" / "trust.json").write_text("{")
    said = retinue("trust", "--list")
    assert (said.code, "The trust store is damaged" in said.err) == (2, True)
    assert retinue("doctor").code == 1


def test_files_that_change_while_one_looks_are_not_trusted(
    retinue: Give, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retinue.cli import trust

    def meanwhile(*_: object, **__: object) -> None:
        code.write_text("evil = 1\n")

    monkeypatch.setattr(trust, "_ask", meanwhile)
    said = retinue("trust", "--yes")
    assert (said.code, "changed in the meantime" in said.err) == (2, True)
    assert retinue("trust", "--list", "--json").data == []


def test_a_file_name_cannot_move_the_cursor(retinue: Give, code: Path) -> None:
    code.with_name("a\x1b[2J.py").write_text("")
    said = retinue("trust")
    assert "\x1b" not in said.err
    assert "a\\u{1b}[2J.py" in said.err
