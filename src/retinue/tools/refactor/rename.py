"""Renames a symbol wherever it is named, by what the language server knows; refused when a name could be captured.

A method is renamed with all that it overrides and that override it. What the server leaves out (imports that hand a
name on, `__all__`) is looked for in the tokens of the project and asked for one by one. Names in strings and comments
are left alone and listed, and so are those whose meaning is not known.
"""

import ast
import asyncio
import builtins
import keyword
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from retinue.errors import AccessDenied, InvalidInput, Unavailable
from retinue.tools.lsp.locations import Location, Position, language_of
from retinue.tools.lsp.navigator import Navigator
from retinue.tools.lsp.tool import NameMentions, classify_mentions, name_at
from retinue.tools.workspace import Workspace

from .extract import bound_names, names_of
from .source import ChangeSet, FileUpdate, ModuleSource, SourceEdit, apply_edits, check_lines

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class RenameResult:
    """A rename, ready to be shown or applied.

    Attributes:
        old: The name before.
        places: How many places change.
        remaining: Lines that still hold the old name in strings and comments: of the changed files all, of others those
            where a string is the name or ends with it. In other languages than Python, all lines of the changed files.
        unsure: Lines of code that still hold the old name, and of which the server does not know what they mean.
        definitions: Every definition that is renamed: more than one when a method is overridden.
    """

    changes: ChangeSet
    old: str
    new: str
    places: int
    remaining: tuple[str, ...]
    unsure: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()


@dataclass(slots=True)
class _RenamePlan:
    """What a rename is about to do.

    Attributes:
        mentions: What the project's Python files hold of the old name.
        edits: What is put where.
    """

    mentions: NameMentions
    edits: dict[Position, tuple[Location, str]] = field(default_factory=dict[Position, tuple[Location, str]])
    unsure: list[str] = field(default_factory=list[str])

    def add(self, place: Location, text: str) -> None:
        self.edits.setdefault(place.start, (place, text))


async def rename(navigator: Navigator, workspace: Workspace, at: Position, new: str) -> RenameResult:
    """Rename the symbol at `at` to `new`. Nothing is written.

    Raises:
        InvalidInput: `new` is not a valid name, nothing is to rename, the name is already used in a file that would
            change, or a file would be broken.
        AccessDenied: It is named or defined in a file that may not be read or lies outside the workspace.
    """
    if not _IDENTIFIER.fullmatch(new) or keyword.iskeyword(new) or not new.isidentifier():
        raise InvalidInput(
            f"{new!r} is not a valid name.", hint="Give one identifier that is not a keyword.", path="/new_name"
        )
    old = await asyncio.to_thread(name_at, workspace, at)
    if not old:
        raise InvalidInput(f"There is no name at {at}.", hint="Point at the first character of the symbol.")
    if old == new:
        raise InvalidInput(f"It is called {new!r} already.", hint="Give another name.", path="/new_name")
    definitions = await _definitions(navigator, at, old)
    # By all its definitions: a server renames only the override that it is asked about.
    plan = _RenamePlan(NameMentions(old))
    for spot in definitions or (at,):
        for place, text in await _places(navigator, spot, old, new):
            plan.add(place, text)
    if not plan.edits:
        raise InvalidInput(f"There is nothing to rename at {at}.", hint="Name a symbol that the project defines.")
    if language_of(at.path) == "python":
        plan.mentions = await asyncio.to_thread(NameMentions.scan, workspace, old)
        beyond, unsure = await classify_mentions(navigator, plan.mentions, plan.edits.keys())
        for place in beyond:
            plan.add(place, new)
        plan.unsure += [f"{place.path}:{place.line}" for place in unsure]
    names = tuple(str(each) for each in definitions)
    return await asyncio.to_thread(_build_result, workspace, plan, old, new, names)


async def _definitions(navigator: Navigator, at: Position, old: str) -> tuple[Position, ...]:
    family: dict[Position, Location] = {}
    try:
        locations = [place for place in await navigator.definition(at) if not place.is_outside]
    except Unavailable as error:
        if not error.detail.get("capability"):
            raise
        return ()
    for place in locations:
        for each in await navigator.member_definitions(place.start):
            family.setdefault(each.start, each)
    if outside := [place for place in family.values() if place.is_outside]:
        raise AccessDenied(
            f"{old!r} overrides what is defined in {outside[0].path!r}, outside the workspace.",
            hint="It has to be called what its base class calls it; rename something else.",
        )
    return tuple(sorted(family))


async def _places(navigator: Navigator, at: Position, old: str, new: str) -> list[tuple[Location, str]]:
    """What the server would put where, and the references that it forgot thereby."""
    edits = await navigator.rename_edits(at, new)
    try:
        references = await navigator.references(at)
    except Unavailable as error:
        if edits is None or not error.detail.get("capability"):
            raise
        references = ()
    # A reference may also be an alias: one that is not the name itself stays.
    extra = [
        place
        for place in references
        if place.is_outside
        or (place.line == place.end_line and place.text[place.column - 1 : place.end_column - 1] == old)
    ]
    return [*(edits or ()), *((place, new) for place in extra)]


def _build_result(
    workspace: Workspace, plan: _RenamePlan, old: str, new: str, definitions: tuple[str, ...]
) -> RenameResult:
    by_file: dict[str, list[SourceEdit]] = defaultdict(list)
    for place, text in plan.edits.values():
        if place.is_outside:
            raise AccessDenied(
                f"{old!r} is also named in {place.path!r}, outside the workspace.",
                hint="Rename only what the project itself defines.",
            )
        by_file[place.path].append(SourceEdit(place.line, place.column, place.end_line, place.end_column, text))
    texts = plan.mentions.texts | {
        path: workspace.read_text(path) for path in by_file if path not in plan.mentions.texts
    }
    _rename_exports(texts, by_file, old, new)
    files: list[FileUpdate] = []
    remaining: list[str] = []
    for path, edits in by_file.items():
        check_lines(path, texts[path])
        _check_free(path, texts[path], new)
        files.append(FileUpdate(path, texts[path], apply_edits(texts[path], edits), f"`{old}` is called `{new}`"))
        if path not in plan.mentions.by_file:
            rows = enumerate(files[-1].after.split("\n"), 1)
            remaining += [
                f"{path}:{number}" for number, line in rows if re.search(rf"(?<!\w){re.escape(old)}(?!\w)", line)
            ]
    changes = ChangeSet.of(files)
    changes.check()
    # Strings and comments that hold the old name: in changed files all, elsewhere those that may name the symbol.
    for path, mentions in plan.mentions.by_file.items():
        edited_places = {(edit.line, edit.column) for edit in by_file.get(path, ())}
        lines = {
            each.line
            for each in mentions
            if not each.is_code and (each.is_path or path in by_file) and (each.line, each.column) not in edited_places
        }
        remaining += [f"{path}:{line}" for line in lines]
    places = sum(map(len, by_file.values()))
    return RenameResult(changes, old, new, places, tuple(sorted(remaining)), tuple(plan.unsure), definitions)


def _rename_exports(texts: Mapping[str, str], by_file: dict[str, list[SourceEdit]], old: str, new: str) -> None:
    """Rename it in `__all__` where a module binds it, itself or by importing everything from one that does."""
    binding = {path for path, edits in by_file.items() if loses_name(texts[path], apply_edits(texts[path], edits), old)}
    waiting = list(binding)
    while waiting:
        path = waiting.pop()
        by_file[path] += rename_exports(texts[path], old, new)
        module = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
        for other, text in texts.items():
            if other in binding or "import *" not in text:
                continue
            with suppress(InvalidInput):
                if any(each.name == "*" and module in each.files for each in ModuleSource(other, text).imports()):
                    binding.add(other)
                    waiting.append(other)


def _check_free(path: str, text: str, new: str) -> None:
    """See that `new` means nothing yet where it would be used: a name that is there already could be captured."""
    if path.endswith((".py", ".pyi")):
        nodes = (node for node in ast.walk(_parse(text)) if new in names_of(node))
        lines = sorted(getattr(node, "lineno", 1) for node in nodes)
        if not lines and hasattr(builtins, new) and not new.startswith("_"):
            raise InvalidInput(f"{new!r} is a built-in of Python.", hint="Choose a name of your own.", path="/new_name")
    else:
        rows = enumerate(text.split("\n"), 1)
        lines = [number for number, line in rows if re.search(rf"(?<!\w){re.escape(new)}(?!\w)", line)]
    if lines:
        raise InvalidInput(
            f"{new!r} is already used in {path!r}, at line {lines[0]}.",
            hint="Choose a name that the changed files do not use yet.",
            path="/new_name",
            detail={"file": path, "lines": lines[:20]},
        )


_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


def _parse(text: str) -> ast.Module:
    """The tree of a Python file; an empty one when it cannot be parsed."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def rename_exports(text: str, old: str, new: str) -> list[SourceEdit]:
    """Edits that put `new` for `old` in what a module says to be public (`__all__`)."""
    lines = text.split("\n")
    edits: list[SourceEdit] = []
    for node in _parse(text).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=ast.expr() as value)
            ):
                elements = [each for each in ast.walk(value) if isinstance(each, ast.Constant) and each.value == old]
            case _:
                continue
        for element in elements:
            line = lines[element.lineno - 1].encode()
            first = len(line[: element.col_offset].decode()) + 1
            literal = line[element.col_offset : element.end_col_offset].decode()
            at = literal.find(old)
            if element.end_lineno == element.lineno and at > 0 and _STRING.fullmatch(literal):
                edits.append(SourceEdit(element.lineno, first + at, element.lineno, first + at + len(old), new))
    return edits


def loses_name(before: str, after: str, old: str) -> bool:
    """Whether a module bound `old` at its top before, and no longer does."""
    return old in bound_names(_parse(before).body) and old not in bound_names(_parse(after).body)
