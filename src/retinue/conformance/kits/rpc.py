"""What A2A and MCP share: answers of JSON-RPC 2.0, in a body or as server-sent events, and looks at them."""

from collections.abc import Iterator
from typing import TypeGuard

from retinue.conformance.answer_checks import object_in, quote, quote_member
from retinue.conformance.port import ProbeExchange
from retinue.conformance.subjects.web_server import EVENTS
from retinue.contract.json import JsonObject, JsonValue


def sse_data(text: str) -> list[str]:
    """The data of the server-sent events in `text`; comments and events without data are passed over."""
    blocks = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
    lines = ([line for line in block.split("\n") if line.startswith("data:")] for block in blocks)
    events = ("\n".join(line[5:].removeprefix(" ") for line in each) for each in lines if each)
    return [data for data in events if data]


def bodies(exchange: ProbeExchange) -> list[JsonObject]:
    """The JSON objects of an answer: its body, or what its events hold. What is no object is passed over."""
    texts = sse_data(exchange.text or "") if exchange.media_type == EVENTS else [exchange.text or ""]
    return [body for body in map(object_in, texts) if body is not None]


def response_of(exchange: ProbeExchange) -> JsonObject:
    """The response of JSON-RPC: the last object that is one; an empty object when none is."""
    return next((body for body in reversed(bodies(exchange)) if "result" in body or "error" in body), JsonObject())


def error_of(body: JsonObject) -> JsonObject:
    """The error of a body; an empty object when there is none."""
    error = body.get("error")
    return error if isinstance(error, dict) else {}


def is_text(value: JsonValue) -> TypeGuard[str]:
    """Whether it is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def expect_envelope(exchange: ProbeExchange, request_id: JsonValue) -> Iterator[str]:
    """A look that every response of JSON-RPC is whole, and to the request of that id."""
    responses = [body for body in bodies(exchange) if "method" not in body]
    if not responses:
        yield f"there is no response of JSON-RPC in it (HTTP {exchange.status}, {exchange.media_type or 'no type'})"
    for body in responses:
        if body.get("jsonrpc") != "2.0":
            yield f"`jsonrpc` is {quote_member(body, 'jsonrpc')}"
        if ("result" in body) == ("error" in body):
            yield "it has not exactly one of `result` and `error`"
        if type(body.get("id")) is not type(request_id) or body.get("id") != request_id:
            yield f"`id` is {quote_member(body, 'id')}, and {quote(request_id)} was asked"


def expect_error_object(exchange: ProbeExchange) -> Iterator[str]:
    """A look that an error of JSON-RPC, if there is one, has a whole number and a sentence."""
    for body in bodies(exchange):
        if "error" not in body:
            continue
        error = error_of(body)
        code = error.get("code")
        if not isinstance(code, int) or isinstance(code, bool):
            yield f"`error.code` is {quote_member(error, 'code')}"
        if not isinstance(error.get("message"), str):
            yield f"`error.message` is {quote_member(error, 'message')}"


def expect_code(exchange: ProbeExchange, *codes: int) -> Iterator[str]:
    """A look that the answer is an error of JSON-RPC with one of `codes`."""
    body = response_of(exchange)
    if error_of(body).get("code") not in codes:
        expected = " or ".join(map(str, codes))
        if "error" in body:
            yield f"the code is {quote_member(error_of(body), 'code')}, and not {expected}"
        elif "result" in body:
            yield f"it is no error: {quote(body['result'])}"
        else:
            yield f"there is no error of JSON-RPC in it (HTTP {exchange.status}); {expected} was to come"
