"""Which files of a folder name code to run, and what they hold right now.

Only looks: whether the user has said yes to them is the business of `trust`.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from retinue.agents.load.document import MAX_BYTES, read_bytes
from retinue.contract import json as strict
from retinue.errors import AccessDenied, InvalidInput, ParseError

__all__ = ["AGENTS_FOLDER", "code_files", "digests", "utf8"]

AGENTS_FOLDER: Final = ".retinue/agents"
"""Where a project keeps Python agents."""

_MAX_BYTES: Final = 8 * 2**20
_MAX_FILES: Final = 2_000


def code_files(folder: Path, *, tool_root: Path | None = None) -> tuple[Path, ...]:
    """The files of `folder` that name code to run.

    These are the Python files under `.retinue/agents` and the definitions there that name a program, `.mcp.json`,
    `retinue.toml`, `pyproject.toml` when it has a `[tool.retinue]` table, and with `tool_root` every `*_tool.py` under
    it (B20).

    Raises:
        InvalidInput: There are more than anybody will look at, or `tool_root` is outside the folder.
        AccessDenied: A folder cannot be read.
    """
    root = folder.resolve()
    found = {path for path in (root / ".mcp.json", root / "retinue.toml", root / "pyproject.toml") if path.is_file()}
    found = {path for path in found if path.name != "pyproject.toml" or _settings(path) is not None}
    found.update(_files_below(root / AGENTS_FOLDER, ending=".py"))
    found.update(path for path in _files_below(root / AGENTS_FOLDER, ending=".json") if _names_program(path))
    if tool_root is not None:
        found.update(_files_below(_inside(root, tool_root), ending="_tool.py"))
    if len(found) > _MAX_FILES:
        raise InvalidInput(
            f"{str(root)!r} has {len(found)} files that name code; {_MAX_FILES} are allowed.", hint="Trust less."
        )
    return tuple(sorted(found))


def _files_below(folder: Path, *, ending: str) -> Iterator[Path]:
    """Files below `folder` with that ending, in no order. Linked folders are not entered."""
    for where, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(where, name) for name in files if name.endswith(ending))


def _names_program(path: Path) -> bool:
    """Whether a definition file says `command` anywhere. What cannot be read as one, nobody runs."""
    try:
        value = strict.loads(read_bytes(path, max_bytes=MAX_BYTES), max_bytes=MAX_BYTES)
    except ParseError:
        return False
    return _says_command(value)


def _says_command(value: strict.JsonValue) -> bool:
    if isinstance(value, dict):
        return "command" in value or any(map(_says_command, value.values()))
    return isinstance(value, list) and any(map(_says_command, value))


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise AccessDenied(f"A folder cannot be read: {error}.", hint="Check its permissions.") from error


def _inside(root: Path, tool_root: Path) -> Path:
    real = (root / tool_root).resolve()
    if not real.is_relative_to(root):
        raise InvalidInput(
            f"The tool root {str(real)!r} is outside {str(root)!r}.", hint="Trust that folder by itself."
        )
    return real


def digests(root: Path, *, tool_root: Path | None) -> dict[str, str]:
    """SHA-256 of every code file, by its path from `root`.

    Raises:
        InvalidInput: As `code_files`, or a path is not UTF-8.
        AccessDenied: As `code_files`, or a file cannot be read.
    """
    return {
        utf8(path.relative_to(root).as_posix()): hashlib.sha256(_content(path)).hexdigest()
        for path in code_files(root, tool_root=tool_root)
    }


def _content(path: Path) -> bytes:
    """What counts of a file: all of it, but of `pyproject.toml` only our own table, which rarely changes."""
    if path.name != "pyproject.toml":
        return read_bytes(path, max_bytes=_MAX_BYTES)
    return json.dumps(_settings(path), sort_keys=True, default=str).encode()


def _settings(pyproject: Path) -> object:
    """The `[tool.retinue]` table; None when there is none; the whole text when it cannot be parsed."""
    data = read_bytes(pyproject, max_bytes=_MAX_BYTES)
    try:
        tools: Any = tomllib.loads(data.decode("utf-8")).get("tool")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return data.decode("latin-1")
    return cast("dict[str, object]", tools).get("retinue") if isinstance(tools, dict) else None


def utf8(path: str) -> str:
    """The path itself, seen to be UTF-8.

    Raises:
        InvalidInput: It is not, so it cannot stand in the store.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"The path {path!r} is not UTF-8.", hint="Rename it.") from None
    return path
