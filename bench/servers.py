"""What serving costs: its start, a request beside the servers of others, latency, event streams, and pages of runs."""

import asyncio
import gc
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import anyio
import jsonschema_rs
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bench.peers.environments import Subject, python_of, variables
from bench.table import Row, median_of
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.engine.base import RunFilter
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.servers.admission import Admission
from retinue.servers.app import application
from retinue.servers.keys import KeyStore
from retinue.servers.server import listen, serve
from retinue.servers.service import Service

REQUESTS = 300
AGENTS = 100
STREAMS = 1_000
RUNS = 100_000
IDLE = 10_000
PATH = "/agents/general/square/square"
CONNECTIONS = (1, 8, 32, 128)
_A2A_BODY: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":'
    b'{"messageId":"m000000","role":"ROLE_USER","parts":[{"data":{"number":7}}]}}}'
)


def _request(path: str, body: bytes = b'{"number": 7}') -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@agent(effects=[])
async def square(number: int) -> dict[str, int]:
    """Squares a number. Use to square. Returns the square."""
    return {"number": number * number}


def bare_app() -> ASGIApp:
    """The same by hand: one route, its schema, and the function."""
    valid = jsonschema_rs.validator_for(square.definition.skills[0].input_schema)

    async def handle(request: Request) -> Response:
        value = await request.json()
        valid.validate(value)
        return JSONResponse(await square(**value))

    return Starlette(routes=[Route(PATH, handle, methods=["POST"])])


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        serving, importing = _boots(Path(folder))
    yield Row(f"serve: CPU until {AGENTS} agents are ready", serving * 1e3, "ms")
    yield Row("serve: … over that of importing the SDKs of A2A and MCP", serving / importing, "times", 1.25)
    with tempfile.TemporaryDirectory() as folder:
        ours, memory, sqlite = asyncio.run(_a2a_costs(Path(folder)))
    yield Row("serve: CPU of an A2A `SendMessage`, recorded in the history", ours * 1e6, "µs")
    note = f"{memory * 1e6:,.0f} µs; an agent that gives back what it was sent"
    yield Row(
        "serve: its rate over that of a2a-sdk's own handler", memory / ours, "times", 1.2, at_least=True, note=note
    )
    note = f"{sqlite * 1e6:,.0f} µs"
    yield Row("serve: … over the same on a2a-sdk's SQLite store", sqlite / ours, "times", 5, at_least=True, note=note)
    with tempfile.TemporaryDirectory() as folder:
        bare, plain, kept = asyncio.run(_costs(Path(folder)))
    yield Row("serve: CPU of a request to a bare Starlette route with jsonschema-rs", bare * 1e6, "µs")
    yield Row("serve: CPU of a request to a skill's route", plain * 1e6, "µs", note="no history")
    yield Row("serve: … recorded in the history", kept * 1e6, "µs")
    yield Row("serve: rate of the recorded one over the bare one", bare / kept, "times", 0.2, at_least=True)
    with tempfile.TemporaryDirectory() as folder:
        for count, times in asyncio.run(_latencies(Path(folder))):
            p50, p99 = statistics.median(times) * 1e3, statistics.quantiles(times, n=100)[98] * 1e3
            note = f"p99 {p99:.3g} ms; {len(times)} requests, client in the same process"
            yield Row(f"serve: answer at {count} connections, p50", p50, "ms", note=note)
    with tempfile.TemporaryDirectory() as folder:
        kilobytes, lost = asyncio.run(_streams(Path(folder)))
    yield Row(
        f"serve: memory of each of {STREAMS:,} event streams", kilobytes, "kB", 60, note="server and client sockets"
    )
    yield Row("serve: events lost by these", lost, "events", 0)
    with tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(_idle(Path(folder)))
    yield Row(f"serve: an answer beside {IDLE:,} idle connections", seconds * 1e3, "ms", 1000)
    with tempfile.TemporaryDirectory() as folder:
        yield from _pages(Path(folder))


@asynccontextmanager
async def _service(folder: Path, *, journal: Journal | None) -> AsyncGenerator[Service]:
    registry = Registry([square])
    async with InProcessEngine(workflows(registry), journal=journal, waits_for_answers=True) as engine:
        yield Service(Orchestrator(registry, engine), Admission(KeyStore(folder)))


async def _costs(folder: Path) -> tuple[float, float, float]:
    """Seconds of CPU of a server for one request of each kind, in turns; the client is a process of its own."""
    with Journal(folder / "journal.sqlite3") as journal:
        async with _service(folder, journal=None) as plain, _service(folder, journal=journal) as kept:
            # Made anew for each turn: an application is opened and closed once.
            apps = [(bare_app, plain), (lambda: application(plain), plain), (lambda: application(kept), kept)]
            figures: list[list[float]] = [[], [], []]
            for _ in range(4):
                for (make_app, service), costs in zip(apps, figures, strict=True):
                    costs.append(await _cost(make_app(), service))
    bare, plain_s, kept_s = (min(costs[1:]) for costs in figures)
    return bare, plain_s, kept_s


def _client(request: bytes, answer: bytes) -> str:
    """A program that asks again and again, each time with another number in the place of `m000000`."""
    return f"""
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as line:
    stream = line.makefile("rb")
    for number in range({REQUESTS}):
        line.sendall({request!r}.replace(b"m000000", b"m%06d" % number))
        length = 0
        while (header := stream.readline()) != b"\\r\\n":
            length = int(header[15:]) if header.lower().startswith(b"content-length:") else length
        body = stream.read(length)
        assert {answer!r} in body, body
"""


_SKILL_CLIENT = _client(_request(PATH), b'{"number":49}')


async def _cost(app: ASGIApp, service: Service, client: str = _SKILL_CLIENT) -> float:
    service.closing = anyio.Event()
    with listen("127.0.0.1", 0) as sock:
        ready = asyncio.Event()
        serving = asyncio.create_task(serve(app, service, sock, on_ready=ready.set))
        await ready.wait()
        gc.collect()
        seconds = 0.0
        for _ in range(2):  # what is made at the first request is not counted
            began = time.process_time()
            asking = await asyncio.create_subprocess_exec(sys.executable, "-c", client, str(sock.getsockname()[1]))
            if await asking.wait():
                raise AssertionError
            seconds = time.process_time() - began
        service.closing.set()
        await serving
    return seconds / REQUESTS


def _boots(folder: Path) -> tuple[float, float]:
    """Seconds of CPU until a server of many files is ready, and of importing what it leaves for later."""
    environment = {**variables(), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment |= {f"RETINUE_{name}_DIR": str(folder / name) for name in ("STATE", "CACHE", "CONFIG")}
    (folder / "agents").mkdir()
    for number in range(AGENTS):
        (folder / "agents" / f"a{number}.py").write_text(_AGENT.format(number), encoding="utf-8")
    serve_command = [sys.executable, "-m", "retinue", "serve", "agents", "--port", "0"]
    figures: list[tuple[float, float]] = []
    for _ in range(4):
        with subprocess.Popen(serve_command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            address = re.search(r"http://\S+", server.stderr.readline())
            with urlopen(f"{address[0] if address else ''}/ready") as ready:
                ready.read()
            serving = _cpu_of(server.pid)
            server.terminate()
        code = f"import time, {_SDKS}; print(time.process_time())"
        imported = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
        figures.append((serving, float(imported.stdout)))
    return min(each[0] for each in figures[1:]), min(each[1] for each in figures[1:])


_AGENT = '''
import retinue

@retinue.agent(effects=[])
async def times_{0}(number: int) -> dict[str, int]:
    """Multiplies by {0}. Use to multiply by {0}. Returns the product."""
    return {{"number": number * {0}}}
'''
_SDKS = "a2a.server.request_handlers, a2a.server.routes, mcp.server.lowlevel, mcp.server.streamable_http_manager"


def _cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _a2a_costs(folder: Path) -> tuple[float, float, float]:
    """Seconds of CPU for one message: of our server, and of a2a-sdk's own in memory and on SQLite, in turns."""
    client = _client(_request("/agents/general/square/a2a", _A2A_BODY), b'"number":49')
    echo_client = _client(_request("/a2a", _A2A_BODY), b"TASK_STATE_COMPLETED")
    figures: list[list[float]] = [[], [], []]
    with Journal(folder / "journal.sqlite3") as journal:
        async with _service(folder, journal=journal) as service:
            for turn in range(4):
                figures[0].append(await _cost(application(service), service, client))
                for costs, store in zip(figures[1:], ("", str(folder / f"tasks-{turn}.sqlite3")), strict=True):
                    costs.append(await asyncio.to_thread(_echo_cost, echo_client, store))
    ours, memory, sqlite = (min(costs[1:]) for costs in figures)
    return ours, memory, sqlite


def _echo_cost(client: str, store: str) -> float:
    subject = Subject("a2a-sdk", "a2a_sdk_server", "peers-a2a-sdk")
    script = Path(__file__).parent / "peers" / "subjects" / f"{subject.module}.py"
    command = [python_of(subject), script, store]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables(), text=True) as server:
        assert server.stdout is not None
        ask = [sys.executable, "-c", client, server.stdout.readline().strip()]
        subprocess.run(ask, check=True)  # what is made at the first request is not counted
        began = _cpu_of(server.pid)
        subprocess.run(ask, check=True)
        seconds = _cpu_of(server.pid) - began
        server.terminate()
    return seconds / REQUESTS


async def _serving(folder: Path, work: Callable[[Service, int], Awaitable[Any]]) -> Any:
    with Journal(folder / "journal.sqlite3") as journal, listen("127.0.0.1", 0) as sock:
        async with _service(folder, journal=journal) as service:
            ready = asyncio.Event()
            serving = asyncio.create_task(serve(application(service), service, sock, on_ready=ready.set))
            await ready.wait()
            try:
                return await work(service, int(sock.getsockname()[1]))
            finally:
                service.closing.set()
                await serving


async def _latencies(folder: Path) -> Sequence[tuple[int, list[float]]]:
    request = _request(PATH)

    async def client(port: int, times: list[float], count: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(count):
            began = time.perf_counter()
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            times.append(time.perf_counter() - began)
        writer.close()

    async def work(_: Service, port: int) -> list[tuple[int, list[float]]]:
        found: list[tuple[int, list[float]]] = []
        for count in CONNECTIONS:
            times: list[float] = []
            await asyncio.gather(*(client(port, times, max(5, 256 // count)) for _ in range(count)))
            found.append((count, times))
        return found

    return await _serving(folder, work)


async def _streams(folder: Path) -> tuple[float, int]:
    """Kilobytes that a stream takes in this process, both ends, and how many events were lost."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))

    async def follow(port: int, run: str, begun: asyncio.Event) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
        writer.write(f"GET /runs/{run}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        text = await reader.readuntil(b"\r\n\r\n")
        text += await reader.readuntil(b"event:")
        begun.set()
        while chunk := await reader.read(4096):
            text += chunk
        writer.close()
        return text.count(b"event:") if b"event: finished" in text else 0

    async def work(service: Service, port: int) -> tuple[float, int]:
        from retinue.contract.task import Task  # noqa: PLC0415 - beside its only use

        run = await service.orchestrator.start_task(
            Task(id="", agent="square", skill="square", parameters={"number": 3}), owner="anonymous"
        )
        await service.engine.result(run)
        whole = len([event async for event in service.engine.events(run)])
        await follow(port, run, asyncio.Event())
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        begun = [asyncio.Event() for _ in range(STREAMS)]
        following = [asyncio.create_task(follow(port, run, each)) for each in begun]
        counts = await asyncio.gather(*following)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return (peak - before) / STREAMS / 1000, sum(whole - count for count in counts)

    return await _serving(folder, work)


_IDLE_CLIENT = f"""
import resource, socket, sys, time
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
address = ("127.0.0.1", int(sys.argv[1]))
lines = [socket.create_connection(address) for _ in range({IDLE})]
began = time.perf_counter()
with socket.create_connection(address) as line:
    line.sendall({_request(PATH)!r})
    assert line.recv(4096).startswith(b"HTTP/1.1 200")
print(time.perf_counter() - began)
"""


async def _idle(folder: Path) -> float:
    """Seconds that an answer takes while others hold connections and say nothing."""

    async def work(_: Service, port: int) -> float:
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _IDLE_CLIENT, str(port), stdout=asyncio.subprocess.PIPE
        )
        out, _errors = await client.communicate()
        return float(out)

    return await _serving(folder, work)


def _pages(folder: Path) -> Iterator[Row]:
    with Journal(folder / "journal.sqlite3") as journal:
        labels = {"door": "http", "agent": "square"}
        rows = [
            RunHistory(
                f"r{number:06}",
                "run_plan",
                {},
                "square 7",
                number + 1,
                owner="bob" if number % 1000 else "ada",
                labels={**labels, "context": "common" if number % 1000 else "rare"},
            )
            for number in range(RUNS)
        ]
        for row in rows:
            journal.begin(row)
        journal.flush()
        for name, where, goal in [
            ("of all", RunFilter(), 20),
            ("of an owner with 100 of them", RunFilter(owner="ada"), 20),
            ("of a context that 100 of them have", RunFilter(labels={"context": "rare"}), 20),
        ]:
            seconds = median_of(5, lambda where=where: _timed(journal, where))
            yield Row(f"serve: a page of 50 among {RUNS:,} runs, {name}", seconds * 1e3, "ms", goal)


def _timed(journal: Journal, where: RunFilter) -> float:
    began = time.perf_counter()
    if len(journal.list(50, where)) != 50:
        raise AssertionError(where)
    return time.perf_counter() - began
