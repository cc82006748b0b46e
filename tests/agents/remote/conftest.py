"""An MCP server on loopback that speaks streamable HTTP and wants a key."""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
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


@pytest.fixture
def echoing() -> Iterator[str]:
    """The URL of a server that refuses, and quotes the headers it was sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
            error = {"code": -5, "message": said}
            body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()
