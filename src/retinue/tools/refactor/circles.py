"""Whether changed imports close a circle: over any number of modules, by what is imported when a module is loaded.

Imports in functions and for type checkers are no part of it. That a module's package is loaded with it is left out too,
for the package is loaded first.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from retinue.errors import RetinueError
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .changes import Changes
from .source import Source

__all__ = ["closed_circle"]

_MOST_FILES = 20_000


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
        self._paths = {*glob(workspace, "*.py", limit=_MOST_FILES), *changed}
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
        source = Source(path, text)
        found = (each for node in _loaded(source.tree.body) for each in self._files(source, node))
        return frozenset(found) - {path}

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

    def _files(self, source: Source, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        for alias in node.names:
            if isinstance(node, ast.Import):
                yield from self._file(source, 0, alias.name)
                continue
            inner = f"{node.module}.{alias.name}" if node.module else alias.name
            found = list(self._file(source, node.level, inner)) if alias.name != "*" else []
            yield from found or self._file(source, node.level, node.module or "")

    def _file(self, source: Source, level: int, module: str) -> Iterator[str]:
        parts = module.count(".") + 1 if module else 0
        for bare in source.module_files(level, module):
            place = PurePosixPath(bare)
            root = place.parents[parts - 1] if 0 < parts <= len(place.parents) else place
            if not level and str(root / "__init__.py") in self._paths:
                continue  # nothing is imported by a name that begins inside a package
            for path in (f"{bare}.py", f"{bare}/__init__.py".removeprefix("./")):
                if path in self._paths:
                    yield path
                    return


def _loaded(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is loaded."""
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.If(test=test, body=inner, orelse=orelse):
                if "TYPE_CHECKING" not in ast.unparse(test):
                    yield from _loaded(inner)
                yield from _loaded(orelse)
            case ast.Try() | ast.TryStar():
                yield from _loaded([*node.body, *node.orelse, *node.finalbody])
                for handler in node.handlers:
                    yield from _loaded(handler.body)
            case ast.With(body=inner) | ast.ClassDef(body=inner):
                yield from _loaded(inner)
            case _:
                continue
