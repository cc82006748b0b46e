"""Agents made of Python functions and classes: `@agent`, `@skill`, and the agent they make."""

from .decorator_options import AgentOptions, Choices, FromFacts, SkillOptions
from .python_agent import PythonAgent, agent, skill

__all__ = ["AgentOptions", "Choices", "FromFacts", "PythonAgent", "SkillOptions", "agent", "skill"]
