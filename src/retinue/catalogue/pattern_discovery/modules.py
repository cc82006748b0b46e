"""Which file an import leads to: dotted names of a project's modules, and the symbols behind re-exports.

It goes by paths alone and imports nothing. Where two files could be meant, the one nearer to the importer is.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._python_names import python_names
from retinue.catalogue.pattern_discovery.facts import FileFacts

__all__ = ["Modules"]

_HOPS: Final = 8


class Modules:
    """The modules of one project.

    Args:
        facts: Of all its files.
    """

    def __init__(self, facts: Mapping[str, FileFacts]) -> None:
        self._facts = facts
        paths = {path for path in facts if path.endswith(".py")}
        self._paths = paths
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(paths):
            for name in python_names(path, paths):
                self._by_name.setdefault(name, []).append(path)
        self._bound: dict[str, dict[str, str]] = {}
        self._defined: dict[str, set[str]] = {}

    def module(self, dotted: str, importer: str) -> str | None:
        """The file that is the module `dotted` when `importer` imports it."""
        if dotted.startswith("."):
            return self._relative(dotted, importer)
        found = self._by_name.get(dotted, ())
        return max(found, key=lambda path: (_shared(path, importer), -len(path)), default=None)

    def symbol(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The file and name of what `dotted` stands for, re-exports followed; None when it is not of this project."""
        for _ in range(_HOPS):
            found = self._split(dotted, importer)
            if found is None:
                return None
            path, name = found
            following = None if name in self._own(path) else self._imports(path).get(name)
            if following is None:
                return found
            dotted, importer = following, path
        return None

    def exported(self, path: str) -> set[str]:
        """What `from module import *` binds, as far as the module itself defines it."""
        return self._own(path)

    def _split(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The longest beginning of `dotted` that is a module, and the name after it."""
        lead = len(dotted) - len(dotted.lstrip("."))
        parts = dotted[lead:].split(".")
        for end in range(len(parts) - 1, -1, -1):
            if not end and not lead:
                break
            path = self.module(dotted[:lead] + ".".join(parts[:end]), importer)
            if path is not None:
                return path, parts[end]
        return None

    def _relative(self, dotted: str, importer: str) -> str | None:
        lead = len(dotted) - len(dotted.lstrip("."))
        folder = PurePosixPath(importer).parent
        for _ in range(lead - 1):
            if folder == folder.parent:
                return None
            folder = folder.parent
        place = folder.joinpath(*[part for part in dotted[lead:].split(".") if part])
        return next((path for path in (f"{place}.py", str(place / "__init__.py")) if path in self._paths), None)

    def _own(self, path: str) -> set[str]:
        if path not in self._defined:
            facts = self._facts[path]
            names = {one.name for one in facts.symbols} | {one.name for one in facts.fixtures if not one.owner}
            self._defined[path] = names
        return self._defined[path]

    def _imports(self, path: str) -> dict[str, str]:
        if path not in self._bound:
            facts = self._facts[path]
            bound = {one.bound: one.target for one in facts.imports if one.bound != "*"}
            for one in facts.imports:
                source = self.module(one.target.removesuffix(".*") or ".", path) if one.bound == "*" else None
                if source is not None and source != path:
                    stem = one.target.removesuffix("*")
                    bound |= {name: f"{stem}{name}" for name in self._own(source) if name not in bound}
            self._bound[path] = bound
        return self._bound[path]


def _shared(one: str, other: str) -> int:
    """How many folders two paths have in common."""
    count = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        count += 1
    return count
