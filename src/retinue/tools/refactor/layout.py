"""How one Python file of a project names another: relative inside a package, from the root it is imported from else."""

import ast
from pathlib import PurePosixPath

from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

from .source import Import, Source

__all__ = ["Layout", "relative_module"]


class Layout:
    """Which folders of a workspace are packages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def between(self, path: str, target: str) -> str:
        """What the file `path` calls the module `target` when it has not named anything near it yet."""
        folder = PurePosixPath(path).parent
        if self._workspace.readable(f"{folder}/__init__.py"):
            return relative_module(path, target)
        bare = PurePosixPath(_bare(target))
        return bare.name if bare.parent == folder else ".".join(bare.parts)

    def of(self, other: Source, each: Import, target: str) -> str:
        """What `other` calls the module `target`, in the way in which it named the one it imported by `each`.

        Raises:
            InvalidInput: It cannot be told.
        """
        if isinstance(each.node, ast.ImportFrom) and each.node.level:
            return relative_module(other.path, target)
        said = (each.node.module or "") if isinstance(each.node, ast.ImportFrom) else each.alias.name
        first = said.partition(".")[0]
        folders = [str(folder) for folder in PurePosixPath(other.path).parents]
        for root in (".", *folders, "src", "lib"):
            prefix = "" if root == "." else f"{root}/"
            below = _bare(target).removeprefix(prefix)
            is_near = below.partition("/")[0] == first or ("." not in said and "/" not in below)
            if _bare(target).startswith(prefix) and is_near:
                return below.replace("/", ".")
        raise InvalidInput(
            f"This cannot be moved: {other.path!r} cannot name {target!r}.",
            hint="Move it to a module of the same package.",
        )


def relative_module(path: str, target: str) -> str:
    """The relative name of the module or package `target` in the file `path`."""
    here, there = PurePosixPath(path).parent.parts, PurePosixPath(_bare(target)).parts
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    return "." * (len(here) - shared + 1) + ".".join(there[shared:])


def _bare(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")
