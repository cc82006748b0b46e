"""Agents that are instructions, driven by Claude Code's own loop instead of ours, through claude-agent-sdk.

Only the loop is its own: its tools, its settings, its memory and its prompts are left out. The tools it is given are
ours, each behind `prompted/using`, so nothing it wants is done that was not granted.
"""

from .loop import ClaudeCode

__all__ = ["ClaudeCode"]
__version__ = "0.1.0"
