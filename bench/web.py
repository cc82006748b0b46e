"""Pages fetched from a server on loopback, and memories added and found, per second."""

import asyncio
import random
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.table import Row, median_of
from retinue.tools.memory import Memory, MemoryPlace, Provenance, memory_tools
from retinue.tools.port import ToolContext
from retinue.tools.web.client import WebClient
from retinue.tools.web.fetch import WebFetch
from retinue.tools.web.url import Guard

PAGES = 100
ENTRIES = 10_000
SEARCHES = 200
VOCABULARY = 3_000
_PARAGRAPH = "<p>There was a <a href='/lake'>lake</a> in a wood, and it was deep and cold and clear all the year.</p>"
_PAGE = f"<html><head><title>Lakes</title></head><body><article>{_PARAGRAPH * 60}</article></body></html>".encode()
_TEXT = b"The lake is deep and cold. " * 250


def measure() -> list[Row]:
    return [*_fetches(), *_memories()]


def _fetches() -> list[Row]:
    with _server() as port:
        html = median_of(3, lambda: asyncio.run(_fetch_all(f"http://127.0.0.1:{port}/html", at_once=1)))
        text = median_of(3, lambda: asyncio.run(_fetch_all(f"http://127.0.0.1:{port}/text", at_once=1)))
        many = median_of(3, lambda: asyncio.run(_fetch_all(f"http://127.0.0.1:{port}/text", at_once=20)))
    size = f"{len(_PAGE) / 1024:.0f} KiB"
    return [
        Row("web_fetch, HTML to text, one after another", PAGES / html, "pages/s", note=size),
        Row("web_fetch, plain text, one after another", PAGES / text, "pages/s", note="a connection each"),
        Row("web_fetch, plain text, 20 at once", PAGES / many, "pages/s", note="server in the same process"),
    ]


async def _fetch_all(url: str, *, at_once: int) -> float:
    tool = WebFetch(WebClient(Guard(("127.0.0.0/8",), None), proxy="ignore"))
    begun = time.perf_counter()
    for first in range(0, PAGES, at_once):
        uses = (tool.use({"url": f"{url}?{number}"}, ToolContext()) for number in range(first, first + at_once))
        await asyncio.gather(*uses)
    return time.perf_counter() - begun


def _memories() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        with Memory(state, "global") as memory:
            added = _timed(lambda: [memory.add(_sentence(number), Provenance("bench")) for number in range(ENTRIES)])
            found = median_of(3, lambda: _timed(lambda: [memory.search(_question(n)) for n in range(SEARCHES)]))
        recalled = median_of(3, lambda: asyncio.run(_recall_all(state)))
    return [
        Row("memories added, to 10,000", ENTRIES / added, "per s", note="each its own transaction"),
        Row("memories searched, of 10,000", SEARCHES / found, "per s", note="three words each, of which 40 % have one"),
        Row("the tool `recall`, of 10,000", SEARCHES / recalled, "per s", note="opens and closes the file"),
    ]


async def _recall_all(state: Path) -> float:
    recall = {tool.spec.name: tool for tool in memory_tools(MemoryPlace(state))}["recall"]
    begun = time.perf_counter()
    for number in range(SEARCHES):
        await recall.use({"query": _question(number)}, ToolContext())
    return time.perf_counter() - begun


def _sentence(number: int) -> str:
    choose = random.Random(number)
    return f"Fact {number}: " + " ".join(_word(choose) for _ in range(15))


def _question(number: int) -> str:
    choose = random.Random(-1 - number)
    return " ".join(_word(choose) for _ in range(3))


def _word(choose: random.Random) -> str:
    """A word as often as in a language: a few in every sentence, most of them rarely."""
    return f"word{int(VOCABULARY ** choose.random())}"


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@contextmanager
def _server() -> Generator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, kind = (_PAGE, "text/html") if self.path.startswith("/html") else (_TEXT, "text/plain")
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
            pass

    class Patient(ThreadingHTTPServer):
        request_queue_size = 128

    server = Patient(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
