"""Runs a project's own tests over proposed changes, in a copy of its work tree.

The files of the tree stay as they are. Folders of built and installed things are linked and not copied, though: what
tests write there, as compilers do, they write in the project.

A test suite is a program that can do all that its user can, so it is run only when that was asked for and approved.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from retinue.contract.json import loads
from retinue.errors import DeadlineExceeded, InvalidInput, LimitReached, RetinueError
from retinue.tools.hands.program import Ran, run_program
from retinue.tools.process import clean_environment, find_program
from retinue.tools.refactor import Changes
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

__all__ = ["Ending", "Suite", "Tested", "find_suite", "run_suite"]

Ending: TypeAlias = Literal["passed", "failed", "hung", "not run"]

_TIMEOUT_S: Final = 300.0
_TAIL: Final = 6_000
_MOST_BYTES: Final = 512 * 2**20
_SHOWN: Final = 5
_NOTHING_COLLECTED: Final = 5
"""How pytest says that it found no tests."""
_BORROWED: Final = ("node_modules", "target", "vendor")
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
class Tested:
    """How the tests went.

    Attributes:
        ending: `hung` when they were ended because their time was up, `not run` when there were none to run.
        output: The end of what they said.
        seconds: How long they took.
    """

    ending: Ending
    command: str
    output: str
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether there were tests, and they all pass."""
        return self.ending == "passed"

    @property
    def last_words(self) -> str:
        """The last line with words in it."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "they said nothing")


def find_suite(workspace: Workspace) -> Suite | None:
    """The tests of a project, by the files it has; None when there are none that are known. Takes a moment."""
    root = workspace.root
    if (root / "Cargo.toml").is_file() and (program := find_program("cargo")):
        return Suite("cargo", ("cargo", "test", "--quiet"), program)
    if (root / "go.mod").is_file() and (program := find_program("go")):
        return Suite("go", ("go", "test", "./..."), program)
    if _has_node_tests(workspace) and (program := find_program("npm")):
        return Suite("npm", ("npm", "test", "--silent"), program)
    if _has_python_tests(workspace):
        own = root / ".venv" / "bin" / "python"
        program = str(own) if os.access(own, os.X_OK) else sys.executable
        return Suite("pytest", ("python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"), program)
    return None


async def run_suite(suite: Suite, workspace: Workspace, changes: Changes, *, timeout_s: float | None) -> Tested:
    """Run the tests as they are with `changes` made.

    Raises:
        InvalidInput: The project is too large to be copied, or the change is where it is not copied.
        NotInstalled: Their program is not here.
    """
    seconds = min(_TIMEOUT_S, timeout_s or _TIMEOUT_S)
    with _folder() as folder:
        left_out = await asyncio.to_thread(_copied, workspace, changes, folder)
        roots = [str(each) for each in (folder, folder / "src") if each.is_dir()]
        environment = clean_environment({"PYTHONPATH": os.pathsep.join(roots), "PYTHONDONTWRITEBYTECODE": "1"})
        try:
            ran = await run_program(
                suite.argv,
                program=suite.program,
                folder=str(folder),
                environment=environment,
                timeout_s=seconds,
                limit=2 * _TAIL,
            )
        except DeadlineExceeded as error:
            said = str(error.detail.get("output", ""))[-_TAIL:]
            return Tested("hung", suite.line, f"{said}{_without(left_out)}", seconds)
        except LimitReached as error:
            said = str(error.detail.get("output", ""))[-_TAIL:]
            return Tested("failed", suite.line, f"{said}\n({error.message})", seconds)
    output = f"{ran.output[-_TAIL:]}{_without(left_out)}"
    return Tested(_ending(suite, ran), suite.line, output, ran.duration_ns / 1e9)


def _ending(suite: Suite, ran: Ran) -> Ending:
    if ran.code == 0:
        return "passed"
    if suite.kind == "pytest" and (ran.code == _NOTHING_COLLECTED or "No module named pytest" in ran.output):
        return "not run"
    return "failed"


def _without(paths: Sequence[str]) -> str:
    """That the copy was not the whole project, for whoever wonders why its tests fail."""
    shown = ", ".join(paths[:_SHOWN]) + (" …" if len(paths) > _SHOWN else "")
    return f"\n(run without {shown}, which may not be read)" if paths else ""


@contextmanager
def _folder() -> Generator[Path]:
    with TemporaryDirectory(prefix="retinue-tests-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _copied(workspace: Workspace, changes: Changes, folder: Path) -> tuple[str, ...]:
    """Copy what may be read, changed; gives the paths of what may not."""
    size = 0
    listing = list_files(workspace)
    for entry in listing.files:
        size += entry.size
        if size > _MOST_BYTES:
            raise InvalidInput(
                f"The project holds more than {_MOST_BYTES // 2**20} MiB, too much to copy for its tests.",
                hint="Run the tests yourself, or start in a smaller folder.",
            )
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        with workspace.open(entry.path) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        target.chmod((workspace.root / entry.path).stat().st_mode & 0o777 | 0o600)
    for name in _BORROWED:
        theirs = workspace.root / name
        if theirs.is_dir() and not (folder / name).exists():
            if any(change.path.startswith(f"{name}/") for change in changes.files):
                raise InvalidInput(
                    f"The change is in `{name}`, which the copy for the tests takes by a link.",
                    hint="Run the tests yourself.",
                )
            (folder / name).symlink_to(theirs)
    Changes(changes.files).apply(Workspace(folder, write=["."]))
    return listing.hidden


def _has_python_tests(workspace: Workspace) -> bool:
    root = workspace.root
    if any((root / name).exists() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return True
    return any(
        Path(entry.path).name.startswith("test_") and entry.path.endswith(".py")
        for entry in list_files(workspace).files
    )


def _has_node_tests(workspace: Workspace) -> bool:
    try:
        said = loads(workspace.read_bytes("package.json", max_bytes=2**20))
    except RetinueError:
        return False
    match said:
        case {"scripts": {"test": str()}}:
            return True
        case _:
            return False
