"""Figures of a business, each with its definition, its SQL and the rows it rests on (G25)."""

from .agent import Metrics

__all__ = ["Metrics"]
