"""A server of fasta2a with a worker of its own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import deeds
import served
from fasta2a import FastA2A, Skill, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.schema import Artifact, Message, TaskIdParams, TaskSendParams
from fasta2a.storage import InMemoryStorage


class Obedient(Worker[str]):
    """An answer to a question is a new task of the same context: this framework begins one for every message."""

    sleeping: dict[str, asyncio.Task[None]]

    async def run_task(self, params: TaskSendParams) -> None:
        task, context = params["id"], params["context_id"]
        word, _, rest = str(params["message"]["parts"][0]["text"]).partition(" ")
        await self.storage.update_task(task, "working")
        await self.publish_status(task, context, "working")
        if await self.storage.load_context(context):
            artifacts = self.build_artifacts([f"You said {word}"])
        elif word == "ask":
            await self.storage.update_context(context, "asked")
            message = Message(role="agent", parts=[{"text": deeds.QUESTION}], message_id=str(uuid4()))
            await self.storage.update_task(task, "input-required", new_messages=[message])
            return
        elif word == "sleep":  # the loop of a worker does one thing at a time, so nothing may wait in it
            self.sleeping[task] = asyncio.create_task(self.sleep(task))
            return
        elif word == "count":
            artifacts = self.build_artifacts(deeds.WORDS)
            for number, each in enumerate(deeds.WORDS):
                piece = Artifact(artifact_id=artifacts[0]["artifact_id"], parts=[{"text": each}])
                last = number == len(deeds.WORDS) - 1
                await self.publish_artifact(task, context, piece, append=number > 0, last_chunk=last)
        else:
            artifacts = self.build_artifacts([rest])
        await self.storage.update_task(task, "completed", new_artifacts=artifacts)

    async def sleep(self, task: str) -> None:
        await asyncio.sleep(deeds.SLEEP_S)
        await self.storage.update_task(task, "completed")

    async def cancel_task(self, params: TaskIdParams) -> None:
        if sleeping := self.sleeping.pop(params["id"], None):
            sleeping.cancel()
        await self.storage.update_task(params["id"], "canceled")

    def build_message_history(self, history: list[Message]) -> list[Any]:
        return history

    def build_artifacts(self, result: Any) -> list[Artifact]:
        return [Artifact(artifact_id=str(uuid4()), parts=[{"text": each} for each in result])]


storage, broker = InMemoryStorage[str](), InMemoryBroker()
worker = Obedient(broker=broker, storage=storage)
worker.sleeping = {}


@asynccontextmanager
async def lifespan(app: FastA2A) -> AsyncGenerator[None]:
    async with app.task_manager, worker.run():
        yield


skill = Skill(
    id="obey",
    name="obey",
    description=served.DESCRIPTION,
    tags=["test"],
    input_modes=["text/plain"],
    output_modes=["text/plain"],
)
app = FastA2A(
    storage=storage,
    broker=broker,
    name="stranger",
    url=served.ADDRESS,
    description=served.DESCRIPTION,
    skills=[skill],
    lifespan=lifespan,
)

if __name__ == "__main__":
    served.serve(app)
