"""A small server of the SDK of MCP, over streamable HTTP at `/mcp`, or over stdio without a port."""

import sys

import anyio
import deeds
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("stranger")


class Color(BaseModel):
    """What is asked for."""

    color: str


@server.tool()
async def echo(text: str) -> str:
    """Gives a text back."""
    return text


@server.tool()
async def count(last: int, context: Context) -> list[int]:
    """Counts, and tells each number as progress."""
    for number in range(1, last + 1):
        await context.report_progress(number, last, f"at {number}")
    return list(range(1, last + 1))


@server.tool()
async def ask(context: Context) -> str:
    """Asks for a color."""
    answer = await context.elicit(deeds.QUESTION, Color)
    return f"You said {answer.data.color}" if answer.action == "accept" else "You said nothing"


@server.tool()
async def sleep(seconds: float) -> str:
    """Sleeps."""
    await anyio.sleep(seconds)
    return "awake"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
