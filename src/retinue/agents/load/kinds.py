"""Which kind of definition a file is, and the one reader for it."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from retinue.contract.json import JsonValue
from retinue.errors import ParseError

if TYPE_CHECKING:
    from .loaded_agents import LoadedAgents

Kind: TypeAlias = Literal["markdown", "skill", "command", "tool_use", "json", "agent_json", "a2a"]
"""`json` is a tool-use definition with all that we add to it, `tool_use` one with nothing of that and several tools an
agent, `agent_json` a card of spec 004."""

SKILL_FILE: Final = "SKILL.md"
ENDINGS: Final = (".json", ".md")

_LOADERS: Final[Mapping[Kind, tuple[str, str]]] = {
    "markdown": ("markdown", "load_markdown"),
    "skill": ("skill", "load_skill"),
    "command": ("command", "load_command"),
    "tool_use": ("by_dialect", "load_tool_use"),
    "json": ("json", "load_json"),
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
    from .json import read_json  # noqa: PLC0415 - most files have no mark of a card

    try:
        value = read_json(data, file=file).value
    except ParseError:  # whoever loads it will say so
        return "json"
    from .a2a_card import card_version  # noqa: PLC0415 - few projects hold cards

    if card_version(value):
        return "a2a"
    if _is_agent_json(value):
        return "agent_json"
    return "tool_use" if _has_skills_as_tools(value) else "json"


def _is_agent_json(value: JsonValue) -> bool:
    """Whether it is a card of spec 004: a list of capabilities, or the endpoints of an agent."""
    return isinstance(value, dict) and (
        isinstance(value.get("capabilities"), list) or ("endpoints" in value and "input_schema" not in value)
    )


def _has_skills_as_tools(value: JsonValue) -> bool:
    """Whether it is a list of tools, and one is called `agent__skill`."""
    tools = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
    return any("__" in str(each.get("name", "")) and "skills" not in each for each in tools)


def load(data: bytes, *, file: str, kind: Kind, files: Sequence[str] = ()) -> "LoadedAgents":
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
