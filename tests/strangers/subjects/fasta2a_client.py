"""The client of fasta2a."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from deeds import QUESTION, WORDS, NoWord, expect, judge
from fasta2a.client import A2AClient
from fasta2a.schema import Message, agent_card_ta


@asynccontextmanager
async def client_of(address: str) -> AsyncGenerator[A2AClient]:
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        card = (await http.get(f"{address}/.well-known/agent-card.json")).content
        yield A2AClient(agent_card_ta.validate_json(card), http)


def message(text: str, task: Any = None) -> Message:
    ids = {} if task is None else {"task_id": task["id"], "context_id": task["context_id"]}
    return Message(role="user", parts=[{"text": text}], message_id=str(uuid4()), **ids)


async def ask(client: A2AClient, text: str, task: Any = None) -> Any:
    response = await client.send_message(message(text, task))
    if "error" in response:
        raise RuntimeError(str(response["error"]))
    task = response["result"]["task"]
    while task["status"]["state"] in {"submitted", "working"}:
        await asyncio.sleep(0.05)
        task = (await client.get_task(task["id"]))["result"]
    return task


async def call(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "echo hello")
        expect(task["status"]["state"], "completed")
        expect(json.dumps(task, default=str), "hello")


async def stream(address: str) -> None:
    async with client_of(address) as client:
        came = [each["result"] async for each in client.stream_message(message("count"))]
        expect(came[-1], "completed")
        if len(came) < 4:
            raise AssertionError(f"{len(came)} events")
        expect(came, WORDS[-1])


async def question(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "ask")
        expect(task["status"]["state"], "input-required")
        expect(task, QUESTION)
        task = await ask(client, "blue", task)
        expect(task["status"]["state"], "completed")
        expect(task, "blue")


async def cancel(address: str) -> None:
    raise NoWord("`A2AClient` has no method that cancels")


if __name__ == "__main__":
    judge("fasta2a", call=call, stream=stream, question=question, cancel=cancel)
