"""Moves a function or class from the top of one Python module to another, and mends the imports of the whole project.

Imports are followed by files, not by names, so it does not matter how a project is laid out. What cannot be kept right
is refused with the reason: imports in a circle, a name that is taken, code that means something only where it stands.
"""

import ast
import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from retinue.errors import InvalidInput, MissingFile, RetinueError, UnknownName
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .changes import Change, Changes
from .circles import closed_circle
from .layout import Layout, relative_module
from .names import reads, stored
from .source import Import, Source

__all__ = ["Moved", "move"]

_ONLY_THERE: Final = frozenset({"__name__", "__file__", "__package__", "__path__", "globals", "locals"})
_MOST_FILES: Final = 20_000
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(slots=True)
class Moved:
    """A move, ready to be shown or applied.

    Attributes:
        notes: What a person should look at: public names, strings that may name the old place.
    """

    changes: Changes
    name: str
    notes: list[str] = field(default_factory=list[str])


async def move(workspace: Workspace, source: str, name: str, target: str) -> Moved:
    """Move `name` from the file `source` to the file `target`. Nothing is written.

    Raises:
        UnknownName: `source` defines no such function or class at its top.
        InvalidInput: It cannot be moved and everything kept right; the message says why.
    """
    return await asyncio.to_thread(_move, workspace, source, name, target, lambda: None)


def _move(workspace: Workspace, source: str, name: str, target: str, check: Callable[[], None]) -> Moved:
    source, target = workspace.relative(source), workspace.relative(target)
    if source == target or not target.endswith(".py") or not source.endswith(".py"):
        raise _refused("both places must be different Python files", "Name another `.py` file as the target.")
    if not PurePosixPath(target).stem.isidentifier():
        raise _refused(f"no module can be called {PurePosixPath(target).stem!r}", "Name the file as Python names are.")
    old = Source(source, workspace.read_text(source))
    try:
        existing: str | None = workspace.read_text(target)
    except MissingFile:
        existing = None
    new = Source(target, existing or "")
    work = _Move(old, new, name, Layout(workspace))
    work.moved()
    others = [each for each in _files_naming(workspace, name, check) if each.path not in (source, target)]
    for other in others:
        work.mend(other)
    sides = (
        Change(source, old.text, old.written(), f"`{name}` moves to `{target}`"),
        Change(target, existing, new.written(), f"`{name}` comes from `{source}`"),
    )
    why = f"`{name}` is imported from `{target}`"
    found = Changes.of((*sides, *(Change(each.path, each.text, each.written(), why) for each in others)))
    found.check()
    _check_circle(workspace, found)
    return Moved(found, name, work.notes)


class _Move:
    """One move under way."""

    def __init__(self, old: Source, new: Source, name: str, layout: Layout) -> None:
        definitions = old.definitions(name)
        if not definitions:
            names = tuple(node.name for node in old.tree.body if isinstance(node, _DEFINITIONS))
            raise UnknownName(
                f"{old.path!r} defines no function or class {name!r} at its top.",
                hint=f"Available: {', '.join(names) or 'none'}.",
                suggestions=names,
            )
        if name in set(stored(new.tree.body)) and not any(_is_from(each, old.path, name) for each in new.imports()):
            raise _refused(f"{new.path!r} has a {name!r} already", "Rename one of them first.")
        self._old, self._new, self._name, self._definitions = old, new, name, definitions
        self._layout = layout
        self.notes: list[str] = []

    def moved(self) -> None:
        """Take the definition from one file to the other, with the imports that it needs."""
        needed = self._needed()
        if odd := sorted(needed & _ONLY_THERE):
            raise _refused(f"it uses `{odd[0]}`, which means something only there", "Pass it in as a parameter first.")
        if any(isinstance(node, ast.Global) for each in self._definitions for node in ast.walk(each)):
            raise _refused("it rebinds globals of its module", "Make it a function of its arguments first.")
        for each in self._new.imports():
            if _is_from(each, self._old.path, self._name):
                if each.bound != self._name:
                    raise _refused(f"{self._new.path!r} imports it as {each.bound!r}", "Use its own name there first.")
                self._new.drop(each)
        self._bring(needed - {self._name})
        self._new.paste("\n\n\n".join(self._old.cut(each) for each in self._definitions))
        self._leave()

    def mend(self, other: Source) -> None:
        """Let a third file import the name from its new place."""
        for each in other.imports():
            if each.name == "*" and _names_file(each.files, self._old.path):
                raise _refused(f"{other.path!r} imports everything from it", "Name what is imported there first.")
            if _is_from(each, self._old.path, self._name):
                short = f" as {each.alias.asname}" if each.alias.asname else ""
                other.drop(
                    each, instead=f"from {self._layout.of(other, each, self._new.path)} import {self._name}{short}"
                )
            elif (is_module := _module_of(each, self._old.path)) is not None:
                self._mend_attributes(other, each, is_module)
        dotted = f"{PurePosixPath(self._old.path).stem}.{self._name}"
        for node in ast.walk(other.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and dotted in node.value:
                self.notes.append(f"{other.path}:{node.lineno} holds {dotted!r} in a text.")
        for node in ast.walk(other.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and node not in other.tree.body:
                self._check_inner(other, node)

    def _needed(self) -> set[str]:
        return set[str]().union(*map(_needed_by, self._definitions))

    def _bring(self, needed: set[str]) -> None:
        """Import into the new file what the definition needs of the old."""
        have = set(stored(self._new.tree.body))
        imported = {each.bound: each for each in self._old.imports()}
        defined = set(stored(self._old.tree.body))
        for name in sorted(needed & defined):
            if name in have:
                theirs = {each.bound: each for each in self._new.imports()}.get(name)
                same = theirs is not None and _same(theirs, imported.get(name))
                if not same:
                    raise _refused(f"{name!r} means something else in {self._new.path!r}", "Rename one of them first.")
            elif name in imported:
                self._new.add_import(_statement(self._old, imported[name], self._new))
            else:
                self._new.add_import(f"from {self._layout.between(self._new.path, self._old.path)} import {name}")
        for node in self._old.tree.body:
            if isinstance(node, (ast.If, ast.Try)) and (taken := needed & set(stored([node]))):
                raise _refused(f"`{min(taken)}` is defined only under a condition", "Move it by hand.")

    def _leave(self) -> None:
        """Let the old file import what it still uses, and nothing that only the definition used."""
        rest = [node for node in self._old.tree.body if node not in self._definitions]
        still = set(reads(rest))
        if self._name in still:
            self._old.add_import(f"from {self._layout.between(self._old.path, self._new.path)} import {self._name}")
        needed = self._needed()
        texts = {node.value for each in rest for node in ast.walk(each) if isinstance(node, ast.Constant)}
        for each in list(self._old.imports()):
            if (
                each.bound in needed
                and each.bound not in still
                and each.bound not in texts
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

    def _mend_attributes(self, other: Source, each: Import, bound: str) -> None:
        """Write `module.name` as `name`, imported from the new place."""
        used = [
            node
            for node in ast.walk(other.tree)
            if isinstance(node, ast.Attribute) and node.attr == self._name and ast.unparse(node.value) == bound
        ]
        if not used:
            return
        if _binds(other, self._name, self._old.path):
            raise _refused(f"{other.path!r} has a {self._name!r} of its own", "Rename one of them first.")
        for node in used:
            other.replace(node, self._name)
        other.add_import(f"from {self._layout.of(other, each, self._new.path)} import {self._name}")

    def _check_inner(self, other: Source, node: ast.Import | ast.ImportFrom) -> None:
        if not isinstance(node, ast.ImportFrom) or all(alias.name != self._name for alias in node.names):
            return
        if _names_file(other.module_files(node.level, node.module or ""), self._old.path):
            raise _refused(
                f"{other.path!r} imports it inside a function or condition, at line {node.lineno}",
                "Move that import to the top first.",
            )


def _needed_by(definition: ast.stmt) -> set[str]:
    """Every name that a definition reads of its module, names in texts of annotations included."""
    found = set(reads([definition]))
    for node in ast.walk(definition):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for each in filter(None, annotations):
            for text in ast.walk(each):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    found |= set(re.findall(r"[^\W\d]\w*", text.value))
    return found


def _files_naming(workspace: Workspace, name: str, check: Callable[[], None]) -> Iterator[Source]:
    """Every Python file that holds the name."""
    for path in glob(workspace, "*.py", limit=_MOST_FILES):
        check()
        try:
            text = workspace.read_text(path)
        except RetinueError:
            continue
        if name in text:
            try:
                yield Source(path, text)
            except InvalidInput:
                if re.search(rf"import[^\n]*\b{re.escape(name)}\b", text):
                    raise


def _names_file(files: Iterable[str], path: str) -> bool:
    """Whether one of `files` (without suffix) is `path`."""
    bare = path.removesuffix(".py").removesuffix("/__init__")
    return bare in files


def _is_from(each: Import, path: str, name: str) -> bool:
    """Whether an import takes `name` out of the file `path`."""
    return each.name == name and _names_file(each.files, path)


def _binds(other: Source, name: str, path: str) -> bool:
    """Whether a file gives `name` a meaning of its own, other than by importing it from `path`."""
    theirs = any(each.bound == name and not _is_from(each, path, name) for each in other.imports())
    return theirs or any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, _DEFINITIONS) and node.name == name)
        for node in ast.walk(other.tree)
    )


def _module_of(each: Import, path: str) -> str | None:
    """By what expression a file speaks of the module `path` that it imports whole; None when it does not."""
    if not each.name:
        if not _names_file(each.files, path):
            return None
        return each.alias.asname or each.alias.name
    inner = tuple(f"{file}/{each.name}".removeprefix("./") for file in each.files)
    return each.bound if _names_file(inner, path) else None


def _statement(old: Source, each: Import, new: Source) -> str:
    """The import of one name, as the new file has to say it."""
    short = f" as {each.alias.asname}" if each.alias.asname else ""
    if isinstance(each.node, ast.Import):
        return f"import {each.alias.name}{short}"
    module = each.node.module or ""
    if each.node.level and PurePosixPath(old.path).parent != PurePosixPath(new.path).parent:
        base = old.module_files(each.node.level, module)[0]
        module = relative_module(new.path, f"{base}.py")
        return f"from {module} import {each.name}{short}"
    return f"from {'.' * each.node.level}{module} import {each.name}{short}"


def _same(one: Import, other: Import | None) -> bool:
    if other is None:
        return False
    return one.name == other.name and bool(set(one.files) & set(other.files)) and one.alias.name == other.alias.name


def _check_circle(workspace: Workspace, changes: Changes) -> None:
    """See that no module comes to import itself, over however many others."""
    if way := closed_circle(workspace, changes):
        what = f"{way[0]!r} and {way[1]!r} would import each other"
        if len(way) > 3:
            what = f"modules would import each other in a circle: {' → '.join(way)}"
        raise _refused(what, "Move what both need to a third module first.")


def _refused(why: str, hint: str) -> InvalidInput:
    return InvalidInput(f"This cannot be moved: {why}.", hint=hint)
