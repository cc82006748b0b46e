"""A provider on loopback that answers from a script, so that the real SDKs can be driven: over sockets, in real bytes.

It judges nothing: what was asked is kept for the test to look at.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

from retinue.contract.json import dumps, loads
from tests.llm.wire.formats import Format, format_of
from tests.llm.wire.script import Asked, Line, Mishap, Refusal, Reply, Script, in_order

__all__ = ["WireServer"]

_JSON = "application/json"


class WireServer:
    """Answers on a free port of 127.0.0.1 for as long as it is entered.

    Args:
        script: Lines in order, or a function of the request's body.

    Attributes:
        asked: Every request so far.
        was_asked: Set by the first of them.
    """

    def __init__(self, script: Script) -> None:
        self.asked: list[Asked] = []
        self.was_asked = threading.Event()
        self._next = script if callable(script) else in_order(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.wire = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, asked: Asked) -> Line:
        """Keep `asked` and give the line for it."""
        with self._lock:
            self.asked.append(asked)
            self.was_asked.set()
            return self._next(asked.body)

    def pause(self, seconds: float | None = None) -> None:
        """Wait, at most until the server is closed."""
        self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 256
    wire: WireServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no matter of ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    @property
    def _wire(self) -> WireServer:
        return cast("_Server", self.server).wire

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Nothing is logged."""

    def do_POST(self) -> None:
        """Answer the next line of the script."""
        body = cast("dict[str, Any]", loads(self.rfile.read(int(self.headers["content-length"])), max_bytes=2**26))
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.path, headers, body)
        form = format_of(self.path)
        if form is None:
            self._send(404, "text/plain", b"there is nothing here")
            return
        line = self._wire.take(asked)
        match line:
            case Refusal():
                self._send(line.status, _JSON, dumps(form.error(line)).encode(), form.error_headers(line))
            case Mishap(kind="silent"):
                self._wire.pause()
                self.close_connection = True
            case Reply() | Mishap() if form.is_streamed(asked):
                self._stream(form, line, asked)
            case Reply():
                self._send(200, _JSON, dumps(form.body(line, asked), max_bytes=2**26).encode())
            case Mishap():
                self._fail(form, line, asked)

    def _fail(self, form: Format, line: Mishap, asked: Asked) -> None:
        """A whole answer that goes wrong."""
        whole = dumps(form.body(line.reply, asked)).encode()
        match line.kind:
            case "cut" | "ended":
                self._send(200, _JSON, whole[: len(whole) // 2], {"content-length": str(len(whole))})
                self.close_connection = True
            case "garbled":
                self._send(200, _JSON, b'{"id": "x", "choices": [{]')
            case "foreign":
                self._send(200, _JSON, dumps(form.foreign()).encode())
            case "empty":
                self._send(200, _JSON, dumps(form.empty(asked)).encode())
            case "late":
                self._send(500, _JSON, dumps(form.error(Refusal(500, "too late"))).encode())
            case "slow":
                self._wire.pause(line.pause_s)
                self._send(200, _JSON, whole)
            case "silent":
                raise AssertionError(line)

    def _send(self, status: int, kind: str, body: bytes, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {"content-type": kind, "content-length": str(len(body))} | (extra or {})
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, form: Format, line: Reply | Mishap, asked: Asked) -> None:
        """An answer in events, in chunks of HTTP; one that is cut lacks the last chunk."""
        self.send_response(200)
        self.send_header("content-type", form.stream_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for data in self._events(form, line, asked):
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        if isinstance(line, Mishap) and line.kind == "cut":
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _events(self, form: Format, line: Reply | Mishap, asked: Asked) -> Iterator[bytes]:
        if isinstance(line, Reply):
            yield from form.events(line, asked)
            return
        whole = list(form.events(line.reply, asked))
        match line.kind:
            case "cut" | "ended":
                yield from whole[: len(whole) // 2]
            case "garbled":
                yield from (*whole[:2], form.garbled)
            case "foreign":
                yield form.foreign_event()
            case "empty":
                yield from form.events(Reply(), asked)
            case "late":
                yield from (*whole[: len(whole) // 2], form.late_error(Refusal(529, "Overloaded")))
            case "slow":
                for event in whole:
                    self._wire.pause(line.pause_s)
                    yield event
            case "silent":
                raise AssertionError(line)
