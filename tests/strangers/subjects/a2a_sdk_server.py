"""A server of a2a-sdk 1 as its documentation builds one; it speaks 1.0 and 0.3."""

import asyncio

import deeds
import served
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        word, _, rest = get_message_text(context.message).partition(" ")
        if context.current_task is None:
            task = new_task_from_user_message(context.message)
            task.id, task.context_id = context.task_id, context.context_id
            await event_queue.enqueue_event(task)
            answered = False
        else:
            answered = True
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await updater.start_work()
        if answered:
            await updater.add_artifact([new_text_part(f"You said {word}")], last_chunk=True)
        elif word == "count":
            for number, each in enumerate(deeds.WORDS):
                last = number == len(deeds.WORDS) - 1
                part = new_text_part(each)
                await updater.add_artifact([part], artifact_id="words", append=number > 0, last_chunk=last)
        elif word == "ask":
            await updater.requires_input(new_text_message(deeds.QUESTION))
            return
        elif word == "sleep":
            await asyncio.sleep(deeds.SLEEP_S)
        else:
            await updater.add_artifact([new_text_part(rest)], last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


card = AgentCard(
    name="stranger",
    description=served.DESCRIPTION,
    version="1.0.0",
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="obey", name="obey", description=served.DESCRIPTION, tags=["test"])],
    supported_interfaces=[
        AgentInterface(url=f"{served.ADDRESS}{path}", protocol_binding=binding, protocol_version=version)
        for version in ("1.0", "0.3")
        for path, binding in (("/rpc", "JSONRPC"), ("/rest", "HTTP+JSON"))
    ],
)

if __name__ == "__main__":
    handler = DefaultRequestHandler(Executor(), InMemoryTaskStore(), card)
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
    ]
    served.serve(Starlette(routes=routes))
