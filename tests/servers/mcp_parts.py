"""Agents for the door of MCP, and the official client in both revisions."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent, skill
from retinue.contract.event import Progress
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Artifact
from retinue.contract.task import Question
from retinue.errors import AccessDenied
from tests.servers.parts import AGENTS, Server

Mode = Literal["legacy", "2026-07-28"]
MODES: tuple[Mode, ...] = ("legacy", "2026-07-28")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
    "789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


@agent(effects=[])
async def counter(last: int, run: RunContext) -> list[int]:
    """Counts. Use to count. Returns all numbers."""
    for number in range(last + 1):
        run.emit(Progress("count", f"at {number}", done=number, total=last))
    return list(range(1, last + 1))


@agent(effects=["read", "write"])
async def painter(run: RunContext) -> Reply:
    """Paints. Use for pictures. Returns files."""
    files = {"a.png": PIXEL, "b.wav": b"RIFF", "c.txt": b"words", "d.bin": b"\xff\x00"}
    media_types = {"a.png": "image/png", "b.wav": "audio/wav", "c.txt": "text/plain", "d.bin": None}
    for name, data in files.items():
        run.workspace.write_bytes(name, data)
    artifacts = tuple(Artifact(path=name, media_type=media_types[name]) for name in files)
    return Reply(text="Four files.", artifacts=artifacts)


@agent(effects=[])
async def chooser(run: RunContext) -> str:
    """Lets one choose. Use when there is a choice. Returns what was chosen."""
    answer = await run.ask(Question(id="color", text="Which color?", kind="choice", options=("red", "blue")))
    return f"chose {answer.value if answer else None}"


@agent(effects=[])
async def former(run: RunContext) -> str:
    """Asks with a form. Use to fill one in. Returns both fields."""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
    answer = await run.ask(Question(id="who", text="Who are you?", answer_schema=schema))
    return f"{answer.value['name']} is {answer.value['age']}" if answer else "nobody"


@agent(effects=[])
async def outage(what: str) -> str:
    """Is down. Use never. Returns nothing."""
    raise AccessDenied(f"{what} is closed.", hint="Come back later.")


@agent(effects=[], composes=True)
async def committee() -> Plan:
    """Lets another one ask. Use when in doubt. Returns the answer."""
    return Plan(goal="Ask.", nodes=(Delegation(id="n1", agent="asker", parameters={"topic": "snow"}),))


class Tortoise:
    """Takes its time."""

    @skill(effects=[], timeout_s=120)
    async def walk(self, seconds: float, run: RunContext) -> str:
        """Walks. Use to go far. Returns that it arrived."""
        await run.sleep(seconds)
        return "arrived"

    @skill(effects=[], timeout_s=120)
    async def ask_way(self, run: RunContext) -> str:
        """Asks for the way. Use when lost. Returns the way."""
        answer = await run.ask(Question(id="way", text="Which way?"))
        return f"went {answer.value if answer else None}"

    @skill(effects=[], timeout_s=120)
    async def stumble(self, badly: bool) -> str:
        """Stumbles. Use never. Returns nothing."""
        if badly:
            raise ValueError("hunter2")
        raise AccessDenied("No road.")


MCP_AGENTS = (*AGENTS, counter, painter, chooser, former, outage, committee, agent(Tortoise))


async def accept(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
    """A person who answers everything."""
    del context
    assert isinstance(params, types.ElicitRequestFormParams)
    content: dict[str, Any] = {}
    for name, field in params.requested_schema["properties"].items():
        content[name] = 41 if field["type"] == "integer" else field.get("enum", ["north"])[0]
    return types.ElicitResult(action="accept", content=content)


async def decline(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
    """A person who does not want to."""
    del context, params
    return types.ElicitResult(action="decline")


@asynccontextmanager
async def client_of(
    server: Server | str, mode: Mode, *, key: str = "", path: str = "/mcp", **options: Any
) -> AsyncGenerator[Client]:
    """The official client, connected to a server, or to one in another process by its address."""
    address = server if isinstance(server, str) else server.address
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http:
        transport = streamable_http_client(f"{address}{path}", http_client=http)
        async with Client(transport, mode=mode, cache=None, **options) as client:
            yield client


def text_of(result: types.CallToolResult) -> str:
    """The words of an answer."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))
