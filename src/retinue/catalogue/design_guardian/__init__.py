"""`design_guardian`: where a ticket plans more than it needs, by rules in a rubric (G13).

It reads tickets, and of the code what they name and could reuse. What needs judgement is left to a model.
"""

from .agent import DesignGuardian

__all__ = ["DesignGuardian"]
