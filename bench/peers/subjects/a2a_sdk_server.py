"""a2a-sdk: an agent that gives back what it was sent, behind the SDK's own handler.

Its tasks are kept in memory, or in the SQLite file that is named. Serves on a port that is printed, until stdin ends.
"""

import socket
import sys
import threading

import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Echo(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        if context.message is None:
            raise ValueError("There is no message.")
        task = context.current_task or new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.add_artifact(list(context.message.parts))
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def store(path: str) -> TaskStore:
    if not path:
        return InMemoryTaskStore()
    return DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{path}"))


def serve(path: str) -> None:
    sock = socket.create_server(("127.0.0.1", 0), backlog=2048)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    port = sock.getsockname()[1]
    address = AgentInterface(url=f"http://127.0.0.1:{port}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
    card = AgentCard(
        name="echo",
        description="Gives back what it was sent.",
        version="1.0.0",
        capabilities=AgentCapabilities(),
        default_input_modes=["application/json"],
        default_output_modes=["application/json"],
        supported_interfaces=[address],
        skills=[AgentSkill(id="echo", name="echo", description="Gives back what it was sent.", tags=["echo"])],
    )
    app = Starlette(routes=create_jsonrpc_routes(DefaultRequestHandler(Echo(), store(path), card), "/a2a"))
    server = uvicorn.Server(uvicorn.Config(app, http="h11", ws="none", log_config=None, access_log=False))

    def wait_for_the_end() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    print(port, flush=True)
    server.run(sockets=[sock])


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "")
