"""Renames a symbol wherever it is named, by what the language server knows; refused when a name could be captured.

The server's own rename is preferred; a server without one gives its references, and each is replaced exactly. Names in
strings and comments are left alone and counted.
"""

import ast
import asyncio
import builtins
import keyword
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from retinue.errors import AccessDenied, InvalidInput
from retinue.tools.lsp import Navigator, Place, Spot
from retinue.tools.workspace import Workspace

from .changes import Change, Changes, Edit, edited

__all__ = ["Renamed", "rename"]

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Renamed:
    """A rename, ready to be shown or applied.

    Attributes:
        old: The name before.
        places: How many places change.
        left: Lines of the changed files that still hold the old name: strings, comments, other symbols.
    """

    changes: Changes
    old: str
    new: str
    places: int
    left: tuple[str, ...]


async def rename(navigator: Navigator, workspace: Workspace, at: Spot, new: str) -> Renamed:
    """Rename the symbol at `at` to `new`. Nothing is written.

    Raises:
        InvalidInput: `new` is no name, there is nothing to rename, the new name is already used in a file that would
            change, or a file would be broken.
        AccessDenied: It is named in a file that may not be read or lies outside the workspace.
    """
    if not _IDENTIFIER.fullmatch(new) or keyword.iskeyword(new) or not new.isidentifier():
        raise InvalidInput(f"{new!r} is no name.", hint="Give one identifier that is no keyword.", path="/new_name")
    old = await asyncio.to_thread(_name_at, workspace, at)
    if old == new:
        raise InvalidInput(f"It is called {new!r} already.", hint="Give another name.", path="/new_name")
    edits = await navigator.rename_places(at, new)
    if edits is None:
        edits = tuple((place, new) for place in await navigator.references(at))
    if not edits:
        raise InvalidInput(f"There is nothing to rename at {at}.", hint="Name a symbol that the project defines.")
    return await asyncio.to_thread(_renamed, workspace, edits, old, new)


def _renamed(workspace: Workspace, edits: tuple[tuple[Place, str], ...], old: str, new: str) -> Renamed:
    by_file: dict[str, list[Edit]] = defaultdict(list)
    for place, text in edits:
        if place.is_outside:
            raise AccessDenied(
                f"{old!r} is also named in {place.path!r}, outside the workspace.",
                hint="Rename only what the project itself defines.",
            )
        by_file[place.path].append(Edit(place.line, place.column, place.end_line, place.end_column, text))
    files: list[Change] = []
    left: list[str] = []
    for path, wanted in by_file.items():
        before = workspace.read_text(path)
        _check_free(path, before, new)
        after = edited(before, wanted)
        files.append(Change(path, before, after, f"`{old}` is called `{new}`"))
        left += _still_named(path, after, old)
    changes = Changes.of(files)
    changes.check()
    return Renamed(changes, old, new, len(edits), tuple(left))


def _name_at(workspace: Workspace, at: Spot) -> str:
    lines = workspace.read_text(at.path).split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    for found in _IDENTIFIER.finditer(line):
        if found.start() <= at.column - 1 < found.end():
            return found[0]
    raise InvalidInput(f"There is no name at {at}.", hint="Point at the first character of the symbol.")


def _check_free(path: str, text: str, new: str) -> None:
    """See that `new` means nothing yet where it would be used: a name that is there already could be captured."""
    if path.endswith((".py", ".pyi")):
        lines = sorted(_bound(text, new))
        if not lines and hasattr(builtins, new) and not new.startswith("_"):
            raise InvalidInput(f"{new!r} is a built-in of Python.", hint="Choose a name of your own.", path="/new_name")
    else:
        pattern = re.compile(rf"(?<!\w){re.escape(new)}(?!\w)")
        lines = [number for number, line in enumerate(text.split("\n"), 1) if pattern.search(line)]
    if lines:
        raise InvalidInput(
            f"{new!r} is already used in {path!r}, at line {lines[0]}.",
            hint="Choose a name that the changed files do not use yet.",
            path="/new_name",
            detail={"file": path, "lines": lines[:20]},
        )


def _bound(text: str, name: str) -> Iterator[int]:
    """Lines at which Python code uses `name` for anything."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=found) | ast.Attribute(attr=found) | ast.arg(arg=found):
                names = {found}
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
                names = {found}
            case ast.alias(name=whole, asname=short):
                names = {short or whole.partition(".")[0]}
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names = set(several)
            case ast.keyword(arg=found) | ast.ExceptHandler(name=found) if found:
                names = {found}
            case _:
                continue
        if name in names:
            yield getattr(node, "lineno", 1)


def _still_named(path: str, text: str, old: str) -> list[str]:
    pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)")
    return [f"{path}:{number}" for number, line in enumerate(text.split("\n"), 1) if pattern.search(line)]
