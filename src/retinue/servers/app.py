"""All doors of one server as one ASGI application, and its life from the first request to the last."""

import re
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Final, Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup, TaskStatus
from starlette.routing import BaseRoute, Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from retinue.engine.blocking import in_thread
from retinue.errors import NotInstalled
from retinue.orchestration.orchestrator import Orchestrator
from retinue.servers.admission import Admission, Caller
from retinue.servers.guard import RequestGuard
from retinue.servers.http import http_app
from retinue.servers.keys import ApiKey
from retinue.servers.server import listen, serve
from retinue.servers.service import Service
from retinue.tools.web.url import Guard as WebGuard

if TYPE_CHECKING:
    from jwt import PyJWK

    from retinue.servers.a2a.grpc import GrpcServer
    from retinue.servers.mcp import McpDoor

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")

Door: TypeAlias = Literal["http", "a2a", "mcp"]
DOORS: Final[dict[Door, str]] = {"http": "starlette", "a2a": "a2a", "mcp": "mcp"}
"""The doors, and the package that each needs."""
A2A_VERSIONS: Final = ("1.0", "0.3")

_A2A_PATHS: Final = r"(/agents/[^/]+/[^/]+)?(/\.well-known/agent-card\.json/?|/a2a(/.*)?)"
_MCP_PATHS: Final = "/mcp/?"


def installed_doors() -> tuple[Door, ...]:
    """The doors whose packages are installed."""
    return tuple(door for door, package in DOORS.items() if find_spec(package) is not None)


def application(
    service: Service,
    *,
    hosts: tuple[str, ...] = (),
    base_url: str = "",
    doors: Collection[Door] = ("http", "a2a", "mcp"),
    a2a: Sequence[str] = A2A_VERSIONS,
    card_key: "PyJWK | None" = None,
    grpc: "GrpcServer | None" = None,
) -> ASGIApp:
    """The doors behind their guard.

    Args:
        service: Where tasks run.
        hosts: Names by which the server is reached, besides those of this machine.
        base_url: Its public address, for cards.
        doors: Which doors there are.
        a2a: The versions of A2A that are spoken.
        card_key: Signs the cards of A2A.
        grpc: Where A2A is spoken over gRPC too.

    Raises:
        NotInstalled: A door needs a package that is not here.
    """
    _check_installed(*doors)
    app = http_app(service, base_url=base_url, probes_only="http" not in doors)
    closing = anyio.Event()

    def make_a2a() -> LazyContent:
        from retinue.servers.a2a import A2aDoor  # noqa: PLC0415 - an optional package

        return A2aDoor(service, base_url=base_url, versions=a2a, card_key=card_key, grpc=grpc)

    a2a_door = _LazyDoor(_A2A_PATHS, "retinue.servers.a2a", make_a2a, closing)
    mcp_door = _LazyDoor(_MCP_PATHS, "retinue.servers.mcp", partial(_mcp_door, service), closing)
    if "a2a" in doors:
        app.router.routes.insert(0, a2a_door)
    if "mcp" in doors:
        app.router.routes.insert(0, mcp_door)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as sessions:
            a2a_door.sessions = mcp_door.sessions = sessions
            # What the last server has not sent is sent, and gRPC answered, without anybody's asking here.
            has_unsent = bool(await service.unsent_texts())
            if "a2a" in doors and (grpc is not None or has_unsent):
                await a2a_door.open()
            yield
            closing.set()

    app.router.lifespan_context = lifespan
    return RequestGuard(app, hosts={*LOCAL_NAMES, *hosts})


class LazyContent(Protocol):
    """A door as its package makes it."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What it answers."""
        ...

    def lifespan(self, app: object, /) -> AbstractAsyncContextManager[None]:
        """What it does from its opening to its end."""
        ...


class _LazyDoor(BaseRoute):
    """A door that the first request for it opens: its SDK takes longer to load than all the rest of a server.

    Args:
        paths: A pattern of the paths that are its own.
        module: What is loaded, in a thread: others are answered meanwhile.
        make: Makes it when that is done.
        closing: Set when it is to end.

    Attributes:
        sessions: Where its life is spent.
    """

    def __init__(self, paths: str, module: str, make: Callable[[], LazyContent], closing: anyio.Event) -> None:
        self._paths, self._module, self._make, self._closing = re.compile(paths), module, make, closing
        self._opening = anyio.Lock()
        self._router: Router | None = None
        self.sessions: TaskGroup | None = None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it takes the request, as Starlette's router asks."""
        return Match.FULL if self._paths.fullmatch(scope["path"]) else Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it answer."""
        await (await self.open())(scope, receive, send)

    async def open(self) -> Router:
        """Its routes, from now on."""
        async with self._opening:
            if self._router is None:
                await in_thread(import_module, self._module)
                door = self._make()
                if self.sessions is not None:  # part of an application that is never started
                    await self.sessions.start(self._keep_open, door)
                self._router = Router(door.routes)
            return self._router

    async def _keep_open(self, door: LazyContent, *, task_status: TaskStatus[None]) -> None:
        async with door.lifespan(None):
            task_status.started()
            await self._closing.wait()


def _check_installed(*doors: Door) -> None:
    for door in doors:
        if find_spec(DOORS[door]) is None:
            raise NotInstalled(f"`{DOORS[door]}` is not installed.", hint=f"Install `retinue[{door}]`.")


def _mcp_door(service: Service, local: Caller | None = None) -> "McpDoor":
    from retinue.servers.mcp import McpDoor  # noqa: PLC0415 - an optional package

    return McpDoor(service, local=local)


def _grpc_server(host: str, port: int) -> "GrpcServer":
    try:
        from retinue.servers.a2a.grpc import GrpcServer  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise NotInstalled(f"`{error.name}` is not installed.", hint="Install `retinue[a2a,grpc]`.") from None
    return GrpcServer(host, port)


async def serve_stdio(orchestrator: Orchestrator, admission: Admission, key: ApiKey, stdout: IO[str]) -> None:
    """Serve the agents of an orchestrator to one MCP client on stdin and stdout, until it closes them.

    Args:
        orchestrator: Runs tasks, on an engine that is open.
        admission: Who may ask for what.
        key: What the client may do.
        stdout: What to write to: nothing else may.

    Raises:
        NotInstalled: The package is not here.
    """
    _check_installed("mcp")
    root = str(orchestrator.workspace.root) if orchestrator.workspace is not None else ""
    service = Service(orchestrator, admission, root=root)
    await _mcp_door(service, Caller(key, key.name)).serve_stdio(stdout)


async def run_server(
    orchestrator: Orchestrator,
    admission: Admission,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    public_url: str = "",
    active: str = "",
    doors: Collection[Door] = ("http", "a2a", "mcp"),
    a2a: Sequence[str] = A2A_VERSIONS,
    grpc_port: int | None = None,
    push_networks: Sequence[str] = (),
    card_key: "PyJWK | None" = None,
    on_ready: Callable[[str, int, int], None],
) -> None:
    """Serve the agents of an orchestrator until the process is told to stop; first, go on with runs that were left.

    Args:
        orchestrator: Runs tasks, on an engine that is open.
        admission: Who may ask for what.
        host: Where to listen.
        port: The port; 0 takes any that is free.
        public_url: The address by which others reach it, if it is another.
        active: The agent that `run_agent` means; a goal for all when empty.
        doors: Which doors there are.
        a2a: The versions of A2A that are spoken.
        grpc_port: The port where A2A is spoken over gRPC; nowhere when None.
        push_networks: Networks that updates of tasks may be sent to, although they are not public.
        card_key: Signs the cards of A2A.
        on_ready: Told the address, the number of agents and of resumed runs.

    Raises:
        Unavailable: The address cannot be used.
        NotInstalled: The package for gRPC is not here.
    """
    workspace = orchestrator.workspace
    root = str(workspace.root) if workspace is not None else ""
    guard = WebGuard(allow=tuple(push_networks), ports=None)
    service = Service(orchestrator, admission, root=root, active=active, push_guard=guard)
    with listen(host, port) as sock:
        name = f"[{host}]" if ":" in host else host
        address = public_url or f"http://{name}:{sock.getsockname()[1]}"
        resumed = await service.resume_stalled()
        hosts = tuple(filter(None, (name.lower(), urlsplit(public_url).hostname)))
        grpc = None if grpc_port is None else _grpc_server(host, grpc_port)
        app = application(service, hosts=hosts, base_url=address, doors=doors, a2a=a2a, card_key=card_key, grpc=grpc)
        await serve(
            app,
            service,
            sock,
            on_ready=lambda: on_ready(address, len(orchestrator.registry), len(resumed)),
        )
