"""What goes wrong with an MCP server, as our errors: whatever the SDK lets through, one table."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from retinue.agents.remote.mcp_program import MAX_LINE
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

__all__ = ["Circumstances", "failure"]

_LONGEST: Final = 10_000
"""Characters of what a server says of its failure that are looked at."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What was going on when it happened.

    Attributes:
        server: The server's name.
        doing: What it was doing, as in "took too long for …".
        timeout_s: Seconds it had.
        status: The last HTTP status that was no success; 0 when there was none.
        flooded: It sent a message that is too long.
        last_words: The end of what it said on stderr.
        called: A tool was being used, so something may have been done.
        cleaner: Takes the keys that the server was given out of what it says.
    """

    server: str
    doing: str
    timeout_s: float
    status: int = 0
    flooded: bool = False
    last_words: str = ""
    called: bool = False
    cleaner: Cleaner = field(default_factory=Cleaner)

    @property
    def who(self) -> str:
        """The server, as a sentence begins."""
        return f"The MCP server {self.server!r}"

    @property
    def epilogue(self) -> str:
        """The last words as a sentence of their own; empty when there are none."""
        return f" Its last words: {self.cleaner.text(self.last_words)[-500:]!r}." if self.last_words else ""

    def shown(self, said: str) -> str:
        """What the server said, as it may be told: without keys, without what hides, on one line."""
        line = " ".join(printable(self.cleaner.text(said[:_LONGEST])).split())
        return line.rstrip(".")


def failure(error: BaseException, met: Circumstances) -> RetinueError:
    """The error of ours that says what `error` says."""
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - optional
    from pydantic import ValidationError  # noqa: PLC0415 - as late as what needs it

    match _first(error):
        case RetinueError() as ours:
            return ours
        case TimeoutError():
            return _too_slow(met)
        case ValidationError():
            return OutputInvalid(
                f"{met.who} answered {met.doing} with what is not an answer of MCP.", hint="Go on without it."
            )
        case MCPError() as refusal:
            return _at_transport(met) or _by_code(refusal, met)
        case other:
            return NetworkError(
                f"{met.who} cannot be reached: {met.shown(str(other)) or type(other).__name__}.{met.epilogue}",
                hint="Check that it runs, or go on without its tools.",
            )


def _first(error: BaseException) -> BaseException:
    """The first of a group of errors, which may be groups themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _at_transport(met: Circumstances) -> RetinueError | None:
    """The error that the way to the server explains, whatever the protocol makes of it."""
    if met.flooded:
        return OutputInvalid(
            f"{met.who} answered {met.doing} with a message longer than {MAX_LINE} bytes, and was ended.",
            hint="Ask for less.",
        )
    if met.status in {401, 403}:
        hint = "Correct its `headers`."
        return Unauthenticated(f"{met.who} wants to know who asks (status {met.status}).", hint=hint)
    if met.status in {429, 503}:
        return Unavailable(f"{met.who} says not now (status {met.status}).", hint="Ask again later.")
    return None


def _by_code(refusal: "MCPError", met: Circumstances) -> RetinueError:
    from mcp import types  # noqa: PLC0415 - optional

    said = f"{met.shown(refusal.message)[:1_000]}."
    match refusal.code:
        case types.REQUEST_TIMEOUT:
            return _too_slow(met)
        case types.CONNECTION_CLOSED:
            hint = (
                "It may have done it all the same: look before you ask again."
                if met.called
                else "Make sure that it runs."
            )
            return NetworkError(f"{met.who} ended during {met.doing}.{met.epilogue}", hint=hint)
        case types.INVALID_PARAMS | types.METHOD_NOT_FOUND:
            return InvalidInput(f"{met.who} refuses {met.doing}: {said}", hint="Ask in another way.")
        case _:
            return TheirError(f"{met.who} failed with {met.doing}: {said}", hint="Ask in another way, or without it.")


def _too_slow(met: Circumstances) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"{met.who} took longer than {met.timeout_s:.3g} seconds for {met.doing}.{met.epilogue}",
        hint="Ask for less, or go on without it.",
        detail={"bound": "tool"},
    )
