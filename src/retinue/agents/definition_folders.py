"""Where a project keeps its definitions, and which files are there. Opens none of them.

Looked at, and nothing else: agents in `.retinue/agents`, `agents` and `.claude/agents`, skills in `.retinue/skills`,
`skills` and `.claude/skills`, slash commands in `.claude/commands`. Links that lead out of the project are not
followed.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retinue.agents.code_files import AGENTS_FOLDER
from retinue.agents.load.kinds import SKILL_FILE

_MAX_FILES: Final = 5_000
_MAX_DEPTH: Final = 8
_MAX_BESIDE: Final = 200
"""Most files of one skill that are listed."""


@dataclass(frozen=True, slots=True)
class DefinitionFolder:
    """A folder where agents are looked for.

    Attributes:
        endings: What their files end with.
        deep: Folders in it are searched too.
        silent: Files of other kinds are not reported: others use a folder of this name, too.
        skills: Each folder in it is a skill.
    """

    folder: str
    endings: tuple[str, ...]
    deep: bool = False
    silent: bool = False
    skills: bool = False


PLACES: Final = (
    DefinitionFolder(AGENTS_FOLDER, (".json", ".md", ".py")),
    DefinitionFolder("agents", (".json",), silent=True),
    DefinitionFolder(".claude/agents", (".md",), deep=True),
    DefinitionFolder(".retinue/skills", (), skills=True),
    DefinitionFolder("skills", (), silent=True, skills=True),
    DefinitionFolder(".claude/skills", (), skills=True),
    DefinitionFolder(".claude/commands", (".md",), deep=True),
)
"""In the order in which names are taken."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file is passed over without being opened.

    Attributes:
        rule: Its rule of `discovery/`.
        harmless: It may well be intended.
    """

    rule: str
    message: str
    fix: str
    harmless: bool = False


LEADS_OUT: Final = Problem(
    "leads-out", "The link leads out of the project, or in a circle.", "Copy what it leads to into the project."
)
_FOLDER_LEADS_OUT: Final = Problem("unreadable", LEADS_OUT.message, LEADS_OUT.fix)
_LINKED: Final = Problem("unreadable", "A link to a folder is not followed.", "Put the files here, or link each one.")
_SHALLOW: Final = Problem("unreadable", "Folders are not searched here.", "Move its files one folder up.")
_TOO_DEEP: Final = Problem("unreadable", "The folder is too deep to be searched.", "Move its files further up.")
_NO_SKILL: Final = Problem(
    "no-skill",
    f"There is no `{SKILL_FILE}` in the folder.",
    f"Add `{SKILL_FILE}`, or move it elsewhere.",
    harmless=True,
)
_NOT_A_FOLDER: Final = Problem(
    "no-skill",
    f"A skill is a folder with `{SKILL_FILE}` in it, and this is a file.",
    "Put it into a folder, or move it elsewhere.",
    harmless=True,
)


def files_in(root: Path, place: DefinitionFolder) -> Iterator[tuple[Path, Problem | None]]:
    """The files of one place in a stable order, each with what is already known to be wrong with it."""
    count = 0
    for path, problem in _walk(root / place.folder, place, root=root):
        ending = path.suffix.lower()
        if problem:
            yield path, problem
        elif ending in place.endings or place.skills:
            count += 1
            if count > _MAX_FILES:
                message = f"There are more than {_MAX_FILES} definitions here; this one and the rest are skipped."
                yield path, Problem("too-many", message, "Keep fewer.")
                return
            yield path, None
        elif not place.silent:
            message = f"Files that end with {ending!r} are not agents here."
            fix = f"Use {' or '.join(place.endings)}, or move it elsewhere."
            yield path, Problem("unknown-kind", message, fix, harmless=True)


def _walk(
    folder: Path, place: DefinitionFolder, *, root: Path, depth: int = 1
) -> Iterator[tuple[Path, Problem | None]]:
    """The files in `folder` and as far below as the place asks, sorted, each with what is wrong with it."""
    if not is_inside(folder, root):
        yield folder, _FOLDER_LEADS_OUT
        return
    entries, unreadable = _scan(folder)
    if unreadable is not None:
        yield folder, unreadable
    for entry in entries:
        path = Path(entry.path)
        if not _is_folder(entry):
            if not place.skills:
                yield path, None
            elif not place.silent:
                yield path, _NOT_A_FOLDER
        elif entry.is_symlink():
            yield path, _LINKED
        elif place.skills:
            files, unreadable = _scan(path)
            names = [each.name for each in files if each.name.lower() == SKILL_FILE.lower()]
            if unreadable is not None:
                yield path, unreadable
            elif names:
                yield path / (SKILL_FILE if SKILL_FILE in names else names[0]), None
            elif not place.silent and not entry.name.startswith("."):
                yield path, _NO_SKILL
        elif place.deep and depth < _MAX_DEPTH:
            yield from _walk(path, place, root=root, depth=depth + 1)
        elif not place.silent and entry.name != "__pycache__":
            yield path, _SHALLOW if depth == 1 else _TOO_DEEP


def _scan(folder: Path) -> tuple[list[os.DirEntry[str]], Problem | None]:
    """The entries of a folder by name; none, and why, when it cannot be read."""
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name), None
    except (FileNotFoundError, NotADirectoryError):
        return [], None
    except OSError as error:
        message = f"The folder cannot be read: {error.strerror}."
        return [], Problem("unreadable", message, "Make it readable, or move it elsewhere.")


def fingerprint(root: Path, *others: Path) -> frozenset[tuple[Path, int, int]]:
    """Which files say what agents there are, and when each was changed. None of them is read.

    Args:
        root: A project; its files of settings count.
        others: Further files.
    """
    settings = (root / name for name in (".mcp.json", "retinue.toml", "pyproject.toml"))
    states = set[tuple[Path, int, int]]()
    for path in (*others, *settings, *(path for place in PLACES for path, _ in files_in(root, place))):
        with suppress(OSError):
            status = path.stat()
            states.add((path, status.st_mtime_ns, status.st_size))
    return frozenset(states)


def files_beside(path: Path) -> tuple[str, ...]:
    """The files in the folder of `path` and below, but for itself, relative to the folder; the hidden ones left out."""
    paths: list[str] = []
    for where, folders, names in os.walk(path.parent):
        here = Path(where).relative_to(path.parent)
        folders[:] = sorted(each for each in folders if each[0] != "." and each != "__pycache__")
        if len(here.parts) >= _MAX_DEPTH:
            folders.clear()
        paths += (
            display_path(here / name, Path())
            for name in sorted(names)
            if name[0] != "." and here / name != Path(path.name)
        )
        if len(paths) >= _MAX_BESIDE:
            break
    return tuple(paths[:_MAX_BESIDE])


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; opening it will fail
        return False


def is_inside(path: Path, root: Path) -> bool:
    """Whether `path`, its links followed, is below `root`."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def display_path(path: Path, root: Path) -> str:
    """The path from `root` for messages: what is not UTF-8 in it is escaped."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
