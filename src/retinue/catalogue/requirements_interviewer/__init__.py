"""`requirements_interviewer`: asks a person what a ticket must say, one question at a time, and writes it down (G15).

It asks, probes what is vague, and keeps the person's own words. What they say is for them to decide: nothing is added.
"""

from .agent import RequirementsInterviewer

__all__ = ["RequirementsInterviewer"]
