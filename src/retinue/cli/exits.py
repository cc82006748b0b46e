"""What a command's exit code says. One table for all verbs (design: habits of the command line)."""

from enum import IntEnum
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from retinue.contract.result import Result
    from retinue.errors import FaultCode

__all__ = ["Exit", "for_code", "for_result"]


class Exit(IntEnum):
    """The exit codes, for scripts to rely on."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNAUTHENTICATED = 3
    UNREACHABLE = 4
    AGENT_ERROR = 5
    INVALID = 6
    LIMIT = 7
    NONCONFORMING = 8
    QUESTION = 9
    INTERRUPTED = 130


def for_code(code: "FaultCode") -> Exit:
    """The exit code for an error that ended the command itself."""
    match code:
        case "invalid_input" | "missing_file" | "parse_error" | "access_denied":
            return Exit.USAGE
        case "unauthenticated":
            return Exit.UNAUTHENTICATED
        case "network_error" | "unavailable":
            return Exit.UNREACHABLE
        case "timeout" | "budget_exceeded":
            return Exit.LIMIT
        case "canceled":
            return Exit.INTERRUPTED
        case "output_invalid" | "internal_error":
            return Exit.FAILED
    assert_never(code)


def for_result(result: "Result", *, fail_on_partial: bool = False) -> Exit:
    """The exit code for what a run came to. A run with one useful branch is a success, its warnings beside it.

    A limit that was hit shows even when part of the answer is there; so does a question that nobody answered.
    """
    if result.lifecycle == "input_required":
        return Exit.QUESTION
    if result.fault and result.fault.code in {"timeout", "budget_exceeded", "canceled"}:
        return for_code(result.fault.code)
    if result.outcome == "canceled":
        return Exit.INTERRUPTED
    if result.outcome == "success" or (result.outcome == "partial" and not fail_on_partial):
        return Exit.OK
    return Exit.FAILED
