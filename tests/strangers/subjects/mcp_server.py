"""A small server of the SDK of MCP, over streamable HTTP at `/mcp`, or over stdio without a port."""

import sys
from typing import Annotated

import anyio
import deeds
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("stranger")
canceled: list[float] = []


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


async def color() -> Elicit[Color]:
    return Elicit(deeds.QUESTION, Color)


@server.tool()
async def ask(answer: Annotated[Color, Resolve(color)]) -> str:
    """Asks for a color."""
    return f"You said {answer.color}"


@server.tool()
async def sleep(seconds: float) -> str:
    """Sleeps."""
    try:
        await anyio.sleep(seconds)
    except anyio.get_cancelled_exc_class():
        canceled.append(seconds)
        raise
    return "awake"


@server.tool()
async def count_canceled() -> int:
    """Tells how often it was woken too early."""
    return len(canceled)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
