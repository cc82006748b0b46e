"""What a server of MCP is sent over streamable HTTP, and what is checked in its answers.

There are two editions: the revision that begins with a handshake, and the one in which every request stands alone. A
tool is called only when the user names it, or when it says of itself that it only reads and needs nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, cast

from retinue.conformance.answer_checks import (
    AnswerInspector,
    CheckTable,
    all_answers,
    each_answer,
    is_count,
    object_at,
    objects_at,
    quote,
    quote_member,
    strict_object,
)
from retinue.conformance.kits.rpc import (
    error_of,
    expect_code,
    expect_envelope,
    expect_error_object,
    is_text,
    response_of,
    sse_data,
)
from retinue.conformance.port import ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.conformance.subjects.web_server import EVENTS
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.schema import check_schema, compile as compile_schema
from retinue.errors import InvalidDefinition

HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
EDITIONS: Final = (HANDSHAKE, STATELESS)

_ACCEPT: Final = {"accept": "application/json, text/event-stream"}
_CLIENT: Final[JsonObject] = {"name": "retinue-check", "version": "1.0"}
_META: Final = "io.modelcontextprotocol/"
_UNKNOWN: Final = "unheard_of"
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


# The conversation.


async def greet(session: ProbeSession, name: str, url: str, edition: str, *, version: str = "") -> ProbeExchange:
    """Greet a server as a client of `edition` does, or of `version` where a handshake names another."""
    if edition == STATELESS:
        return await _McpClient(session, url, edition).call(name, "It asks what is spoken.", "server/discover")
    params = introduction(version)
    return await _McpClient(session, url, edition).call(name, "A client introduces itself.", "initialize", params)


def introduction(version: str = "") -> JsonObject:
    """The parameters of a handshake, in which a client names `version`, or the one that is judged."""
    return {"protocolVersion": version or HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}


class _McpClient:
    """Sends requests as a client of one edition does."""

    def __init__(self, session: ProbeSession, url: str, edition: str) -> None:
        self.session, self.url, self.edition = session, url, edition
        self.session_headers: dict[str, str] = {}

    async def call(
        self,
        name: str,
        about: str,
        method: str,
        params: JsonObject | None = None,
        *,
        request_id: JsonValue = "",
        headers: Mapping[str, str] | None = None,
        meta: JsonObject | None = None,
    ) -> ProbeExchange:
        """Send a request; `headers` and `meta` win over what belongs there, and an empty header is left out."""
        body: JsonObject = {"jsonrpc": "2.0", "id": request_id or name, "method": method}
        own = {**_ACCEPT, **self.session_headers}
        content: JsonObject = dict(params or {})
        if self.edition == STATELESS:
            whole: JsonObject = {"protocolVersion": STATELESS, "clientInfo": _CLIENT, "clientCapabilities": {}}
            content["_meta"] = {f"{_META}{key}": value for key, value in whole.items()} if meta is None else meta
            own |= {"mcp-protocol-version": STATELESS, "mcp-method": method}
            target = content.get("name") or content.get("uri")
            own |= {"mcp-name": str(target)} if target else {}
        if content:
            body["params"] = content
        present = {key: value for key, value in {**own, **(headers or {})}.items() if value}
        return await self.session.ask(name, about, self.url, headers=present, body=body)


async def converse(session: ProbeSession) -> None:
    """Hold the whole conversation."""
    client = _McpClient(session, session.url, session.edition)
    first = await greet(session, "greeting", session.url, session.edition)
    result = object_at(response_of(first), "result")
    version = str(result.get("protocolVersion"))
    if session.edition == HANDSHAKE:
        session_id = first.headers.get("mcp-session-id", "")
        client.session_headers = {
            "mcp-protocol-version": version,
            **({"mcp-session-id": session_id} if session_id else {}),
        }
        await greet(session, "another_version", session.url, session.edition, version="1999-01-01")
        body: JsonObject = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        about = "The client is ready."
        await session.ask("notification", about, headers={**_ACCEPT, **client.session_headers}, body=body)
        await client.call("ping", "Is anybody there?", "ping")
        await client.call("number_id", "The id of the request is a number.", "ping", request_id=7)
    else:
        await client.call("number_id", "The id of the request is a number.", "server/discover", request_id=7)
    capabilities = object_at(result, "capabilities")
    await _converse_on_tools(client, claimed="tools" in capabilities)
    await _converse_on_lists(client, capabilities)
    await _converse_on_errors(client, version)
    await (_converse_on_headers(client) if session.edition == STATELESS else _converse_on_sessions(client))


async def _converse_on_tools(client: _McpClient, *, claimed: bool) -> None:
    session, names = client.session, ("tools", "tools_again", "bad_cursor", "unknown_tool", "call", "bad_arguments")
    if not claimed:
        session.skip("the server claims no tools", *names)
        return
    exchange = await client.call("tools", "Which tools are there?", "tools/list")
    await client.call("tools_again", "Which tools are there, once more?", "tools/list")
    bad: JsonObject = {"cursor": "not a cursor of this server"}
    await client.call("bad_cursor", "It names a page that there is not.", "tools/list", bad)
    unknown: JsonObject = {"name": _UNKNOWN, "arguments": {}}
    await client.call("unknown_tool", "It calls a tool that there is not.", "tools/call", unknown)
    tools = _tools(exchange)
    harmless = [tool for tool in tools if object_at(tool, "annotations").get("readOnlyHint") is True]
    own = [tool for tool in tools if tool.get("name") == session.operation]
    needy = [tool for tool in own or harmless if object_at(tool, "inputSchema").get("required")]
    easy = own or [tool for tool in harmless if tool not in needy]
    why = "no tool is named by --operation, and none says that it only reads"
    if easy:
        params: JsonObject = {"name": easy[0]["name"], "arguments": dict(session.template.parameters) if own else {}}
        await client.call("call", "It calls a tool as it should be called.", "tools/call", params)
    else:
        session.skip(why, "call")
    if needy:
        params = {"name": needy[0]["name"], "arguments": {}}
        await client.call("bad_arguments", "It leaves out what the tool requires.", "tools/call", params)
    else:
        session.skip(f"{why} and requires something", "bad_arguments")


async def _converse_on_lists(client: _McpClient, capabilities: JsonObject) -> None:
    for kind, method, key, unknown in (
        ("resources", "resources/read", "uri", "unheard-of://nothing"),
        ("prompts", "prompts/get", "name", _UNKNOWN),
    ):
        names = (kind, f"unknown_{kind.removesuffix('s')}")
        if kind not in capabilities:
            client.session.skip(f"the server claims no {kind}", *names)
            continue
        await client.call(kind, f"Which {kind} are there?", f"{kind}/list")
        await client.call(names[1], "It asks for one that there is not.", method, {key: unknown})
    if "logging" in capabilities and client.edition == HANDSHAKE:
        await client.call("log_level", "It says what is to be logged.", "logging/setLevel", {"level": "error"})
        about = "It names a level that there is not."
        await client.call("bad_log_level", about, "logging/setLevel", {"level": _UNKNOWN})
    else:
        client.session.skip("the server claims no logging", "log_level", "bad_log_level")


async def _converse_on_errors(client: _McpClient, version: str) -> None:
    session = client.session
    await client.call("unknown_method", "There is no such method.", _UNKNOWN)
    headers = {**_ACCEPT, **client.session_headers}
    if client.edition == STATELESS:
        headers |= {"mcp-protocol-version": STATELESS, "mcp-method": "tools/list"}
    await session.ask("cut_off", "It is JSON that was cut off.", headers=headers, body=b'{"jsonrpc": "2.0", "id": 1, ')
    await session.ask("no_request", "It is JSON, and no request.", headers=headers, body={"id": "no_request", "a": 1})
    host = session.server.url.host
    if client.edition == HANDSHAKE and version < HANDSHAKE:
        session.skip(f"the server speaks {version}, which asks less", "foreign_origin", "bad_version")
    else:
        if client.edition == HANDSHAKE:
            odd = {"mcp-protocol-version": "1999-01-01"}
            await client.call("bad_version", "Its header names a version that there is not.", "ping", headers=odd)
        if host in _LOCAL:
            about, foreign = "It comes from a page of somebody else.", {"origin": "http://unheard-of.example"}
            method = "server/discover" if client.edition == STATELESS else "ping"
            await client.call("foreign_origin", about, method, headers=foreign)
        else:
            session.skip("which pages may ask a public server is its operator's business", "foreign_origin")
    headers = {"accept": EVENTS, **client.session_headers}
    await session.ask(
        "get", "It opens a stream for what the server has to say.", method="GET", headers=headers, head_only=True
    )


async def _converse_on_sessions(client: _McpClient) -> None:
    session, names = client.session, ("no_session", "unknown_session", "delete", "after_delete")
    if "mcp-session-id" not in client.session_headers:
        session.skip("the server has no sessions", *names)
        return
    about = "It belongs to no session."
    await client.call(names[0], about, "ping", headers={"mcp-session-id": ""})
    await client.call(
        names[1], "It belongs to a session that there is not.", "ping", headers={"mcp-session-id": _UNKNOWN}
    )
    exchange = await session.ask(
        names[2], "It ends the session.", method="DELETE", headers={**_ACCEPT, **client.session_headers}
    )
    if (exchange.status or 0) < 300:
        await client.call(names[3], "It belongs to a session that was ended.", "ping")
    else:
        session.skip("the server lets no client end a session", names[3])


async def _converse_on_headers(client: _McpClient) -> None:
    method = "server/discover"
    meta: JsonObject = {f"{_META}protocolVersion": "1999-01-01", f"{_META}clientCapabilities": {}}
    headers = {"mcp-protocol-version": "1999-01-01"}
    await client.call("bad_version", "It wants a version that there is not.", method, headers=headers, meta=meta)
    meta = {f"{_META}protocolVersion": HANDSHAKE, f"{_META}clientCapabilities": {}}
    await client.call("version_mismatch", "Header and body name different versions.", method, meta=meta)
    about = "Header and body name different methods."
    await client.call("method_mismatch", about, method, headers={"mcp-method": "tools/list"})
    await client.call("no_method", "A header that is required is missing.", method, headers={"mcp-method": ""})
    bare: JsonObject = {f"{_META}protocolVersion": STATELESS}
    await client.call("no_meta", "It does not say what the client can do.", method, meta=bare)


def _tools(exchange: ProbeExchange) -> list[JsonObject]:
    return [tool for _, tool in objects_at(_result(exchange), "tools") if is_text(tool.get("name"))]


def _result(exchange: ProbeExchange) -> JsonObject:
    return object_at(response_of(exchange), "result")


# Checks.


CHECKS: Final = CheckTable()
"""By the requirement's name."""


# Requests and answers.


@CHECKS.add(each_answer, "json")
def _is_json(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.media_type == "application/json":
        yield from strict_object(exchange)
    elif exchange.media_type != EVENTS:
        yield f"its type is {quote(exchange.headers.get('content-type', ''))}"
    elif not sse_data(exchange.text or ""):
        yield "its stream has no events"


@CHECKS.add(each_answer, "envelope")
def _envelope(exchange: ProbeExchange) -> Iterable[str]:
    return expect_envelope(exchange, 7 if exchange.probe.name == "number_id" else exchange.probe.name)


@CHECKS.add(each_answer, "initialize")
def _initialize(exchange: ProbeExchange) -> Iterator[str]:
    result = _result(exchange)
    if not is_text(result.get("protocolVersion")):
        yield f"`protocolVersion` is {quote_member(result, 'protocolVersion')}"
    if not isinstance(result.get("capabilities"), dict):
        yield f"`capabilities` is {quote_member(result, 'capabilities')}"
    server = object_at(result, "serverInfo")
    yield from (
        f"`serverInfo.{name}` is {quote_member(server, name)}"
        for name in ("name", "version")
        if not isinstance(server.get(name), str)
    )


@CHECKS.add(each_answer, "negotiation")
def _negotiation(exchange: ProbeExchange) -> Iterator[str]:
    version = _result(exchange).get("protocolVersion")
    if not is_text(version) or version == "1999-01-01":
        yield f"`protocolVersion` is {quote(version)}: {quote(exchange.text)}"


@CHECKS.add(each_answer, "discover")
def _discover(exchange: ProbeExchange) -> Iterator[str]:
    result = _result(exchange)
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS not in versions:
        yield f"`supportedVersions` is {quote(versions)}"
    if not isinstance(result.get("capabilities"), dict):
        yield f"`capabilities` is {quote_member(result, 'capabilities')}"


@CHECKS.add(each_answer, "result-type")
def _result_type(exchange: ProbeExchange) -> Iterator[str]:
    result = _result(exchange)
    if result and not is_text(result.get("resultType")):
        yield f"`resultType` is {quote_member(result, 'resultType')}"


@CHECKS.add(each_answer, "caching")
def _caching(exchange: ProbeExchange) -> Iterator[str]:
    result = _result(exchange)
    if not is_count(result.get("ttlMs")):
        yield f"`ttlMs` is {quote_member(result, 'ttlMs')}"
    if result.get("cacheScope") not in {"public", "private"}:
        yield f"`cacheScope` is {quote_member(result, 'cacheScope')}"


@CHECKS.add(each_answer, "ping")
def _ping(exchange: ProbeExchange) -> Iterator[str]:
    if response_of(exchange).get("result") != {}:
        yield f"the result is {quote_member(response_of(exchange), 'result')}"


@CHECKS.add(each_answer, "notification")
def _notification(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status != 202 or (exchange.text or "").strip():
        yield f"it is answered with HTTP {exchange.status}: {quote(exchange.text)}"


# Tools.


@CHECKS.add(each_answer, "tools")
def _listed_tools(exchange: ProbeExchange) -> Iterator[str]:
    result = _result(exchange)
    if not isinstance(result.get("tools"), list):
        yield f"`tools` is {quote_member(result, 'tools')}"
    for at, tool in objects_at(result, "tools"):
        if not is_text(tool.get("name")):
            yield f"`tools[{at}].name` is {quote_member(tool, 'name')}"
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"`tools[{at}].inputSchema` is {quote_member(tool, 'inputSchema')}"


_GUARDS: Final = frozenset({"ref", "circle", "load", "refused", "pattern", "patternProperties", "draft", "more"})
"""What our own reader of schemas refuses beyond what JSON Schema forbids."""


@CHECKS.add(each_answer, "tool-schemas")
def _tool_schemas(exchange: ProbeExchange) -> Iterator[str]:
    for tool in _tools(exchange):
        for name in ("inputSchema", "outputSchema"):
            wrong = (each for each in check_schema(tool.get(name, {})) if each.rule.partition("/")[2] not in _GUARDS)
            yield from (f"`{name}` of {quote(tool['name'])}: {each.path} {each.message}" for each in wrong)


@CHECKS.add(each_answer, "tool-names")
def _tool_names(exchange: ProbeExchange) -> Iterator[str]:
    names = [cast("str", tool["name"]) for tool in _tools(exchange)]
    yield from (f"a tool is called {quote(name)}" for name in names if not re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name))
    yield from (f"two tools are called {quote(name)}" for name in dict.fromkeys(names) if names.count(name) > 1)


@CHECKS.add(all_answers, "tool-order")
def _tool_order(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    once, again = ([tool["name"] for tool in _tools(each)] for each in exchanges.values())
    if once != again:
        yield "tools_again: the tools are others, or stand in another order"


_CONTENT: Final = {
    "text": ("text",), "image": ("data", "mimeType"), "audio": ("data", "mimeType"), "resource_link": ("uri", "name"),
    "resource": ("resource",),
}  # fmt: skip


@CHECKS.add(each_answer, "content")
def _content(exchange: ProbeExchange) -> Iterator[str]:
    body = response_of(exchange)
    if "error" in body:
        yield f"it is refused: {quote(error_of(body).get('message'))}"
        return
    result = _result(exchange)
    if result.get("resultType", "complete") == "complete" and not isinstance(result.get("content"), list):
        yield f"`content` is {quote_member(result, 'content')}"
    for at, block in objects_at(result, "content"):
        members = _CONTENT.get(str(block.get("type")))
        if members is None:
            yield f"`content[{at}].type` is {quote_member(block, 'type')}"
        else:
            yield from (f"`content[{at}].{name}` is missing" for name in members if name not in block)


@CHECKS.add(all_answers, "structured-content")
def _structured_content(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    result, match = _result(exchanges["call"]), re.search(r'"name":\s*"([^"]*)"', exchanges["call"].request)
    tool = next((each for each in _tools(exchanges["tools"]) if match and each["name"] == match[1]), JsonObject())
    schema = tool.get("outputSchema")
    if (
        not isinstance(schema, dict)
        or result.get("isError") is True
        or result.get("resultType", "complete") != "complete"
    ):
        return
    if "structuredContent" not in result:
        yield "call: the tool has an `outputSchema`, and there is no `structuredContent`"
        return
    try:
        findings = compile_schema(schema).findings(result["structuredContent"])
    except InvalidDefinition:
        return
    yield from (f"call: `structuredContent{each.path}`: {each.message}" for each in findings)


@CHECKS.add(each_answer, "bad-arguments")
def _bad_arguments(exchange: ProbeExchange) -> Iterator[str]:
    if "error" not in response_of(exchange) and _result(exchange).get("isError") is not True:
        yield f"it is no error: {quote(_result(exchange))}"


@CHECKS.add(each_answer, "bad-arguments-as-result")
def _bad_arguments_as_result(exchange: ProbeExchange) -> Iterator[str]:
    if "error" in response_of(exchange):
        yield f"it is an error of the protocol: {quote(response_of(exchange)['error'])}"


# Resources, prompts, logging.


def _lists(kind: str, *members: str) -> AnswerInspector:
    def inspect(exchange: ProbeExchange) -> Iterator[str]:
        result = _result(exchange)
        if not isinstance(result.get(kind), list):
            yield f"`{kind}` is {quote_member(result, kind)}"
        for at, each in objects_at(result, kind):
            yield from (
                f"`{kind}[{at}].{name}` is {quote_member(each, name)}"
                for name in members
                if not is_text(each.get(name))
            )

    return inspect


@CHECKS.add(each_answer, "unknown-resource")
def _unknown_resource(exchange: ProbeExchange) -> Iterable[str]:
    return expect_code(exchange, *((-32602,) if exchange.probe.edition == STATELESS else (-32002, -32602)))


# Transport.


@CHECKS.add(each_answer, "get")
def _get(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status != 405 and not (exchange.status == 200 and exchange.media_type == EVENTS):
        yield f"it is answered with HTTP {exchange.status}, {exchange.media_type or 'no type'}"


@CHECKS.add(each_answer, "session-id")
def _session_id(exchange: ProbeExchange) -> Iterator[str]:
    session_id = exchange.headers.get("mcp-session-id", "x")
    if not re.fullmatch(r"[\x21-\x7e]+", session_id):
        yield f"`Mcp-Session-Id` is {quote(session_id)}"


def _status(*statuses: int) -> AnswerInspector:
    def inspect(exchange: ProbeExchange) -> Iterator[str]:
        if exchange.status not in statuses:
            yield f"it is answered with HTTP {exchange.status}, and not {' or '.join(map(str, statuses))}"

    return inspect


def _refused(status: int, *codes: int) -> AnswerInspector:
    return lambda exchange: chain(_status(status)(exchange), expect_code(exchange, *codes))


@CHECKS.add(each_answer, "unknown-version")
def _unknown_version(exchange: ProbeExchange) -> Iterator[str]:
    yield from _refused(400, -32022)(exchange)
    supported = object_at(error_of(response_of(exchange)), "data").get("supported")
    if not isinstance(supported, list) or not supported:
        yield f"`error.data.supported` is {quote(supported)}"


CHECKS.update({
    "error-object": each_answer(expect_error_object),
    "unknown-tool": each_answer(lambda exchange: expect_code(exchange, -32602)),
    "bad-cursor": each_answer(lambda exchange: expect_code(exchange, -32602)),
    "resources": each_answer(_lists("resources", "uri", "name")),
    "prompts": each_answer(_lists("prompts", "name")),
    "unknown-prompt": each_answer(lambda exchange: expect_code(exchange, -32602)),
    "log-level": each_answer(_ping),
    "bad-log-level": each_answer(lambda exchange: expect_code(exchange, -32602)),
    "unknown-method": each_answer(lambda exchange: expect_code(exchange, -32601)),
    "unknown-method-status": each_answer(_status(404)),
    "cut-off": each_answer(lambda exchange: expect_code(exchange, -32700)),
    "no-request": each_answer(_status(400)),
    "bad-version": each_answer(_status(400)),
    "foreign-origin": each_answer(_status(403)),
    "no-session": each_answer(_status(400)),
    "unknown-session": each_answer(_status(404)),
    "after-delete": each_answer(_status(404)),
    # A server may look first whether it speaks the version of the body.
    "version-mismatch": each_answer(_refused(400, -32020, -32022)),
    "method-mismatch": each_answer(_refused(400, -32020)),
    "no-method": each_answer(_refused(400, -32020)),
    "no-meta": each_answer(_refused(400, -32602)),
})  # fmt: skip
