"""Cannot create the folder a command works in, and the places where things."""

import os
from pathlib import Path

import pytest

from retinue.cli import user_paths
from retinue.cli.project import find_root
from tests.cli.conftest import Give


def test_the_root_is_the_top_of_the_repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_root(None) == folder
    assert find_root(Path()) == inner


def test_outside_a_repository_the_root_is_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_root(None) == tmp_path


def test_a_folder_that_is_gone_is_an_error(retinue: Give, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = retinue("agents")
    assert (said.code, "The current folder no longer exists." in said.err) == (2, True)
    os.chdir(tmp_path)


def test_folders_are_moved_by_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_paths.journal_file() == home / "state" / "journal.sqlite3"
    assert user_paths.index_dir() == home / "cache" / "index"
    assert user_paths.user_config_file() == home / "config" / "config.toml"
    for variable in user_paths.VARIABLES:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", "/home/ada")
    for variable in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    assert user_paths.state_dir().is_relative_to("/home/ada")
    assert user_paths.cache_dir().is_relative_to("/home/ada")
    assert user_paths.user_config_file().is_relative_to("/home/ada")
