"""A user who gives commands in a folder, and what must hold whatever comes of them."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import forkserver
from tests.cli.shell import COMMAND, environment
from tests.repository.tree import child_environment

Done = subprocess.CompletedProcess[str]

_USUAL: Mapping[str, str] = {}


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(
        ["git", *who, "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=child_environment(**nothing),
        check=True,
        capture_output=True,
    )


def commit(root: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


def repository(root: Path, files: dict[str, str], message: str) -> Path:
    git(root, "init", "-q")
    commit(root, files, message)
    return root


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time; git's own refreshing of its index does not count."""
    files = (path for path in root.rglob("*") if path.is_file() and path.name != "index")
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def run(
    home: Path,
    folder: Path,
    *words: str,
    stdin: bytes = b"",
    places: Mapping[str, str] = _USUAL,
    execute: bool = False,
) -> Done:
    """One command with nobody at the terminal, to its end."""
    return give([*COMMAND, *words], folder, environment(home, **places), stdin=stdin, execute=execute)


def give(command: list[str], folder: Path, env: dict[str, str], *, stdin: bytes = b"", execute: bool = False) -> Done:
    done = forkserver.run(command, cwd=folder, env=env, stdin=stdin, timeout=120, execute=execute)
    out, err = (stream.decode("utf-8", "backslashreplace") for stream in (done.stdout, done.stderr))
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(command, done.returncode, out, err)


def refused(done: Done, code: int, *said: str) -> None:
    """It failed with that exit code, said so, and said what to do next."""
    assert done.returncode == code, done.stderr
    assert "our mistake" not in done.stderr
    assert re.search(r"^error: \S", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^ next: \S", done.stderr, re.MULTILINE), done.stderr
    for words in said:
        assert words in done.stderr


def error_of(done: Done) -> dict[str, Any]:
    """The one JSON line on stderr."""
    (line,) = done.stderr.splitlines()
    return json.loads(line)["error"]


def refused_both_ways(home: Path, folder: Path, words: tuple[str, ...], *, exits: int, code: str, said: str) -> None:
    """Refused in words for a person, and with `--json` in one line for a program."""
    refused(run(home, folder, *words), exits, said)
    done = run(home, folder, *words, "--json")
    error = error_of(done)
    assert (done.returncode, error["code"]) == (exits, code)
    assert said in error["message"] + error["hint"]
    assert error["hint"]


def answered(done: Done, *said: str) -> None:
    assert done.returncode == 0, done.stderr
    for words in said:
        assert words in done.stdout


def listed(home: Path, folder: Path) -> list[dict[str, Any]]:
    return json.loads(run(home, folder, "runs", "list", "--json").stdout)


def last_run(home: Path, folder: Path) -> dict[str, Any]:
    return listed(home, folder)[0]
