"""How an error is told over HTTP: its status, its headers and its body, the same for every door."""

import math
import re
from typing import Final, Literal, TypeAlias, cast

from starlette.responses import Response

from retinue import errors
from retinue.contract.fault import Fault, public_fault
from retinue.contract.json import dumps, loads
from retinue.contract.model import JsonMapping
from retinue.dialects import a2a
from retinue.dialects.agent_http import STATUSES, error_json
from retinue.errors import RetinueError
from retinue.servers.service import Conflict, UnknownRun

JSON: Final = "application/json"

ErrorForm: TypeAlias = Literal["plain", "mcp", "jsonrpc", "http"]
"""How a door writes errors: the HTTP door, MCP, and A2A in JSON-RPC and in HTTP+JSON (`google.rpc.Status`)."""

_A2A_PATH: Final = re.compile(r"(?:/agents/[^/]+/[^/]+)?/a2a/?(.*)", re.DOTALL)


def form_of_path(path: str) -> ErrorForm:
    """How the door that a path leads to writes errors."""
    if path.startswith("/mcp"):
        return "mcp"
    match = _A2A_PATH.fullmatch(path)
    return "plain" if match is None else "http" if match[1] else "jsonrpc"


class HttpError(Exception):
    """An error with a status of its own.

    Attributes:
        status: The status.
        error: What is wrong.
        headers: Further headers of the answer.
    """

    def __init__(self, status: int, error: RetinueError, headers: dict[str, str] | None = None) -> None:
        super().__init__(error.message)
        self.status, self.error, self.headers = status, error, headers or {}


def status_of_error(error: RetinueError) -> int:
    """The status of an error that no agent has made."""
    match error:
        case UnknownRun():
            return 404
        case Conflict():
            return 409
        case _:
            return STATUSES[error.code]


def public_error(error: RetinueError) -> Fault:
    """What of an error a caller may be told. What only doors know, such as a conflict, is told as its kind of error."""
    kind = next(each.__name__ for each in type(error).__mro__ if each.__name__ in errors.__all__)
    fault = Fault.from_error(error)
    return public_fault(fault.model_copy(update={"detail": {**fault.detail, "class": kind}}), run="")


def error_response(error: RetinueError | HttpError, *, form: ErrorForm = "plain") -> Response:
    """The answer that tells an error; in JSON-RPC without the id of a request, of which nothing is read yet."""
    headers: dict[str, str] = {}
    if isinstance(error, HttpError):
        status, headers, error = error.status, error.headers, error.error
    else:
        status = status_of_error(error)
    fault = public_error(error)
    if status == 401:
        headers = {"www-authenticate": "Bearer", **headers}
    if fault.retry_after_s is not None:
        headers = {"retry-after": str(max(1, math.ceil(fault.retry_after_s))), **headers}
    fault_json = error_json(fault)
    body: JsonMapping = {"error": fault_json}
    if form == "mcp":
        code = -32700 if fault.code == "parse_error" else -32600
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": fault.message, "data": fault_json}}
    elif form != "plain":
        if fault.code == "invalid_input":
            fault = fault.model_copy(update={"detail": {**fault.detail, "reason": "INVALID_REQUEST"}})
        body = cast("JsonMapping", loads(a2a.render_error(fault, form=form, request_id=None).text))
        if form == "http":
            body["error"]["code"] = status
    return Response(dumps(body), status, headers, media_type=JSON)
