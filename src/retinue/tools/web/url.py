"""URLs of the web, read strictly, and the guard that says which of them may be reached.

No user names, no hidden forms of an address (decimal, octal, hexadecimal, shortened), no backslashes, no control
characters: what two programs could understand differently is refused, not guessed. A name is resolved once, and all of
its addresses must be open to everybody.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal, TypeAlias
from urllib.parse import quote, urljoin

from retinue.errors import AccessDenied, InvalidInput, NetworkError, NotInstalled

MAX_URL: Final = 8_192
"""Characters."""

_FORM: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.DOTALL)
_HOST_PORT: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]*)\]|(?P<name>[^:\[\]]*))(?::(?P<port>[0-9]{0,5}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNSEEN: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff]")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
"""What stands before a host may be a password, and is not repeated."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HINT: Final = "Give a whole URL, as in `https://example.org/page`."

Address: TypeAlias = IPv4Address | IPv6Address

_CLOSED_4: Final = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a provider"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a metadata service"),
        ("169.254.0.0/16", "link-local, where metadata services are"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_CLOSED_6: Final = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a tunnel"),
        ("3fff::/20", "for documentation"),
    )
)

_GLOBAL: Final = IPv6Network("2000::/3")
_CARRIERS: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
"""Mapped addresses, and what an IPv6-only network calls the IPv4 ones (NAT64)."""
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})


def effective_address(address: Address) -> Address:
    """The address that is really reached: an IPv4 address that an IPv6 one carries, else `address` itself."""
    if isinstance(address, IPv6Address) and any(address in network for network in _CARRIERS):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def why_not_public(address: Address) -> str:
    """What keeps `address` from being open to everybody, as in "it is loopback"; empty when nothing does."""
    real = effective_address(address)
    if isinstance(real, IPv4Address):
        return next((what for network, what in _CLOSED_4 if real in network), "")
    for network, what in _CLOSED_6:
        if real in network:
            return what
    if real not in _GLOBAL:
        return "reserved"
    if (int(real) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return "a tunnel"
    return ""


@dataclass(frozen=True, slots=True)
class WebUrl:
    """A place on the web.

    Attributes:
        host: A lower-case ASCII name, or an address as it is usually written; no brackets, no dot at the end.
        target: Path and query, as they are sent.
        address: The address, when the host is one.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str
    address: Address | None = None

    @property
    def authority(self) -> str:
        """Host and, unless it is the usual one, port: what the `Host` header says."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """The whole URL in its normal form, without a fragment."""
        return f"{self.scheme}://{self.authority}{self.target}"

    def join(self, reference: str) -> "WebUrl":
        """The place that `reference`, found on this page, names.

        Raises:
            InvalidInput: It is not an http or https URL, or one that could be misunderstood.
        """
        if _CONTROL.search(reference) or "\\" in reference:
            raise _url_error(reference, "it holds characters that no URL may hold")
        try:
            absolute = urljoin(self.text, reference.strip(" "))
        except ValueError as error:
            raise _url_error(reference, str(error)) from None
        return parse_url(absolute.replace(" ", "%20"))


@lru_cache(512)
def parse_url(text: str) -> WebUrl:
    """Read `text` as the URL of a page.

    Raises:
        InvalidInput: It is not an http or https URL, or one that could be misunderstood.
        NotInstalled: Its name is not ASCII, and the package that spells such names is missing.
    """
    if len(text) > MAX_URL:
        raise InvalidInput(f"The URL has {len(text)} characters and {MAX_URL} are allowed.", hint=_HINT)
    if _UNSEEN.search(text) or "\\" in text:
        raise _url_error(text, "it holds characters that no URL may hold")
    match = _FORM.fullmatch(text)
    if match is None:
        raise _url_error(text, "it is not a whole URL")
    scheme = match[1].lower()
    if scheme not in ("http", "https"):
        raise _url_error(text, f"only http and https are fetched, not {scheme[:20]!r}")
    if "@" in match[2]:
        raise _url_error(text, "a user name before the host is not allowed")
    authority = _HOST_PORT.fullmatch(match[2])
    if authority is None:
        raise _url_error(text, "its host cannot be read")
    port = int(authority["port"] or _DEFAULT_PORTS[scheme])
    if not 0 < port <= 65_535:
        raise _url_error(text, f"there is no port {port}")
    if authority["six"] is None:
        host, address = _host(text, authority["name"])
    else:
        try:
            address = IPv6Address(authority["six"])
        except AddressValueError:
            raise _url_error(text, "its IPv6 address cannot be read") from None
        host = str(address)
    # `%` is kept: what is escaped already stays as it was written.
    target = (quote(match[3], safe="/%:@!$&'()*+,;=~-._") or "/") + quote(match[4] or "", safe="/%:@!$&'()*+,;=~-._?[]")
    return WebUrl("https" if scheme == "https" else "http", host, port, target, address)


def _host(text: str, name: str) -> tuple[str, Address | None]:
    if not name.isascii():  # as resolvers spell it
        try:
            import idna  # noqa: PLC0415 - comes with the extra, and few names need it
        except ImportError as error:
            raise NotInstalled(
                "Names that are not ASCII are spelled by the package `idna`, which is not installed.",
                hint="install `retinue[web]`",
            ) from error
        try:
            name = idna.encode(name, uts46=True, std3_rules=True).decode("ascii")
        except idna.IDNAError as error:
            raise _url_error(text, f"its host is not a valid name: {error}") from None
    ascii_name = name.lower().removesuffix(".")
    labels = ascii_name.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # resolvers take many forms of numbers for an address
        try:
            four = IPv4Address(ascii_name)
        except AddressValueError:
            raise _url_error(text, "its host is a number that hides an address") from None
        return str(four), four
    if len(ascii_name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise _url_error(text, "its host is not a valid name")
    return ascii_name, None


def _url_error(text: str, why: str) -> InvalidInput:
    return InvalidInput(f"The URL {_USER.sub('…@', text)[:200]!r} is refused: {why}.", hint=_HINT)


Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""From a name and a port to addresses, as text."""


async def system_resolve(host: str, port: int) -> tuple[str, ...]:
    """The addresses of `host`, by the system's resolver."""
    loop = asyncio.get_running_loop()
    entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in entries))


_network = lru_cache(ip_network)


@dataclass(frozen=True, slots=True)
class Guard:
    """What may be reached.

    Attributes:
        allow: Networks that may be reached although they are not public: `127.0.0.0/8`.
        ports: The ports that may be used; None means every one.
        resolver: How names become addresses.
        only_allowed: Nothing but `allow` may be reached, public or not.
    """

    allow: tuple[str, ...] = ()
    ports: frozenset[int] | None = frozenset({80, 443})
    resolver: Resolve = system_resolve
    only_allowed: bool = False

    def check(self, url: WebUrl) -> None:
        """Make sure that `url` may be requested, as far as can be known without resolving its name.

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
        # One closed address refuses the name as a whole: which of them a connection gets is not for us to choose, and a
        # name with both kinds is how rebinding attacks look.
        for address in addresses:
            self._check_address(host, address)
        return addresses

    def _check_address(self, host: str, address: Address) -> None:
        why = why_not_public(address) or ("none of those that are named" if self.only_allowed else "")
        # A zone is not part of an address: no network would hold one that has it.
        bare_address = IPv6Address(int(address)) if isinstance(address, IPv6Address) else address
        allowed = map(_network, self.allow)
        if not why or any(bare_address in each or effective_address(bare_address) in each for each in allowed):
            return
        via = "" if str(address) == host else f", which {host!r} leads to,"
        raise AccessDenied(
            f"The address {str(address)!r}{via} may not be reached: it is {why}.",
            hint="Only pages that are open to everybody are fetched.",
        )


ANYWHERE: Final = Guard(allow=("0.0.0.0/0", "::/0"), ports=None)
"""Lets everything through: for an address that the user has set, and no other."""
