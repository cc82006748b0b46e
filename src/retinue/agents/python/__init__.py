"""Agents made of Python functions and classes: `@agent`, `@skill`, and the agent they make."""

from .agent import PythonAgent
from .decorate import agent, skill
from .options import AgentOptions, SkillOptions

__all__ = ["AgentOptions", "PythonAgent", "SkillOptions", "agent", "skill"]
