"""How far a question is followed: the three depths of spec 000, as figures."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["DEPTHS", "Depth", "DepthName"]

DepthName: TypeAlias = Literal["quick_scan", "deep_dive", "comprehensive"]


@dataclass(frozen=True, slots=True)
class Depth:
    """The figures of one depth.

    Attributes:
        seconds: Most time it may take.
        findings: Most findings.
        per_file: Most findings from one file.
        candidates: How many passages are compared.
        sentences: How many sentences of each passage are quoted.
        usages: How many uses of each identifier are shown.
        pages: Most pages of the web that are read.
        feedback: Whether the words of the first findings are searched for as well.
    """

    seconds: float
    findings: int
    per_file: int
    candidates: int
    sentences: int
    usages: int
    pages: int
    feedback: bool


DEPTHS: Final[dict[DepthName, Depth]] = {
    "quick_scan": Depth(
        seconds=300, findings=5, per_file=2, candidates=40, sentences=2, usages=0, pages=3, feedback=False
    ),
    "deep_dive": Depth(
        seconds=900, findings=10, per_file=3, candidates=80, sentences=2, usages=3, pages=5, feedback=False
    ),
    "comprehensive": Depth(
        seconds=1800, findings=20, per_file=4, candidates=160, sentences=2, usages=5, pages=8, feedback=True
    ),
}
"""5, 15 and 30 minutes are upper bounds (A5); a search takes seconds."""
