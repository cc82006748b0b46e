"""What serving costs: its start, a request beside servers of others, streams, pages of runs; and what times tell."""

import asyncio
import gc
import json
import os
import random
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
from mcp.server.mcpserver import MCPServer
from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bench.peers.environments import Subject, python_of, variables
from bench.table import Row, median_of
from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.task import Question, Task
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
BODY = b'{"number": 7}'
PATH = "/agents/general/square/square"
REVISION = "2026-07-28"
CONNECTIONS = (1, 8, 32, 128)
PEEKS = 300
MESSAGE = {"messageId": "m", "role": "ROLE_USER", "taskId": "ID", "parts": [{"text": "7"}]}
# Ways to ask for a run: a method and a path of the HTTP door, or a method of A2A; and a body.
WAYS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/runs/ID", None),
    ("DELETE", "/runs/ID", None),
    ("GET", "/runs/ID/events", None),
    ("POST", "/runs/ID/answers", {"value": 7, "question_id": "n1.q"}),
    ("GET", "/runs/ID/artifacts/0", None),
    ("POST", "/runs/ID/rating", {"verdict": "bad"}),
    ("GET", "/runs?label.context=ID", None),
    ("GET", "/agents/general/asker/tasks/ID", None),
    ("DELETE", "/agents/general/asker/tasks/ID", None),
    ("POST", "/agents/general/asker/tasks/ID", {"value": 7}),
    ("GET", "/agents/general/asker/tasks/ID/events", None),
    ("GetTask", "/a2a", {"id": "ID"}),
    ("CancelTask", "/a2a", {"id": "ID"}),
    ("SubscribeToTask", "/a2a", {"id": "ID"}),
    ("SendMessage", "/a2a", {"message": MESSAGE}),
    ("ListTasks", "/a2a", {"contextId": "ID"}),
    ("ListTaskPushNotificationConfigs", "/a2a", {"taskId": "ID"}),
)
_A2A_BODY: Final = (
    b'{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":'
    b'{"messageId":"m000000","role":"ROLE_USER","parts":[{"data":{"number":7}}]}}}'
)


def _request(path: str, body: bytes = BODY, headers: str = "") -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\nA2A-Version: 1.0\r\n{headers}"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _mcp_request() -> bytes:
    """The same as a call of the revision that has no sessions."""
    meta: dict[str, Any] = {PROTOCOL_VERSION_META_KEY: REVISION, CLIENT_CAPABILITIES_META_KEY: {}}
    params = {"name": "square", "arguments": json.loads(BODY), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "square",
    }
    return _request("/mcp", body, "".join(f"{name}: {value}\r\n" for name, value in headers.items()))


@agent(effects=[])
async def square(number: int) -> dict[str, int]:
    """Squares a number. Use to square. Returns the square."""
    return {"number": number * number}


@agent(effects=[])
async def asker(run: RunContext) -> int:
    """Asks for a number. Use to ask. Returns it."""
    answer = await run.ask(Question(id="q", text="Which number?"))
    return int(str(answer.value)) if answer else 0


def bare_app() -> ASGIApp:
    """The same by hand: one route, its schema, and the function."""
    valid = jsonschema_rs.validator_for(square.definition.skills[0].input_schema)

    async def handle(request: Request) -> Response:
        value = await request.json()
        valid.validate(value)
        return JSONResponse(await square(**value))

    return Starlette(routes=[Route(PATH, handle, methods=["POST"])])


def bare_mcp_app() -> ASGIApp:
    """The same as a tool of the SDK's own server."""
    server = MCPServer("bare", log_level="WARNING")

    @server.tool(name="square")
    async def square_tool(number: int) -> dict[str, int]:
        """Squares a number."""
        return {"number": number * number}

    return server.streamable_http_app()


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
        bare, plain, kept, bare_mcp, plain_mcp, kept_mcp = asyncio.run(_costs(Path(folder)))
    yield Row("serve: CPU of a request to a bare Starlette route with jsonschema-rs", bare * 1e6, "µs")
    yield Row("serve: CPU of a request to a skill's route", plain * 1e6, "µs", note="no history")
    yield Row("serve: … recorded in the history", kept * 1e6, "µs")
    yield Row("serve: rate of the recorded one over the bare one", bare / kept, "times", 0.2, at_least=True)
    yield Row(f"serve: CPU of a call to a bare MCPServer, {REVISION}", bare_mcp * 1e6, "µs")
    yield Row("serve: CPU of a call to a skill over MCP", plain_mcp * 1e6, "µs", note="no history")
    yield Row("serve: … recorded in the history, over MCP", kept_mcp * 1e6, "µs")
    yield Row(
        "serve: rate of the recorded one over the bare one, MCP", bare_mcp / kept_mcp, "times", 0.6, at_least=True
    )
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
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_peeks(Path(folder)))


@asynccontextmanager
async def _service(folder: Path, *, journal: Journal | None) -> AsyncGenerator[Service]:
    registry = Registry([square, asker])
    async with InProcessEngine(workflows(registry), journal=journal, waits_for_answers=True) as engine:
        yield Service(Orchestrator(registry, engine), Admission(KeyStore(folder)))


async def _costs(folder: Path) -> Sequence[float]:
    """Seconds of CPU of a server for one request of each kind, in turns; the client is a process of its own."""
    with Journal(folder / "journal.sqlite3") as journal:
        async with _service(folder, journal=None) as plain, _service(folder, journal=journal) as kept:
            # Made anew for each turn: an application is opened and closed once.
            kinds: list[tuple[Callable[[], ASGIApp], Service, str]] = [
                (make_app, service, client)
                for bare, client in (
                    (bare_app, _SKILL_CLIENT),
                    (bare_mcp_app, _client(_mcp_request(), b'{"number":49}')),
                )
                for make_app, service in (
                    (bare, plain),
                    (lambda: application(plain), plain),
                    (lambda: application(kept), kept),
                )
            ]
            figures: list[list[float]] = [[] for _ in kinds]
            for _ in range(4):
                for (make_app, service, client), costs in zip(kinds, figures, strict=True):
                    costs.append(await _cost(make_app(), service, client))
    return [min(costs[1:]) for costs in figures]


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


async def _peeks(folder: Path) -> list[Row]:
    """What a caller can tell of another's run: answers for it beside those for an id that nobody has, in turns."""

    async def work(service: Service, port: int) -> list[Row]:
        task = Task(id="", agent="asker", skill="asker", parameters={})
        run = await service.orchestrator.start_task(task, owner="ada", labels={"door": "http", "agent": "asker"})
        none = run[:-1] + ("0" if run[-1] != "0" else "1")
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ratios: list[float] = []
        unlike = apart = 0
        for way in WAYS:
            times: dict[str, list[int]] = {run: [], none: []}
            answers: set[bytes] = set()
            for _ in range(PEEKS):
                for name in random.sample((run, none), 2):
                    writer.write(_peek(*way, name))
                    began = time.perf_counter_ns()
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                    body = await (reader.readexactly(int(length)) if length else reader.readuntil(b"\r\n0\r\n\r\n"))
                    times[name].append(time.perf_counter_ns() - began)
                    answers.add(body.replace(name.encode(), b"ID"))
            unlike += len(answers) - 1
            apart += _p_value(times[run], times[none]) < 0.05 / len(WAYS)
            ratios.append(statistics.median(times[run]) / statistics.median(times[none]))
        writer.close()
        note = f"{min(ratios):.3f} to {max(ratios):.3f}"
        return [
            Row(f"serve: answers for another's run that differ from none's, in {len(WAYS)} ways", unlike, "answers", 0),
            Row(
                "serve: median time of these over none's, median of the ways",
                statistics.median(ratios),
                "times",
                note=note,
            ),
            Row("serve: ways in which a rank test tells the times apart, 5 % over all", apart, "ways", 0),
        ]

    return await _serving(folder, work)


def _peek(method: str, path: str, body: Any, run: str) -> bytes:
    if path == "/a2a":
        method, body = "POST", {"jsonrpc": "2.0", "id": 1, "method": method, "params": body}
    content = json.dumps(body) if body else ""
    kind = "Content-Type: application/json\r\n" if body else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n{kind}"
    return f"{head}Content-Length: {len(content.replace('ID', run))}\r\n\r\n{content}".replace("ID", run).encode()


def _p_value(some: Sequence[int], others: Sequence[int]) -> float:
    """How probable such ranks are where both are alike (Mann-Whitney, two sides, normal for as many as these)."""
    ranks = {each: rank for rank, each in enumerate(sorted((*some, *others)), 1)}
    m, n = len(some), len(others)
    distance = sum(ranks[each] for each in some) - m * (m + n + 1) / 2
    return 2 * statistics.NormalDist().cdf(-abs(distance) / (m * n * (m + n + 1) / 12) ** 0.5)
