"""What kind of repository a folder is in, and whether its own word about that can be taken.

It is asked once, before any verb: bare, shallow, or with files, and where in it the folder lies.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from retinue.errors import AccessDenied
from retinue.tools.git.ownership import find_owner
from retinue.tools.git.runner import GitRunner
from retinue.tools.paths import parts_below


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
    facts = RepositoryFacts(bare == "true", shallow == "true", in_work_tree == "true", "", edge, common)
    if facts.has_files:
        return replace(facts, prefix=_prefix(runner, folder))
    if not facts.is_bare and in_git_folder != "true":
        raise _misplaced_error(runner.root, "elsewhere")
    return facts


def _prefix(runner: GitRunner, folder: Path) -> str:
    top = runner.run("rev-parse", "--show-toplevel").stdout.decode("utf-8", "replace").removesuffix("\n")
    inside = parts_below(runner.root, top)
    # `core.worktree` may point anywhere; the only folder we take is the one that holds this repository's `.git`.
    if inside is None or Path(top) != folder:
        raise _misplaced_error(runner.root, f"in {top!r}")
    return "".join(f"{part}/" for part in inside)


def _misplaced_error(root: str, where: str) -> AccessDenied:
    return AccessDenied(
        f"the repository at {root!r} says that its files are {where}",
        hint="look at `core.worktree` in its configuration",
    )
