"""Which files of a folder name code to run, and what they hold right now.

Only lists them: whether the user trusts them is known to `trust`.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from retinue.agents.load.document import read_bytes, read_json
from retinue.contract.json import JsonValue
from retinue.errors import AccessDenied, InvalidInput, ParseError

Kind: TypeAlias = Literal["project", "tool_root"]
"""What a folder is trusted as: a project with agents of its own, or a folder of extensions (spec 001)."""

AGENTS_FOLDER: Final = ".retinue/agents"
"""Where a project keeps Python agents."""

_MAX_BYTES: Final = 8 * 2**20
_MAX_FILES: Final = 2_000
_MAX_ENTRIES: Final = 100_000


def code_files(folder: Path, *, kind: Kind = "project") -> tuple[Path, ...]:
    """The files of `folder` that name code to run.

    Of a project these are the Python files under `.retinue/agents` and the definitions there that name a program,
    `.mcp.json`, `retinue.toml`, and `pyproject.toml` when it has a `[tool.retinue]` table. Of a tool root they are all
    Python files under it, for an extension may import the others (B20).

    Raises:
        InvalidInput: There are too many to review.
        AccessDenied: A folder cannot be read.
    """
    root = folder.resolve()
    if kind == "tool_root":
        paths = set(_files_below(root, ending=".py"))
    else:
        candidates = (root / ".mcp.json", root / "retinue.toml", root / "pyproject.toml")
        paths = {path for path in candidates if path.is_file()}
        paths = {path for path in paths if path.name != "pyproject.toml" or _settings(path) is not None}
        paths.update(_files_below(root / AGENTS_FOLDER, ending=".py"))
        paths.update(path for path in _files_below(root / AGENTS_FOLDER, ending=".json") if _names_program(path))
    if len(paths) > _MAX_FILES:
        raise InvalidInput(
            f"{str(root)!r} has {len(paths)} files that name code; {_MAX_FILES} are allowed.",
            hint="Trust a subfolder.",
        )
    return tuple(sorted(paths))


def _files_below(folder: Path, *, ending: str) -> Iterator[Path]:
    """Files below `folder` with that ending, in no order. Hidden and linked folders are not entered.

    Raises:
        InvalidInput: There is too much in it to review.
        AccessDenied: A folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise AccessDenied(f"A folder cannot be read: {error}.", hint="Check its permissions.") from error

    entries = 0
    for where, folders, files in os.walk(folder, onerror=refuse):
        entries += len(folders) + len(files)
        if entries > _MAX_ENTRIES:
            raise InvalidInput(
                f"{str(folder)!r} holds more than {_MAX_ENTRIES:,} files and folders.", hint="Name a smaller folder."
            )
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where, name) for name in files if name.lower().endswith(ending))


def _names_program(path: Path) -> bool:
    """Whether a definition file says `command` anywhere, read as its loader reads it. What cannot be read counts."""
    try:
        return _says_command(read_json(read_bytes(path), file=path.name).value)
    except ParseError:
        return True


def _says_command(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return "command" in value or any(map(_says_command, value.values()))
    return isinstance(value, list) and any(map(_says_command, value))


def digests(root: Path, *, kind: Kind = "project") -> dict[str, str]:
    """SHA-256 of every code file, by its path from `root`.

    Raises:
        InvalidInput: As `code_files`, or a path is not UTF-8.
        AccessDenied: As `code_files`, or a file cannot be read.
    """
    hashes: dict[str, str] = {}
    for path in code_files(root, kind=kind):
        content = read_bytes(path, max_bytes=_MAX_BYTES)
        if path.name == "pyproject.toml":  # only our own table counts, which rarely changes
            with suppress(RecursionError):
                content = json.dumps(_settings(path), sort_keys=True, default=str).encode()
        hashes[utf8(path.relative_to(root).as_posix())] = hashlib.sha256(content).hexdigest()
    return hashes


def _settings(pyproject: Path) -> object:
    """The `[tool.retinue]` table; None when there is none; the whole text when it cannot be parsed."""
    data = read_bytes(pyproject, max_bytes=_MAX_BYTES)
    try:
        tools: Any = tomllib.loads(data.decode("utf-8-sig")).get("tool")
    except (ValueError, RecursionError):
        return data.decode("latin-1")
    return cast("dict[str, object]", tools).get("retinue") if isinstance(tools, dict) else None


def utf8(path: str) -> str:
    """The path itself.

    Raises:
        InvalidInput: It is not UTF-8, so it cannot be stored.
    """
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"The path {path!r} is not UTF-8.", hint="Rename it.") from None
    return path
