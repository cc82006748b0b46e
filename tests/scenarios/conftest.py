"""A spec author's first hour: an empty repository, the real command in a process of its own, and what it printed.

Nothing of Retinue is imported here, and scenarios use nothing but commands, exit codes, `--json` and the public API.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import forkserver
from tests.cli.shell import COMMAND, environment

_PATIENCE_S = 120.0
"""How long a test waits before it calls a command hung; nothing is judged by it."""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The one JSON line on stderr."""
        (line,) = self.err.splitlines()
        return json.loads(line)["error"]


Retinue = Callable[..., Ended]
Write = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty git repository."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=root, check=True, env=environment(tmp_path))
    return root


@pytest.fixture
def retinue(tmp_path: Path, folder: Path) -> Retinue:
    """Runs a command in `folder` to its end, with nobody at the terminal; named values are environment variables."""

    def run(*words: object, stdin: str = "", **extra: str) -> Ended:
        ended = forkserver.run(
            [*COMMAND, *map(str, words)],
            cwd=folder,
            env=environment(tmp_path, **extra),
            stdin=stdin,
            encoding="utf-8",
            timeout=_PATIENCE_S,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


@pytest.fixture
def write(folder: Path) -> Write:
    """Writes a file of the repository; a `program` gets its first line and may be run."""

    def give(path: str, text: str, *, program: bool = False) -> Path:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!{sys.executable}\n{text}" if program else text, encoding="utf-8")
        if program:
            file.chmod(0o755)
        return file

    return give
