"""What a call is about: every path of it, the words that will be run, an address; never nothing."""

from pathlib import PurePath

import pytest
from hypothesis import given, strategies as st

from retinue.agents.prompted.about import shown_call, tellings
from retinue.contract.model import JsonMapping


@pytest.mark.parametrize(
    ("tool", "arguments", "about"),
    [
        ("read", {"path": "src/../a.txt"}, ("a.txt",)),
        ("read", {"path": "/shop/a.txt"}, ("a.txt",)),
        ("read", {"path": "/etc/passwd"}, ("/etc/passwd",)),
        ("read", {"path": "../a"}, ("../a",)),
        ("grep", {"pattern": "x"}, (".",)),
        ("grep", {"pattern": "x", "files": "src/*.py"}, ("src/*.py",)),
        ("glob", {"pattern": "**/*.md"}, ("**/*.md",)),
        ("lsp", {"operation": "hover", "file_path": "a.py"}, ("a.py",)),
        ("shell", {"command": "git  log 'a b'"}, ("git log 'a b'",)),
        ("shell", {"command": ["git", "log; rm"]}, ("git 'log; rm'",)),
        ("shell", {"command": "git log | sh"}, ("",)),
        ("shell", {"command": 7}, ("",)),
        ("web_fetch", {"url": "https://x.org/a"}, ("https://x.org/a",)),
        ("mcp__s__move", {"from": "a", "to": "/shop/b", "paths": ["c", 1]}, ("c", "a", "b")),
        ("mcp__s__list", {"n": 1}, ('{"n":1}',)),
        ("mcp__s__list", {"n": float("nan")}, ("",)),
    ],
)
def test_a_call_tells_what_it_is_about(tool: str, arguments: JsonMapping, about: tuple[str, ...]) -> None:
    assert tellings(tool, arguments, root=PurePath("/shop")) == about


@given(st.text(max_size=400), st.text(max_size=20))
def test_a_call_is_shown_in_one_short_line(about: str, pattern: str) -> None:
    shown = shown_call((about,), {"pattern": pattern})
    assert len(shown) <= 300
    assert "\n" not in shown


def test_a_search_is_shown_with_what_it_looks_for() -> None:
    assert shown_call((".",), {"pattern": "TODO"}) == "TODO"
    assert shown_call(("src",), {"pattern": "TODO"}) == "TODO, src"
