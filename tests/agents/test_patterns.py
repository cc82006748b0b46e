"""Patterns of rules: paths, commands, addresses; nothing gets past one by being spelled in another way."""

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.grants import matches, normal_path, rule_covers
from tests.examples import examples


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a/b.py", True),
        ("./src/**", "src/b.py", True),
        ("/src/**", "src/b.py", True),
        ("src/*", "src/b.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**/*.py", "src/a/c/b.py", True),
        ("src/**", "src/../secrets/key", False),
        ("src/**", "../src/a", False),
        ("**", "a/b", True),
        ("**", "../b", False),
        ("**", "/etc/passwd", True),
        (".", "a/b", True),
        (".env", "deep/down/.env", True),
        ("*.env", "deep/prod.env", True),
        (".env", "deep/.env.example", False),
        ("secrets", "secrets/deep/key", True),
        ("secrets/", "secrets/key", True),
        ("docs/secrets", "secrets/key", False),
        ("//etc/**", "/etc/passwd", True),
        ("etc/**", "/etc/passwd", False),
        ("src\\a.py", "src/a.py", True),
        ("src", "srcs/a.py", False),
    ],
)
def test_a_path_fits_by_its_parts(pattern: str, path: str, fits: bool) -> None:
    assert matches(pattern, path, tool="read") is fits


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git log:*", "git log", True),
        ("git log:*", "git log --oneline", True),
        ("git log:*", "git logs", False),
        ("git log:*", "git 'log;rm'", False),
        ("git log", "git log -1", False),
        ("npm run test*", "npm run test:unit", True),
        ("git log:*", "", False),
    ],
)
def test_a_command_fits_by_how_it_begins(pattern: str, command: str, fits: bool) -> None:
    assert matches(pattern, command, tool="shell") is fits


@pytest.mark.parametrize(
    ("pattern", "address", "fits"),
    [
        ("domain:example.org", "https://example.org/a", True),
        ("domain:example.org", "https://docs.example.org./a", True),
        ("domain:*.example.org", "https://docs.example.org/a", True),
        ("domain:example.org", "https://example.org.evil.net/", False),
        ("domain:example.org", "https://notexample.org/", False),
        ("domain:example.org", "https://evil.net/?q=example.org", False),
        ("domain:example.org", "https://example.org@evil.net/", False),
        ("domain:example.org", "https://[broken", False),
        ("domain:", "https://example.org/", False),
        ("https://example.org/*", "https://example.org/a/b", True),
    ],
)
def test_an_address_fits_by_its_host(pattern: str, address: str, fits: bool) -> None:
    assert matches(pattern, address, tool="web_fetch") is fits


def test_a_rule_about_reading_speaks_of_searching_too_when_it_is_meant_widely() -> None:
    assert rule_covers("read", "grep", widely=True)
    assert not rule_covers("read", "grep", widely=False)
    assert rule_covers("edit", "write", widely=True)
    assert rule_covers("mcp__github__*", "mcp__github__list", widely=False)
    assert not rule_covers("read", "web_fetch", widely=True)


@settings(max_examples=examples(100))
@given(st.text(alphabet="a*./\\?[]", max_size=60), st.text(alphabet="ab./\\", max_size=60))
def test_no_pattern_is_too_much(pattern: str, path: str) -> None:
    assert matches(pattern, path, tool="read") in {True, False}
    assert matches(pattern, path, tool="shell") in {True, False}


@given(st.lists(st.sampled_from(["a", "b", "..", ".", ""]), max_size=12))
def test_a_normal_path_goes_up_only_at_its_beginning(parts: list[str]) -> None:
    normal = normal_path("/".join(parts)).lstrip("/").split("/")
    ups = [part == ".." for part in normal]
    assert ups == sorted(ups, reverse=True)


def test_a_pattern_full_of_stars_takes_no_time() -> None:
    assert not matches("/".join(["**", "a"] * 40), "/".join(["a"] * 30 + ["b"]), tool="read")
