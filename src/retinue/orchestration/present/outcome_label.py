"""How a run ended, in the words that every medium uses, and whether that is good."""

from typing import Final, Literal, TypeAlias

from retinue.contract.result import Outcome

Tone: TypeAlias = Literal["good", "warn", "bad"]

_LABELS: Final[dict[Outcome | None, tuple[str, Tone]]] = {
    "success": ("answered", "good"),
    "partial": ("answered in part", "warn"),
    "canceled": ("stopped", "warn"),
    "rejected": ("not answered", "bad"),
    "error": ("failed", "bad"),
    "failed": ("failed", "bad"),
    None: ("waits for an answer", "warn"),
}


def outcome_label(outcome: Outcome | None) -> tuple[str, Tone]:
    """The words for an outcome, and its tone; without one the run waits for somebody."""
    return _LABELS[outcome]
