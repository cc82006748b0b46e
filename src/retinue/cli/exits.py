"""What a command's exit code says. One table for all verbs (design: habits of the command line)."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, assert_never, cast

if TYPE_CHECKING:
    from retinue.contract.result import Result
    from retinue.errors import FaultCode


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


def for_result(result: "Result", *, fail_on: Literal["failure", "partial"] = "failure") -> Exit:
    """The exit code for what a run came to. A run with one useful branch is a success, its warnings beside it.

    A limit that was hit shows even when part of the answer is there; so does a question that nobody answered.
    """
    early = _early_exit(result)
    if early is not None:
        return early
    if result.outcome == "success" or (result.outcome == "partial" and fail_on != "partial"):
        return Exit.OK
    return Exit.FAILED


def for_agent_result(result: "Result") -> Exit:
    """The exit code for what one agent that was asked came to.

    What never reached it, because the request did not fit its skill, is the caller's mistake and not its error.
    """
    early = _early_exit(result)
    if early is not None:
        return early
    if result.useful:
        return Exit.OK
    code = result.fault.code if result.fault else None
    if code == "invalid_input" and not result.attempts:
        return Exit.USAGE
    if code in {"unauthenticated", "network_error", "unavailable"}:
        return for_code(code)
    return Exit.AGENT_ERROR


def _early_exit(result: "Result") -> Exit | None:
    """Why it ended before its time, if it did."""
    if result.outcome == "canceled":
        return Exit.INTERRUPTED
    codes = {result.fault.code} if result.fault else set[str]()
    if codes.union(_failures(result)).intersection({"timeout", "budget_exceeded"}):
        return Exit.LIMIT
    return Exit.QUESTION if result.lifecycle == "input_required" or result.questions else None


def _failures(result: "Result") -> set[str]:
    """The fault codes of the branches of a run that brought nothing."""
    data: object = result.data
    failures: object = cast("dict[str, Any]", data).get("failures") if isinstance(data, dict) else None
    entries = cast("list[object]", failures) if isinstance(failures, list) else []
    return {str(cast("dict[str, Any]", each).get("code")) for each in entries if isinstance(each, dict)}
