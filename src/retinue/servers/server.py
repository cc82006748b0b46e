"""The process that listens: connections that end, a close that leaves nothing half done."""

import asyncio
import resource
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from retinue.errors import Unavailable
from retinue.servers.service import Service

REQUEST_S: Final = 30.0
"""The longest a whole request may take to arrive, and a new connection to send one."""
MAX_CONNECTIONS: Final = 12_000
CLOSE_S: Final = 20
"""How long answers under way may take when the server stops."""


class _Connection(H11Protocol):
    """A connection that is closed when a request does not arrive in time. uvicorn waits for ever."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time of the first request, unless there are too many connections."""
        connection = cast("asyncio.Transport", transport)
        super().connection_made(connection)
        if len(self.connections) > MAX_CONNECTIONS:
            connection.abort()
            return
        self._deadline = self.loop.call_later(REQUEST_S, connection.abort)

    def data_received(self, data: bytes) -> None:
        """Stop the time when a request is whole, and start it with the next."""
        super().data_received(data)
        is_whole = self.conn.their_state in {h11.DONE, h11.MUST_CLOSE, h11.CLOSED}
        if is_whole and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not is_whole and self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The time is up in another way."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._on_ready = service, on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        self.should_exit = self.should_exit or self._service.closing.is_set()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop. A second Ctrl-C does not wait. The signal is not raised again, which would kill what is left to do."""
        del frame
        self.force_exit = self._service.closing.is_set() and sig == signal.SIGINT
        self._service.closing.set()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        Unavailable: The address cannot be used.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise Unavailable(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            hint="Choose another with `--port`; 0 takes any that is free.",
        ) from None
    # Connections inherit it. asyncio does not see that they are TCP, and small answers would wait 40 ms.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


async def serve(app: ASGIApp, service: Service, sock: socket.socket, *, on_ready: Callable[[], None]) -> None:
    """Serve until the process is told to stop, or `service.closing` is set.

    Args:
        app: What answers.
        service: Told when it stops.
        sock: Where it listens.
        on_ready: Called when it answers.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    settings: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False, "proxy_headers": False}
    config = uvicorn.Config(
        app, http=_Connection, ws="none", timeout_keep_alive=15, timeout_graceful_shutdown=CLOSE_S, **settings
    )
    watching = asyncio.create_task(service.watch_loop())
    try:
        await _Server(config, service, on_ready).serve(sockets=[sock])
    finally:
        watching.cancel()
