"""A real HTTP server on loopback that answers from a script, and remembers who asked for what."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from retinue.tools.web.client import WebClient
from retinue.tools.web.url import Guard

__all__ = ["LOOPBACK", "Asked", "Reply", "Server", "client", "html"]

LOOPBACK = Guard(allow=("127.0.0.0/8",), ports=None)
"""What a test lets through, and no model ever could."""


def client(guard: Guard = LOOPBACK) -> WebClient:
    return WebClient(guard, proxy="ignore")


@dataclass
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    peer: tuple[str, int] = ("", 0)


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    send: Callable[[Any], object] | None = None
    """Writes what it likes to the socket's file, instead of a proper answer."""


def html(text: str, **headers: str) -> Reply:
    said = {
        "Content-Type": "text/html; charset=utf-8",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return Reply(text.encode(), headers=said)


class Server:
    """Answers each path by its reply, or by what a function makes of the request; anything else is 404."""

    def __init__(self, replies: Mapping[str, Reply | Callable[[Asked], Reply]]) -> None:
        self.replies = dict(replies)
        self.asked: list[Asked] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(length), self.client_address)
                server.asked.append(asked)
                found = server.replies.get(self.path.partition("?")[0], Reply(b"nothing", 404))
                reply = found if isinstance(found, Reply) else found(asked)
                try:
                    if reply.send is not None:
                        reply.send(self.wfile)
                        self.close_connection = True
                        return
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(reply.body)))
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:  # whoever asked has left
                    self.close_connection = True

            do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return self.http.server_port

    def url(self, path: str = "/", *, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
        self._thread.join()
