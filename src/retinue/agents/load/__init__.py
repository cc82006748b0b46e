"""Agents read from files: tool-use JSON and Markdown definitions. Nothing here imports or runs what a file says."""

from .behaviour import Behaviour, inject, read_behaviour
from .json import load_json
from .loaded import Loaded
from .markdown import load_markdown
from .prompted import NEEDS_MODEL, Prompted

__all__ = ["NEEDS_MODEL", "Behaviour", "Loaded", "Prompted", "inject", "load_json", "load_markdown", "read_behaviour"]
