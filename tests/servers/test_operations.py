"""What an operator asks of a server: counters, spans, whether it is ready, and what happens when it is not."""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from retinue import telemetry
from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.contract.event import Progress
from retinue.engine.journal import Journal
from retinue.errors import Unavailable
from retinue.servers import server as server_module, service as service_module
from retinue.servers.http import runs
from tests.servers.parts import greet, message, running


@agent(effects=[])
async def holder(seconds: float) -> str:
    """Holds the loop. Use never. Returns that it let go."""
    time.sleep(seconds)  # noqa: ASYNC251 - as a careless agent does
    return "let go"


def test_requests_and_runs_are_counted_and_nobody_is_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            ada = server.client_for("ada")
            await ada.post("/agents/general/greet/greet", json={"name": "Secret Name"})
            await ada.post("/agents/general/greet/greet", json={"name": 7})
            deferred = {"prefer": "respond-async"}
            waiting = await ada.post("/agents/general/sleeper/sleeper", json={"seconds": 60}, headers=deferred)
            text = (await ada.get("/metrics")).text
            assert 'retinue_requests_total{door="http",method="POST",status="200"} 1.0' in text
            assert 'retinue_requests_total{door="http",method="POST",status="422"} 1.0' in text
            assert 'retinue_runs_total{agent="greet",door="http",outcome="success"} 1.0' in text
            assert 'retinue_open_runs{agent="sleeper",door="http"} 1.0' in text
            assert 'retinue_run_seconds_count{agent="greet",door="http"} 2.0' in text
            assert "Secret" not in text
            assert "ada" not in text
            await ada.delete(waiting.headers["location"])

    asyncio.run(main())


A2A_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendMessage",
    "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": {"name": "Ada"}}]}},
}


MCP_CALL = {**A2A_CALL, "method": "tools/call", "params": {"name": "greet", "arguments": {"name": "Ada"}}}
CLIENT: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@pytest.mark.parametrize(
    ("path", "body"),
    [("/agents/general/greet/greet", {"name": "Ada"}), ("/agents/general/greet/a2a", A2A_CALL), ("/mcp", MCP_CALL)],
)
def test_the_span_of_a_request_stands_below_its_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, object]
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", lambda: trace.get_tracer("retinue", tracer_provider=provider))
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    async def main() -> None:
        async with running(tmp_path) as server:
            headers = {"traceparent": caller, "a2a-version": "1.0", "accept": "application/json, text/event-stream"}
            if path == "/mcp":
                opening = {**A2A_CALL, "method": "initialize", "params": HELLO}
                opened = await server.client.post(path, json=opening, headers={"accept": headers["accept"]})
                headers["mcp-session-id"] = opened.headers["mcp-session-id"]
                exporter.clear()
            assert (await server.client.post(path, json=body, headers=headers)).status_code == 200

    asyncio.run(main())
    spans = {span.name: span for span in exporter.get_finished_spans()}
    request, run = spans["POST"], spans["invoke_workflow"]
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == "b7ad6b7169203331"
    assert run.parent is not None
    assert request.context is not None
    assert run.context is not None
    assert run.parent.span_id == request.context.span_id
    assert f"{run.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert "Ada" not in str([dict(span.attributes or {}) for span in spans.values()])


LOADED = """
import asyncio, pathlib, sys
from tests.servers.parts import running

async def main():
    async with running(pathlib.Path(sys.argv[1])) as server:
        for path in ("/ready", "/a2a", "/mcp"):
            await asyncio.gather(*(server.client.post(path, json={}) for _ in range(3)))
            print(path, *sorted({"a2a", "mcp"} & sys.modules.keys()))

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_door_loads_its_package_when_somebody_comes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOADED, str(tmp_path)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True)
    assert loaded.stdout.splitlines() == ["/ready", "/a2a a2a", "/mcp a2a mcp"]


def test_an_agent_that_holds_the_loop_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service_module, "_HELD_S", 0.3)
    monkeypatch.setattr(service_module, "_TICK_S", 0.05)

    async def main() -> None:
        async with running(tmp_path, agents=(holder, greet)) as server:
            assert (await server.client.get("/ready")).status_code == 200
            with caplog.at_level(logging.WARNING, "retinue.servers"):
                await server.client.post("/agents/general/holder/holder", json={"seconds": 0.8})
                while "the event loop was held" not in caplog.text:  # noqa: ASYNC110 - a log has no event
                    await asyncio.sleep(0.02)
            ready = await server.client.get("/ready")
            assert (ready.status_code, ready.headers["retry-after"]) == (503, "5")
            assert "holder" in caplog.text
            assert (await server.client.get("/health")).status_code == 200

    asyncio.run(main())


@pytest.mark.parametrize("path", ["/agents/general/sleeper/sleeper", "/mcp"])
def test_whoever_waits_when_the_time_of_a_stopping_server_is_over_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    monkeypatch.setattr(server_module, "CLOSE_S", 0.2)
    body: dict[str, Any] = {"seconds": 60}
    headers = {"accept": "application/json, text/event-stream"}
    if path == "/mcp":
        body = {**MCP_CALL, "params": {"name": "sleeper", "arguments": body, "_meta": CLIENT}}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "sleeper"}

    async def main() -> None:
        async with running(tmp_path) as server:
            waiting = asyncio.create_task(server.client.post(path, json=body, headers=headers))
            while not (runs := (await server.client.get("/runs")).json()["runs"]):  # noqa: ASYNC110 - another process would ask as well
                await asyncio.sleep(0)
            server.service.closing.set()
            refused = await waiting
            assert refused.status_code == 503
            assert refused.json()["error"]["message"] == "The server is stopping."
            assert (await server.engine.get(runs[0]["run"])).lifecycle == "working"

    asyncio.run(main())
    assert "Traceback" not in caplog.text


def test_a_task_that_cannot_be_kept_is_not_acknowledged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            journal = server.engine.journal
            assert journal is not None
            (tmp_path / "journal.sqlite3").unlink(missing_ok=True)
            (tmp_path / "journal.sqlite3").mkdir()
            body, deferred = message(data={"seconds": 0.01}), {"prefer": "respond-async"}
            refused = await server.client.post("/agents/general/sleeper/tasks", json=body, headers=deferred)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "60")
            assert str(tmp_path) not in refused.text
            assert (await server.client.get("/ready")).status_code == 503
            answered = await server.client.post("/agents/general/greet/greet", json={"name": "Ada"})
            assert answered.json() == {"value": "Hello, Ada"}
            assert "history" in answered.headers["retinue-warning"]

    asyncio.run(main())
    assert "the history is not written" in caplog.text


def test_a_server_that_stops_takes_no_new_work_and_ends_its_streams(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            begun = await server.client.post("/agents/general/asker/tasks", json=message(data={"topic": "rain"}))
            async with server.client.stream("GET", f"/runs/{begun.json()['id']}/events") as stream:
                lines = stream.aiter_lines()
                assert (await anext(lines)).startswith("id: ")
                server.service.closing.set()
                rest = [line async for line in lines]
            assert not any("event: finished" in line and "input_required" in line for line in rest)

    asyncio.run(main())
    again: list[str] = []

    async def after() -> None:
        async with running(tmp_path) as server:
            again.extend(record.run for record in await server.engine.list())
            assert (await server.engine.get(again[0])).lifecycle == "input_required"

    asyncio.run(after())


def test_a_reader_that_does_not_read_is_cut_and_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SEND_TIMEOUT_S", 4.0)

    @agent(effects=[])
    async def talker(run: RunContext) -> str:
        """Talks. Use for noise. Returns that it is done."""
        for at in range(3_000):
            run.emit(Progress(phase=f"{at} {'x' * 4_000}"))
            if at % 100 == 0:
                await run.sleep(0)
        return "done"

    async def read() -> tuple[int, str]:
        async with running(tmp_path, agents=(talker,), max_events=10_000) as server:
            deferred = {"prefer": "respond-async"}
            started = await server.client.post("/agents/general/talker/talker", json={}, headers=deferred)
            path = f"/runs/{started.headers['retinue-run']}/events"
            with socket.socket() as deaf:
                deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                deaf.connect(("127.0.0.1", int(server.address.rpartition(":")[2])))
                deaf.settimeout(20)
                deaf.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                heard = await server.client.get(path)
                await asyncio.sleep(6)
                return await asyncio.to_thread(rest_of, deaf), heard.text

    def rest_of(deaf: socket.socket) -> int:
        """The bytes that are still to be had, until the server's end of it."""
        size = 0
        with contextlib.suppress(ConnectionResetError):
            while chunk := deaf.recv(65_536):
                size += len(chunk)
        return size

    received, heard = asyncio.run(read())
    assert heard.count("event: progress") == 3_000
    assert received < len(heard) / 2


def test_a_history_that_cannot_be_opened_to_write_keeps_no_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: Journal) -> None:
        del self
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(Journal, "texts", refuse)

    async def main() -> int:
        async with running(tmp_path) as server:
            return (await server.client.get("/.well-known/agent-card.json")).status_code

    assert asyncio.run(main()) == 200
    assert "The disk is full." in caplog.text
