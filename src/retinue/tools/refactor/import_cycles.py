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

from .changes import ChangeSet

_MOST_FILES: Final = 20_000


def find_new_cycle(workspace: Workspace, changes: ChangeSet) -> tuple[str, ...]:
    """The files of a circle that `changes` close, in the order in which they import each other; empty when none."""
    after = {change.path: change.after for change in changes.files}
    graph = _ImportGraph(workspace, after)
    for change in changes.files:
        fresh = graph.imports_of(change.path) - graph.imports_in(change.path, change.before or "")
        for target in sorted(fresh):
            if route := graph.route(target, change.path):
                return (change.path, *route)
    return ()


class _ImportGraph:
    """Which file loads which, as the files are with some texts changed; read as far as it is asked for."""

    def __init__(self, workspace: Workspace, changed: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._changed = changed
        self._resolver = Resolver({*glob(workspace, "*.py", limit=_MOST_FILES), *changed}, {})
        self._cache: dict[str, frozenset[str]] = {}

    def imports_of(self, path: str) -> frozenset[str]:
        """The files that `path` loads."""
        if path not in self._cache:
            text = self._changed.get(path)
            try:
                self._cache[path] = self.imports_in(path, self._workspace.read_text(path) if text is None else text)
            except RetinueError:
                self._cache[path] = frozenset()
        return self._cache[path]

    def imports_in(self, path: str, text: str) -> frozenset[str]:
        """The files that `text` would load at the place of `path`."""
        imports = structure_of(path, text.encode()).imports
        return frozenset(file for one in imports if one.when == "always" for file in self._resolver.files(one, path))

    def route(self, start: str, end: str) -> tuple[str, ...]:
        """The files from `start` to `end`, both included; empty when none leads there."""
        before = {start: ""}
        waiting = [start]
        while waiting and end not in before:
            path = waiting.pop(0)
            for each in sorted(self.imports_of(path)):
                if each not in before:
                    before[each] = path
                    waiting.append(each)
        route = [end] if end in before else []
        while route and before[route[-1]]:
            route.append(before[route[-1]])
        return tuple(reversed(route))
