"""Whether changed imports close a circle: over any number of modules, by what is imported when a module is loaded.

Imports in functions and for type checkers are no part of it. That a module's package is loaded with it is left out too,
for the package is loaded first.
"""

from collections.abc import Mapping
from typing import Final

from retinue.errors import RetinueError
from retinue.tools.structure import Resolver, structure_of
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .changes import Changes

__all__ = ["closed_circle"]

_MOST_FILES: Final = 20_000


def closed_circle(workspace: Workspace, changes: Changes) -> tuple[str, ...]:
    """The files of a circle that `changes` close, in the order in which they import each other; empty when none."""
    after = {change.path: change.after for change in changes.files}
    graph = _Graph(workspace, after)
    for change in changes.files:
        fresh = graph.following(change.path) - graph.of_text(change.path, change.before or "")
        for target in sorted(fresh):
            if way := graph.way(target, change.path):
                return (change.path, *way)
    return ()


class _Graph:
    """Which file loads which, as the files are with some texts changed; read as far as it is asked for."""

    def __init__(self, workspace: Workspace, changed: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._changed = changed
        self._resolver = Resolver({*glob(workspace, "*.py", limit=_MOST_FILES), *changed}, {})
        self._known: dict[str, frozenset[str]] = {}

    def following(self, path: str) -> frozenset[str]:
        """The files that `path` loads."""
        if path not in self._known:
            text = self._changed.get(path)
            try:
                self._known[path] = self.of_text(path, self._workspace.read_text(path) if text is None else text)
            except RetinueError:
                self._known[path] = frozenset()
        return self._known[path]

    def of_text(self, path: str, text: str) -> frozenset[str]:
        """The files that `text` would load at the place of `path`."""
        imports = structure_of(path, text.encode()).imports
        return frozenset(file for one in imports if one.when == "always" for file in self._resolver.files(one, path))

    def way(self, start: str, end: str) -> tuple[str, ...]:
        """The files from `start` to `end`, both included; empty when none leads there."""
        before = {start: ""}
        waiting = [start]
        while waiting and end not in before:
            path = waiting.pop(0)
            for each in sorted(self.following(path)):
                if each not in before:
                    before[each] = path
                    waiting.append(each)
        way = [end] if end in before else []
        while way and before[way[-1]]:
            way.append(before[way[-1]])
        return tuple(reversed(way))
