"""A server of MCP in both revisions that does everything right, and for each requirement one that breaks it."""

import json
from typing import Any, Final

from retinue.conformance.kits.mcp import HANDSHAKE, STATELESS
from tests.conformance.mutants.web import (
    Fault,
    Handler,
    NoAnswer,
    WebAnswer,
    WebRequest,
    answer_instead,
    drop,
    put,
    when,
)

PATH: Final = "/mcp"
_OBJECT: Final = {"type": "object"}
_TOOLS: Final = [
    {
        "name": "add", "inputSchema": {**_OBJECT, "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        "outputSchema": {**_OBJECT, "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "greet", "inputSchema": _OBJECT, "annotations": {"readOnlyHint": True}},
]  # fmt: skip
_CAPABILITIES: Final[Any] = {"tools": {}, "resources": {}, "prompts": {}}
_SESSION: Final = "a-session"


class _Refusal(Exception):
    def __init__(self, code: int, status: int = 200, **data: Any) -> None:
        super().__init__(code)
        self.code, self.status, self.data = code, status, data


def good_server(edition: str) -> Handler:
    """A server with nothing wrong, in one edition."""
    closed = False

    def handle(request: WebRequest) -> WebAnswer:
        nonlocal closed
        request.operation = request.method
        if request.headers.get("origin"):
            return WebAnswer(403)
        if request.method == "GET":
            return WebAnswer(405)
        if request.method == "DELETE":
            closed = True
            return WebAnswer(204)
        body: Any = None
        try:
            body = _parse(request)
            request.operation = body["method"]
            if edition == STATELESS:
                _check_headers(request, body)
            elif refused := _session_answer(request, closed=closed):
                return refused
            result = _do(body["method"], body.get("params") or {}, edition)
        except _Refusal as refusal:
            request.operation += f"!{refusal.code}"
            error: Any = {"code": refusal.code, "message": "That cannot be done.", "data": refusal.data}
            request_id: Any = None if body is None else body.get("id")
            return WebAnswer(refusal.status, {"jsonrpc": "2.0", "id": request_id, "error": error})
        if "id" not in body:
            return WebAnswer(202)
        answer = WebAnswer(200, {"jsonrpc": "2.0", "id": body["id"], "result": result})
        if body["method"] == "initialize":
            answer.headers["mcp-session-id"] = _SESSION
        return answer

    return handle


def _parse(request: WebRequest) -> Any:
    try:
        body: Any = json.loads(request.body)
    except ValueError:
        raise _Refusal(-32700, 400) from None
    if body.get("jsonrpc") != "2.0" or not isinstance(body.get("method"), str):
        raise _Refusal(-32600, 400)
    return body


def _session_answer(request: WebRequest, *, closed: bool) -> WebAnswer | None:
    if request.operation == "initialize":
        return None
    session = request.headers.get("mcp-session-id")
    if session is None:
        request.operation = "sessionless"
        return WebAnswer(400)
    if session.replace(" ", "-") != _SESSION or closed:
        request.operation = "closed" if closed else "unknown"
        return WebAnswer(404)
    if request.headers.get("mcp-protocol-version", HANDSHAKE) != HANDSHAKE:
        request.operation = "versionless"
        return WebAnswer(400)
    return None


def _check_headers(request: WebRequest, body: Any) -> None:
    params: Any = body.get("params") or {}
    meta: Any = params.get("_meta") or {}
    prefix = "io.modelcontextprotocol/"
    version, headers = meta.get(f"{prefix}protocolVersion"), request.headers
    if version != headers.get("mcp-protocol-version"):
        request.operation = "version_mismatch"
        raise _Refusal(-32020, 400)
    if headers.get("mcp-method") != body["method"]:
        request.operation = "method_mismatch" if "mcp-method" in headers else "no_method"
        raise _Refusal(-32020, 400)
    if version != STATELESS:
        raise _Refusal(-32022, 400, supported=[STATELESS])
    if f"{prefix}clientCapabilities" not in meta:
        request.operation = "no_meta"
        raise _Refusal(-32602, 400)


def _do(method: str, params: Any, edition: str) -> Any:
    modern = edition == STATELESS
    whole: dict[str, Any] = {"resultType": "complete"} if modern else {}
    hints: dict[str, Any] = {**whole, "ttlMs": 0, "cacheScope": "private"} if modern else {}
    info: Any = {"name": "good", "version": "1.0"}
    match method:
        case "initialize" if not modern:
            capabilities: Any = {**_CAPABILITIES, "logging": {}}
            whole |= {"protocolVersion": HANDSHAKE, "capabilities": capabilities, "serverInfo": info}
            return whole
        case "server/discover" if modern:
            return {**hints, "supportedVersions": [STATELESS], "capabilities": _CAPABILITIES}
        case "ping" | "notifications/initialized" if not modern:
            return {}
        case "logging/setLevel" if not modern and params.get("level") == "error":
            return {}
        case "tools/list" if "cursor" not in params:
            return {**hints, "tools": json.loads(json.dumps(_TOOLS))}
        case "tools/call":
            return {**whole, **_call(params)}
        case "resources/list":
            return {**hints, "resources": [{"uri": "a://b", "name": "b"}]}
        case "prompts/list":
            return {**hints, "prompts": [{"name": "p"}]}
        case "tools/list" | "prompts/get" | "resources/read" | "logging/setLevel":
            raise _Refusal(-32602)
        case _:
            raise _Refusal(-32601, 404 if modern else 200)


def _call(params: Any) -> Any:
    text = {"type": "text", "text": "Hello!"}
    match params.get("name"), params.get("arguments"):
        case "greet", _:
            return {"content": [text]}
        case "add", {"a": int(number)}:
            return {"content": [text], "structuredContent": {"sum": number}}
        case "add", _:
            return {"content": [{"type": "text", "text": "`a` is required."}], "isError": True}
        case _:
            raise _Refusal(-32602)


def _silent(request: WebRequest, answer: WebAnswer) -> None:
    del answer
    if request.operation == "prompts/get!-32602":
        raise NoAnswer


def _shuffled(request: WebRequest, answer: WebAnswer) -> None:
    if request.operation == "tools/list" and b'"tools_again"' in request.body:
        answer.body["result"]["tools"].reverse()


def _code(operations: str, code: int = -32050) -> Fault:
    return put(operations, "error/code", code)


FAULTS: Final[dict[str, Fault]] = {
    "answers": _silent,
    "json": when("prompts/list", lambda answer: answer.headers.update({"content-type": "text/plain"})),
    "envelope": put("tools/list", "jsonrpc", "1.0"),
    "error-object": drop("resources/read!-32602", "error/message"),
    "initialize": drop("initialize", "result/serverInfo/version"),
    "negotiation": lambda request, answer: (
        WebAnswer(200, {"jsonrpc": "2.0", "id": "another_version", "error": {"code": -32602, "message": "No."}})
        if b"1999-01-01" in request.body
        else answer
    ),
    "discover": put("server/discover", "result/supportedVersions", []),
    "result-type": drop("prompts/list", "result/resultType"),
    "caching": drop("tools/list", "result/ttlMs"),
    "ping": put("ping", "result", {"pong": True}),
    "notification": answer_instead("notifications/initialized", 200, {"jsonrpc": "2.0", "id": None, "result": {}}),
    "tools": drop("tools/list", "result/tools/1/inputSchema"),
    "tool-schemas": put("tools/list", "result/tools/1/inputSchema", {"type": "object", "properties": 5}),
    "tool-names": when(
        "tools/list",
        lambda answer: answer.body["result"]["tools"].append({"name": "say hello", "inputSchema": _OBJECT}),
    ),
    "tool-order": _shuffled,
    "bad-cursor": _code("tools/list!-32602"),
    "unknown-tool": _code("tools/call!-32602"),
    "content": when("tools/call", lambda answer: answer.body["result"]["content"][0].pop("text")),
    "structured-content": put("tools/call", "result/structuredContent", {"sum": "a lot"}),
    "bad-arguments": when("tools/call", lambda answer: answer.body["result"].pop("isError", None)),
    "bad-arguments-as-result": lambda request, answer: (
        WebAnswer(200, {"jsonrpc": "2.0", "id": "bad_arguments", "error": {"code": -32602, "message": "No."}})
        if b'"bad_arguments"' in request.body
        else answer
    ),
    "resources": drop("resources/list", "result/resources/0/name"),
    "unknown-resource": _code("resources/read!-32602"),
    "prompts": drop("prompts/list", "result/prompts/0/name"),
    "unknown-prompt": _code("prompts/get!-32602"),
    "log-level": put("logging/setLevel", "result", {"level": "error"}),
    "bad-log-level": _code("logging/setLevel!-32602"),
    "unknown-method": _code("unheard_of!-32601"),
    "unknown-method-status": when("unheard_of!-32601", lambda answer: setattr(answer, "status", 200)),
    "cut-off": _code("POST!-32700"),
    "no-request": when("POST!-32600", lambda answer: setattr(answer, "status", 200)),
    "get": answer_instead("GET", 200, {"hello": "world"}),
    "bad-version": when("versionless", lambda answer: setattr(answer, "status", 200)),
    "unknown-version": when("server/discover!-32022", lambda answer: answer.body["error"]["data"].clear()),
    "version-mismatch": _code("version_mismatch!-32020"),
    "method-mismatch": _code("method_mismatch!-32020"),
    "no-method": _code("no_method!-32020"),
    "no-meta": when("no_meta!-32602", lambda answer: setattr(answer, "status", 200)),
    "foreign-origin": lambda request, answer: WebAnswer(200) if request.headers.get("origin") else answer,
    "session-id": when("initialize", lambda answer: answer.headers.update({"mcp-session-id": "a session"})),
    "no-session": when("sessionless", lambda answer: setattr(answer, "status", 200)),
    "unknown-session": when("unknown", lambda answer: setattr(answer, "status", 400)),
    "after-delete": when("closed", lambda answer: setattr(answer, "status", 400)),
}
"""By the name of the requirement that each breaks."""
COMPANIONS: Final = {"answers": {"unknown-prompt", "error-object", "json", "envelope"}}
"""What breaks with a requirement, since it rests on the same answer."""
