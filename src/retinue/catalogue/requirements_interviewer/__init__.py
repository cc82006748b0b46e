"""`requirements_interviewer`: asks a person what a ticket must say, and writes it down in their own words (G15)."""

from .agent import RequirementsInterviewer

__all__ = ["RequirementsInterviewer"]
