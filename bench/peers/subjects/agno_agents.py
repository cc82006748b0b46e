"""Agno: a `Workflow` of one `Parallel` of agents on a scripted model, and a joining step. No database or telemetry."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.workflow import Parallel, Step, StepInput, StepOutput, Workflow
from driver import Once, serve


@dataclass
class Scripted(Model):
    """A model that answers with the square of the number it is asked about."""

    id: str = "scripted"

    async def ainvoke(self, messages: list[Message], **_: Any) -> ModelResponse:
        asked = next(message for message in reversed(messages) if message.role == "user")
        return ModelResponse(role="assistant", content=str(int(str(asked.content)) ** 2))

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def ainvoke_stream(self, *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


AGENT = Agent(model=Scripted(), instructions="You square numbers. Answer with the square only.", telemetry=False)


def step_of(number: int) -> Step:
    async def square(_: StepInput) -> StepOutput:
        return StepOutput(content=(await AGENT.arun(str(number))).content)

    return Step(name=f"b{number}", executor=square)


async def join(step_input: StepInput) -> StepOutput:
    outputs = (step_input.previous_step_outputs or {})["branches"].steps or []
    return StepOutput(content=sum(int(output.content) for output in outputs))


def prepare(branches: int) -> Once:
    steps = [step_of(number) for number in range(branches)]

    def build() -> Workflow:
        # A workflow keeps the session of its run in itself, so runs at once need one each.
        last = Step(name="join", executor=join)
        return Workflow(name="peers", steps=[Parallel(*steps, name="branches"), last], telemetry=False)

    async def once() -> int:
        return int((await build().arun(input="go")).content)

    return once


if __name__ == "__main__":
    serve(prepare)
