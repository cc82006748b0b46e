"""Which files of a tree lint looks at, and what each of them means to be.

Reads them, and says of what cannot be read why; what a file says is the business of others. Nothing is imported or run.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from retinue.agents.load.document import MAX_BYTES, read_bytes
from retinue.agents.load.kinds import DEFINITION_KEYS, has_front_matter, is_definition, is_searched
from retinue.contract import json
from retinue.errors import AccessDenied, InvalidInput, MissingFile, RetinueError

Kind: TypeAlias = Literal["agent", "skill", "command", "json", "python", "text"]
"""`agent`, `skill`, `command`: Markdown that is one; `json`, `python`: a file that holds definitions;
`text`: whatever else may speak of agents."""

ENDINGS: Final = (".json", ".md", ".py")
MAX_FILES: Final = 10_000
"""Definitions that are looked at in one go."""

_HOME_FOLDERS: Final[dict[str, Kind]] = {"agents": "agent", "skills": "skill", "commands": "command"}
_BY_ENDING: Final[dict[str, Kind]] = {".json": "json", ".md": "agent", ".py": "python"}
_SKILL: Final = "skill.md"
_DEFINITION_KEYS: Final = frozenset({"name", "description"}) | DEFINITION_KEYS
_MENTIONS_AGENTS: Final = re.compile(
    rb"\*\*(?:Agent|Operation)\b|subagent_type|_OPERATIONS\b|\bcontract\b|\.claude/agents/|\|\s*Operations?\s*\|",
    re.IGNORECASE,
)
"""What a text says that may be worth a look."""
_DECORATED: Final = re.compile(rb"^[ \t]*@(?:retinue\.)?agent\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class File:
    """One file, read.

    Attributes:
        name: What findings call it.
        problem: Why it could not be read; then `data` is empty.
    """

    path: Path
    name: str
    kind: Kind
    data: bytes
    problem: RetinueError | None = None

    @property
    def text(self) -> str:
        """What it says; bytes that are no UTF-8 are replaced, since its loader speaks of them."""
        return self.data.decode("utf-8", "replace").removeprefix("\ufeff")


def files_at(path: Path) -> Iterator[File]:
    """The file at `path`, or what counts in the folder there, in order.

    Links are followed inside the project: people keep definitions in one place and link them into `.claude`. A link in
    a folder of definitions that leads nowhere, or out of the project, is a file with a `problem`. A file that is named
    by itself is taken at its word: it means to be a definition.

    Raises:
        MissingFile: There is nothing.
        InvalidInput: It is a file of another kind, or the folder holds more than anybody will look at.
    """
    if path.is_dir():
        count = 0
        top = path.resolve().name
        for each in sorted(_walk_files(path)):
            file = _read(each, (top, *each.relative_to(path).parts))
            if file is not None:
                count += file.kind != "text"
                if count > MAX_FILES:
                    message = f"{str(path)!r} holds more than {MAX_FILES:,} definitions."
                    raise InvalidInput(message, hint="Name a smaller folder.")
                yield file
    elif not os.path.lexists(path):
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a definition, or a folder of them.")
    elif path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"{str(path)!r} is not a definition.", hint=f"Definitions end with {', '.join(ENDINGS)}.")
    else:
        kind = _kind_by_place(path.absolute().parts) or _BY_ENDING[path.suffix.lower()]
        try:
            yield File(path, _display_path(path), kind, read_bytes(path))
        except RetinueError as error:
            yield File(path, _display_path(path), kind, b"", error)


def _walk_files(folder: Path) -> Iterator[Path]:
    """Every file below `folder` that may count, and the links of which `_read` will say that they lead nowhere."""
    real = folder.resolve()
    # Links may not lead out of the repository that the folder lies in; without one, not out of the folder.
    project = next((each for each in (real, *real.parents) if os.path.lexists(each / ".git")), real)
    linked: set[Path] = set()  # each target once: links that lead to each other would multiply without end
    pending = [folder]
    while pending:
        for where, folders, files in os.walk(pending.pop()):
            folders[:] = filter(is_searched, folders)
            for name in list(folders):
                path = Path(where, name)
                if path.is_symlink():
                    folders.remove(name)
                    target = path.resolve()
                    if not target.is_relative_to(project):
                        yield path
                    elif target not in linked and not path.absolute().is_relative_to(target):
                        linked.add(target)
                        pending.append(path)
            for name in files:
                path = Path(where, name)
                if name.lower().endswith(ENDINGS) or (path.is_symlink() and not path.exists()):
                    yield path


# What a file means to be.


def kind_of(parts: Sequence[str], data: bytes) -> Kind | None:
    """What a file means to be, by where it lies or else by what it holds; None when it does not count.

    Args:
        parts: The folders that count, outermost first, and the name of the file.
        data: What it holds.
    """
    kind = _kind_by_place(parts)
    ending = os.path.splitext(parts[-1])[1].lower()  # noqa: PTH122 - a name, no path
    if ending == ".json":
        try:
            value = json.loads(data, max_bytes=MAX_BYTES)
        except RetinueError:
            return kind
        # A sound object with nothing of a definition is a registry, a schema, settings.
        if isinstance(value, dict) and (
            _DEFINITION_KEYS.isdisjoint(value) or ("$schema" in value and "name" not in value)
        ):
            return None
        return kind or ("json" if is_definition(value) else None)
    if ending == ".py":
        if "tests" in parts or parts[-1].startswith("test_"):
            return None  # agents that a test makes for itself are nobody else's
        is_agent = b"retinue" in data and _DECORATED.search(data)
        return "python" if is_agent else "text" if b"_OPERATIONS" in data else None
    return kind or ("agent" if has_front_matter(data) else "text" if _MENTIONS_AGENTS.search(data) else None)


def _kind_by_place(parts: Sequence[str]) -> Kind | None:
    *inside, name = parts
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - a name, no path
    home = next((_HOME_FOLDERS[part] for part in reversed(inside) if part in _HOME_FOLDERS), None)
    if ending.lower() == ".json":
        return "json" if home == "agent" and "skills" not in inside else None
    if ending.lower() != ".md":
        return None
    if name.lower() == _SKILL:
        return "skill"
    is_prose = not any(character.islower() for character in stem)
    if home == "command":
        return None if is_prose or "docs" in inside else "command"
    # Beside the agents lie a README, their contract, prompts that they share, and in the folder of a skill prompts too:
    # of those, front matter makes an agent.
    return "agent" if inside and inside[-1] == "agents" and not is_prose and "skills" not in inside else None


def _read(path: Path, parts: Sequence[str]) -> File | None:
    """The file, when it counts."""
    if path.is_symlink() and (path.is_dir() or not path.exists()):
        target = str(path.readlink())
        problem: RetinueError = MissingFile(
            f"The link leads nowhere: {target!r}.", hint="Fix the link, or check out what it leads to."
        )
        if path.is_dir():
            message = f"The link leads out of the project, to {target!r}."
            problem = AccessDenied(message, hint="Copy the folder into the project.")
        home = any(part in _HOME_FOLDERS for part in parts[:-1])
        return File(path, _display_path(path), "agent", b"", problem) if home else None
    try:
        data = read_bytes(path)
    except RetinueError as error:
        kind = _kind_by_place(parts)
        return File(path, _display_path(path), kind, b"", error) if kind else None
    kind = kind_of(parts, data)
    return File(path, _display_path(path), kind, data) if kind else None


def _display_path(path: Path) -> str:
    """The path fit to be said: what is not UTF-8 in it is escaped."""
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
