"""`system_architect`: what a project is made of, what depends on what, and where change is hard (G21).

It counts imports, circles, broken layer rules, and churn times complexity, each with its file and line. It runs nothing
of the project. What should be done about it is for people and models to say.
"""

from .agent import SystemArchitect

__all__ = ["SystemArchitect"]
