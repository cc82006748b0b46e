"""What kind of repository a folder is in, and whether its own word about that can be taken.

It is asked once, before any verb: bare, shallow, or with files, and where in it the folder lies.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from retinue.errors import AccessDenied
from retinue.tools.git.ownership import owner
from retinue.tools.git.runner import Runner
from retinue.tools.paths import below

__all__ = ["Facts", "look"]


@dataclass(frozen=True, slots=True)
class Facts:
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


def look(runner: Runner) -> Facts:
    """The facts of the repository that the runner's folder is in.

    Raises:
        AccessDenied: It is another folder's, or says that its files are where its `.git` is not.
        RetinueError: as `Runner.run`.
    """
    words = ("--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree", "--is-shallow-repository")
    said = os.fsdecode(runner.run("rev-parse", *words, "--absolute-git-dir", "--git-common-dir").stdout)
    bare, in_git_folder, in_work_tree, shallow, git_folder, common = said.split("\n")[:6]
    git_folder, common = (Path(os.path.realpath(Path(runner.root, each))) for each in (git_folder, common))
    folder = owner(runner, git_folder, common)
    edge: frozenset[str] = frozenset()
    if shallow == "true":
        edge = frozenset((common / "shallow").read_text("ascii", "replace").split())
    facts = Facts(bare == "true", shallow == "true", in_work_tree == "true", "", edge, common)
    if facts.has_files:
        return replace(facts, prefix=_prefix(runner, folder))
    if not facts.is_bare and in_git_folder != "true":
        raise _misled(runner.root, "elsewhere")
    return facts


def _prefix(runner: Runner, folder: Path) -> str:
    top = runner.run("rev-parse", "--show-toplevel").stdout.decode("utf-8", "replace").removesuffix("\n")
    inside = below(runner.root, top)
    # `core.worktree` may point anywhere; the only folder we take is the one that holds this repository's `.git`.
    if inside is None or Path(top) != folder:
        raise _misled(runner.root, f"in {top!r}")
    return "".join(f"{part}/" for part in inside)


def _misled(root: str, where: str) -> AccessDenied:
    return AccessDenied(
        f"the repository at {root!r} says that its files are {where}",
        hint="look at `core.worktree` in its configuration",
    )
