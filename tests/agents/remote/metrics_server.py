"""A stranger's agent of spec 004: the card and the two skills of the document, by a plain Starlette app on loopback."""

import json
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from retinue.servers.server import listen

PATH = "/agents/business/metrics"
SALES, CHURN, TASKS, CARD = f"{PATH}/year-to-end-sales", f"{PATH}/calculate-churn-q2-q3", f"{PATH}/tasks", "/card"

_YEAR = {
    "type": "object",
    "properties": {"year": {"type": "integer"}},
    "required": ["year"],
    "additionalProperties": False,
}


@dataclass
class Metrics:
    """What the agent answers, and what it was asked.

    Attributes:
        failures: By path, what is answered before the right answer: a status, or a whole response.
        asked: Method, path and body of every request, in order.
    """

    failures: dict[str, list[int | Response]] = field(default_factory=dict[str, list[int | Response]])
    asked: list[tuple[str, str, Any]] = field(default_factory=list[tuple[str, str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    card: dict[str, Any] = field(
        default_factory=lambda: {
            "name": "metrics",
            "description": "Answers questions about business metrics.",
            "version": "1.0",
            "endpoints": {"tasks": TASKS},
            "capabilities": [
                {
                    "name": "get_year_to_end_sales",
                    "description": "Sales from the start of a year to its end.",
                    "endpoint": SALES,
                    "method": "POST",
                    "input_schema": _YEAR,
                    "output_schema": {
                        "type": "object",
                        "properties": {"sales": {"type": "number"}},
                        "required": ["sales"],
                    },
                },
                {
                    "name": "calculate_churn_q2_q3",
                    "description": "Customers who left between the second and the third quarter.",
                    "endpoint": CHURN,
                    "method": "GET",
                    "input_schema": _YEAR,
                },
            ],
        }
    )

    @property
    def paths(self) -> Sequence[str]:
        """The paths that were asked for, in order, the card's as `CARD`."""
        return [CARD if "well-known" in path else path for _, path, _ in self.asked]

    async def answer(self, request: Request) -> Response:
        """Answer one request."""
        body = await request.body()
        path = request.url.path
        self.asked.append((request.method, path, json.loads(body) if body else dict(request.query_params)))
        self.headers.append(dict(request.headers))
        waiting = self.failures.get(path, [])
        if waiting:
            failure = waiting.pop(0)
            if isinstance(failure, Response):
                return failure
            return JSONResponse(
                {"error": {"code": "internal_error", "message": "No."}} if failure == 501 else {}, failure
            )
        if path.endswith("agent.json"):
            return JSONResponse(self.card)
        if path == SALES:
            return JSONResponse({"sales": 125000.0})
        if path == CHURN:
            return JSONResponse({"churned": 310})
        if path == TASKS and request.method == "POST":
            parts = [{"type": "text", "text": "Sales were 125,000."}]
            record = {
                "id": "t",
                "status": {"state": "completed"},
                "response_message": {"role": "agent", "parts": parts},
            }
            return JSONResponse(record)
        return JSONResponse({"detail": "Not Found"}, 404)


@contextmanager
def served(answer: Any) -> Generator[str]:
    """`answer` as a server on loopback, for every path and method; gives its URL."""
    methods = ["GET", "POST", "PUT", "DELETE"]
    app = Starlette(routes=[Route("/{path:path}", answer, methods=methods)])
    sock = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        server.force_exit = True
        thread.join(10)
        sock.close()
