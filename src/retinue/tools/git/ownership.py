"""Whether the repository that git found is the folder's own, so that no folder shows the history of another one.

Who made the folder made its `.git` too: that may be a file or a link that leads to any repository of the user's, and
what git reads below it may be links, a `commondir` or `alternates` that do. A place outside of the folder is taken only
where it names the folder in turn, as git writes it for linked work trees and submodules: the maker of the folder could
not write there. Everything else needs the user's own word, by git's setting `safe.directory`.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retinue.errors import AccessDenied
from retinue.tools.git.runner import TRUSTED_SCOPES, GitRunner, trust_command
from retinue.tools.paths import clip, parts_below

_HISTORY_ENTRIES: Final = ("HEAD", "index", "logs", "objects", "packed-refs", "refs", "reftable", "shallow")
"""What in a git folder decides which history is shown. The rest may well be a link: hooks, a shared configuration."""

_LONGEST: Final = 8192
_POINTER: Final = "gitdir: "
_ALTERNATE: Final = "alternate: "


def find_owner(runner: GitRunner, git_folder: Path, common: Path) -> Path:
    """The folder whose repository this is: it holds the `.git`, or is the git folder itself.

    Args:
        runner: Runs git in the folder that was asked about.
        git_folder: The real path of the git folder that was found from there.
        common: The real path of the one that holds the objects; another one only for linked work trees.
    """
    here = Path(runner.root)
    folder = next((each for each in (here, *here.parents) if git_folder in (each, _gitdir_target(each / ".git"))), None)
    if folder is None:
        raise AccessDenied(
            f"no `.git` above {runner.root!r} leads to {_quote_path(git_folder)}, which git found there",
            hint="name the top folder of the repository",
        )
    why = _foreign_reason(runner, folder, git_folder, common)
    if why and folder not in _trusted_folders(runner):
        repair_hint = "" if git_folder.is_relative_to(folder) else "; if you moved it: git worktree repair"
        raise AccessDenied(why, hint=f"if you trust the folder: {trust_command(str(folder))}{repair_hint}")
    return folder


def _foreign_reason(runner: GitRunner, folder: Path, git_folder: Path, common: Path) -> str:
    if not git_folder.is_relative_to(folder):
        if not _links_back(runner, folder, git_folder, common):
            return (
                f"the `.git` of {_quote_path(folder)} leads to "
                f"{_quote_path(git_folder)}, which does not name that folder"
            )
    elif not common.is_relative_to(folder):
        return f"the repository of {_quote_path(folder)} takes its history from {_quote_path(common)}"
    alternates: list[Path] = []
    if os.path.lexists(common / "objects" / "info" / "alternates"):
        lines = os.fsdecode(runner.run("count-objects", "-v").stdout).splitlines()
        paths = [line.removeprefix(_ALTERNATE) for line in lines if line.startswith(_ALTERNATE)]
        # A path with odd characters is quoted, so it lies nowhere.
        alternates = [_real_path(Path(path)) if path.startswith("/") else Path(path) for path in paths]
    for place in alternates:
        if not _lies_in(place, folder, common):
            return f"the repository of {_quote_path(folder)} takes objects from {_quote_path(place)}"
    for link in _links([*(each / name for each in {git_folder, common} for name in _HISTORY_ENTRIES), *alternates]):
        # A folder inside could hold links out again. Git itself makes none of either kind.
        if link.is_dir() or not _lies_in(_real_path(link), folder, git_folder, common):
            return (
                f"the repository of {_quote_path(folder)} holds the link "
                f"{_quote_path(link)} to {_quote_path(_real_path(link))}"
            )
    return ""


def _links_back(runner: GitRunner, folder: Path, git_folder: Path, common: Path) -> bool:
    """Whether a git folder elsewhere names `folder`: as its linked work tree, or as its files, as submodules do."""
    if common != git_folder:
        back = git_folder / _read_line(git_folder / "gitdir")
        return git_folder.parent == common / "worktrees" and back.name == ".git" and _real_path(back.parent) == folder
    words = ("config", "--show-scope", "-z", "--get", "core.worktree")
    scope, _, files = os.fsdecode(runner.run(*words, accept=(1,)).stdout).rstrip("\0").partition("\0")
    return bool(files) and scope not in TRUSTED_SCOPES and _real_path(git_folder / files) == folder


def _gitdir_target(path: Path) -> Path | None:
    if not path.is_file():
        return _real_path(path)
    line = _read_line(path)
    return _real_path(path.parent / line.removeprefix(_POINTER)) if line.startswith(_POINTER) else None


def _read_line(path: Path) -> str:
    """What stands in a small file, without its end of line; empty when it cannot be read."""
    if not path.is_file():  # opening a pipe would wait
        return ""
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_LONGEST)).rstrip("\r\n")
    except OSError:
        return ""


def _links(places: Iterable[Path]) -> Iterator[Path]:
    """Every link at or below `places`."""
    waiting = [os.fspath(place) for place in places]
    while waiting:
        place = waiting.pop()
        if Path(place).is_symlink():
            yield Path(place)
            continue
        try:
            with os.scandir(place) as entries:
                waiting += [each.path for each in entries if each.is_symlink() or each.is_dir()]
        except OSError:
            continue  # a file, or not there, or closed to git as well


def _trusted_folders(runner: GitRunner) -> set[Path]:
    """The folders that the user's settings name as safe. `*` names none: it says that owners do not matter."""
    words = ("config", "--show-scope", "-z", "--type=path", "--get-all", "safe.directory")
    fields = os.fsdecode(runner.run(*words, accept=(1,)).stdout).split("\0")
    folders: set[Path] = set()
    for scope, folder in zip(fields[::2], fields[1::2], strict=False):
        if scope in TRUSTED_SCOPES and folder != "*":
            # An empty one takes back those before it.
            folders = folders | {_real_path(Path(folder))} if folder else set()
    return folders


def _lies_in(path: Path, *folders: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))  # `resolve` raises on links that go round


def _quote_path(path: Path) -> str:
    return repr(clip(str(path)))


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What does not change while a `Git` lives.

    Attributes:
        is_bare: It has no work tree.
        is_shallow: Its history was cut off when it was cloned.
        has_files: The folder lies in its work tree.
        prefix: Where in it: empty at its top, else a path that ends with `/`.
        edge: The commits whose parents a shallow clone cut off.
        common: The folder that holds its objects and settings.
    """

    is_bare: bool
    is_shallow: bool
    has_files: bool
    prefix: str
    edge: frozenset[str]
    common: Path


def read_facts(runner: GitRunner) -> RepositoryFacts:
    """The facts of the repository that the runner's folder is in.

    Raises:
        AccessDenied: It is another folder's, or says that its files are where its `.git` is not.
        RetinueError: as `Runner.run`.
    """
    words = ("--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree", "--is-shallow-repository")
    output = os.fsdecode(runner.run("rev-parse", *words, "--absolute-git-dir", "--git-common-dir").stdout)
    bare, in_git_folder, in_work_tree, shallow, git_folder, common = output.split("\n")[:6]
    git_folder, common = (Path(os.path.realpath(Path(runner.root, each))) for each in (git_folder, common))
    folder = find_owner(runner, git_folder, common)
    edge: frozenset[str] = frozenset()
    if shallow == "true":
        edge = frozenset((common / "shallow").read_text("ascii", "replace").split())
    prefix, where = "", ""
    if in_work_tree == "true":
        top = runner.run("rev-parse", "--show-toplevel").stdout.decode("utf-8", "replace").removesuffix("\n")
        inside = parts_below(runner.root, top)
        prefix = "".join(f"{part}/" for part in inside or ())
        # `core.worktree` may point anywhere; the only folder we take is the one that holds this repository's `.git`.
        where = f"in {top!r}" if inside is None or Path(top) != folder else ""
    elif bare != "true" and in_git_folder != "true":
        where = "elsewhere"
    if where:
        raise AccessDenied(
            f"the repository at {runner.root!r} says that its files are {where}",
            hint="look at `core.worktree` in its configuration",
        )
    return RepositoryFacts(bare == "true", shallow == "true", in_work_tree == "true", prefix, edge, common)
