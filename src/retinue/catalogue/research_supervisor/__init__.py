"""`research_supervisor`: puts one question about each of several subjects to the researcher, all at once (H20, H22).

It reads nothing itself: it answers with a plan, one worker a subject, and what the workers bring becomes its answer.
"""

from .agent import ResearchSupervisor

__all__ = ["ResearchSupervisor"]
