"""A tool of an MCP server is used: the server is a program that this example writes beside itself."""

import asyncio
import sys
from pathlib import Path

from retinue.agents.remote.mcp_servers import StdioServer
from retinue.agents.remote.mcp_tools import connect_mcp
from retinue.tools.port import ToolContext

SERVER = '''
from mcp.server.mcpserver import MCPServer

server = MCPServer("sums")

@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b

server.run("stdio")
'''


async def main() -> None:
    """Start the server, use its tool, and end it."""
    servers = [StdioServer("sums", sys.executable, ("sums.py",)), StdioServer("missing", "no-such-program")]
    async with await connect_mcp(servers) as connected:
        (add,) = connected.tools
        print(add.spec.name, add.spec.effects)
        output = await add.use({"a": 2, "b": 3}, ToolContext())
        print(f"{output.origin}: {output.text}")
        print("absent:", connected.absent["mcp__missing"])


if __name__ == "__main__":
    Path("sums.py").write_text(SERVER, encoding="utf-8")
    asyncio.run(main())
