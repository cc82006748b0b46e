"""Agent Framework: a workflow of function executors, fan-out edges and fan-in edges. No checkpoints."""

import os

os.environ.setdefault("ENABLE_INSTRUMENTATION", "false")

from agent_framework import FunctionExecutor, WorkflowBuilder, WorkflowContext
from driver import Once, serve


async def start(message: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(message)


def square_of(number: int) -> FunctionExecutor:
    async def square(_: str, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(number * number)

    return FunctionExecutor(square, id=f"b{number}")


async def join(squares: list[int], ctx: WorkflowContext[None, int]) -> None:
    await ctx.yield_output(sum(squares))


def prepare(branches: int) -> Once:
    def build() -> object:
        first = FunctionExecutor(start, id="start")
        squares = [square_of(number) for number in range(branches)]
        last = FunctionExecutor(join, id="join")
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
