"""A server of a2a-sdk 0.3 as its documentation builds one."""

import asyncio

import deeds
import served
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task


def part(text: str) -> Part:
    return Part(root=TextPart(text=text))


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        word, _, rest = context.get_user_input().partition(" ")
        task, answered = context.current_task, context.current_task is not None
        if task is None:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if answered:
            await updater.add_artifact([part(f"You said {word}")], last_chunk=True)
        elif word == "count":
            for number, each in enumerate(deeds.WORDS):
                last = number == len(deeds.WORDS) - 1
                await updater.add_artifact([part(each)], artifact_id="words", append=number > 0, last_chunk=last)
        elif word == "ask":
            await updater.requires_input(updater.new_agent_message([part(deeds.QUESTION)]), final=True)
            return
        elif word == "sleep":
            await asyncio.sleep(deeds.SLEEP_S)
        else:
            await updater.add_artifact([part(rest)], last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


card = AgentCard(
    name="stranger",
    description=served.DESCRIPTION,
    version="1.0.0",
    url=f"{served.ADDRESS}/",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="obey", name="obey", description=served.DESCRIPTION, tags=["test"])],
)

if __name__ == "__main__":
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore())
    served.serve(A2AStarletteApplication(card, handler).build())
