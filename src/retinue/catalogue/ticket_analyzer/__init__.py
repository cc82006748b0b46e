"""`ticket_analyzer`: what tickets lack, by a rubric that is data; what a tree lacks; what can start (G1 to G4)."""

from .agent import TicketAnalyzer

__all__ = ["TicketAnalyzer"]
