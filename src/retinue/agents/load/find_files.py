"""Finds the definitions in a folder of anything, by where they lie and how they look."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from retinue.errors import InvalidInput, RetinueError

from .detection import has_front_matter, is_definition, is_searched
from .document import MAX_BYTES, read_bytes
from .json import read_json
from .kinds import ENDINGS, SKILL_FILE, home_of

MAX_FILES: Final = 10_000
"""Most definitions that are gathered at once."""


def find_definition_files(folder: Path) -> tuple[Path, ...]:
    """The definitions in `folder` and below, sorted: what lies where definitions lie, and what looks like one.

    Of a skill, only its `SKILL.md` counts. Links to folders are not followed.

    Raises:
        InvalidInput: There are more than `MAX_FILES`.
    """
    paths: list[Path] = []
    for path in _candidates(folder):
        if _is_definition(path, folder):
            paths.append(path)
        if len(paths) > MAX_FILES:
            raise InvalidInput(
                f"{str(folder)!r} holds more than {MAX_FILES:,} definitions.", hint="Name a smaller folder."
            )
    return tuple(sorted(paths))


def _candidates(folder: Path) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        folders[:] = filter(is_searched, folders)
        skills = [name for name in files if name.lower() == SKILL_FILE.lower()]
        if skills:
            folders.clear()  # what else is there belongs to the skill
        for name in skills[:1] or files:
            if name.lower().endswith(ENDINGS) and not (path := Path(where, name)).is_dir():
                yield path


def _is_definition(path: Path, folder: Path) -> bool:
    parts = (*folder.resolve().parts[-2:], *path.relative_to(folder).parts[:-1])
    if path.name.lower() == SKILL_FILE.lower():
        return True
    is_prose = path.suffix.lower() == ".md" and not any(letter.islower() for letter in path.stem)
    if not is_prose and home_of(parts) in {"agents", "commands"}:
        return True  # but a README beside them is one only with front matter
    try:
        data = read_bytes(path, max_bytes=MAX_BYTES)
        if path.suffix.lower() == ".md":
            return has_front_matter(data)
        return is_definition(read_json(data, file=path.name).value)
    except RetinueError:
        return False
