"""An agent of google-adk behind `to_a2a`, on a model that follows a script."""

import asyncio
import warnings
from collections.abc import AsyncGenerator

import deeds
import served
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.tools import LongRunningFunctionTool
from google.genai import types

warnings.simplefilter("ignore")  # the door is an experiment of theirs
from google.adk.a2a.utils.agent_to_a2a import to_a2a  # noqa: E402


def ask_color(question: str) -> None:
    """Asks a person for a color."""
    del question


class Script(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        parts = llm_request.contents[-1].parts
        if (answer := parts[-1].function_response) is not None:
            yield response(f"You said {answer.response}")
            return
        word, _, rest = str(parts[-1].text).partition(" ")
        if word == "count":
            for each in deeds.WORDS:
                yield response(each, partial=True)
            yield response(" ".join(deeds.WORDS))
        elif word == "ask":
            call = types.FunctionCall(name="ask_color", args={"question": deeds.QUESTION})
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(function_call=call)]))
        elif word == "sleep":
            await asyncio.sleep(deeds.SLEEP_S)
            yield response("awake")
        else:
            yield response(rest or f"You said {word}")


def response(text: str, *, partial: bool = False) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]), partial=partial)


agent = LlmAgent(
    name="stranger",
    model=Script(model="script"),
    description=served.DESCRIPTION,
    tools=[LongRunningFunctionTool(ask_color)],
)

if __name__ == "__main__":
    served.serve(to_a2a(agent, host="127.0.0.1", port=served.PORT))
