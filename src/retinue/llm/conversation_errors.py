"""Why a conversation ends before its answer is whole, as errors; the same words whoever drives the model.

Not what a provider says: that is `failures`.
"""

from typing import Final

from retinue.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InvalidInput,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
)

MAX_REPEATS: Final = 5
"""So many times in a row the same may be asked of a tool."""

UNSPENT: Final[tuple[type[RetinueError], ...]] = (Unauthenticated, InvalidInput, Unavailable)
"""A provider that says one of these has not begun to answer."""


def deadline_error() -> DeadlineExceeded:
    """Its time is up."""
    return DeadlineExceeded(
        "The time for the conversation with the model is over.",
        hint="Raise the deadline, or ask for less.",
        detail={"bound": "deadline"},
    )


def max_turns_error(max_turns: int) -> BudgetExceeded:
    """The model was asked as often as it may be."""
    return BudgetExceeded(
        f"The model was asked {max_turns} times without giving an answer (`max_turns`).",
        hint="Raise `max_turns`, ask for less, or use a stronger model.",
        detail={"bound": "max_turns"},
    )


def repetition_error(name: str) -> BudgetExceeded:
    """The same was asked of the tool `name` again and again."""
    return BudgetExceeded(
        f"The model asked for the same use of {name[:80]!r} {MAX_REPEATS} times in a row.",
        hint="Rephrase the request, or use a stronger model.",
        detail={"bound": "repeated_uses"},
    )


def refusal_error() -> OutputInvalid:
    """The model will not answer this."""
    return OutputInvalid(
        "The model, or its provider's filter, refused to answer.",
        hint="Rephrase the request, or use another model.",
        detail={"stop": "refused"},
    )


def truncation_error(bound: str) -> BudgetExceeded:
    """The answer ended where the tokens did that `bound` leaves for one."""
    way = "Use a model that can write more" if bound == "model.max_output" else f"Raise `{bound}`"
    hint = f"{way}, or ask for a shorter answer."
    return BudgetExceeded(
        f"The model's answer was cut off: it has no more tokens (`{bound}`).",
        hint=hint,
        suggestions=(hint,),
        detail={"bound": bound},
    )
