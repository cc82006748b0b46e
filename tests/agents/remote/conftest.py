"""An MCP server on loopback that speaks streamable HTTP and wants a key."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from retinue.agents.remote.mcp_servers import HttpServer


class HttpFixture:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"

    def server(self, token: str) -> HttpServer:
        return HttpServer("web", self.url, {"Authorization": f"Bearer {token}"})


@pytest.fixture(scope="module")
def http_server() -> Iterator[HttpFixture]:
    uvicorn = pytest.importorskip("uvicorn")
    from mcp.server.mcpserver import MCPServer

    mcp = MCPServer("web", log_level="CRITICAL")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @mcp.tool()
    def flood() -> str:
        """Say too much."""
        return "x" * 20_000_000

    inner = mcp.streamable_http_app(json_response=True)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and headers.get(b"authorization") != b"Bearer sesame":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await inner(scope, receive, send)

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield HttpFixture(listening.getsockname()[1])
    server.should_exit = True
    thread.join(10)
    listening.close()
