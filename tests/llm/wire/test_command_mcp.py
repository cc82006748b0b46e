"""The command line with MCP servers: the folder's own once it is trusted, and the user's."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.llm.wire.doors import KEY
from tests.llm.wire.script import Call, Reply
from tests.llm.wire.server import WireServer
from tests.llm.wire.test_command import retinue

pytestmark = pytest.mark.slow

ADDER = """\
---
name: adder
description: Adds numbers. Use when numbers are to be added. Returns the sum.
tools: mcp__sums
---
You add numbers with your tool.
"""
SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

server.run("stdio")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "adder.md").write_text(ADDER, encoding="utf-8")
    (tmp_path / "sums.py").write_text(SERVER, encoding="utf-8")
    (tmp_path / "own" / "config").mkdir(parents=True)
    return tmp_path


def servers() -> str:
    return json.dumps({"mcpServers": {"sums": {"command": sys.executable, "args": ["sums.py"]}}})


def settings(server: WireServer, *, more: str = "") -> str:
    return (
        f'{more}\n[models]\ndefault = "openai:some-model"\n[models.base_url]\nopenai = "{server.url}/v1"\n'
        '[models.key_variable]\nopenai = "SHOP_KEY"\n[permissions]\nallow = ["mcp__sums__add"]\n'
    )


def asked(folder: Path, more: str = "") -> tuple[list[str], str, list[str]]:
    """What its tools brought, what is told beside it, and the tools that the model was offered."""
    with WireServer([Reply(calls=(Call("mcp__sums__add", {"a": 2, "b": 3}),)), Reply("Done.")]) as server:
        (folder / "own" / "config" / "config.toml").write_text(settings(server, more=more), encoding="utf-8")
        done = retinue(folder, "ask", "adder", "Add 2 and 3", "--json", SHOP_KEY=KEY)
    listed: list[Any] = server.asked[0].body.get("tools") or []
    offered: list[str] = [tool["function"]["name"] for tool in listed]
    traces = json.loads(done.stdout).get("traces", [])
    return [trace["output"] for trace in traces], done.stderr, offered


def test_the_folders_own_servers_are_used_only_when_it_is_trusted(folder: Path) -> None:
    (folder / ".mcp.json").write_text(servers(), encoding="utf-8")
    brought, told, offered = asked(folder)
    assert (brought, offered) == ([], [])
    assert "MCP servers are not used" in told
    assert retinue(folder, "trust", "--yes").returncode == 0
    brought, told, offered = asked(folder)
    assert (brought, offered) == (["5"], ["mcp__sums__add"])
    assert "left out" not in told


def test_the_users_own_servers_need_no_trust(folder: Path) -> None:
    (folder / "own" / "mine.json").write_text(servers(), encoding="utf-8")
    brought, told, offered = asked(folder, more=f'[mcp]\nfile = "{folder / "own" / "mine.json"}"')
    assert (brought, offered) == (["5"], ["mcp__sums__add"]), told
