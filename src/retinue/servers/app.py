"""All doors of one server as one ASGI application, and its life from the first request to the last."""

from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from retinue.orchestration.orchestrator import Orchestrator
from retinue.servers.admission import Admission
from retinue.servers.guard import Guard
from retinue.servers.http import http_app
from retinue.servers.server import listen, serve
from retinue.servers.service import Service

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def application(service: Service, *, hosts: tuple[str, ...] = (), base_url: str = "") -> ASGIApp:
    """The doors behind their guard.

    Args:
        service: Where tasks run.
        hosts: Names by which the server is reached, besides those of this machine.
        base_url: Its public address, for cards.
    """
    return Guard(http_app(service, base_url=base_url), hosts={*LOCAL_NAMES, *hosts})


async def run_server(
    orchestrator: Orchestrator,
    admission: Admission,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    public_url: str = "",
    active: str = "",
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
        on_ready: Told the address, the number of agents and of resumed runs.

    Raises:
        Unavailable: The address cannot be used.
    """
    workspace = orchestrator.workspace
    root = str(workspace.root) if workspace is not None else ""
    service = Service(orchestrator, admission, root=root, active=active)
    with listen(host, port) as sock:
        name = f"[{host}]" if ":" in host else host
        address = public_url or f"http://{name}:{sock.getsockname()[1]}"
        resumed = await service.resume_stalled()
        hosts = tuple(filter(None, (name.lower(), urlsplit(public_url).hostname)))
        app = application(service, hosts=hosts, base_url=address)
        await serve(
            app,
            service,
            sock,
            on_ready=lambda: on_ready(address, len(orchestrator.registry), len(resumed)),
        )
