"""A server of A2A in both versions and both bindings that does everything right."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote

from tests.conformance.mutants.web import (
    Handler,
    WebAnswer,
    WebRequest,
)

CARD: Final = "/card"
PATH: Final = "/agent"
_NOW: Final = "2026-01-31T12:00:00.000Z"
_ERRORS: Final = {
    -32700: ("JSON_PARSE_ERROR", 400), -32600: ("INVALID_REQUEST", 400), -32601: ("METHOD_NOT_FOUND", 404),
    -32602: ("INVALID_PARAMS", 400), -32001: ("TASK_NOT_FOUND", 404), -32002: ("TASK_NOT_CANCELABLE", 400),
    -32003: ("PUSH_NOTIFICATION_NOT_SUPPORTED", 400), -32004: ("UNSUPPORTED_OPERATION", 400),
    -32009: ("VERSION_NOT_SUPPORTED", 400),
}  # fmt: skip
_OLDER: Final = {
    "message/send": "SendMessage", "message/stream": "SendStreamingMessage", "tasks/get": "GetTask",
    "tasks/cancel": "CancelTask", "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}  # fmt: skip
_METHODS: Final = {*_OLDER.values(), "ListTasks"}


class _Refusal(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def good_server(edition: str, *, streaming: bool = True, secured: bool = False) -> Handler:
    """A server with nothing wrong, in one edition."""
    tasks: dict[str, Any] = {}
    older = edition.startswith("0.3")

    def handle(request: WebRequest) -> WebAnswer:
        if request.path == CARD:
            request.operation = "card"
            headers = {"cache-control": "max-age=60", "etag": '"1"'}
            return WebAnswer(200, _card(older=older, streaming=streaming, secured=secured), headers)
        if secured and "authorization" not in request.headers:
            return WebAnswer(401, {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Who are you?"}})
        if edition.endswith("HTTP+JSON"):
            return _over_http(request, lambda params: _do(tasks, request, params, streaming=streaming))
        return _over_rpc(request, lambda params: _do(tasks, request, params, streaming=streaming), older=older)

    return handle


def _card(*, older: bool, streaming: bool, secured: bool) -> Any:
    address = "http://127.0.0.1/agent"
    skill = {"id": "greet", "name": "Greet", "description": "Greets.", "tags": ["words"]}
    card: dict[str, Any] = {
        "name": "greeter", "description": "Greets.", "version": "1.0", "capabilities": {"streaming": streaming},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [skill],
    }  # fmt: skip
    if secured:
        card |= {"security": [{"key": []}]} if older else {"securityRequirements": [{"schemes": {"key": {"list": []}}}]}
    if older:
        return {**card, "url": address, "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC"}
    interface = {"url": address, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return {**card, "supportedInterfaces": [interface]}


def _do(tasks: dict[str, Any], request: WebRequest, params: Any, *, streaming: bool) -> Any:
    """The result of an operation in 1.0; a list of them is a stream."""
    operation = request.operation
    if operation in {"ListTaskPushNotificationConfigs", "GetExtendedAgentCard"}:
        raise _Refusal(-32003 if operation.startswith("List") else -32004)
    if operation in {"SendStreamingMessage", "SubscribeToTask"} and not streaming:
        raise _Refusal(-32004)
    if operation == "ListTasks":
        size = int(params.get("pageSize", 50))
        newest = [
            {name: each for name, each in task.items() if name != "artifacts"} for task in reversed(tasks.values())
        ]
        token = "more" if len(newest) > size else ""
        return {"tasks": newest[:size], "nextPageToken": token, "pageSize": size, "totalSize": len(newest)}
    if operation.startswith("Send"):
        task = _send(tasks, params)
        return _stream(task) if operation == "SendStreamingMessage" else {"task": task}
    task = tasks.get(params.get("id"))
    if task is None:
        raise _Refusal(-32001)
    if operation != "GetTask":
        raise _Refusal(-32002 if operation == "CancelTask" else -32004)
    length = params.get("historyLength")
    return task if length is None else {**task, "history": task["history"][: int(length)]}


def _send(tasks: dict[str, Any], params: Any) -> Any:
    message: Any = params.get("message")
    if not message or not message.get("parts"):
        raise _Refusal(-32602)
    if (task_id := message.get("taskId")) is not None:
        if task_id not in tasks:
            raise _Refusal(-32001)
        raise _Refusal(-32602 if message.get("contextId", "") not in {"", tasks[task_id]["contextId"]} else -32004)
    number = len(tasks) + 1
    answer = {"messageId": f"a{number}", "role": "ROLE_AGENT", "parts": [{"text": "Hello!"}]}
    moment = _NOW.replace("00.000", f"{number:02}.000")
    task: Any = {
        "id": f"t{number}", "contextId": message.get("contextId", f"c{number}"),
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": moment},
        "artifacts": [{"artifactId": "a", "parts": [{"text": "Hello!"}]}],
        "history": [{"messageId": f"m{number}", "role": "ROLE_USER", "parts": [{"text": "Hello!"}]}, answer],
    }  # fmt: skip
    tasks[str(task["id"])] = task
    return task


def _stream(task: Any) -> list[Any]:
    names: Any = {"taskId": task["id"], "contextId": task["contextId"]}
    working: Any = {
        **task,
        "status": {"state": "TASK_STATE_WORKING", "timestamp": _NOW},
        "artifacts": [],
        "history": [],
    }
    return [
        {"task": working},
        {"artifactUpdate": {**names, "artifact": task["artifacts"][0]}},
        {"statusUpdate": {**names, "status": task["status"]}},
    ]


def _over_rpc(request: WebRequest, do: Callable[[Any], Any], *, older: bool) -> WebAnswer:
    request_id: Any = None
    try:
        try:
            body: Any = json.loads(request.body)
        except ValueError:
            raise _Refusal(-32700) from None
        request_id = body.get("id")
        if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
            raise _Refusal(-32600)
        request.operation = _OLDER.get(body["method"], "unknown_method") if older else body["method"]
        if not older and request.headers.get("a2a-version", "").split(".")[:2] != ["1", "0"]:
            raise _Refusal(-32009)
        if request.operation not in _METHODS:
            raise _Refusal(-32601)
        result = do(body.get("params") or {})
    except _Refusal as refusal:
        reason, _ = _ERRORS[refusal.code]
        request.operation += f"!{refusal.code}"
        error = {"code": refusal.code, "message": reason.lower(), "data": [_info(reason)]}
        return WebAnswer(200, {"jsonrpc": "2.0", "id": request_id, "error": error})
    head = {"jsonrpc": "2.0", "id": request_id}
    if isinstance(result, list):
        events: list[Any] = [
            {**head, "result": _older(each) if older else each} for each in deepcopy(cast("list[Any]", result))
        ]
        return WebAnswer(events=events)
    return WebAnswer(200, {**head, "result": _older(deepcopy(result)) if older else deepcopy(result)})


def _info(reason: str) -> Any:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}


_ROUTES: Final = (
    (r"POST /message:send", "SendMessage"), (r"POST /message:stream", "SendStreamingMessage"),
    (r"GET /tasks/(?P<id>[^/?:]+)/push\w+", "ListTaskPushNotificationConfigs"), (r"GET /extendedAgentCard", "GetExtendedAgentCard"),
    (r"POST /tasks/(?P<id>[^/?:]+):cancel", "CancelTask"), (r"GET /tasks/(?P<id>[^/?:]+)", "GetTask"), (r"GET /tasks", "ListTasks"),
)  # fmt: skip


def _over_http(request: WebRequest, do: Callable[[Any], Any]) -> WebAnswer:
    path, _, query = request.path.removeprefix(PATH).partition("?")
    try:
        found = ((re.fullmatch(pattern, f"{request.method} {path}"), name) for pattern, name in _ROUTES)
        match, request.operation = next(((each, name) for each, name in found if each), (None, "unknown_method"))
        if match is None:
            raise _Refusal(-32601)
        if request.headers.get("a2a-version", "").split(".")[:2] != ["1", "0"]:
            raise _Refusal(-32009)
        try:
            body: Any = json.loads(request.body or b"{}")
        except ValueError:
            raise _Refusal(-32700) from None
        result = do(
            {**body, **dict(parse_qsl(query)), **{name: unquote(each) for name, each in match.groupdict().items()}}
        )
    except _Refusal as refusal:
        reason, status = _ERRORS[refusal.code]
        request.operation += f"!{refusal.code}"
        error = {"code": status, "status": reason, "message": reason.lower(), "details": [_info(reason)]}
        return WebAnswer(status, {"error": error})
    return (
        WebAnswer(events=deepcopy(cast("list[Any]", result)))
        if isinstance(result, list)
        else WebAnswer(200, deepcopy(result))
    )


def _older(value: Any) -> Any:
    """A result of 1.0 as 0.3 writes it."""
    for wrapper, kind in (("task", "task"), ("artifactUpdate", "artifact-update"), ("statusUpdate", "status-update")):
        if wrapper in value:
            value = {**value[wrapper], "kind": kind, **({"final": True} if kind == "status-update" else {})}
    value.setdefault("kind", "task")
    pending: list[Any] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += cast("list[Any]", each)
        elif isinstance(each, dict):
            each = cast("dict[str, Any]", each)
            if "messageId" in each:
                each |= {"kind": "message", "role": each["role"].removeprefix("ROLE_").lower()}
            if "text" in each:
                each["kind"] = "text"
            if "state" in each:
                each["state"] = each["state"].removeprefix("TASK_STATE_").lower()
            pending += each.values()
    return value
