"""No URL, however it is spelled, and no name, whatever it means, leads to an address that is not open to everybody."""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, strategies as st

from retinue.errors import AccessDenied, NetworkError, RetinueError
from retinue.tools.web.url import ANYWHERE, Address, Guard, parse_url, system_resolve, why_not_public

TELLING = ("127.0.0.1", "10.0.0.7", "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1", "0.0.0.0")
PRIVATE_4 = st.sampled_from(TELLING).map(IPv4Address) | st.integers(0, 2**32 - 1).map(IPv4Address).filter(
    lambda address: why_not_public(address) != ""
)


async def as_the_system_would(host: str, _port: int) -> tuple[str, ...]:
    """The resolver at its most obliging: every form of a number is an address."""
    return (socket.inet_ntoa(socket.inet_aton(host)),)


def reached(url: str, guard: Guard) -> tuple[Address, ...]:
    """Where a request for `url` would connect to."""
    parsed = parse_url(url)
    guard.check(parsed)
    return asyncio.run(guard.resolve(parsed.host, parsed.port))


@st.composite
def spelled(draw: st.DrawFn, address: IPv4Address) -> str:
    """One of the many ways to write an address."""
    number = int(address)
    one, two, three, four = address.packed

    def part(value: int) -> str:
        return draw(st.sampled_from([str(value), hex(value), f"0{value:o}", f"0{value}", f"0X{value:X}"]))

    form = draw(
        st.sampled_from(["dotted", "three", "two", "number", "mapped", "mapped hex", "nat64", "6to4", "compatible"])
    )
    host = {
        "dotted": ".".join(map(part, (one, two, three, four))),
        "three": f"{part(one)}.{part(two)}.{part(three << 8 | four)}",
        "two": f"{part(one)}.{part(number & 0xFFFFFF)}",
        "number": part(number),
        "mapped": f"[::ffff:{address}]",
        "mapped hex": f"[{IPv6Address((0xFFFF << 32) | number)}]",
        "nat64": f"[64:ff9b::{address}]",
        "6to4": f"[{IPv6Address((0x2002 << 112) | (number << 80))}]",
        "compatible": f"[::{address}]",
    }[form]
    if draw(st.booleans()) and "[" not in host:
        host = host.translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)})  # full-width digits
    dot = draw(st.sampled_from(["", "", "."])) if "[" not in host else ""
    user = draw(st.sampled_from(["", "", "example.org@", "a:b@"]))
    port = draw(st.sampled_from(["", ":80", ":443"]))
    return f"{draw(st.sampled_from(['http', 'HTTP', 'https']))}://{user}{host}{dot}{port}/"


@given(PRIVATE_4.flatmap(spelled))
def test_no_spelling_of_a_private_address_gets_through(url: str) -> None:
    with pytest.raises(RetinueError):
        reached(url, Guard(resolver=as_the_system_would))


@given(st.ip_addresses(v=6).filter(lambda address: why_not_public(address) != ""), st.booleans())
def test_no_spelling_of_a_private_ipv6_address_gets_through(address: IPv6Address, exploded: bool) -> None:
    with pytest.raises(AccessDenied):
        reached(f"http://[{address.exploded if exploded else address}]/", Guard())


@given(st.lists(st.ip_addresses(), min_size=1, max_size=4))
def test_a_name_is_reached_only_where_all_its_addresses_are_public(addresses: list[Address]) -> None:
    async def resolver(_host: str, _port: int) -> tuple[str, ...]:
        return tuple(map(str, addresses))

    guard = Guard(resolver=resolver)
    if all(why_not_public(address) == "" for address in addresses):
        assert reached("https://example.org/", guard) == tuple(addresses)
    else:
        with pytest.raises(AccessDenied, match=r"example\.org"):
            reached("https://example.org/", guard)


@pytest.mark.parametrize("port", [22, 25, 6379, 8080, 9200])
def test_only_the_ports_of_the_web_are_spoken_to(port: int) -> None:
    with pytest.raises(AccessDenied, match=str(port)):
        Guard().check(parse_url(f"http://example.org:{port}/"))
    Guard(ports=frozenset({port})).check(parse_url(f"http://example.org:{port}/"))


def test_localhost_is_refused_by_what_it_means() -> None:
    with pytest.raises(AccessDenied, match=r"'localhost' leads to.*loopback"):
        reached("http://localhost/", Guard())


def test_an_allowed_network_is_let_through_and_nothing_else() -> None:
    guard = Guard(allow=("127.0.0.1/32",))
    assert reached("http://127.0.0.1/", guard) == (ip_address("127.0.0.1"),)
    assert reached("http://[::ffff:127.0.0.1]/", guard) == (ip_address("::ffff:127.0.0.1"),)
    with pytest.raises(AccessDenied):
        reached("http://127.0.0.2/", guard)
    only = Guard(allow=("127.0.0.1/32",), only_allowed=True)
    assert reached("http://127.0.0.1/", only)
    with pytest.raises(AccessDenied, match="none of those that are named"):
        reached("http://1.1.1.1/", only)


def test_a_guard_for_an_address_that_the_user_has_set_lets_it_through() -> None:
    assert reached("http://10.0.0.1:8888/", ANYWHERE)
    assert reached("http://[fd00::1]:8888/", ANYWHERE)


def test_a_zone_does_not_hide_an_address() -> None:
    async def resolver(_host: str, _port: int) -> tuple[str, ...]:
        return ("fe80::1%2",)

    with pytest.raises(AccessDenied, match="link-local"):
        reached("http://example.org/", Guard(resolver=resolver))


@pytest.mark.parametrize("answer", [(), ("no address",)])
def test_a_name_without_an_address_is_told(answer: tuple[str, ...]) -> None:
    async def resolver(_host: str, _port: int) -> tuple[str, ...]:
        return answer

    with pytest.raises(NetworkError, match=r"example\.org"):
        reached("http://example.org/", Guard(resolver=resolver))


def test_a_resolver_that_fails_is_told() -> None:
    async def resolver(_host: str, _port: int) -> tuple[str, ...]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(NetworkError, match="not known"):
        reached("http://example.org/", Guard(resolver=resolver))


def test_the_system_resolves_localhost() -> None:
    found = asyncio.run(system_resolve("localhost", 80))
    assert all(ip_address(address).is_loopback for address in found)
