"""The same files as they were: at a revision of their git repository, or in another folder.

Only reads. Of a repository, only files that differ are looked at.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from retinue.contract.lint import Earlier
from retinue.errors import InvalidInput, MissingFile
from retinue.tools.git import FileChange, Git

from .definitions import definitions_in
from .files import ENDINGS, File, files_at, kind_of

__all__ = ["at_revision", "in_folder"]


def in_folder(path: Path, folder: Path) -> tuple[Earlier, ...]:
    """The definitions in `folder`, an earlier state of `path`.

    Raises:
        MissingFile: There is no such folder.
        InvalidInput: It is none, or holds more than anybody will look at.
    """
    if not folder.is_dir():
        raise MissingFile(f"There is no folder {str(folder)!r}.", hint="Name a revision, or a folder.")
    earlier: list[Earlier] = []
    for file in files_at(folder):
        today = (path / file.path.relative_to(folder)).as_posix()
        earlier += _earlier(file, today)
    return tuple(earlier)


def at_revision(paths: Iterable[Path], revision: str) -> tuple[Earlier, ...]:
    """The definitions at `paths` as they were at a revision, of files that differ since.

    Raises:
        UnknownName: There is no such revision.
        MissingFile: A path is in no repository.
        RetinueError: git cannot be run, or refuses.
    """
    found: dict[str, Earlier] = {}
    for path in paths:
        for earlier in _at_revision(path, revision):
            found.setdefault(f"{earlier.file}\0{earlier.definition.name}\0{earlier.definition.version}", earlier)
    return tuple(found.values())


def _at_revision(path: Path, revision: str) -> Iterator[Earlier]:
    folder = path if path.is_dir() else path.parent
    git = Git(folder)
    commit = git.resolve(revision)
    top = folder.resolve().name
    for change in git.diff_files(commit):
        old = change.old_path or change.path
        if (
            change.kind in {"added", "copied"}
            or not _is_ours(change, path, folder)
            or not old.lower().endswith(ENDINGS)
        ):
            continue
        try:
            data = git.show_file(commit, old)
        except (InvalidInput, MissingFile):  # a submodule, or a name that cannot be given back to git
            continue
        kind = kind_of((top, *PurePosixPath(old).parts), data)
        if kind is not None:
            # A file that was renamed is called by its new name, so that it is its own heir.
            today = (folder / change.path).as_posix()
            yield from _earlier(File(folder / old, old, kind, data), today)


def _is_ours(change: FileChange, path: Path, folder: Path) -> bool:
    """Whether a changed file lies at `path`."""
    places = {change.path, change.old_path or change.path}
    if path == folder or path.is_dir():
        return not any(place == ".." or place.startswith("../") for place in places)
    return os.fspath(path.name) in places


def _earlier(file: File, today: str) -> Iterator[Earlier]:
    if file.kind in {"command", "text"} or file.problem is not None:
        return
    for definition in definitions_in(file):
        yield Earlier(definition, today)
