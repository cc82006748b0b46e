"""Which kind of definition a file is, and the one reader for it."""

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, Literal, TypeAlias

from retinue.contract.json import JsonValue
from retinue.errors import InvalidInput, ParseError, RetinueError

from .document import MAX_BYTES, read_bytes, read_json
from .loaded_agents import LoadedAgents

Kind: TypeAlias = Literal["markdown", "skill", "command", "tool_use", "json", "agent_json", "a2a"]
"""`json` is a tool-use definition with all that we add to it, `tool_use` one with nothing of that and several tools an
agent, `agent_json` a card of spec 004."""

SKILL_FILE: Final = "SKILL.md"
ENDINGS: Final = (".json", ".md")

_LOADERS: Final[Mapping[Kind, tuple[str, str]]] = {
    "markdown": ("markdown", "load_markdown"),
    "skill": ("markdown", "load_skill"),
    "command": ("command", "load_command"),
    "tool_use": ("by_dialect", "load_tool_use"),
    "json": ("definition_keys", "load_json"),
    "agent_json": ("by_dialect", "load_agent_json"),
    "a2a": ("a2a_card", "load_a2a_card"),
}
"""Where each kind is read: loaded when a file needs it, for files that did not change are not read again."""

_HOME_FOLDERS: Final = frozenset({"agents", "commands", "skills"})
_MARKS: Final = (b"supportedInterfaces", b"protocolVersion", b"capabilities", b"endpoints", b"__")
"""One of these stands in every card and between agent and skill; most definitions need no second look."""


def kind_of(file: str, data: bytes = b"") -> Kind | None:
    """Say what kind of definition a file is, by its name and place and, for JSON, by what it holds; None when of none.

    Args:
        file: Its path.
        data: Its content.
    """
    path = PurePosixPath(PurePath(file).as_posix())
    match path.suffix.lower():
        case ".md" if path.name.lower() == SKILL_FILE.lower():
            return "skill"
        case ".md":
            return "command" if home_of(path.parts[:-1]) == "commands" else "markdown"
        case ".json":
            return _kind_of_json(data, file=file) if any(mark in data for mark in _MARKS) else "json"
        case _:
            return None


def home_of(folders: Sequence[str]) -> str:
    """The folder that says what is in it: the one below `.claude`, elsewhere the nearest."""
    below = list(folders[folders.index(".claude") + 1 :]) if ".claude" in folders else list(reversed(folders))
    return next((each for each in below if each in _HOME_FOLDERS), "")


def _kind_of_json(data: bytes, *, file: str) -> Kind:
    try:
        value = read_json(data, file=file).value
    except ParseError:  # whoever loads it will say so
        return "json"
    if isinstance(value, dict) and isinstance(value.get("skills"), list):
        from retinue.dialects.a2a.card import card_version  # noqa: PLC0415 - few files are cards

        if card_version(value):
            return "a2a"
    if isinstance(value, dict):  # a card of spec 004 has a list of capabilities, or the endpoints of an agent
        has_endpoints = "endpoints" in value and "input_schema" not in value
        return "agent_json" if has_endpoints or isinstance(value.get("capabilities"), list) else "json"
    # A list of tools, of which one is called `agent__skill`.
    tools = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    is_tool_use = any("__" in str(each.get("name", "")) and "skills" not in each for each in tools)
    return "tool_use" if is_tool_use else "json"


def load(data: bytes, *, file: str, kind: Kind, files: Sequence[str] = ()) -> LoadedAgents:
    """Read the definitions in `data`, which are of this kind. What is wrong becomes findings.

    Args:
        data: The content of the file.
        file: What findings and the definitions' `source` call it.
        kind: What they are.
        files: What else stands in the folder of a skill.
    """
    module, name = _LOADERS[kind]
    loader: Callable[..., LoadedAgents] = getattr(import_module(f"{__package__}.{module}"), name)
    return loader(data, file=file, **({"files": files} if kind == "skill" else {}))


DEFINITION_KEYS: Final = frozenset({"input_schema", "inputSchema", "parameters", "skills", "capabilities", "endpoints"})
"""One of these beside `name` and `description` makes a JSON object look like a definition."""

_OF_SCHEMAS: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "properties", "type"})
_SEARCHED_HIDDEN: Final = frozenset({".claude", ".retinue"})
"""Hidden folders in which people keep definitions."""
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


def is_searched(folder: str) -> bool:
    """Whether definitions may lie in a folder of this name: in hidden ones, and in what was installed, none do."""
    return folder not in _SKIPPED and (folder[0] != "." or folder in _SEARCHED_HIDDEN)


def has_front_matter(data: bytes) -> bool:
    """Whether a Markdown text begins with the front matter of a definition."""
    return data.startswith(b"---") and b"\nname:" in data[:2_000] and b"\ndescription:" in data[:20_000]


def is_definition(value: JsonValue) -> bool:
    """Whether a JSON value looks like a definition, or like a list with one in it.

    A manifest or a template has a name, a description and perhaps `skills` or `parameters` too: what these hold tells.
    """
    return any(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("description"), str)
        and any(_holds_definition(key, each[key]) for key in DEFINITION_KEYS & each.keys())
        for each in (value if isinstance(value, list) else [value])
    )


def _holds_definition(key: str, value: JsonValue) -> bool:
    """Whether the value of one of `DEFINITION_KEYS` is what a definition has there."""
    if key == "endpoints":
        return isinstance(value, list | dict)
    if key in {"skills", "capabilities"}:
        return isinstance(value, list) and all(isinstance(each, dict) for each in value)
    return isinstance(value, dict) and (not value or not _OF_SCHEMAS.isdisjoint(value))


MAX_FILES: Final = 10_000
"""Most definitions that are gathered at once."""


def find_definition_files(folder: Path) -> tuple[Path, ...]:
    """The definitions in `folder` and below, sorted: what lies where definitions lie, and what looks like one.

    Of a skill, only its `SKILL.md` counts. Links to folders are not followed.

    Raises:
        InvalidInput: There are more than `MAX_FILES`.
    """
    paths: list[Path] = []
    for where, folders, files in os.walk(folder):
        folders[:] = filter(is_searched, folders)
        skills = [name for name in files if name.lower() == SKILL_FILE.lower()]
        if skills:
            folders.clear()  # what else is there belongs to the skill
        candidates = [Path(where, name) for name in skills[:1] or files if name.lower().endswith(ENDINGS)]
        paths += [path for path in candidates if not path.is_dir() and _is_definition(path, folder)]
        if len(paths) > MAX_FILES:
            message = f"{str(folder)!r} holds more than {MAX_FILES:,} definitions."
            raise InvalidInput(message, hint="Name a smaller folder.")
    return tuple(sorted(paths))


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
