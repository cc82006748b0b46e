"""The client of a2a-sdk 1."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types import CancelTaskRequest, GetTaskRequest, Role, SendMessageRequest, StreamResponse, Task, TaskState
from deeds import QUESTION, WORDS, expect, judge

AT_WORK = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)


@asynccontextmanager
async def client_of(address: str, *, streaming: bool = False, polling: bool = False) -> AsyncGenerator[Client]:
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        yield await create_client(address, ClientConfig(streaming=streaming, polling=polling, httpx_client=http))


def request(text: str, task: Task | None = None) -> SendMessageRequest:
    ids = {} if task is None else {"task_id": task.id, "context_id": task.context_id}
    message = new_text_message(text, role=Role.ROLE_USER, **ids)
    message.message_id = str(uuid4())
    return SendMessageRequest(message=message)


async def ask(client: Client, text: str, task: Task | None = None) -> Task:
    """What a message has come to, or what is asked; a server that answers before that is asked again."""
    (answer,) = [each async for each in client.send_message(request(text, task))]
    task = answer.task
    while task.status.state in AT_WORK:
        await asyncio.sleep(0.05)
        task = await client.get_task(GetTaskRequest(id=task.id))
    return task


def text_of(task: Task) -> str:
    return " ".join([get_message_text(task.status.message), *map(get_artifact_text, task.artifacts)])


async def call(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "echo hello")
        expect(TaskState.Name(task.status.state), "COMPLETED")
        expect(text_of(task), "hello")


async def stream(address: str) -> None:
    async with client_of(address, streaming=True) as client:
        came: list[StreamResponse] = [each async for each in client.send_message(request("count"))]
        expect([TaskState.Name(each.status_update.status.state) for each in came][-1], "COMPLETED")
        if len(came) < 4:
            raise AssertionError(f"{len(came)} events")
        expect(came, WORDS[-1])


async def question(address: str) -> None:
    async with client_of(address) as client:
        task = await ask(client, "ask")
        expect(TaskState.Name(task.status.state), "INPUT_REQUIRED")
        expect(task, QUESTION)
        task = await ask(client, "blue", task)
        expect(TaskState.Name(task.status.state), "COMPLETED")
        expect(text_of(task), "blue")


async def cancel(address: str) -> None:
    async with client_of(address, polling=True) as client:
        (answer,) = [each async for each in client.send_message(request("sleep"))]
        task = await client.cancel_task(CancelTaskRequest(id=answer.task.id))
        while task.status.state in AT_WORK:
            await asyncio.sleep(0.05)
            task = await client.get_task(GetTaskRequest(id=task.id))
        expect(TaskState.Name(task.status.state), "CANCELED")


if __name__ == "__main__":
    judge("a2a-sdk", call=call, stream=stream, question=question, cancel=cancel)
