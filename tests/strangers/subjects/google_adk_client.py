"""google-adk's agent that stands for a remote one."""

from typing import Any

from deeds import QUESTION, WORDS, NoWord, expect, judge
from google.adk.agents.remote_a2a_agent import AGENT_CARD_WELL_KNOWN_PATH, RemoteA2aAgent
from google.adk.events import Event
from google.adk.runners import InMemoryRunner
from google.genai import types


class Conversation:
    """One session with a remote agent."""

    def __init__(self, address: str, **options: Any) -> None:
        self.agent = RemoteA2aAgent("remote", f"{address}{AGENT_CARD_WELL_KNOWN_PATH}", **options)
        self.runner = InMemoryRunner(self.agent, app_name="strangers")
        self.session = ""

    async def say(self, part: types.Part) -> list[Event]:
        sessions = self.runner.session_service
        self.session = self.session or (await sessions.create_session(app_name="strangers", user_id="ada")).id
        content = types.Content(role="user", parts=[part])
        events = self.runner.run_async(user_id="ada", session_id=self.session, new_message=content)
        came = [each async for each in events]
        if error := next((each.error_message for each in came if each.error_message), None):
            raise RuntimeError(error)
        return came


def text_of(events: list[Event]) -> str:
    parts = [part for each in events if each.content for part in each.content.parts or []]
    return " ".join(part.text for part in parts if part.text)


async def call(address: str) -> None:
    expect(text_of(await Conversation(address).say(types.Part(text="echo hello"))), "hello")


async def stream(address: str) -> None:
    came = await Conversation(address).say(types.Part(text="count"))
    if len(came) < 3:
        raise AssertionError(f"{len(came)} events")
    expect(text_of(came), WORDS[-1])


async def question(address: str) -> None:
    remote = Conversation(address)
    came = await remote.say(types.Part(text="ask"))
    asked = [call for each in came for call in each.get_function_calls()][-1]
    expect(asked.args, QUESTION)
    answer = types.FunctionResponse(id=asked.id, name=asked.name, response={"result": "blue"})
    came = await remote.say(types.Part(function_response=answer))
    expect(text_of(came), "blue")


async def cancel(address: str) -> None:
    raise NoWord("`RemoteA2aAgent` has no method that cancels")


if __name__ == "__main__":
    judge("google-adk", call=call, stream=stream, question=question, cancel=cancel)
