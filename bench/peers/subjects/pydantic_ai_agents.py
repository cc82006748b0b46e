"""pydantic-ai: an `Agent` a branch, on a scripted `FunctionModel`, side by side by `asyncio.gather`."""

import asyncio

from driver import Once, serve
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """What the model says: the square of the number it is asked about."""
    asked = next(part for part in messages[0].parts if isinstance(part, UserPromptPart))
    return ModelResponse(parts=[TextPart(str(int(str(asked.content)) ** 2))])


AGENT = Agent(FunctionModel(answer), instructions="You square numbers. Answer with the square only.")


async def square(number: int) -> int:
    """Ask the agent."""
    return int((await AGENT.run(str(number))).output)


def prepare(branches: int) -> Once:
    async def once() -> int:
        return sum(await asyncio.gather(*(square(number) for number in range(branches))))

    return once


if __name__ == "__main__":
    serve(prepare)
