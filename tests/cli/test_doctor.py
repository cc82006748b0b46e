"""`retinue doctor`."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.cli.doctor import EXTRAS as LOOKED_AT
from tests.cli.conftest import Give
from tests.repository.test_imports import EXTRAS


def checks(retinue: Give) -> dict[str, Any]:
    return {each["name"]: each for each in retinue("doctor", "--json").data["checks"]}


def test_a_sound_installation_is_ok(retinue: Give, folder: Path) -> None:
    said = retinue("doctor")
    assert (said.code, said.err) == (0, "")
    assert "ok python" in said.out
    assert "ok history    no runs yet" in said.out
    assert retinue("doctor", "--json").data["ok"] is True


def test_every_extra_is_looked_at() -> None:
    assert set(LOOKED_AT) == set(EXTRAS)
    clients = {"bedrock": "boto3", "google": "google.genai"}  # ours reach them through pydantic-ai alone
    assert all(package in (*EXTRAS[extra], clients.get(extra)) for extra, package in LOOKED_AT.items())


def test_what_is_not_installed_says_how_to_get_it(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import util

    found = util.find_spec

    def lacking(name: str) -> object:
        return None if name == "duckdb" else found("json")

    monkeypatch.setattr(util, "find_spec", lacking)
    assert checks(retinue)["data"]["what"] == "unavailable: install retinue[data]"
    assert checks(retinue)["web"] == {"name": "web", "state": "ok", "what": "installed"}


def without(program: str) -> Callable[..., str | None]:
    def which(name: str, **_: object) -> str | None:
        return None if name == program else f"/bin/{name}"

    return which


def test_missing_programs_are_said(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", without("git"))
    said = retinue("doctor")
    assert said.code == 1
    assert "!! git        not found\n     next: Install git." in said.out
    assert "ok ripgrep    /bin/rg" in said.out
    monkeypatch.setattr(shutil, "which", without("rg"))
    assert checks(retinue)["ripgrep"]["state"] == "missing"


def test_a_folder_that_cannot_be_used_is_broken(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "file").write_text("")
    monkeypatch.setenv("RETINUE_CACHE_DIR", str(folder / "file" / "cache"))
    assert checks(retinue)["cache"]["state"] == "broken"
    assert "RETINUE_CACHE_DIR" in checks(retinue)["cache"]["hint"]


def test_a_history_that_cannot_be_read_is_broken(retinue: Give, folder: Path, home: Path) -> None:
    (home / "state").mkdir()
    (home / "state" / "journal.sqlite3").write_text("no database at all, " * 100)
    said = retinue("doctor")
    assert said.code == 1
    assert "!! history" in said.out


def test_the_repository_is_described(retinue: Give, folder: Path) -> None:
    (folder / ".git").rmdir()
    assert checks(retinue)["repository"]["state"] == "missing"
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    assert checks(retinue)["repository"]["what"] == "no commits yet"
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "first"], check=True)
    assert checks(retinue)["repository"]["what"].startswith("main at ")
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "second"], check=True)
    subprocess.run([*git, "clone", "--quiet", "--depth", "1", f"file://{folder}", "copy"], check=True)
    shallow = {each["name"]: each for each in retinue("doctor", "--json", "-C", "copy").data["checks"]}["repository"]
    assert shallow["what"].endswith(", shallow")
    assert "--unshallow" in shallow["hint"]


def test_what_is_wrong_with_the_project_is_said(retinue: Give, folder: Path) -> None:
    retinue("run", "where is the fox?")
    (folder / "retinue.toml").write_text("timeut = 1\n")
    (folder / "agents").mkdir()
    (folder / "agents" / "x.json").write_text("{")
    found = checks(retinue)
    assert found["settings"]["state"] == "broken"
    assert found["agents"]["what"].endswith("1 file skipped")
    assert found["history"]["what"].startswith("readable, ")


def test_a_provider_is_told_with_its_variable_and_never_its_key(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    unset = checks(retinue)
    assert unset["models"]["what"] == "no model configured"
    assert unset["openai"]["what"] == "available, OPENAI_API_KEY is set"
    assert "openai-chat" not in unset
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "haiku")
    named = checks(retinue)
    assert named["anthropic"] == {
        "name": "anthropic",
        "state": "missing",
        "what": "not available: set ANTHROPIC_API_KEY",
    }
    assert "models" not in named
    monkeypatch.setenv("RETINUE_MODELS_BASE_URL", "anthropic=http://127.0.0.1:9")
    assert checks(retinue)["anthropic"]["what"] == "available at http://127.0.0.1:9"
    assert "very-secret" not in retinue("doctor", "--json").out + retinue("doctor").out


def test_a_default_that_is_no_model_is_broken(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "smal")
    said = retinue("doctor")
    assert "`models.default`: Unknown model 'smal'." in said.out
    assert said.code == 1
