"""Agents of a server, and the server itself: real sockets, a real client, in the loop of the test."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from jwt import PyJWK

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent, skill
from retinue.agents.registry import Registry
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact
from retinue.contract.task import Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.servers.admission import Admission
from retinue.servers.app import application
from retinue.servers.keys import ApiKey, KeyStore
from retinue.servers.server import listen, serve
from retinue.servers.service import Service
from retinue.tools.web.url import Guard
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.servers.a2a.grpc import GrpcServer

SECRET = "password=hunter2 in /etc/secrets/db"
SEEN: list[Task] = []


@agent(effects=[])
async def greet(name: str, task: Task) -> str:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    SEEN.append(task)
    if name == "boom":
        raise ValueError(SECRET)
    return f"Hello, {name}"


@agent(effects=["read", "write"])
async def scribe(text: str, run: RunContext) -> Reply:
    """Writes a text down. Use to keep it. Returns where it is."""
    run.workspace.write_bytes("note.txt", text.encode())
    return Reply(data={"path": "note.txt"}, artifacts=(Artifact(path="note.txt", media_type="text/plain"),))


@agent(effects=[])
async def sleeper(seconds: float, run: RunContext) -> str:
    """Sleeps. Use to wait. Returns that it woke."""
    await run.sleep(seconds)
    return "awake"


@agent(effects=[])
async def asker(topic: str, run: RunContext) -> str:
    """Asks about a topic. Use when in doubt. Returns the answer."""
    answer = await run.ask(Question(id="q", text=f"What of {topic}?"))
    return f"You said {answer.value if answer else None}"


@agent(effects=[])
async def deleter(what: str, run: RunContext) -> str:
    """Deletes things. Use when told so. Returns whether it did."""
    answer = await run.ask(Question(id="ok", text=f"May I delete {what}?", kind="approval"))
    return f"allowed: {answer.value if answer else None}"


@agent(category="house")
class Desk:
    """Answers at a desk."""

    @skill(effects=[], examples=["open the window", "let some air in"])
    async def window(self) -> str:
        """Opens the window. Use when it is stuffy. Returns what was done."""
        return "opened"

    @skill(effects=[], method="GET", examples=["count to 7"])
    async def count_up(self, number: int) -> dict[str, int]:
        """Counts. Use to count. Returns the last number."""
        return {"number": number}


@agent(composes=True, effects=[])
async def planner(name: str, run: RunContext) -> Plan:
    """Plans what others do. Use for more than one thing. Returns what they did."""
    agent, parameter = ("greet", "name") if run.definition_of("greet") else ("asker", "topic")
    return Plan(nodes=(Delegation(id="a", agent=agent, parameters={parameter: name}),))


AGENTS = (greet, scribe, sleeper, asker, deleter, Desk)


@dataclass
class Server:
    """A server under test.

    Attributes:
        address: `http://127.0.0.1:PORT`.
        client: A client without a key.
        keys: Its keys.
    """

    address: str
    client: httpx.AsyncClient
    keys: KeyStore
    service: Service
    engine: InProcessEngine
    _clients: list[httpx.AsyncClient] = field(default_factory=list[httpx.AsyncClient])

    def client_for(self, name: str, **limits: Any) -> httpx.AsyncClient:
        """A client with a new key of that name."""
        secret = self.keys.add(ApiKey(name=name, **limits))
        client = httpx.AsyncClient(
            base_url=self.address, headers={"authorization": f"Bearer {secret}"}, trust_env=False, timeout=30
        )
        self._clients.append(client)
        return client

    async def close(self) -> None:
        """Close all clients."""
        for client in (self.client, *self._clients):
            await client.aclose()


@asynccontextmanager
async def running(
    folder: Path,
    *,
    anonymous: bool = True,
    active: str = "",
    agents: tuple[Any, ...] = AGENTS,
    push: tuple[str, ...] = (),
    card_key: PyJWK | None = None,
    grpc: "GrpcServer | None" = None,
    **bounds: Any,
) -> AsyncGenerator[Server]:
    """A server of `agents`, whose state is in `folder`; it has stopped afterwards. It may push to the networks `push`."""
    registry = Registry(agents)
    (folder / "work").mkdir(exist_ok=True)
    workspace = Workspace(folder / "work", write=(".",))
    keys = KeyStore(folder)
    names = workflows(registry, workspace=workspace)
    settings: dict[str, Any] = {"waits_for_answers": True, "on_close": "leave", **bounds}
    with Journal(folder / "journal.sqlite3") as journal, listen("127.0.0.1", 0) as sock:
        async with InProcessEngine(names, journal=journal, **settings) as engine:
            orchestrator = Orchestrator(registry, engine, workspace)
            admission = Admission(keys, anonymous=anonymous)
            guard = Guard(allow=push, ports=None)
            service = Service(orchestrator, admission, root=str(workspace.root), active=active, push_guard=guard)
            await service.resume_stalled()
            ready = asyncio.Event()
            address = f"http://127.0.0.1:{port_of(sock)}"
            app = application(service, base_url=address, card_key=card_key, grpc=grpc)
            serving = asyncio.create_task(serve(app, service, sock, on_ready=ready.set))
            await ready.wait()
            client = httpx.AsyncClient(base_url=address, trust_env=False, timeout=30)
            server = Server(address, client, keys, service, engine)
            try:
                yield server
            finally:
                await server.close()
                service.closing.set()
                await serving


def port_of(sock: socket.socket) -> int:
    return int(sock.getsockname()[1])


def message(text: str | None = None, data: Any = None, **more: Any) -> dict[str, Any]:
    """A body for `/tasks`."""
    parts: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
    parts += [] if data is None else [{"type": "data", "data": data}]
    return {"message": {"role": "user", "parts": parts}, **more}


def events_of(text: str) -> list[dict[str, str]]:
    """The server-sent events in a body."""
    events = [block for block in text.replace("\r\n", "\n").split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.split("\n") if ": " in line) for block in events]
