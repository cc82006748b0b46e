"""Finds the definitions in a folder of anything, by where they lie and how they look."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from retinue.errors import InvalidInput, RetinueError

from .document import MAX_BYTES, read_bytes
from .json import read_json
from .kinds import ENDINGS, SKILL_FILE, home_of

__all__ = ["MAX_FILES", "gather"]

MAX_FILES: Final = 10_000
"""Most definitions that are gathered at once."""

_OPENED: Final = frozenset({".claude", ".retinue"})
"""Hidden folders in which people keep definitions."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_TAKES: Final = frozenset({"input_schema", "inputSchema", "parameters", "skills", "capabilities", "endpoints"})
"""One of these beside `name` and `description` makes a JSON object look like a definition."""


def gather(folder: Path) -> tuple[Path, ...]:
    """The definitions in `folder` and below, sorted: what lies where definitions lie, and what looks like one.

    Of a skill, only its `SKILL.md` counts. Links to folders are not followed.

    Raises:
        InvalidInput: There are more than `MAX_FILES`.
    """
    found: list[Path] = []
    for path in _below(folder):
        if _is_definition(path, folder):
            found.append(path)
        if len(found) > MAX_FILES:
            raise InvalidInput(
                f"{str(folder)!r} holds more than {MAX_FILES:,} definitions.", hint="Name a smaller folder."
            )
    return tuple(sorted(found))


def _below(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each not in _SKIPPED and (each[0] != "." or each in _OPENED)]
        skills = [name for name in files if name.lower() == SKILL_FILE.lower()]
        if skills:
            folders.clear()  # what else is there belongs to the skill
        for name in skills[:1] or files:
            if name.lower().endswith(ENDINGS) and not (path := Path(where, name)).is_dir():
                yield path


def _is_definition(path: Path, folder: Path) -> bool:
    parts = (*folder.resolve().parts[-2:], *path.relative_to(folder).parts[:-1])
    if path.name.lower() == SKILL_FILE.lower() or home_of(parts) in {"agents", "commands"}:
        return True
    try:
        data = read_bytes(path, max_bytes=MAX_BYTES)
        if path.suffix.lower() == ".md":
            return data.startswith(b"---") and b"\nname:" in data[:2_000] and b"\ndescription:" in data[:20_000]
        value = read_json(data, file=path.name).value
    except RetinueError:
        return False
    entries = value if isinstance(value, list) else [value]
    return any(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("description"), str)
        and not _TAKES.isdisjoint(each)
        for each in entries
    )
