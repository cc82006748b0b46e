"""Agents made of Python functions and classes: `@agent`, `@skill`, and the agent they make."""

from .decorate import agent, skill
from .options import AgentOptions, Choices, FromFacts, SkillOptions
from .python_agent import PythonAgent

__all__ = ["AgentOptions", "Choices", "FromFacts", "PythonAgent", "SkillOptions", "agent", "skill"]
