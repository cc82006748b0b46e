"""An agent of agno behind its A2A interface, on a model that follows a script. Its card is at `/a2a/agents/stranger`."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import deeds
import served
from agno.agent import Agent
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.os.interfaces.a2a import A2A


@dataclass
class Script(Model):
    id: str = "script"

    async def ainvoke(self, messages: list[Any], **_: Any) -> ModelResponse:
        word, _, rest = str(messages[-1].content).partition(" ")
        if word == "sleep":
            await asyncio.sleep(deeds.SLEEP_S)
        text = {"count": " ".join(deeds.WORDS), "ask": deeds.QUESTION}.get(word, rest or f"You said {word}")
        return ModelResponse(role="assistant", content=text)

    async def ainvoke_stream(self, messages: list[Any], **more: Any) -> AsyncIterator[ModelResponse]:
        whole = await self.ainvoke(messages, **more)
        for each in str(whole.content).split():
            yield ModelResponse(role="assistant", content=f"{each} ")

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


if __name__ == "__main__":
    agent = Agent(id="stranger", name="stranger", description=served.DESCRIPTION, model=Script(), telemetry=False)
    served.serve(AgentOS(agents=[agent], interfaces=[A2A(agents=[agent])], telemetry=False).get_app())
