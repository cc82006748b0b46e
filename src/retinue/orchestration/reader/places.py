"""What a planner may ask about the files of a workspace: whether a path is there, and where a name is.

It reads names only, and the listing of the tree not before somebody names a file that is not in the root.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from retinue.errors import RetinueError
from retinue.orchestration.reader.words import slip_of, word_tokens
from retinue.tools.search.kinds import is_test, kind_of
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
    """Where `workspace` has files or folders that are called so, or files of the one name that it misspells."""
    return None if workspace is None else _Finder(workspace)


class _Finder:
    """The names of a workspace's files and folders; listed once somebody names one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, name: str) -> Sequence[str]:
        path = PurePosixPath(name.lower().removeprefix("./"))
        if not path.suffix and len(path.parts) == 1:
            here = self._by_stem.get(" ".join(word_tokens(name)), [])
            ending = max((PurePosixPath(one).suffix for one in here), key=self._endings.__getitem__, default="")
            return sorted((one for one in here if PurePosixPath(one).suffix == ending), key=self._rank)[:_MOST]
        here = self._by_name.get(path.name)
        if here is None:
            meant = slip_of(path.name, [one for one in self._by_name if PurePosixPath(one).suffix == path.suffix])
            here = self._by_name[meant] if meant is not None else []
        within = [one for one in here if f"/{one.lower()}".endswith(f"/{path}")] if len(path.parts) > 1 else here
        return sorted(within, key=lambda one: (one.count("/"), one))[:_MOST]

    def _rank(self, path: str) -> tuple[bool, int, str]:
        """The code of the product before its documents and tests; what lies higher before what lies below."""
        return path not in self._code, path.count("/"), path

    @cached_property
    def _code(self) -> set[str]:
        """The files of code that are no tests, and the folders they lie in."""
        paths = (path for same in self._by_name.values() for path in same if kind_of(path) == "code")
        files = [PurePosixPath(path) for path in paths if not is_test(path)]
        return {str(one) for path in files for one in (path, *path.parents)}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        from retinue.tools.tree import list_files  # noqa: PLC0415 - only for a goal that names a file

        found: dict[str, list[str]] = {}
        with suppress(RetinueError, OSError, ValueError):
            for entry in list_files(self._workspace).files:
                found.setdefault(PurePosixPath(entry.path).name.lower(), []).append(entry.path)
        return found

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        """Files and folders by the words of their names without endings."""
        found: dict[str, list[str]] = {}
        paths = [PurePosixPath(path) for same in self._by_name.values() for path in same]
        for path in dict.fromkeys(chain(paths, *(path.parents for path in paths))):
            if path.name:
                found.setdefault(" ".join(word_tokens(path.stem)), []).append(str(path))
        return found

    @cached_property
    def _endings(self) -> Counter[str]:
        """How many files have each ending."""
        return Counter(PurePosixPath(path).suffix for same in self._by_name.values() for path in same)
