"""What keeps Claude Code from a whole answer, as our errors. Its words are foreign: shortened, without keys."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from retinue.contract.credentials import Cleaner
from retinue.contract.formatting import truncate
from retinue.contract.sanitize import printable
from retinue.errors import (
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.llm.conversation import max_turns_error, refusal_error, truncation_error

_LONGEST: Final = 300
_LATER: Final = "Try again later, or use another model."
_CHANGE: Final = "Change the request, or use another model."
_SERVER: Final = 500
_LATER_STATUSES: Final = frozenset({408, 409, 425, 429})

_STATUSES: Final[Mapping[int, tuple[type[RetinueError], str]]] = MappingProxyType(
    {
        401: (Unauthenticated, "Set `ANTHROPIC_API_KEY` to a key that holds."),
        403: (Unauthenticated, "Use a key that may use this model."),
        404: (UnknownName, "Name a model that the provider has."),
    }
)
"""What a status of the provider means, and what to do; those that are not here by their hundred."""


def result_error(subtype: str, status: int | None, message: str, *, model: str, max_turns: int) -> RetinueError:
    """Why a conversation ended in an error, by what Claude Code says at its end.

    Args:
        subtype: Its word for it; `success` where the provider failed and not Claude Code itself.
        status: The status that the provider answered with.
        message: It in words.
        model: Who was asked.
        max_turns: How many requests were allowed.
    """
    words = _clean(message)
    match subtype:
        case "error_max_turns":
            return max_turns_error(max_turns)
        case "error_max_structured_output_retries":
            return OutputInvalid(
                f"`{model}` did not come to an answer that fits its schema: {words}", hint="Rephrase the request."
            )
        case "success":
            if status is None:
                return NetworkError(f"`{model}` gave no whole answer: {words}", hint=_LATER)
            kind, hint = _STATUSES.get(status, (None, ""))
            if kind is not None:
                return kind(f"The provider of `{model}` refuses the request: {words}", hint=hint)
            if status >= _SERVER or status in _LATER_STATUSES:
                return Unavailable(f"The provider of `{model}` cannot answer now: {words}", hint=_LATER)
            return InvalidInput(f"The provider of `{model}` refuses the request: {words}", hint=_CHANGE)
        case _:
            return OutputInvalid(
                f"Claude Code ended with {truncate(printable(subtype), 80)!r}: {words}",
                hint="Try again, or ask otherwise.",
            )


def stop_error(stop_reason: str, bound: str) -> RetinueError | None:
    """Why an answer that ended for the reason `stop_reason` is not whole; None when it is."""
    match stop_reason:
        case "refusal":
            return refusal_error()
        case "max_tokens":
            return truncation_error(bound)
        case _:
            return None


def silence_error(seconds: float) -> DeadlineExceeded:
    """It has not said anything for so long, and no tool was at work."""
    return DeadlineExceeded(
        f"Claude Code has said nothing for {seconds:g} s, and was ended.",
        hint="Try again, or leave the agent to the runner `own`.",
        detail={"bound": "silence"},
    )


def exit_error(status: int | None, words: str, *, flooded: bool = False) -> RetinueError:
    """It ended, or was ended, before it had answered."""
    if flooded:
        return OutputInvalid("Claude Code sent a line that is too long, and was ended.", hint="Ask for less at once.")
    how = "" if status is None else f" with status {status}"
    cause = f": {_clean(words)}" if words else "."
    return Unavailable(
        f"Claude Code ended{how} before it had answered{cause}",
        hint="Try again; if it stays so, see that `claude` runs at all, or use the runner `own`.",
    )


def protocol_error(why: str) -> OutputInvalid:
    """It said something that is no message."""
    return OutputInvalid(
        f"What Claude Code said cannot be read: {_clean(why)}",
        hint="Install a version of it that fits the installed `claude-agent-sdk`.",
    )


def _clean(text: str) -> str:
    return truncate(" ".join(printable(Cleaner().text(text[-4 * _LONGEST :])).split()), _LONGEST)
