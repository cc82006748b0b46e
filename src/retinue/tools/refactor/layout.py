"""How one Python file of a project names another: relative inside a package, from the root it is imported from else."""

import ast
from pathlib import PurePosixPath

from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

from .source import ImportedName, ModuleSource


class ModuleLayout:
    """Which folders of a workspace are packages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def module_name(self, path: str, target: str) -> str:
        """What the file `path` calls the module `target` when it has not named anything near it yet."""
        folder = PurePosixPath(path).parent
        if self._workspace.readable(f"{folder}/__init__.py"):
            return relative_module(path, target)
        bare = PurePosixPath(_bare(target))
        return bare.name if bare.parent == folder else ".".join(bare.parts)

    def module_name_like(self, other: ModuleSource, each: ImportedName, target: str) -> str:
        """What `other` calls the module `target`, in the way in which it named the one it imported by `each`.

        Raises:
            InvalidInput: It cannot be told.
        """
        if isinstance(each.node, ast.ImportFrom) and each.node.level:
            return relative_module(other.path, target)
        module = (each.node.module or "") if isinstance(each.node, ast.ImportFrom) else each.alias.name
        first = module.partition(".")[0]
        folders = [str(folder) for folder in PurePosixPath(other.path).parents]
        for root in (".", *folders, "src", "lib"):
            prefix = "" if root == "." else f"{root}/"
            below = _bare(target).removeprefix(prefix)
            is_near = below.partition("/")[0] == first or ("." not in module and "/" not in below)
            if _bare(target).startswith(prefix) and is_near:
                return below.replace("/", ".")
        raise InvalidInput(
            f"This cannot be moved: {other.path!r} cannot name {target!r}.",
            hint="Move it to a module of the same package.",
        )


def relative_module(path: str, target: str) -> str:
    """The relative name of the module or package `target` in the file `path`."""
    here, there = PurePosixPath(path).parent.parts, PurePosixPath(_bare(target)).parts
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])


def _bare(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")
