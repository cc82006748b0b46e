"""Runs a project's own tests over proposed changes, in a copy of its work tree.

The files of the tree stay as they are. Folders of built and installed things are linked and not copied, though: what
tests write there, as compilers do, they write in the project.

A test suite is a program that can do all that its user can, so it is run only when that was asked for and approved.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from retinue.contract.json import loads
from retinue.errors import DeadlineExceeded, InvalidInput, LimitReached, RetinueError
from retinue.processes.program import run_command
from retinue.processes.start import clean_environment, find_program
from retinue.tools.refactor.source import ChangeSet
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

SuiteOutcome: TypeAlias = Literal["passed", "failed", "hung", "not run"]

_TIMEOUT_S: Final = 300.0
_TAIL: Final = 6_000
_MAX_BYTES: Final = 512 * 2**20
_MAX_SHOWN: Final = 5
_NOTHING_COLLECTED: Final = 5
"""How pytest says that it found no tests."""
_LINKED_FOLDERS: Final = ("node_modules", "target", "vendor")
"""Folders of built or installed things, which the copy takes by a link."""


@dataclass(frozen=True, slots=True)
class Suite:
    """How the tests of a project are run: its argument vector, and what is seen of it."""

    kind: str
    argv: tuple[str, ...]
    program: str

    @property
    def line(self) -> str:
        """The command as a person would write it."""
        return " ".join(self.argv)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """How the tests went.

    Attributes:
        ending: `hung` when they were ended because their time was up, `not run` when there were none to run.
        output: The end of what they said.
        seconds: How long they took.
    """

    ending: SuiteOutcome
    command: str
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether there were tests, and they all pass."""
        return self.ending == "passed"

    @property
    def last_line(self) -> str:
        """The last line with words in it."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "they said nothing")


def find_suite(workspace: Workspace) -> Suite | None:
    """The tests of a project, by the files it has; None when there are none that are known. Takes a moment."""
    root = workspace.root
    if (root / "Cargo.toml").is_file() and (program := find_program("cargo")):
        return Suite("cargo", ("cargo", "test", "--quiet"), program)
    if (root / "go.mod").is_file() and (program := find_program("go")):
        return Suite("go", ("go", "test", "./..."), program)
    try:
        package = loads(workspace.read_bytes("package.json", max_bytes=2**20))
    except RetinueError:
        package = None
    match package:
        case {"scripts": {"test": str()}} if (program := find_program("npm")) is not None:
            return Suite("npm", ("npm", "test", "--silent"), program)
        case _:
            pass
    paths = [Path(entry.path) for entry in list_files(workspace).files]
    has_python_tests = any(path.name.startswith("test_") and path.suffix == ".py" for path in paths)
    if has_python_tests or any((root / name).exists() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        venv_python = root / ".venv" / "bin" / "python"
        program = str(venv_python) if os.access(venv_python, os.X_OK) else sys.executable
        return Suite("pytest", ("python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"), program)
    return None


async def run_suite(suite: Suite, workspace: Workspace, changes: ChangeSet, *, timeout_s: float | None) -> SuiteResult:
    """Run the tests as they are with `changes` made.

    Raises:
        InvalidInput: The project is too large to be copied, or the change is where it is not copied.
        NotInstalled: Their program is not here.
    """
    seconds = min(_TIMEOUT_S, timeout_s or _TIMEOUT_S)
    with TemporaryDirectory(prefix="retinue-tests-", ignore_cleanup_errors=True) as name:
        folder = await asyncio.to_thread(Path(name).resolve)
        unreadable_paths = await asyncio.to_thread(_copy_project, workspace, changes, folder)
        roots = [str(each) for each in (folder, folder / "src") if each.is_dir()]
        environment = clean_environment({"PYTHONPATH": os.pathsep.join(roots), "PYTHONDONTWRITEBYTECODE": "1"})
        try:
            result = await run_command(
                suite.argv,
                program=suite.program,
                cwd=str(folder),
                env=environment,
                timeout_s=seconds,
                limit=2 * _TAIL,
            )
        except DeadlineExceeded as error:
            tail = str(error.detail.get("output", ""))[-_TAIL:]
            return SuiteResult("hung", suite.line, f"{tail}{_unreadable_note(unreadable_paths)}", seconds)
        except LimitReached as error:
            tail = str(error.detail.get("output", ""))[-_TAIL:]
            return SuiteResult("failed", suite.line, f"{tail}\n({error.message})", seconds)
    output = f"{result.output[-_TAIL:]}{_unreadable_note(unreadable_paths)}"
    ending: SuiteOutcome = "failed" if result.code else "passed"
    if suite.kind == "pytest" and (result.code == _NOTHING_COLLECTED or "No module named pytest" in result.output):
        ending = "not run" if result.code else ending
    return SuiteResult(ending, suite.line, output, result.duration_ns / 1e9)


def _unreadable_note(paths: Sequence[str]) -> str:
    names = ", ".join(paths[:_MAX_SHOWN]) + (" …" if len(paths) > _MAX_SHOWN else "")
    return f"\n(run without {names}, which may not be read)" if paths else ""


def _copy_project(workspace: Workspace, changes: ChangeSet, folder: Path) -> tuple[str, ...]:
    """Copy what may be read, changed; gives the paths of what may not."""
    size = 0
    listing = list_files(workspace)
    for entry in listing.files:
        size += entry.size
        if size > _MAX_BYTES:
            raise InvalidInput(
                f"The project holds more than {_MAX_BYTES // 2**20} MiB, too much to copy for its tests.",
                hint="Run the tests yourself, or start in a smaller folder.",
            )
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with workspace.open(entry.path) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        target.chmod((workspace.root / entry.path).stat().st_mode & 0o777 | 0o600)
    for name in _LINKED_FOLDERS:
        original = workspace.root / name
        if original.is_dir() and not (folder / name).exists():
            if any(change.path.startswith(f"{name}/") for change in changes.files):
                raise InvalidInput(
                    f"The change is in `{name}`, which the copy for the tests takes by a link.",
                    hint="Run the tests yourself.",
                )
            # Linked, since they may hold gigabytes.
            (folder / name).symlink_to(original)
    ChangeSet(changes.files).apply(Workspace(folder, write=["."]))
    return listing.hidden_paths
