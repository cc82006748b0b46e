"""`researcher_analyst`: finds what a project's documents, code and memory say, each finding with its line (A5, A30).

Its deterministic share: it finds and quotes. It draws no conclusions, and where nothing fits it says so.
"""

from .agent import ResearcherAnalyst

__all__ = ["ResearcherAnalyst"]
