"""`design_guardian`: where a ticket plans more than it needs, by rules in a rubric (G13)."""

from .agent import DesignGuardian

__all__ = ["DesignGuardian"]
