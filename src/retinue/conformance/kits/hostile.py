"""What no client should send, and what a server should make of it: few requests, bounded in size, number and time.

All of them ask for nothing that has an effect. Only the host that the user has named is asked, and only when the user
has said so.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Final

from retinue.conformance.answer_checks import CheckTable, all_answers, each_answer, object_in, quote
from retinue.conformance.kits import a2a_conversation as a2a, mcp
from retinue.conformance.kits.rpc import error_of, response_of
from retinue.conformance.port import ProbeExchange
from retinue.conformance.probe_session import ProbeSession
from retinue.contract import json
from retinue.contract.json import JsonObject

_DEEP: Final = 20_000
_LONG: Final = 65_536
_HUGE: Final = 16 * 2**20
_CONNECTIONS: Final = 64
_PATIENCE: Final = 2
"""How many time limits of a request a connection may stay open on which nothing of use comes."""
_MARK: Final = "x-retinue-injected"


# The conversation.


def _harmless_request(session: ProbeSession) -> tuple[str, dict[str, str], JsonObject]:
    """Where something that has no effect can be asked in the edition of a session, with which headers, and it."""
    rpc: JsonObject = {"jsonrpc": "2.0", "id": "hostile"}
    unknown: JsonObject = {"id": "00000000-0000-4000-8000-000000000000"}
    accept = {"accept": "application/json, text/event-stream"}
    match session.edition:
        case a2a.OLDER:
            return session.url, {}, {**rpc, "method": "tasks/get", "params": unknown}
        case a2a.JSON_RPC:
            return session.url, {"a2a-version": "1.0"}, {**rpc, "method": "GetTask", "params": unknown}
        case a2a.HTTP_JSON:
            return f"{session.url.rstrip('/')}/message:send", {"a2a-version": "1.0"}, {"metadata": {}}
        case mcp.HANDSHAKE:
            return session.url, accept, {**rpc, "method": "initialize", "params": mcp.introduction()}
        case mcp.STATELESS:
            headers = {**accept, "mcp-protocol-version": mcp.STATELESS, "mcp-method": "server/discover"}
            return session.url, headers, {**rpc, "method": "server/discover", "params": {}}
        case _:
            return session.url or session.card_url, {}, {"metadata": {}}


async def converse(session: ProbeSession) -> None:
    """Send all of it, what takes long at the end, and see that the server still answers."""
    url, headers, body = _harmless_request(session)

    async def send(name: str, about: str, content: bytes, **more: str) -> ProbeExchange:
        return await session.ask(name, about, url, headers={**headers, **more}, body=content)

    text = json.dumps(body).encode()
    end = text[:-1]
    await send("before", "A harmless request.", text)
    await send("deep", f"It is nested {_DEEP:,} deep.", b'%b, "a": %b%b}' % (end, b"[" * _DEEP, b"]" * _DEEP))
    await send("twice", "A name occurs twice.", end + b', "metadata": {"a": 1, "a": 2}}')
    await send("nan", "It has a number that is none.", end + b', "metadata": {"a": NaN}}')
    await send("not_utf8", "It is not UTF-8.", end + b', "metadata": {"a": "\xff\xfe"}}')
    await send("other_type", "It says that it is plain text.", text, **{"content-type": "text/plain"})
    odd: JsonObject = {"id": {"a": "../../etc/passwd"}, "method": 5, "params": "x" * _LONG, "message": {"role": 5}}
    await send("odd_members", "Its members are of other types.", json.dumps({**body, **odd}).encode())
    await send(
        "odd_version", "Its version is no version.", text, **{"a2a-version": "' OR 1", "mcp-protocol-version": "-1"}
    )
    for name, path in (("path", "/%2e%2e/%2e%2e/%2e%2e/etc/passwd"), ("path_encoded", "/..%2f..%2f..%2fetc%2fpasswd")):
        await session.ask(name, "It asks for a file of the machine.", path, method="GET")
    about = "A line break in the path is followed by a header."
    await session.ask("injection", about, f"/unheard-of%0d%0a{_MARK}:%20yes", method="GET")
    await _converse_on_connections(session, url, headers, text)
    await send("after", "The harmless request of before.", text)


async def _converse_on_connections(session: ProbeSession, url: str, headers: Mapping[str, str], content: bytes) -> None:
    place = session.server.place(url)
    own = {"host": place.authority, "content-type": "application/json", **headers, **session.server.credentials}
    head = f"POST {place.target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in own.items())

    async def endless() -> AsyncGenerator[bytes]:
        yield f"{head}content-length: {_HUGE * 64}\r\n\r\n".encode()
        for _ in range(_HUGE // _LONG):
            yield b" " * _LONG

    async def half() -> AsyncGenerator[bytes]:
        yield f"{head}content-length: {len(content) + 1_000}\r\n\r\n".encode() + content

    async def slow() -> AsyncGenerator[bytes]:
        yield f"{head}x-slow: ".encode()
        while True:
            yield b"a"
            await asyncio.sleep(1)

    async def whole() -> AsyncGenerator[bytes]:
        yield f"{head}connection: close\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content

    probes = {
        "endless": (endless, "A body without end."),
        "half": (half, "A body that does not come to its end."),
        "slow": (slow, "A header, a letter a second."),
    }

    async def send_one(name: str) -> ProbeExchange:
        pieces, about = probes[name]
        return await session.server.send_raw(
            session.probe(name, about), pieces(), about=about, timeout_s=_PATIENCE * session.timeout_s
        )

    for exchange in await asyncio.gather(*map(send_one, probes)):
        session.keep(exchange)
    about = f"One of {_CONNECTIONS} requests at the same time."
    crowd = (
        session.server.send_raw(
            session.probe("crowd", about), whole(), about=about, timeout_s=_PATIENCE * session.timeout_s
        )
        for _ in range(_CONNECTIONS)
    )
    exchanges = await asyncio.gather(*crowd)
    # The worst of them stands for all.
    session.keep(next((each for each in exchanges if each.status is None), exchanges[0]))


# Checks.


CHECKS: Final = CheckTable()
"""By the requirement's name."""

_LEAKS: Final = re.compile(
    r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|site-packages/|node_modules/|"
    r"\bat [\w.<>$ ]+ \([^()\s]+:\d+:\d+\)|\b[\w.]+\.(?:java|go|rs|cs|rb):\d+\b"
)
"""Traces of the usual languages, and where their packages stand."""


@CHECKS.add(each_answer, "no-crash")
def _no_crash(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status is not None and exchange.status >= 500 and exchange.status not in {501, 503, 505}:
        yield f"it is answered with HTTP {exchange.status}: {quote(exchange.text)}"
    code = error_of(response_of(exchange)).get("code")
    if code == -32603:
        yield f"it is answered with an internal error: {quote(exchange.text)}"


@CHECKS.add(each_answer, "no-leak")
def _no_leak(exchange: ProbeExchange) -> Iterator[str]:
    if match := _LEAKS.search(exchange.text or ""):
        yield f"it tells of its code: {quote(match[0])}"


@CHECKS.add(each_answer, "refuses")
def _refuses(exchange: ProbeExchange) -> Iterator[str]:
    if (exchange.status or 0) < 400 and "error" not in (object_in(exchange.text or "") or response_of(exchange)):
        yield f"it is taken: {quote(exchange.text)} (HTTP {exchange.status})"


@CHECKS.add(each_answer, "shape")
def _shape(exchange: ProbeExchange) -> Iterator[str]:
    if (exchange.status or 0) >= 400 and "error" not in (object_in(exchange.text or "") or {}):
        yield f"HTTP {exchange.status} comes without an error of the protocol: {quote(exchange.text)}"


@CHECKS.add(each_answer, "files")
def _files(exchange: ProbeExchange) -> Iterator[str]:
    if re.search(r"^root:[^:]*:0:0:", exchange.text or "", re.MULTILINE):
        yield "a file of the machine came back"


@CHECKS.add(each_answer, "injection")
def _injection(exchange: ProbeExchange) -> Iterator[str]:
    if _MARK in exchange.headers:
        yield f"the answer has the header `{_MARK}`"


@CHECKS.add(all_answers, "alive")
def _alive(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    before, after = exchanges["before"], exchanges["after"]
    if before.status != after.status:
        yield f"after: it is answered with HTTP {after.status}, and before with {before.status}"


@CHECKS.add(each_answer, "crowd")
def _crowd(exchange: ProbeExchange) -> Iterator[str]:
    if exchange.status is None:
        yield "a connection was closed without an answer"


CHECKS.update(dict.fromkeys(("body-limit", "body-time", "header-time"), CHECKS["answers"]))
CHECKS["other-type"] = CHECKS["strict-json"] = CHECKS["refuses"]
