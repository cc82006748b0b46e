"""What goes wrong with an MCP server, as our errors: whatever the SDK lets through, one table."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.remote.mcp_stdio import MAX_LINE
from retinue.contract.credentials import Cleaner
from retinue.contract.sanitize import printable
from retinue.errors import (
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    TheirError,
    Unauthenticated,
    Unavailable,
)

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

_LONGEST: Final = 10_000
"""Characters of what a server says of its failure that are looked at."""


@dataclass(frozen=True, slots=True)
class FailureContext:
    """What was going on when it happened.

    Attributes:
        server: The server's name.
        operation: What it was doing, as in "took too long for …".
        timeout_s: Seconds it had.
        status: The last HTTP status that was no success; 0 when there was none.
        flooded: It sent a message that is too long.
        stderr_tail: The end of what it said on stderr.
        during_call: A tool was being used, so something may have been done.
        cleaner: Takes the keys that the server was given out of what it says.
    """

    server: str
    operation: str
    timeout_s: float
    status: int = 0
    flooded: bool = False
    stderr_tail: str = ""
    during_call: bool = False
    cleaner: Cleaner = field(default_factory=Cleaner)

    @property
    def subject(self) -> str:
        """The server, as a sentence begins."""
        return f"The MCP server {self.server!r}"

    @property
    def stderr_note(self) -> str:
        """The last words as a sentence of their own; empty when there are none."""
        return f" Its last words: {self.cleaner.text(self.stderr_tail)[-500:]!r}." if self.stderr_tail else ""

    def clean(self, text: str) -> str:
        """What the server said, as it may be told: without keys, without what hides, on one line."""
        line = " ".join(printable(self.cleaner.text(text[:_LONGEST])).split())
        return line.rstrip(".")


def error_from(error: BaseException, context: FailureContext) -> RetinueError:
    """The error of ours that says what `error` says."""
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - optional
    from pydantic import ValidationError  # noqa: PLC0415 - as late as what needs it

    match _first_error(error):
        case RetinueError() as ours:
            return ours
        case TimeoutError():
            return _timeout_error(context)
        case ValidationError():
            return OutputInvalid(
                f"{context.subject} answered {context.operation} with what is not an answer of MCP.",
                hint="Go on without it.",
            )
        case MCPError() as refusal:
            return _transport_error(context) or _protocol_error(refusal, context)
        case other:
            return NetworkError(
                f"{context.subject} cannot be reached: "
                f"{context.clean(str(other)) or type(other).__name__}.{context.stderr_note}",
                hint="Check that it runs, or go on without its tools.",
            )


def _first_error(error: BaseException) -> BaseException:
    """The first of a group of errors, which may be groups themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _transport_error(context: FailureContext) -> RetinueError | None:
    """The error that the way to the server explains, whatever the protocol makes of it."""
    if context.flooded:
        return OutputInvalid(
            f"{context.subject} answered {context.operation} with a message "
            f"longer than {MAX_LINE} bytes, and was ended.",
            hint="Ask for less.",
        )
    if context.status in {401, 403}:
        hint = "Correct its `headers`."
        return Unauthenticated(f"{context.subject} wants to know who asks (status {context.status}).", hint=hint)
    if context.status in {429, 503}:
        return Unavailable(f"{context.subject} says not now (status {context.status}).", hint="Ask again later.")
    return None


def _protocol_error(refusal: "MCPError", context: FailureContext) -> RetinueError:
    from mcp import types  # noqa: PLC0415 - optional

    reason = f"{context.clean(refusal.message)[:1_000]}."
    match refusal.code:
        case types.REQUEST_TIMEOUT:
            return _timeout_error(context)
        case types.CONNECTION_CLOSED:
            hint = (
                "It may have done it all the same: look before you ask again."
                if context.during_call
                else "Make sure that it runs."
            )
            return NetworkError(f"{context.subject} ended during {context.operation}.{context.stderr_note}", hint=hint)
        case types.INVALID_PARAMS | types.METHOD_NOT_FOUND:
            return InvalidInput(f"{context.subject} refuses {context.operation}: {reason}", hint="Ask in another way.")
        case _:
            return TheirError(
                f"{context.subject} failed with {context.operation}: {reason}",
                hint="Ask in another way, or without it.",
            )


def _timeout_error(context: FailureContext) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"{context.subject} took longer than {context.timeout_s:.3g} "
        f"seconds for {context.operation}.{context.stderr_note}",
        hint="Ask for less, or go on without it.",
        detail={"bound": "tool"},
    )
