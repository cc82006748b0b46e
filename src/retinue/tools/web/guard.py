"""The guard against being sent into the inner network: which hosts, ports and addresses may be reached.

It judges at two places. `check` sees each URL before anything is done; `resolve` gives the very addresses that are then
connected to, so that no name can mean one thing when it is checked and another when it is used. What it lets through
besides is decided by the program that makes it, never by a model, a page or a setting of a project.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

from retinue.errors import AccessDenied, NetworkError
from retinue.tools.web.url import Address, Network, WebUrl, effective_address, why_not_public

Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""From a name and a port to addresses, as text."""


async def system_resolve(host: str, port: int) -> tuple[str, ...]:
    """The addresses of `host`, by the system's resolver."""
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


@dataclass(frozen=True, slots=True)
class Guard:
    """What may be reached.

    Attributes:
        allow: Networks that may be reached although they are not public: `127.0.0.0/8`.
        ports: The ports that may be used; None means every one.
        resolver: How names become addresses.
    """

    allow: tuple[str, ...] = ()
    ports: frozenset[int] | None = frozenset({80, 443})
    resolver: Resolve = system_resolve

    def check(self, url: WebUrl) -> None:
        """See that `url` may be asked for, as far as it can be told without resolving its name.

        Raises:
            AccessDenied: Its port or its address may not be reached.
        """
        if self.ports is not None and url.port not in self.ports:
            raise AccessDenied(
                f"Port {url.port} of {url.host!r} may not be used.",
                hint=f"Only the ports {', '.join(map(str, sorted(self.ports)))} are open.",
            )
        if url.address is not None:
            self._check_address(url.host, url.address)

    async def resolve(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses to connect to for `host`: all that it has, and each of them may be reached.

        Raises:
            AccessDenied: One of them may not be reached; so none is.
            NetworkError: It has none.
        """
        try:
            addresses = (ip_address(host),)
        except ValueError:
            try:
                texts = await self.resolver(host, port)
            except (OSError, UnicodeError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                raise NetworkError(
                    f"The name {host!r} has no address: {why}.", hint="Check the name, and the network."
                ) from error
            if not texts:
                raise NetworkError(f"The name {host!r} has no address.", hint="Check the name.") from None
            try:
                addresses = tuple(map(ip_address, texts))
            except ValueError as error:
                raise NetworkError(
                    f"The name {host!r} leads to something that is not an address: {str(error)[:120]}.",
                    hint="Check the network.",
                ) from None
        for address in addresses:
            self._check_address(host, address)
        return addresses

    def _check_address(self, host: str, address: Address) -> None:
        why = why_not_public(address)
        if not why or any(_is_in_network(address, ip_network(network)) for network in self.allow):
            return
        via = "" if str(address) == host else f", which {host!r} leads to,"
        raise AccessDenied(
            f"The address {str(address)!r}{via} may not be reached: it is {why}.",
            hint="Only pages that are open to everybody are fetched.",
        )


ANYWHERE: Final = Guard(allow=("0.0.0.0/0", "::/0"), ports=None)
"""Lets everything through: for an address that the user has set, and no other."""


def _is_in_network(address: Address, network: Network) -> bool:
    """Whether `network` holds `address`, or the one it carries; a zone is not part of an address."""
    without_scope = IPv6Address(int(address)) if isinstance(address, IPv6Address) else address
    return without_scope in network or effective_address(without_scope) in network
