"""Connections to addresses that the guard has let through: where a name is turned into an address, once.

httpcore asks this backend for a connection to a name; it connects to the addresses the guard gave for it and to no
other. TLS still proves the name, not the address.
"""

import importlib
from typing import TYPE_CHECKING, cast

from retinue.errors import NotInstalled
from retinue.tools.web.guard import Guard

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpcore


def load_httpcore() -> None:
    """See that httpcore is there.

    Raises:
        NotInstalled: It is not.
    """
    try:
        for name in ("httpcore", "anyio"):  # the second is what the first connects with
            importlib.import_module(name)
    except ImportError as error:
        raise NotInstalled(
            f"The package `{error.name}` is not installed, and pages are fetched by it.", hint="install `retinue[web]`"
        ) from error


def guarded_backend(guard: Guard) -> "httpcore.AsyncNetworkBackend":
    """A backend that connects where `guard` lets it, and nowhere else."""
    # httpcore asks for its methods only; its base class cannot be named here without importing it.
    return cast("httpcore.AsyncNetworkBackend", _GuardedBackend(guard))


class _GuardedBackend:
    def __init__(self, guard: Guard) -> None:
        import httpcore  # noqa: PLC0415 - optional

        self._guard = guard
        # Where anyio is missing the class stands for the lack of it, which its type does not leave out.
        self._inner = cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())
        self._connect_error = httpcore.ConnectError

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: "Iterable[httpcore.SOCKET_OPTION] | None" = None,
    ) -> "httpcore.AsyncNetworkStream":
        failure: Exception | None = None
        for address in await self._guard.resolve(host, port):
            try:
                return await self._inner.connect_tcp(
                    str(address), port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except self._connect_error as error:
                failure = error
        raise failure or self._connect_error(f"{host} has no address")

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - httpcore's signature
        socket_options: "Iterable[httpcore.SOCKET_OPTION] | None" = None,  # noqa: ARG002 - the same
    ) -> "httpcore.AsyncNetworkStream":
        raise self._connect_error(f"{path}: sockets of this machine are not connected to")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
