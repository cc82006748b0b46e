"""The client of a2a-sdk 0.3."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, Task, TaskIdParams, TaskQueryParams, TextPart
from a2a.utils import get_artifact_text, get_message_text
from deeds import QUESTION, WORDS, expect, judge

AT_WORK = ("submitted", "working")


@asynccontextmanager
async def client_of(address: str, *, streaming: bool = False, polling: bool = False) -> AsyncGenerator[Client]:
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        card = await A2ACardResolver(http, address).get_agent_card()
        yield ClientFactory(ClientConfig(streaming=streaming, polling=polling, httpx_client=http)).create(card)


def message(text: str, task: Task | None = None) -> Message:
    ids = {} if task is None else {"task_id": task.id, "context_id": task.context_id}
    return Message(role=Role.user, parts=[Part(root=TextPart(text=text))], message_id=str(uuid4()), **ids)


async def ask(client: Client, text: str, task: Task | None = None) -> Task:
    """What a message has come to, or what is asked; a server that answers before that is asked again."""
    (answer,) = [each async for each in client.send_message(message(text, task))]
    task = answer[0]
    while task.status.state.value in AT_WORK:
        await asyncio.sleep(0.05)
        task = await client.get_task(TaskQueryParams(id=task.id))
    return task


def text_of(task: Task) -> str:
    said = [get_message_text(task.status.message)] if task.status.message else []
    return " ".join([*said, *map(get_artifact_text, task.artifacts or [])])


async def call(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "echo hello")
        expect(task.status.state.value, "completed")
        expect(text_of(task), "hello")


async def stream(address: str) -> None:
    async with client_of(address, streaming=True) as client:
        came: list[Any] = [each async for each in client.send_message(message("count"))]
        expect(came[-1][0].status.state.value, "completed")
        if len(came) < 4:
            raise AssertionError(f"{len(came)} events")
        expect(came, WORDS[-1])


async def question(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "ask")
        expect(task.status.state.value, "input-required")
        expect(task, QUESTION)
        task = await ask(client, "blue", task)
        expect(task.status.state.value, "completed")
        expect(text_of(task), "blue")


async def cancel(address: str) -> None:
    async with client_of(address, polling=True) as client:
        (answer,) = [each async for each in client.send_message(message("sleep"))]
        task = await client.cancel_task(TaskIdParams(id=answer[0].id))
        while task.status.state.value in AT_WORK:
            await asyncio.sleep(0.05)
            task = await client.get_task(TaskQueryParams(id=task.id))
        expect(task.status.state.value, "canceled")


if __name__ == "__main__":
    judge("a2a-sdk", call=call, stream=stream, question=question, cancel=cancel)
