"""A small HTTP server for the servers that are judged, good and broken, and the judgement of one."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from retinue.conformance.judge import judge_server
from retinue.conformance.port import CheckReport, RequestTemplate
from retinue.conformance.probe_session import ProbeSession
from retinue.conformance.subjects.web_server import WebServer

JSON: Final = "application/json"
KEY: Final = {"authorization": "a key"}
"""What every server is told beside a request."""


@dataclass
class WebRequest:
    """A request as it came, and what its server has understood of it.

    Attributes:
        operation: What is asked, by whatever name the server has for it.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    operation: str = ""


@dataclass
class WebAnswer:
    """An answer before it is written.

    Attributes:
        body: JSON, or bytes as they stand; None for nothing.
        events: A stream in place of a body.
        is_open: The stream does not end.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    events: list[Any] | None = None
    is_open: bool = False


Handler: TypeAlias = Callable[[WebRequest], WebAnswer]
Fault: TypeAlias = Callable[[WebRequest, WebAnswer], WebAnswer | None]
"""Breaks an answer in place, or gives another."""


class NoAnswer(Exception):
    """The connection is closed without an answer."""


def broken(handler: Handler, fault: Fault | None) -> Handler:
    """The server, with a fault in its answers."""
    return handler if fault is None else lambda request: fault(request, answer := handler(request)) or answer


@dataclass
class Limits:
    """What the server itself puts up with.

    Attributes:
        body: Bytes of a body; None for any number.
        wait_s: Seconds that a request may take to come; None for ever.
        crowd: Connections at the same time; those beyond are dropped.
    """

    body: int | None = 2**20
    wait_s: float | None = 1.5
    crowd: int = 1_000


@asynccontextmanager
async def serving(handler: Handler, limits: Limits | None = None) -> AsyncGenerator[str]:
    """The address of a server that answers as `handler` says, one request a connection."""
    bounds, tasks, writers = limits or Limits(), set[asyncio.Task[None]](), set[asyncio.StreamWriter]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError, NoAnswer):
            if len(tasks) <= bounds.crowd:
                async with asyncio.timeout(bounds.wait_s):
                    request = await _read(reader, bounds)
                if bounds.crowd < 100:
                    await asyncio.sleep(0.05)
                await _write(writer, WebAnswer(413) if request is None else handler(request))
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=200)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, bounds: Limits) -> WebRequest | None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    size = int(headers.get("content-length", "0"))
    if bounds.body is not None and size > bounds.body:
        return None
    return WebRequest(method, path, headers, await reader.readexactly(size))


async def _write(writer: asyncio.StreamWriter, answer: WebAnswer) -> None:
    headers = {"connection": "close", **answer.headers}
    if answer.events is not None:
        headers.setdefault("content-type", "text/event-stream")
        content = b"".join(b"data: %b\n\n" % _content(each) for each in answer.events)
    else:
        content = b"" if answer.body is None else _content(answer.body)
        headers = {**({"content-type": JSON} if content else {}), **headers, "content-length": str(len(content))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
    writer.write(f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode() + content)
    await writer.drain()
    if answer.is_open:
        await asyncio.Event().wait()


def _content(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def judged_server(
    handler: Handler,
    protocol: str,
    edition: str = "",
    *,
    path: str = "",
    limits: Limits | None = None,
    timeout_s: float = 3.0,
    **more: Any,
) -> CheckReport:
    """Judge a server that answers as `handler` says."""

    async def conduct() -> CheckReport:
        async with serving(handler, limits) as address:
            server = WebServer(address, credentials=KEY)
            template = RequestTemplate(instruction="Hello!", parameters=more.pop("parameters", {}))
            url, card_url = f"{address}{path}", f"{address}{more.pop('card', '')}"
            session = ProbeSession(
                server, url, edition, template=template, timeout_s=timeout_s, card_url=card_url, **more
            )
            return await judge_server(session, protocol)

    return asyncio.run(conduct())


# Faults.


def when(operations: str, change: Callable[[WebAnswer], object]) -> Fault:
    """`change`, made to the answers to some operations, which are named with blanks between them."""

    def fault(request: WebRequest, answer: WebAnswer) -> None:
        if request.operation in operations.split():
            change(answer)

    return fault


def place(value: Any, path: str) -> tuple[Any, str | int]:
    """The object or list that holds what `path` names, and its key or index there."""
    *above, last = [int(name) if name.lstrip("-").isdigit() else name for name in path.split("/")]
    for name in above:
        value = value[name]
    return value, last


def put(operations: str, path: str, value: Any) -> Fault:
    """`value` at `path` of the bodies of some answers."""

    def change(answer: WebAnswer) -> None:
        holder, name = place(answer.body, path)
        holder[name] = value

    return when(operations, change)


def drop(operations: str, path: str) -> Fault:
    """Nothing at `path` of the bodies of some answers."""

    def change(answer: WebAnswer) -> None:
        holder, name = place(answer.body, path)
        del holder[name]

    return when(operations, change)


def answer_instead(operations: str, status: int = 200, body: Any = None, **headers: str) -> Fault:
    """Another answer to some operations."""

    def fault(request: WebRequest, answer: WebAnswer) -> WebAnswer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return WebAnswer(status, body, named) if request.operation in operations.split() else answer

    return fault
