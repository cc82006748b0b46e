"""Which data files a request may be about: those it names, or all that lie in the workspace."""

import os
from collections.abc import Iterator, Sequence
from typing import Final

from retinue.errors import MissingFile
from retinue.tools.data import DATA_SUFFIXES, kind_of
from retinue.tools.tree import IGNORED_FOLDERS, list_files
from retinue.tools.workspace import Workspace

__all__ = ["data_files", "ignored_files", "named_files", "where_they_are"]

_LOOKED_AT: Final = 200_000
_PREFERRED: Final = ("csv", "parquet", "log", "jsonl")
_QUOTES: Final = '`"\u201c\u201d'
_MARKS: Final = ",;()[]{}<>=|*"


def data_files(workspace: Workspace, *, only: str = "") -> list[str]:
    """The data files that lie in `workspace`; of one kind, when `only` names it.

    Raises:
        MissingFile: There is none.
    """
    there = [entry.path for entry in list_files(workspace).files if not entry.path.startswith(".")]
    fitting = [path for path in there if (kind := kind_of(path)) is not None and only in ("", kind)]
    if not fitting:
        raise MissingFile(
            "There is no data file in the workspace.", hint=f"Name a file that ends in {', '.join(DATA_SUFFIXES[:7])}."
        )
    return [path for path in fitting if kind_of(path) in _PREFERRED] or fitting


def named_files(workspace: Workspace, question: str) -> tuple[list[str], str]:
    """The data files that `question` names, and its text without them. A path with spaces stands between quotes."""
    parts = question.translate(dict.fromkeys(map(ord, _QUOTES), "\n")).split("\n")
    spoken = [part for part in parts if " " in part and kind_of(part) is not None and workspace.readable(part)]
    rest = question
    for part in spoken:
        rest = rest.replace(part, " ")
    for word in rest.translate(dict.fromkeys(map(ord, _QUOTES + _MARKS), " ")).split():
        path = word.partition("'s")[0].strip("'.:!?")
        if kind_of(path) is not None and path.partition(".")[0] and path in rest:
            spoken.append(path)
            rest = rest.replace(f"{path}'s", " ").replace(path, " ")
    return where_they_are(workspace, list(dict.fromkeys(spoken))), rest


def where_they_are(workspace: Workspace, named: Sequence[str]) -> list[str]:
    """The paths of what is `named`: a name that is no path from the root may be a file further down."""
    missing = {path for path in named if not workspace.readable(path)}
    if not missing:
        return list(named)
    listed = [entry.path for entry in list_files(workspace).files]
    below = {path: [one for one in listed if one.rpartition("/")[2] == path] for path in missing}
    if any(not there for there in below.values()):
        # Data is often what git is told to ignore: being named, such a file may be read all the same.
        for path in ignored_files(workspace):
            name = path.rpartition("/")[2]
            if name in missing and path not in below[name]:
                below[name].append(path)
    return [below[path][0] if path in missing and len(below[path]) == 1 else path for path in named]


def ignored_files(workspace: Workspace, *, looked_at: int = _LOOKED_AT) -> Iterator[str]:
    """Data files under the root, those too that git ignores; folders of caches and packages are left out.

    Args:
        workspace: Where they lie.
        looked_at: After so many files of any kind it ends.
    """
    root = str(workspace.root)
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS)
        seen += len(names)
        if seen > looked_at:
            return
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")  # noqa: PTH118 - as walked
            if kind_of(name) is not None and workspace.readable(path):
                yield path
