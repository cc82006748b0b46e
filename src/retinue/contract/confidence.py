"""A confidence in one word. The number is what counts; the word is for people and for formats that have no number."""

from typing import Final, Literal, TypeAlias

Label: TypeAlias = Literal["high", "medium", "low"]

HIGH: Final = 0.8
MEDIUM: Final = 0.5


def label_of(confidence: float | None) -> Label | None:
    """`high` from 0.8, `medium` from 0.5, else `low` (C31); None when nobody computed a confidence."""
    if confidence is None:
        return None
    if confidence >= HIGH:
        return "high"
    return "medium" if confidence >= MEDIUM else "low"
