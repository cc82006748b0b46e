"""Agents read from files, whatever their format. Nothing here imports or runs what a file says."""

from .behaviour import Behaviour, inject, read_behaviour
from .call_sites import call_sites
from .command import load_command
from .json import load_json
from .loaded import Loaded
from .markdown import load_markdown
from .prompted import NEEDS_MODEL, Prompted
from .skill import load_skill

__all__ = [
    "NEEDS_MODEL",
    "Behaviour",
    "Loaded",
    "Prompted",
    "call_sites",
    "inject",
    "load_command",
    "load_json",
    "load_markdown",
    "load_skill",
    "read_behaviour",
]
