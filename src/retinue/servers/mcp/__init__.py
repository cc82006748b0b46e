"""The door of MCP: skills as tools, slash commands as prompts, long calls as tasks."""

from .server import McpDoor

__all__ = ["McpDoor"]
