"""HTTP status codes by fault, and back: the one table of them (P9, P11, P12)."""

from collections.abc import Mapping
from typing import Final

from retinue.contract.result import Result
from retinue.errors import FaultCode

OK: Final = 200
_ACCEPTED: Final = 202
UNPARSABLE: Final = 400
"""The request was no JSON at all; one that was, and does not fit, is 422."""

STATUSES: Final[Mapping[FaultCode, int]] = {
    "missing_file": 404,
    "invalid_input": 422,
    "output_invalid": 502,
    "parse_error": 422,
    "access_denied": 403,
    "unauthenticated": 401,
    "network_error": 502,
    "unavailable": 503,
    "timeout": 504,
    "budget_exceeded": 429,
    "canceled": OK,
    "internal_error": 500,
}

_CODES: Final[Mapping[int, FaultCode]] = {
    401: "unauthenticated",
    403: "access_denied",
    404: "missing_file",
    408: "timeout",
    410: "missing_file",
    429: "budget_exceeded",
    502: "network_error",
    503: "unavailable",
    504: "timeout",
}


def status_of(result: Result) -> int:
    """The HTTP status of an answer: 202 while it is at work, and 200 for a canceled one too, which is an answer."""
    fault = result.fault
    if result.lifecycle != "ended":
        return _ACCEPTED
    if result.outcome in {"success", "partial", "canceled"} or (result.outcome is None and fault is None):
        return OK
    if fault is None:
        return STATUSES["internal_error"]
    # The reader of JSON says where it stopped.
    is_unparsable = fault.code == "invalid_input" and "reason" in fault.detail and "line" in fault.detail
    return UNPARSABLE if is_unparsable else STATUSES[fault.code]


def outcome_of(status: int | None) -> FaultCode | None:
    """What an HTTP status says went wrong; None when nothing did.

    Each class has its own consequence: a network failure or a passing 5xx is tried again, a 4xx never unchanged, and
    any other 5xx says that the skill is unreliable. That 429 came with a `Retry-After` only the caller can know; it may
    call that `unavailable`.

    Args:
        status: The status; None when nobody answered.
    """
    if status is None:
        return "network_error"
    if 200 <= status < 300:
        return None
    if status in _CODES:
        return _CODES[status]
    if 400 <= status < 500:
        return "invalid_input"
    return "internal_error" if status >= 500 else "output_invalid"
