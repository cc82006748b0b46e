"""Servers that make something of what no client should send, and for each requirement one that should not have."""

import json
from typing import Any, Final

from tests.conformance.mutants.web import Fault, Limits, NoAnswer, WebAnswer, WebRequest

PATH: Final = "/rpc"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(word: str) -> Any:
    raise ValueError(word)


def good_server(request: WebRequest) -> WebAnswer:
    """A server of JSON-RPC with nothing wrong: it knows no task, and says so."""
    if request.path != PATH:
        return WebAnswer(404, {"error": "There is nothing."})
    if request.headers.get("content-type") != "application/json":
        return WebAnswer(415, _error(-32600))
    try:
        body: Any = json.loads(request.body.decode(), object_pairs_hook=_pairs, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return WebAnswer(400, _error(-32700))
    is_request = isinstance(body.get("id"), str) and isinstance(body.get("method"), str)
    return WebAnswer(200, _error(-32001 if is_request else -32600))


def _error(code: int) -> Any:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": "No."}}


def _instead(words: bytes, status: int, body: Any, **headers: str) -> Fault:
    """Another answer to requests whose path, type or body holds some words."""

    def fault(request: WebRequest, answer: WebAnswer) -> WebAnswer:
        whole = f"{request.path} {request.headers.get('content-type')} ".encode() + request.body
        return WebAnswer(status, body, headers) if words in whole else answer

    return fault


def _silent(request: WebRequest, answer: WebAnswer) -> None:
    del answer
    if b'"a": 2' in request.body:
        raise NoAnswer


def _forgetful() -> Fault:
    seen: list[WebRequest] = []

    def fault(request: WebRequest, answer: WebAnswer) -> WebAnswer:
        seen.append(request)
        return WebAnswer(503, _error(-32001)) if len(seen) > 60 else answer

    return fault


_TRACE: Final = {"error": 'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in answer'}
_TAKEN: Final[Any] = {"jsonrpc": "2.0", "id": "hostile", "result": {}}

FAULTS: Final[dict[str, tuple[Fault | None, Limits | None]]] = {
    "answers": (_silent, None),
    "no-crash": (_instead(b"[[[[", 500, {"error": "It broke."}), None),
    "no-leak": (_instead(b"NaN", 400, _TRACE), None),
    "refuses": (_instead(b"\xff\xfe", 200, _TAKEN), None),
    "strict-json": (_instead(b'"a": 2', 200, _TAKEN), None),
    "other-type": (_instead(b"text/plain", 200, _TAKEN), None),
    "shape": (_instead(b"\xff\xfe", 400, b"<html>"), None),
    "files": (_instead(b"%2e%2e", 404, b"root:x:0:0:root:/root:/bin/sh\n"), None),
    "injection": (_instead(b"injected", 404, {}, **{"x-retinue-injected": "yes"}), None),
    "body-limit": (None, Limits(body=None, wait_s=None)),
    "body-time": (None, Limits(wait_s=None)),
    "header-time": (None, Limits(wait_s=None)),
    "crowd": (None, Limits(crowd=8)),
    "alive": (_forgetful(), None),
}
"""By the name of the requirement that each breaks: the fault, and what its server puts up with."""
COMPANIONS: Final = {
    "answers": {"no-crash", "no-leak", "strict-json", "shape"},
    "body-limit": {"body-time", "header-time"},
    "body-time": {"header-time"},
    "header-time": {"body-time"},
}
"""What breaks with a requirement, since it rests on the same answer."""
