"""Which addresses are open to everybody: by the registries of special purposes, and by Python's own opinion."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, strategies as st

from retinue.tools.web.url import effective_address, why_not_public


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "this network"),
        ("10.1.2.3", "private"),
        ("100.100.100.200", "shared by a provider"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("168.63.129.16", "a metadata service"),
        ("169.254.169.254", "link-local, where metadata services are"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "reserved for protocols"),
        ("192.168.0.1", "private"),
        ("198.18.0.1", "for benchmarks"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "reserved"),
        ("::1", "loopback"),
        ("::7f00:1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "link-local, where metadata services are"),
        ("::ffff:0:127.0.0.1", "reserved"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::1", "reserved"),
        ("100::1", "reserved"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "reserved for protocols"),
        ("2001:db8::1", "for documentation"),
        ("2002:7f00:1::", "a tunnel"),
        ("2001:470:1f0b::5efe:10.0.0.1", "a tunnel"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("fec0::1", "reserved"),
        ("ff02::1", "multicast"),
    ],
)
def test_what_is_not_open_to_everybody_is_told(address: str, why: str) -> None:
    assert why_not_public(ip_address(address)) == why


@pytest.mark.parametrize("address", ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::1.1.1.1"])
def test_what_is_open_to_everybody_passes(address: str) -> None:
    assert why_not_public(ip_address(address)) == ""


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_nothing_is_let_through_that_python_calls_special(address: IPv4Address | IPv6Address) -> None:
    if why_not_public(address) == "":
        real = effective_address(address)
        assert real.is_global
        assert not real.is_multicast
        assert not real.is_reserved


@given(st.ip_addresses(v=4))
def test_an_address_carried_by_another_is_judged_as_itself(four: IPv4Address) -> None:
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert why_not_public(IPv6Address(prefix | int(four))) == why_not_public(four)
