"""Agents read from files, whatever their format. Nothing here imports or runs what a file says.

What reads a format is loaded when it is used: a project whose files did not change needs none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .command import load_command
    from .definition_keys import load_json
    from .loaded_agents import NEEDS_MODEL, InstructionsAgent, LoadedAgents
    from .markdown import Behaviour, load_markdown, load_skill, read_behaviour

__all__ = [
    "NEEDS_MODEL",
    "Behaviour",
    "InstructionsAgent",
    "LoadedAgents",
    "load_command",
    "load_json",
    "load_markdown",
    "load_skill",
    "read_behaviour",
]

_HOMES: Final = {
    "Behaviour": "markdown",
    "InstructionsAgent": "loaded_agents",
    "LoadedAgents": "loaded_agents",
    "NEEDS_MODEL": "loaded_agents",
    "load_json": "definition_keys",
    "load_skill": "markdown",
    "read_behaviour": "markdown",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, name.removeprefix("load_"))
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
