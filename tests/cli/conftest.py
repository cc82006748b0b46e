"""A user of the command line: folders of their own, a project with agents in it, and the commands they give."""

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.trust import TrustStore
from retinue.cli import main
from tests.cli.team import TEAM
from tests.ready_made import put_definitions


@dataclass(frozen=True)
class Said:
    """What one command came to."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Lines of JSON on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> Any:
        """The one JSON line on stderr."""
        (line,) = self.err.splitlines()
        return json.loads(line)["error"]


Give = Callable[..., Said]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is read or written."""
    for variable in [name for name in os.environ if name.startswith("RETINUE_")]:
        monkeypatch.delenv(variable)
    for name in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"RETINUE_{name}_DIR", str(tmp_path / name.lower()))
    for variable in ("NO_COLOR", "FORCE_COLOR", "ACTIVE_AGENT_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    put_definitions(tmp_path)
    return tmp_path


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, in which the user stands."""
    root = home / "project"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def team(folder: Path) -> Path:
    """A trusted project with a team of agents."""
    file = folder / ".retinue" / "agents" / "team.py"
    file.parent.mkdir(parents=True)
    file.write_text(TEAM, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    return folder


@pytest.fixture
def retinue(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Give:
    """Gives a command, in this process and with nobody at the terminal."""

    def give(*words: str, stdin: str = "") -> Said:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            code = main(list(words))
        told = capsys.readouterr()
        return Said(code, told.out, told.err)

    return give
