"""Agno: a `Workflow` of one `Parallel` of async function steps and a joining step. No database, telemetry off."""

from collections.abc import Awaitable, Callable

from agno.workflow import Parallel, Step, StepInput, StepOutput, Workflow
from driver import Once, serve

_Step = Callable[[StepInput], Awaitable[StepOutput]]


def square_of(number: int) -> _Step:
    async def square(_: StepInput) -> StepOutput:
        return StepOutput(content=number * number)

    return square


async def join(step_input: StepInput) -> StepOutput:
    outputs = (step_input.previous_step_outputs or {})["branches"].steps or []
    return StepOutput(content=sum(int(output.content) for output in outputs))


def prepare(branches: int) -> Once:
    steps = [Step(name=f"b{number}", executor=square_of(number)) for number in range(branches)]

    def build() -> Workflow:
        # A workflow keeps the session of its run in itself, so runs at once need one each.
        return Workflow(
            name="peers",
            steps=[Parallel(*steps, name="branches"), Step(name="join", executor=join)],
            telemetry=False,
        )

    async def once() -> int:
        found = await build().arun(input="go")
        return int(found.content)

    return once


if __name__ == "__main__":
    serve(prepare)
