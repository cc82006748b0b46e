"""What a planner may ask about the files of a workspace: whether a path is there, and where a name is.

It reads names only, and the listing of the tree not before somebody names a file that is not in the root.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from retinue.errors import RetinueError
from retinue.orchestration.reader.spelling import one_edit_from
from retinue.tools.workspace import Workspace

__all__ = ["exists_in", "find_in"]

_MOST: Final = 9
"""More files of one name than a person can choose from are not offered."""


def exists_in(workspace: Workspace | None) -> Callable[[str], bool] | None:
    """Whether something may be read at a path of `workspace`; None when there is none to look into."""
    if workspace is None:
        return None

    def exists(path: str) -> bool:
        try:
            return workspace.resolve(path).exists()
        except (RetinueError, OSError, ValueError):
            return False

    return exists


def find_in(workspace: Workspace | None) -> Callable[[str], Sequence[str]] | None:
    """Where `workspace` has files that are called so; when none is, those of the one name that it misspells."""
    if workspace is None:
        return None

    @cache
    def places() -> dict[str, list[str]]:
        from retinue.tools.tree import list_files  # noqa: PLC0415 - only for a goal that names a file

        found: dict[str, list[str]] = {}
        try:
            files = list_files(workspace).files
        except (RetinueError, OSError, ValueError):
            return found
        for entry in files:
            found.setdefault(PurePosixPath(entry.path).name.lower(), []).append(entry.path)
        return found

    def find(name: str) -> Sequence[str]:
        said = PurePosixPath(name.lower().removeprefix("./"))
        here = places().get(said.name)
        if here is None:
            alike = [other for other in places() if PurePosixPath(other).suffix == said.suffix]
            meant = one_edit_from(said.name, alike)
            here = [] if meant is None else places()[meant]
        within = [path for path in here if f"/{path.lower()}".endswith(f"/{said}")] if len(said.parts) > 1 else here
        return sorted(within, key=lambda path: (path.count("/"), path))[:_MOST]

    return find
