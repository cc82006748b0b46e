"""A page is fetched from a server that this example starts, and what it says is remembered with where it is from."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from retinue.errors import AccessDenied
from retinue.tools.memory import MemoryPlace, Provenance, memory_tools
from retinue.tools.port import ToolContext
from retinue.tools.web.client import WebClient
from retinue.tools.web.fetch import WebFetch
from retinue.tools.web.url import Guard

PAGE = """
<html><body><article><p>The lake is 40 metres deep, says <a href="/chart">a chart</a>.</p></article></body></html>
"""


class Lakes(BaseHTTPRequestHandler):
    """A site with one page."""

    def do_GET(self) -> None:
        page = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its signature
        pass


async def main(url: str) -> None:
    """Fetch, remember, recall."""
    try:
        await WebFetch().use({"url": url}, ToolContext())
    except AccessDenied as error:
        print("refused: ", error.message)

    # Only the program can open the guard, never a model or a page.
    fetch = WebFetch(WebClient(Guard(allow=("127.0.0.0/8",), ports=None), proxy="ignore"))
    page = await fetch.use({"url": url}, ToolContext())
    print("origin:  ", page.origin.partition(":")[0])
    print("says:    ", page.text.partition(", says")[0])

    remember, recall, _ = memory_tools(MemoryPlace(Path("state"), source=Provenance("example")))
    await remember.use({"text": "The lake is 40 metres deep.", "origin": "page /lake"}, ToolContext())
    print(
        "recalled:", (await recall.use({"query": "how deep is the lake"}, ToolContext())).text.splitlines()[1].strip()
    )


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lakes)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    asyncio.run(main(f"http://127.0.0.1:{server.server_port}/lake"))
    server.shutdown()
    server.server_close()
