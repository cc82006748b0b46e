"""`ticket_analyzer`: what tickets lack, by a rubric that is data; what a tree lacks; what can start (G1 to G4).

Checks settle what they can. What only judgement can settle is judged by a model, or listed as not judged.
"""

from .agent import TicketAnalyzer

__all__ = ["TicketAnalyzer"]
