"""The same files as they were: at a revision of their git repository, or in another folder.

Only reads. Of a repository, only files that differ are looked at, links followed as they were then.
"""

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from retinue.agents.load.kinds import is_searched
from retinue.contract.lint import EarlierDefinition
from retinue.errors import InvalidInput, MissingFile
from retinue.tools.git.repository import Git

from .definitions import definitions_in
from .source_files import ENDINGS, File, files_at, kind_of

_MAX_LINKS: Final = 40
"""Links that are followed one after the other, as Linux counts."""


def definitions_in_folder(path: Path, folder: Path) -> tuple[EarlierDefinition, ...]:
    """The definitions in `folder`, an earlier state of `path`.

    Raises:
        MissingFile: There is no such folder.
        InvalidInput: It is none, or holds more than anybody will look at.
    """
    if not folder.is_dir():
        raise MissingFile(f"There is no folder {str(folder)!r}.", hint="Name a revision, or a folder.")
    earlier: list[EarlierDefinition] = []
    for file in files_at(folder):
        today = (path / file.path.relative_to(folder)).as_posix()
        earlier += _earlier_definitions(file, today)
    return tuple(earlier)


def definitions_at_revision(paths: Iterable[Path], revision: str) -> tuple[EarlierDefinition, ...]:
    """The definitions at `paths` as they were at a revision, of files that differ since.

    Raises:
        UnknownName: There is no such revision.
        MissingFile: A path is in no repository.
        RetinueError: git cannot be run, or refuses.
    """
    every = (earlier for path in paths for earlier in _read_revision(path, revision))
    definitions: dict[tuple[str, str, str], EarlierDefinition] = {}
    for earlier in every:
        definitions.setdefault((earlier.file, earlier.definition.name, earlier.definition.version), earlier)
    return tuple(definitions.values())


def _read_revision(path: Path, revision: str) -> Iterator[EarlierDefinition]:
    folder = path if path.is_dir() else path.parent
    prefix = Git(folder).prefix
    git = Git(folder.resolve().parents[len(PurePosixPath(prefix).parts) - 1] if prefix else folder)
    commit = git.resolve(revision)
    changed: dict[str, str] = {}  # what a file was called then, and what it is called today
    for change in git.diff_files(commit):
        if change.kind not in {"added", "copied"}:
            changed[change.old_path or change.path] = change.path
    tree = _Tree(git, commit)
    for name, file in tree.files_below(prefix):
        inside = PurePosixPath(name).relative_to(prefix)
        if path != folder and inside.parts != (path.name,):
            continue
        today = posixpath.relpath(changed.get(file, file) if name == file else name, prefix or ".")
        # A link in the way may have changed as well as the file it leads to.
        differs = not changed.keys().isdisjoint({file, name, *map(str, PurePosixPath(name).parents)})
        if not differs or today.startswith("../") or not all(map(is_searched, inside.parts[:-1])):
            continue
        data = git.show_file(commit, file)
        kind = kind_of((folder.resolve().name, *inside.parts), data)
        if kind is not None:
            # A file that was renamed is called by its new name, so that it is its own heir.
            yield from _earlier_definitions(File(folder / inside, str(inside), kind, data), (folder / today).as_posix())


class _Tree:
    """The definition files of a commit, for somebody who follows its links."""

    def __init__(self, git: Git, commit: str) -> None:
        self._git = git
        self._commit = commit
        entries = git.tree(commit)
        self._files = {entry.path for entry in entries if not entry.is_link}
        self._links = {entry.path for entry in entries if entry.is_link}
        self._folders = {str(parent) for entry in entries for parent in PurePosixPath(entry.path).parents}

    def files_below(self, prefix: str) -> Iterator[tuple[str, str]]:
        """The path of each file below a folder, and the path of the same file without links."""
        linked: set[str] = set()  # each target once: links that lead to each other would multiply without end
        pending = [(prefix, prefix)]
        while pending:
            here, real = pending.pop()
            for path in sorted(self._files | self._links):
                if not path.startswith(real):
                    continue
                name = here + path[len(real) :]
                target = path if path in self._files else self._target(path)
                if target in self._files and target.lower().endswith(ENDINGS):
                    yield name, target
                elif target in self._folders and target not in linked and not f"{path}/".startswith(f"{target}/"):
                    linked.add(target)
                    pending.append((f"{name}/", f"{target}/"))

    def _target(self, path: str) -> str:
        """What a link leads to, in the repository; empty when it leads elsewhere, or in a circle."""
        for _ in range(_MAX_LINKS):
            steps = [str(parent) for parent in reversed(PurePosixPath(path).parents)] + [path]
            link = next((step for step in steps if step in self._links), None)
            if link is None:
                return path
            try:
                text = self._git.show_file(self._commit, link).decode()
            except (InvalidInput, MissingFile, UnicodeDecodeError):  # a name that cannot be given back to git
                break
            path = posixpath.normpath(posixpath.join(posixpath.dirname(link), text, path[len(link) + 1 :]))
        return ""


def _earlier_definitions(file: File, today: str) -> Iterator[EarlierDefinition]:
    if file.kind in {"command", "text"} or file.problem is not None:
        return
    for definition in definitions_in(file):
        yield EarlierDefinition(definition, today)
