"""A provider on loopback that answers from a script, so that the real SDKs can be driven: over sockets, in real bytes.

It judges nothing: what was asked is kept for the test to look at.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

from retinue.contract.json import dumps, loads
from tests.llm.wire.formats import FORMATS, Format
from tests.llm.wire.script import Line, Mishap, Refusal, Reply, Script, in_order

__all__ = ["Asked", "WireServer"]

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in; names of headers in small letters."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


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
        form = FORMATS.get(self.path)
        if form is None:
            self._send(404, "text/plain", b"there is nothing here")
            return
        line = self._wire.take(Asked(self.path, headers, body))
        match line:
            case Refusal():
                extra = {"retry-after": line.retry_after} if line.retry_after else {}
                self._send(line.status, _JSON, dumps(form.error(line)).encode(), extra)
            case Mishap(kind="silent"):
                self._wire.pause()
                self.close_connection = True
            case Reply() | Mishap() if body.get("stream"):
                self._stream(form, line, body)
            case Reply():
                self._send(200, _JSON, dumps(form.body(line, body), max_bytes=2**26).encode())
            case Mishap():
                self._fail(form, line, body)

    def _fail(self, form: Format, line: Mishap, body: dict[str, Any]) -> None:
        """A whole answer that goes wrong."""
        whole = dumps(form.body(line.reply, body)).encode()
        match line.kind:
            case "cut" | "ended":
                self._send(200, _JSON, whole[: len(whole) // 2], {"content-length": str(len(whole))})
                self.close_connection = True
            case "garbled":
                self._send(200, _JSON, b'{"id": "x", "choices": [{]')
            case "foreign":
                self._send(200, _JSON, dumps(form.foreign()).encode())
            case "empty":
                self._send(200, _JSON, dumps(form.empty(body)).encode())
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

    def _stream(self, form: Format, line: Reply | Mishap, body: dict[str, Any]) -> None:
        """An answer in events, in chunks of HTTP; one that is cut lacks the last chunk."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in self._events(form, line, body):
            data = event.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()
        if isinstance(line, Mishap) and line.kind == "cut":
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _events(self, form: Format, line: Reply | Mishap, body: dict[str, Any]) -> Iterator[str]:
        if isinstance(line, Reply):
            yield from form.events(line, body)
            return
        whole = list(form.events(line.reply, body))
        match line.kind:
            case "cut" | "ended":
                yield from whole[:4]
            case "garbled":
                yield from (*whole[:2], 'event: message\ndata: {"id": [}\n\n')
            case "foreign":
                yield f"data: {dumps(form.foreign())}\n\n"
            case "empty":
                yield from form.events(Reply(), body)
            case "late":
                yield from (*whole[:4], form.late_error(Refusal(529, "Overloaded", kind="overloaded_error")))
            case "slow":
                for event in whole:
                    self._wire.pause(line.pause_s)
                    yield event
            case "silent":
                raise AssertionError(line)
