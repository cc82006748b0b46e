"""Errors as A2A tells them: one of the protocol's own where it has one, and never the words of the SDK."""

import logging
from typing import Any, Final

from a2a.utils.errors import A2A_REASON_TO_ERROR, A2AError, InternalError as A2AInternalError, InvalidParamsError
from starlette.responses import Response

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.dialects import a2a
from retinue.dialects.a2a.wire import FAULTS
from retinue.errors import InternalError, InvalidInput, RetinueError
from retinue.servers.errors import JSON, HttpError, error_response, public_error
from retinue.servers.service import UnknownRun

_LOGGER: Final = logging.getLogger("retinue.servers")


class Refusal(InvalidInput):
    """A request that the protocol has an error of its own for.

    Attributes:
        reason: The word for it, as in `TASK_NOT_CANCELABLE`.
    """

    def __init__(self, reason: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


SENTENCES: Final = {
    -32700: "The body is no JSON.",
    -32600: "The request is no request of JSON-RPC 2.0.",
    -32601: "There is no such method.",
    -32602: "The parameters do not fit the method.",
    -32603: "The server failed.",
    -32009: "This version of A2A is not spoken here, or not by this method. Say it in the header `A2A-Version`.",
}
"""What is said where the SDK refuses a request, whose words quote what came."""


def sdk_refusal(code: int) -> Refusal:
    """What is told in place of an error of the SDK."""
    code = code if code in SENTENCES else -32603
    return Refusal(a2a.ERRORS[code].reason, SENTENCES[code], "See the protocol at https://a2a-protocol.org.")


def fault_of(error: RetinueError) -> Fault:
    """The fault that a caller is told, with the protocol's word for it where there is one."""
    if error.code == "internal_error":
        return Fault(code="internal_error", message=SENTENCES[-32603], hint="Its operator finds the reason in its log.")
    fault = public_error(error)
    if isinstance(error, UnknownRun):
        reason = "TASK_NOT_FOUND"
    elif isinstance(error, Refusal):
        reason = error.reason
    elif fault.code == "invalid_input":
        reason = "INVALID_PARAMS"
    else:
        return fault
    return fault.model_copy(update={"detail": {**fault.detail, "reason": reason}})


def refusal_of(error: BaseException | None) -> RetinueError:
    """What a failure is called: one of ours as it is; any other is logged, and nothing of it is told."""
    if isinstance(error, InvalidParamsError):  # of the SDK's own check, which names fields of the protocol
        facts: Any = getattr(error, "data", None) or {}
        fields = ", ".join(sorted({f"`{each['field']}`" for each in facts.get("errors", [])}))
        return InvalidInput(f"These are required: {fields}.", hint="See the protocol at https://a2a-protocol.org.")
    if isinstance(error, RetinueError):
        return error
    _LOGGER.error("a request of A2A failed", exc_info=error)
    return InternalError("The server failed.")


def sdk_error(error: RetinueError) -> A2AError:
    """The same for the SDK, which tells it inside of streams."""
    fault = fault_of(error)
    code = FAULTS[fault.code][0]
    reason: Any = fault.detail.get("reason", a2a.ERRORS[code].reason)
    return A2A_REASON_TO_ERROR.get(reason, A2AInternalError)(message=fault.message)


def refusal_response(error: RetinueError | HttpError, *, form: str, request_id: Any = None) -> Response:
    """The answer that tells an error.

    Args:
        error: What is wrong.
        form: `jsonrpc` or `http`.
        request_id: The id of the request in JSON-RPC.
    """
    common = error_response(error)  # with the status and the headers that all doors share
    is_fixed = isinstance(error, HttpError) or common.status_code in {401, 429, 503}
    fault = fault_of(error.error if isinstance(error, HttpError) else error)
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    body: Any = json.loads(a2a.render_error(fault, form=form, request_id=request_id if is_id else None).text)
    if form == "http" and is_fixed:
        body["error"]["code"] = common.status_code
    headers = {name: common.headers[name] for name in ("retry-after", "www-authenticate") if name in common.headers}
    words = next((each for each in a2a.ERRORS.values() if each.reason == fault.detail.get("reason")), None)
    status = 200 if form == "jsonrpc" else words.http if words is not None else FAULTS[fault.code][1]
    return Response(json.dumps(body), common.status_code if is_fixed else status, headers, media_type=JSON)
