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
from retinue.orchestration.reader.text_tokens import correct_spelling, word_tokens
from retinue.tools.search.passages import is_test, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

_MAX_PATHS: Final = 9
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
    return None if workspace is None else _FileFinder(workspace)


class _FileFinder:
    """The names of a workspace's files and folders; listed once somebody names one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, name: str) -> Sequence[str]:
        path = PurePosixPath(name.lower().removeprefix("./"))
        if not path.suffix and len(path.parts) == 1:
            paths = self._by_stem.get(" ".join(word_tokens(name)), [])
            ending = max((PurePosixPath(one).suffix for one in paths), key=self._endings.__getitem__, default="")
            return sorted((one for one in paths if PurePosixPath(one).suffix == ending), key=self._rank)[:_MAX_PATHS]
        paths = self._by_name.get(path.name)
        if paths is None:
            correction = correct_spelling(
                path.name, [one for one in self._by_name if PurePosixPath(one).suffix == path.suffix]
            )
            paths = self._by_name[correction] if correction is not None else []
        within = [one for one in paths if f"/{one.lower()}".endswith(f"/{path}")] if len(path.parts) > 1 else paths
        return sorted(within, key=lambda one: (one.count("/"), one))[:_MAX_PATHS]

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
        paths_by_name: dict[str, list[str]] = {}
        with suppress(RetinueError, OSError, ValueError):
            for entry in list_files(self._workspace).files:
                paths_by_name.setdefault(PurePosixPath(entry.path).name.lower(), []).append(entry.path)
        return paths_by_name

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        """Files and folders by the words of their names without endings."""
        paths_by_stem: dict[str, list[str]] = {}
        paths = [PurePosixPath(path) for same in self._by_name.values() for path in same]
        for path in dict.fromkeys(chain(paths, *(path.parents for path in paths))):
            if path.name:
                paths_by_stem.setdefault(" ".join(word_tokens(path.stem)), []).append(str(path))
        return paths_by_stem

    @cached_property
    def _endings(self) -> Counter[str]:
        """How many files have each ending."""
        return Counter(PurePosixPath(path).suffix for same in self._by_name.values() for path in same)
