"""Agent Framework: a workflow whose branches each ask an agent on a scripted chat client. No checkpoints."""

import os

os.environ.setdefault("ENABLE_INSTRUMENTATION", "false")

from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    FunctionExecutor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
)
from driver import Once, serve


class Scripted(BaseChatClient):
    """A client that answers with the square of the number it is asked about."""

    async def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> ChatResponse:
        return ChatResponse(messages=[Message(role="assistant", contents=[str(int(messages[-1].text) ** 2)])])


AGENT = Agent(client=Scripted(), instructions="You square numbers. Answer with the square only.")


async def start(message: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(message)


def square_of(number: int) -> FunctionExecutor:
    async def square(_: str, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(int((await AGENT.run(str(number))).text))

    return FunctionExecutor(square, id=f"b{number}")


async def join(squares: list[int], ctx: WorkflowContext[None, int]) -> None:
    await ctx.yield_output(sum(squares))


def prepare(branches: int) -> Once:
    def build() -> Any:
        first, last = FunctionExecutor(start, id="start"), FunctionExecutor(join, id="join")
        squares = [square_of(number) for number in range(branches)]
        builder = WorkflowBuilder(start_executor=first, output_from=[last])
        return builder.add_fan_out_edges(first, squares).add_fan_in_edges(squares, last).build()

    built = build()
    running = False

    async def once() -> int:
        # One workflow takes one run at a time; it is built anew only for runs at once.
        nonlocal running
        workflow = build() if running else built
        mine = workflow is built
        running = running or mine
        try:
            found = await workflow.run("go")
        finally:
            running = running and not mine
        return int(found.get_outputs()[0])

    return once


if __name__ == "__main__":
    serve(prepare)
