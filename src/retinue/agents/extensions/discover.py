"""Finds extensions under a `tool_root`: `*_tool.py` files with `NAME`, `SYSTEM_PROMPT` and `TOOLS` (B8, B9, B20).

The spec silently ignores anything else; here every skipped file is reported, with the reason. Importing them runs
their code, so the caller must have checked that the folder is trusted.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from retinue.agents.importing import import_file
from retinue.agents.python.python_agent import read_signature
from retinue.agents.python.read_definition import input_schema, read_docstring
from retinue.agents.registry import Skipped
from retinue.contract.names import nearest
from retinue.errors import InvalidDefinition, MissingFile, NotTrusted, RetinueError

from .extension import Extension, ExtensionTool, read_words

_ENDING: Final = "_tool.py"
_MOST_FILES: Final = 1_000
_NOT_TRUSTED: Final = "It is code to run, and this folder is not trusted."


@dataclass(frozen=True, slots=True)
class Extensions:
    """What a tool root holds.

    Attributes:
        extensions: By name, in the order of their files.
        skipped: The files that gave no extension, or not all they hold, with reasons.
    """

    extensions: tuple[Extension, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def only(self, names: Collection[str]) -> "Extensions":
        """Those extensions and no others (B9). An unknown name is reported like a skipped file."""
        by_name = {extension.name.casefold(): extension for extension in self.extensions}
        missing = [name for name in names if name.casefold() not in by_name]
        keys = {name.casefold() for name in names}
        unknown = tuple(
            Skipped(path=name, reason="There is no extension with this name.", hint=_suggestion(name, by_name))
            for name in missing
        )
        matches = tuple(extension for key, extension in by_name.items() if key in keys)
        return Extensions(matches, (*self.skipped, *unknown))


def discover(tool_root: Path, *, trusted: bool) -> Extensions:
    """Import the extensions under `tool_root`.

    Args:
        tool_root: The folder that is searched, with all folders in it that are no links.
        trusted: Whether their code may run: what `TrustStore.is_trusted` said.

    Raises:
        MissingFile: There is no such folder.
        NotTrusted: It holds extensions, and may not bring code.
    """
    if not tool_root.is_dir():
        raise MissingFile(f"There is no tool root {str(tool_root)!r}.", hint="Name a folder with `*_tool.py` files.")
    files = list(_files(tool_root))
    if files and not trusted:
        raise NotTrusted(
            f"{str(tool_root)!r} holds {len(files)} extensions, and its code may not run.",
            hint="Review them, then run `retinue trust` in the folder.",
        )
    by_name: dict[str, Extension] = {}
    skipped: list[Skipped] = []
    for path in files[:_MOST_FILES]:
        file = path.relative_to(tool_root).as_posix()
        try:
            extension = _read_extension(import_file(path, search=path.parent, trusted=tool_root), file, skipped)
        except RetinueError as error:
            skipped.append(Skipped(file, error.message, error.detail.get("line"), error.hint))
            continue
        first = by_name.setdefault(extension.name.casefold(), extension)
        if first is not extension:
            skipped.append(
                Skipped(file, f"`{extension.name}` is there already, from {first.file!r}.", hint="Rename one.")
            )
    skipped += [Skipped(str(path), f"There are more than {_MOST_FILES} extensions.") for path in files[_MOST_FILES:]]
    return Extensions(tuple(by_name.values()), tuple(skipped))


def _suggestion(name: str, names: Collection[str]) -> str:
    matches = nearest(name.casefold(), names)
    return f"Did you mean {matches[0]!r}?" if matches else f"Available: {', '.join(names) or 'none'}."


def _files(tool_root: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(tool_root):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        yield from (Path(where, name) for name in sorted(files) if name.endswith(_ENDING))


def _read_extension(module: ModuleType, file: str, skipped: list[Skipped]) -> Extension:
    """The extension that a module exports.

    Raises:
        InvalidDefinition: It exports none.
    """
    exports = vars(module)
    name, prompt, tools = (exports.get(key) for key in ("NAME", "SYSTEM_PROMPT", "TOOLS"))
    problems = [
        problem
        for key, value, kind, problem in (
            ("NAME", name, str, "`NAME` is not text"),
            ("SYSTEM_PROMPT", prompt, str, "`SYSTEM_PROMPT` is not text"),
            ("TOOLS", tools, list, "`TOOLS` is not a list"),
        )
        if key not in exports or not isinstance(value, kind)
    ]
    if problems or not str(name).strip():
        raise InvalidDefinition(
            f"It is not an extension: {', '.join(problems) or '`NAME` is empty'}.",
            hint="Export `NAME` and `SYSTEM_PROMPT` as texts and `TOOLS` as a list of functions.",
        )
    by_name: dict[str, ExtensionTool] = {}
    for function in cast("list[Any]", tools):
        try:
            tool = _tool(function)
        except RetinueError as error:
            skipped.append(Skipped(file, error.message, hint=error.hint))
            continue
        if tool.name in by_name:
            skipped.append(Skipped(file, f"Two of its tools are called `{tool.name}`.", hint="Rename one."))
        by_name.setdefault(tool.name, tool)
    return Extension(str(name).strip(), str(prompt), tuple(by_name.values()), file)


def _tool(function: Any) -> ExtensionTool:
    if not callable(function) or not isinstance(getattr(function, "__name__", None), str):
        raise InvalidDefinition(
            f"`TOOLS` holds {str(function)[:80]!r}, which is not a function.", hint="List functions."
        )
    signature = read_signature(function, bound=False)
    descriptions = read_docstring(function.__doc__).arguments
    schema = input_schema(signature.input_adapter, defaults=signature.defaults, descriptions=descriptions)
    tool = ExtensionTool(function.__name__, read_words(function.__doc__), signature, schema, function)
    try:
        tool.spec  # noqa: B018 - a name that no provider takes is found now, not at the first request
    except ValueError:
        raise InvalidDefinition(
            f"A tool cannot be called {tool.name[:80]!r}.", hint="Use at most 64 letters, digits and underscores."
        ) from None
    return tool
