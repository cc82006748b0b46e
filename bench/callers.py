"""What a call of a remote agent costs its caller: processor time beside the bare clients, against the same servers."""

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import httpx
import uvicorn
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import ClientConfig
from a2a.client.client_factory import ClientFactory
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from mcp.client.client import Client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

import retinue
from bench.peers.environments import variables
from bench.servers import bare_mcp_app, square
from bench.table import Row
from retinue.dialects import agent_http
from retinue.servers.server import listen

CALLS = 50
TURNS = 15

Call: TypeAlias = Callable[[], Awaitable[object]]
Calls: TypeAlias = Callable[[str], AbstractAsyncContextManager[tuple[Call, Call]]]
"""From a URL to a call of ours, and the bare one."""


class SquareExecutor(AgentExecutor):
    """Answers a number in words with its square."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        number = int(context.get_user_input())
        await updater.add_artifact([ParseDict({"data": {"number": number * number}}, Part())])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def skill_app(url: str) -> ASGIApp:
    """A card of spec 004, and the route of its skill."""
    del url
    card = agent_http.render_card([square.definition]).text

    async def read(_: Request) -> Response:
        return Response(card, media_type="application/json")

    async def call(request: Request) -> Response:
        number = (await request.json())["number"]
        return JSONResponse({"number": number * number})

    return Starlette(routes=[
        Route("/.well-known/agent.json", read),
        Route("/agents/general/square/square", call, methods=["POST"]),
    ])  # fmt: skip


def a2a_app(url: str) -> ASGIApp:
    """The SDK's own handler, once with streams and once without."""
    routes: list[Mount] = []
    for name in ("streaming", "blocking"):
        card = AgentCard(
            name=name,
            description="Squares a number.",
            version="1.0.0",
            capabilities=AgentCapabilities(streaming=name == "streaming"),
            default_input_modes=["text/plain"],
            default_output_modes=["application/json"],
            supported_interfaces=[
                AgentInterface(url=f"{url}/{name}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
            ],
            skills=[AgentSkill(id="square", name="square", description="Squares a number.", tags=["square"])],
        )
        handler = DefaultRequestHandler(SquareExecutor(), InMemoryTaskStore(), card)
        routes.append(
            Mount(f"/{name}", routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/a2a")])
        )
    return Starlette(routes=routes)


def mcp_app(url: str) -> ASGIApp:
    """The SDK's own server."""
    del url
    return bare_mcp_app()


APPS: dict[str, Callable[[str], ASGIApp]] = {"skill": skill_app, "a2a": a2a_app, "mcp": mcp_app}


def serve(kind: str) -> None:
    """Serve one of the applications on a port of loopback, which is printed."""
    with listen("127.0.0.1", 0) as sock:
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        app = APPS[kind](url)
        print(url, flush=True)
        uvicorn.Server(uvicorn.Config(app, ws="none", log_config=None, access_log=False)).run(sockets=[sock])


@asynccontextmanager
async def skill_calls(url: str) -> AsyncGenerator[tuple[Call, Call]]:
    """A call by `retinue.connect`, and the same request by httpx."""
    async with retinue.connect(url) as remote, httpx.AsyncClient() as client:

        async def bare() -> object:
            response = await client.post(f"{url}/agents/general/square/square", json={"number": 7})
            return response.raise_for_status().json()

        yield lambda: _by_number(remote.agents[0]), bare


@asynccontextmanager
async def a2a_calls(url: str) -> AsyncGenerator[tuple[Call, Call]]:
    """A message by `retinue.connect`, and the same by the SDK's client."""
    async with retinue.connect(url) as remote, httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(streaming=card.capabilities.streaming, httpx_client=http)).create(card)
        agent = remote.agents[0]

        async def ours() -> object:
            return (await retinue.call(agent, "7")).data

        async def bare() -> object:
            message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="7")])
            artifacts = [
                artifact
                async for response in client.send_message(SendMessageRequest(message=message))
                for artifact in _artifacts(response)
            ]
            return MessageToDict(artifacts[0].parts[0].data)

        yield ours, bare


def _artifacts(response: StreamResponse) -> Sequence[Any]:
    return [response.artifact_update.artifact] if response.HasField("artifact_update") else response.task.artifacts


@asynccontextmanager
async def mcp_calls(url: str) -> AsyncGenerator[tuple[Call, Call]]:
    """A tool by `retinue.connect`, and the same by the SDK's client."""
    async with retinue.connect(f"{url}/mcp") as remote, Client(f"{url}/mcp") as client:

        async def bare() -> object:
            return (await client.call_tool("square", {"number": 7})).structured_content

        yield lambda: _by_number(remote.agents[0]), bare


async def _by_number(agent: Any) -> object:
    return (await retinue.call(agent, number=7)).data


KINDS: tuple[tuple[str, str, str, Calls, str, float], ...] = (
    ("a skill's route", "skill", "", skill_calls, "httpx", 1.5),
    ("A2A, `SendMessage`", "a2a", "/blocking", a2a_calls, "the a2a-sdk client", 1.3),
    ("A2A, a stream", "a2a", "/streaming", a2a_calls, "the a2a-sdk client", 1.3),
    ("an MCP tool", "mcp", "", mcp_calls, "the mcp client", 1.3),
)


def measure() -> Iterator[Row]:
    for name, app, place, calls, peer, goal in KINDS:
        command = [sys.executable, "-m", "bench.callers", app]
        with subprocess.Popen(command, env=variables(), stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            ours, bare = asyncio.run(_costs(f"{server.stdout.readline().strip()}{place}", calls))
            server.terminate()
        ratio = statistics.median(one / other for one, other in zip(ours, bare, strict=True))
        yield Row(f"callers: CPU of a call to {name}", statistics.median(ours) * 1e6, "µs")
        note = f"{statistics.median(bare) * 1e6:,.0f} µs; median of the turns"
        yield Row(f"callers: … over that of {peer}", ratio, "times", goal, note=note)


async def _costs(url: str, calls: Calls) -> tuple[list[float], list[float]]:
    """Seconds of CPU of this process for one call, ours and the bare one, in turns; the first turn does not count."""
    figures: tuple[list[float], list[float]] = ([], [])
    async with calls(url) as both:
        for _ in range(TURNS):
            for call, costs in zip(both, figures, strict=True):
                gc.collect()
                began = time.process_time()
                for _ in range(CALLS):
                    if await call() != {"number": 49}:
                        raise AssertionError
                costs.append((time.process_time() - began) / CALLS)
    return figures[0][1:], figures[1][1:]


if __name__ == "__main__":
    serve(sys.argv[1])
