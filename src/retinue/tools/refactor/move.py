"""Moves a function or class from the top of one Python module to another, and mends the imports of the whole project.

Imports are followed by files, not by names, so it does not matter how a project is laid out. What cannot be kept right
is refused with the reason: imports in a circle, a name that is taken, code that means something only where it stands.
"""

import ast
import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from retinue.errors import InvalidInput, MissingFile, RetinueError, UnknownName
from retinue.tools.structure.graph import Resolver, shortest_path
from retinue.tools.structure.python import structure_of
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .extract import bound_names, read_names
from .source import ChangeSet, FileUpdate, ImportedName, ModuleSource, module_name, module_name_like, relative_module

_ONLY_THERE: Final = frozenset({"__name__", "__file__", "__package__", "__path__", "globals", "locals"})
_MOST_FILES: Final = 20_000
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(slots=True)
class MoveResult:
    """A move, ready to be shown or applied.

    Attributes:
        notes: What a person should look at: public names, strings that may name the old place.
    """

    changes: ChangeSet
    name: str
    notes: list[str] = field(default_factory=list[str])


async def move(workspace: Workspace, source: str, name: str, target: str) -> MoveResult:
    """Move `name` from the file `source` to the file `target`. Nothing is written.

    Raises:
        UnknownName: `source` defines no such function or class at its top.
        InvalidInput: It cannot be moved and everything kept right; the message says why.
    """
    return await asyncio.to_thread(_move, workspace, source, name, target)


def _move(workspace: Workspace, source: str, name: str, target: str) -> MoveResult:
    source, target = workspace.relative(source), workspace.relative(target)
    if source == target or not target.endswith(".py") or not source.endswith(".py"):
        raise _refusal("both places must be different Python files", "Name another `.py` file as the target.")
    if not PurePosixPath(target).stem.isidentifier():
        raise _refusal(f"no module can be called {PurePosixPath(target).stem!r}", "Name the file as Python names are.")
    old = ModuleSource(source, workspace.read_text(source))
    try:
        existing: str | None = workspace.read_text(target)
    except MissingFile:
        existing = None
    new = ModuleSource(target, existing or "")
    work = _Move(old, new, name, workspace)
    work.move_definition()
    others: list[ModuleSource] = []
    for path in glob(workspace, "*.py", limit=_MOST_FILES):
        try:
            text = workspace.read_text(path)
        except RetinueError:
            continue
        if name not in text or path in (source, target):
            continue
        try:
            others.append(ModuleSource(path, text))
        except InvalidInput:  # a broken file that does not import it can stay as it is
            if re.search(rf"import[^\n]*\b{re.escape(name)}\b", text):
                raise
    for other in others:
        work.update_imports(other)
    sides = (
        FileUpdate(source, old.text, old.render(), f"`{name}` moves to `{target}`"),
        FileUpdate(target, existing, new.render(), f"`{name}` comes from `{source}`"),
    )
    why = f"`{name}` is imported from `{target}`"
    changes = ChangeSet.of((*sides, *(FileUpdate(each.path, each.text, each.render(), why) for each in others)))
    changes.check()
    # See that no module comes to import itself, over however many others.
    if cycle := find_new_cycle(workspace, changes):
        what = f"{cycle[0]!r} and {cycle[1]!r} would import each other"
        if len(cycle) > 3:
            what = f"modules would import each other in a circle: {' → '.join(cycle)}"
        raise _refusal(what, "Move what both need to a third module first.")
    return MoveResult(changes, name, work.notes)


class _Move:
    def __init__(self, old: ModuleSource, new: ModuleSource, name: str, workspace: Workspace) -> None:
        definitions = old.definitions(name)
        if not definitions:
            names = tuple(node.name for node in old.tree.body if isinstance(node, _DEFINITIONS))
            raise UnknownName(
                f"{old.path!r} defines no function or class {name!r} at its top.",
                hint=f"Available: {', '.join(names) or 'none'}.",
                suggestions=names,
            )
        if name in set(bound_names(new.tree.body)) and not any(
            _is_from(each, old.path, name) for each in new.imports()
        ):
            raise _refusal(f"{new.path!r} has a {name!r} already", "Rename one of them first.")
        self._old, self._new, self._name, self._definitions = old, new, name, definitions
        self._workspace = workspace
        self.notes: list[str] = []

    def move_definition(self) -> None:
        required_names = self._required_names()
        if odd := sorted(required_names & _ONLY_THERE):
            raise _refusal(f"it uses `{odd[0]}`, which means something only there", "Pass it in as a parameter first.")
        if any(isinstance(node, ast.Global) for each in self._definitions for node in ast.walk(each)):
            raise _refusal("it rebinds globals of its module", "Make it a function of its arguments first.")
        for each in self._new.imports():
            if _is_from(each, self._old.path, self._name):
                if each.local_name != self._name:
                    raise _refusal(
                        f"{self._new.path!r} imports it as {each.local_name!r}", "Use its own name there first."
                    )
                self._new.drop(each)
        self._add_imports(required_names - {self._name})
        self._new.append("\n\n\n".join(self._old.remove_definition(each) for each in self._definitions))
        self._clean_old_file()

    def update_imports(self, other: ModuleSource) -> None:
        for each in other.imports():
            if each.name == "*" and _names_file(each.files, self._old.path):
                raise _refusal(f"{other.path!r} imports everything from it", "Name what is imported there first.")
            if _is_from(each, self._old.path, self._name):
                short = f" as {each.alias.asname}" if each.alias.asname else ""
                other.drop(
                    each,
                    instead=f"from {module_name_like(other, each, self._new.path)} import {self._name}{short}",
                )
                continue
            # By what expression the file speaks of the old module, when it imports that whole.
            files = each.files if not each.name else [f"{file}/{each.name}".removeprefix("./") for file in each.files]
            if _names_file(files, self._old.path):
                bound = each.local_name if each.name else each.alias.asname or each.alias.name
                self._update_attributes(other, each, bound)
        dotted = f"{PurePosixPath(self._old.path).stem}.{self._name}"
        for node in ast.walk(other.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and dotted in node.value:
                self.notes.append(f"{other.path}:{node.lineno} holds {dotted!r} in a text.")
        inner = [
            node for node in ast.walk(other.tree) if isinstance(node, ast.ImportFrom) and node not in other.tree.body
        ]
        for node in inner:
            files = other.module_files(node.level, node.module or "")
            if any(alias.name == self._name for alias in node.names) and _names_file(files, self._old.path):
                raise _refusal(
                    f"{other.path!r} imports it inside a function or condition, at line {node.lineno}",
                    "Move that import to the top first.",
                )

    def _required_names(self) -> set[str]:
        """Every name that the definition reads of its module, names in texts of annotations included."""
        names = set(read_names(self._definitions))
        for node in (node for each in self._definitions for node in ast.walk(each)):
            annotations = filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None)))
            for text in (text for each in annotations for text in ast.walk(each)):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    names |= set(re.findall(r"[^\W\d]\w*", text.value))
        return names

    def _add_imports(self, required_names: set[str]) -> None:
        have = set(bound_names(self._new.tree.body))
        imports_by_name = {each.local_name: each for each in self._old.imports()}
        top_names = set(bound_names(self._old.tree.body))
        for name in sorted(required_names & top_names):
            if name in have:
                existing = {each.local_name: each for each in self._new.imports()}.get(name)
                source = imports_by_name.get(name)
                if (
                    existing is None
                    or source is None
                    or (existing.name, existing.alias.name) != (source.name, source.alias.name)
                    or set(existing.files).isdisjoint(source.files)
                ):
                    raise _refusal(f"{name!r} means something else in {self._new.path!r}", "Rename one of them first.")
            elif name in imports_by_name:
                each = imports_by_name[name]
                short = f" as {each.alias.asname}" if each.alias.asname else ""
                if isinstance(each.node, ast.Import):
                    self._new.add_import(f"import {each.alias.name}{short}")
                    continue
                module = f"{'.' * each.node.level}{each.node.module or ''}"
                if each.node.level and PurePosixPath(self._old.path).parent != PurePosixPath(self._new.path).parent:
                    base = self._old.module_files(each.node.level, each.node.module or "")[0]
                    module = relative_module(self._new.path, f"{base}.py")
                self._new.add_import(f"from {module} import {each.name}{short}")
            else:
                self._new.add_import(
                    f"from {module_name(self._workspace, self._new.path, self._old.path)} import {name}"
                )
        for node in self._old.tree.body:
            if isinstance(node, (ast.If, ast.Try)) and (conflicts := required_names & set(bound_names([node]))):
                raise _refusal(f"`{min(conflicts)}` is defined only under a condition", "Move it by hand.")

    def _clean_old_file(self) -> None:
        """Let the old file import what it still uses, and nothing that only the definition used."""
        rest = [node for node in self._old.tree.body if node not in self._definitions]
        still = set(read_names(rest))
        if self._name in still:
            self._old.add_import(
                f"from {module_name(self._workspace, self._old.path, self._new.path)} import {self._name}"
            )
        required_names = self._required_names()
        texts = {node.value for each in rest for node in ast.walk(each) if isinstance(node, ast.Constant)}
        for each in list(self._old.imports()):
            if (
                each.local_name in required_names
                and each.local_name not in still
                and each.local_name not in texts
                and len(each.node.names) == 1
            ):
                self._old.drop(each)
        for node in rest:
            match node:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value):
                    for element in value.elts:
                        if isinstance(element, ast.Constant) and element.value == self._name:
                            self._old.drop_element(value, element)
                            self.notes.append(f"`{self._name}` was public in `{self._old.path}` (`__all__`).")
                case _:
                    continue

    def _update_attributes(self, other: ModuleSource, each: ImportedName, bound: str) -> None:
        references = [
            node
            for node in ast.walk(other.tree)
            if isinstance(node, ast.Attribute) and node.attr == self._name and ast.unparse(node.value) == bound
        ]
        if not references:
            return
        is_bound = any(
            (isinstance(node, ast.Name) and node.id == self._name and not isinstance(node.ctx, ast.Load))
            or (isinstance(node, ast.arg) and node.arg == self._name)
            or (isinstance(node, _DEFINITIONS) and node.name == self._name)
            for node in ast.walk(other.tree)
        )
        if is_bound or any(
            one.local_name == self._name and not _is_from(one, self._old.path, self._name) for one in other.imports()
        ):
            raise _refusal(f"{other.path!r} has a {self._name!r} of its own", "Rename one of them first.")
        for node in references:
            other.replace(node, self._name)
        other.add_import(f"from {module_name_like(other, each, self._new.path)} import {self._name}")


def _names_file(files: Iterable[str], path: str) -> bool:
    stem = path.removesuffix(".py").removesuffix("/__init__")
    return stem in files


def _is_from(each: ImportedName, path: str, name: str) -> bool:
    return each.name == name and _names_file(each.files, path)


def _refusal(why: str, hint: str) -> InvalidInput:
    return InvalidInput(f"This cannot be moved: {why}.", hint=hint)


def find_new_cycle(workspace: Workspace, changes: ChangeSet) -> tuple[str, ...]:
    """The files of a circle that `changes` close, in the order in which they import each other; empty when none."""
    after = {change.path: change.after for change in changes.files}
    graph = _ImportGraph(workspace, after)
    for change in changes.files:
        fresh = graph.imports_of(change.path) - graph.imports_in(change.path, change.before or "")
        for target in sorted(fresh):
            if route := shortest_path(target, change.path, lambda path: sorted(graph.imports_of(path))):
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
        if path not in self._cache:
            text = self._changed.get(path)
            try:
                self._cache[path] = self.imports_in(path, self._workspace.read_text(path) if text is None else text)
            except RetinueError:
                self._cache[path] = frozenset()
        return self._cache[path]

    def imports_in(self, path: str, text: str) -> frozenset[str]:
        imports = structure_of(path, text.encode()).imports
        return frozenset(file for one in imports if one.when == "always" for file in self._resolver.files(one, path))
