"""Which addresses of the internet are open to everybody, and why the others are not. Looks at numbers, never at names.

What is not said to be public is refused: for IPv6 that is all but the global unicast block, and an IPv6 address that
carries an IPv4 address is judged by the one it carries.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

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
