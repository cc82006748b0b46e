"""Real repositories with fixed dates and people, so that their commits have the same ids everywhere."""

import os
import shutil
import subprocess
from collections.abc import Callable
from copy import copy
from pathlib import Path

import pytest

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    "GIT_AUTHOR_NAME": "Ada Lovelace",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Charles Babbage",
    "GIT_COMMITTER_EMAIL": "charles@example.org",
}


class Repository:
    """A repository to be made step by step; each commit is an hour after the one before."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        self.hour = 0
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", *options)

    def git(self, *words: str, **environment: str) -> str:
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words],
            cwd=self.root,
            env={**ENVIRONMENT, **environment},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def write(self, name: str | bytes, text: str | bytes) -> None:
        path = self.root / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, message: str, **environment: str) -> str:
        self.hour += 1
        date = f"2024-03-01T{self.hour:02}:00:00+02:00"
        self.git("add", "--all")
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.git("commit", "--quiet", "--allow-empty", "--message", message, **{**dates, **environment})
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def own_git_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of whoever runs the tests must not change what they see."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Repository]:
    def make(name: str = "repository", *options: str) -> Repository:
        return Repository(tmp_path / name, *options)

    return make


@pytest.fixture(scope="session")
def three_commits(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """What `repository` is a copy of: making it anew takes ten processes."""
    made = Repository(tmp_path_factory.mktemp("three_commits") / "repository")
    made.write("README.md", "# Engine\n\nIt computes.\n")
    made.write("src/engine.py", "def run():\n    return 1\n")
    made.commit("feat(engine): first light\n\nThe first version.\nRefs TASK-0001.1.1.1")
    made.write("src/engine.py", "def run():\n    return 2\n\n\ndef stop():\n    pass\n")
    made.commit("fix(engine): say 2")
    made.git("mv", "README.md", "GUIDE.md")
    made.write("data.bin", b"\0\1\2")
    made.commit("docs: rename the guide")
    return made


@pytest.fixture
def repository(three_commits: Repository, tmp_path: Path) -> Repository:
    """Three commits on `main`: two files, then a change, then a rename with a new file."""
    made = copy(three_commits)
    made.root = shutil.copytree(three_commits.root, tmp_path / "repository")
    return made
