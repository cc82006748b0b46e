"""MCP servers to try ours against: an honest one made with the SDK, and one by hand that does as it is told."""

import sys
from pathlib import Path

from retinue.agents.remote.mcp_servers import StdioServer

__all__ = ["HONEST", "honest", "raw"]

HONEST = '''
import asyncio, os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("honest", log_level="CRITICAL")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

@server.tool()
def variable(name: str) -> str:
    return os.environ.get(name, "not set")

@server.tool()
def where() -> str:
    return os.getcwd()

@server.tool()
def fail() -> str:
    raise ValueError("no lake here")

@server.tool()
async def hang() -> str:
    await asyncio.sleep(600)
    return "late"

@server.tool()
def die() -> str:
    print("I am dying", file=sys.stderr, flush=True)
    os._exit(3)
'''

_RAW = """
import json, os, subprocess, sys, time

TOOLS = json.loads(sys.argv[1])

def say(message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

def answer(asked, result):
    say({"jsonrpc": "2.0", "id": asked["id"], "result": result})

for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        answer(asked, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}})
    elif method == "tools/list":
        cursor = (asked.get("params") or {}).get("cursor")
        answer(asked, {"tools": TOOLS, **({"nextCursor": "more"} if len(sys.argv) > 2 and sys.argv[2] == "endless" else {})})
    elif method == "tools/call":
        exec((asked["params"].get("arguments") or {}).get("do", "answer(asked, {'content': []})"))
    elif "id" in asked:
        say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "unknown"}})
"""


def honest(folder: Path, name: str = "honest", **env: str) -> StdioServer:
    """A server made with the SDK."""
    script = folder / "honest.py"
    script.write_text(HONEST + '\nserver.run("stdio")\n')
    return StdioServer(name, sys.executable, (str(script),), env, str(folder))


def raw(folder: Path, tools: str, *words: str, name: str = "raw") -> StdioServer:
    """A server by hand, which lists `tools` (JSON) and runs the Python that a call's `do` holds."""
    script = folder / "raw.py"
    script.write_text(_RAW)
    return StdioServer(name, sys.executable, ("-S", str(script), tools, *words), {}, str(folder))
