"""Clients of A2A: the official one, in both bindings and both versions, and plain requests."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio
import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from tests.servers.parts import Server

MODERN = {"A2A-Version": "1.0"}
URN = "urn:retinue:definition:1"
WAYS = [(binding, version) for binding in ("JSONRPC", "HTTP+JSON") for version in ("1.0", "0.3")]
WAYS.append(("GRPC", "1.0"))


async def client_of(
    server: Server, way: tuple[str, str] = WAYS[0], *, at: str = "", http: httpx.AsyncClient | None = None, **more: Any
) -> Client:
    """The official client, by the card that stands at `at`."""
    binding, version = way
    http = http or server.client
    card: Any = (await http.get(f"{at}/.well-known/agent-card.json")).json()
    interfaces = [
        each
        for each in card["supportedInterfaces"]
        if (each["protocolBinding"], each["protocolVersion"]) == (binding, version)
    ]
    modern = {key: card[key] for key in ("name", "description", "version", "capabilities", "skills")}
    proto = ParseDict({**modern, "supportedInterfaces": interfaces}, pb.AgentCard(), ignore_unknown_fields=True)
    if binding == "GRPC":
        more["grpc_channel_factory"] = grpc.aio.insecure_channel
    config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], **more)
    return ClientFactory(config).create(proto)


def request(text: str | None = None, data: Any = None, *, block: Any = None, **more: Any) -> dict[str, Any]:
    """A request as JSON: a message with one part or two."""
    parts: list[dict[str, Any]] = [] if text is None else [{"text": text}]
    parts += [] if data is None else [{"data": data}]
    body: dict[str, Any] = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": parts, **more}}
    return {**body, "metadata": {URN: block}} if block else body


def proto_request(*words: Any, **more: Any) -> pb.SendMessageRequest:
    """The same for the official client."""
    return ParseDict(request(*words, **more), pb.SendMessageRequest())


async def send(client: Client, wish: pb.SendMessageRequest) -> list[dict[str, Any]]:
    """What comes back for a message, as JSON: one answer, or all of a stream."""
    return [MessageToDict(each) async for each in client.send_message(wish)]


async def call(
    server: Server,
    method: str,
    params: Any,
    *,
    at: str = "/a2a",
    http: httpx.AsyncClient | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    """The answer to one request in JSON-RPC."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await (http or server.client).post(at, json=body, headers=MODERN if headers is None else headers)
    return answer.json()


@asynccontextmanager
async def webhook(*, status: str = "200 OK") -> AsyncGenerator[tuple[str, list[tuple[str, bytes]]]]:
    """An address that answers updates with `status`, and what came: head and body of each."""
    came: list[tuple[str, bytes]] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")
        )
        came.append((head, await reader.readexactly(length)))
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(take, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/hook", came
