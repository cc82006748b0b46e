"""The providers that the server can play, opened through `Models` as a user would, with a scripted server at their address."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pytest

from retinue.contract.definition import ToolSpec
from retinue.errors import RetinueError
from retinue.llm.conversation import Conversation, converse
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.port import LanguageModel, Request, Response, UserMessage
from retinue.llm.prices import Price
from retinue.llm.pydantic_ai_model import PydanticAIModel
from tests.llm.wire.server import WireServer

__all__ = ["ADD", "DOORS", "KEY", "PRICE", "Door", "ask", "asking", "every", "refused", "run", "talk"]

KEY: Final = "sk-wire-4fQ9zX7b4fQ9zX7b4fQ9zX7b"
PRICE: Final = Price(usd_in=2.0, usd_out=10.0, usd_cached=0.2, date="2026-01-01", source="a test")
ADD: Final = ToolSpec(
    name="add",
    description="Adds two numbers.",
    input_schema={
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
        "required": ["left", "right"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Door:
    """One provider.

    Attributes:
        root: What its base address ends with.
        path: What the path that is asked begins with.
        key_header: Where the key is sent, and what stands before it.
    """

    provider: str
    model: str
    variable: str
    root: str
    path: str
    key_header: tuple[str, str] = ("authorization", "Bearer ")

    def models(self, url: str, *, key: str = KEY) -> Models:
        """Models that know this provider at `url`; without a key when it is empty."""
        environment = {self.variable: key} if key else {}
        reached = ProviderSettings(base_url=url + self.root, key_variable=self.variable)
        return Models(providers={self.provider: reached}, environment=environment, prices={self.model: PRICE})

    def at(self, server: WireServer) -> LanguageModel:
        """Its model, asked at `server`."""
        return self.models(server.url).get(self.model)


DOORS: Final = (
    Door(
        provider="openai",
        model="openai:gpt-4.1-mini",
        variable="OPENAI_API_KEY",
        root="/v1",
        path="/v1/chat/completions",
    ),
    Door(
        provider="openai-responses",
        model="openai-responses:gpt-4.1-mini",
        variable="OPENAI_API_KEY",
        root="/v1",
        path="/v1/responses",
    ),
    Door(
        provider="anthropic",
        model="anthropic:claude-haiku-4-5",
        variable="ANTHROPIC_API_KEY",
        root="",
        path="/v1/messages",
    ),
    Door(
        provider="google",
        model="google:gemini-2.5-flash",
        variable="GOOGLE_API_KEY",
        root="",
        path="/v1beta/models/gemini-2.5-flash:",
        key_header=("x-goog-api-key", ""),
    ),
    Door(
        provider="bedrock",
        model="bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0",
        variable="AWS_BEARER_TOKEN_BEDROCK",
        root="",
        path="/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse",
    ),
)

every = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.provider)

_T = TypeVar("_T")


def asking(text: str = "Go.", **options: object) -> Request:
    """A request of one turn. Its answer is bounded, for one that might be long is streamed unasked."""
    options.setdefault("max_tokens", 1_000)
    return Request((UserMessage(text),), **options)  # pyright: ignore[reportArgumentType] - fields of a request, by name


def ask(model: LanguageModel, request: Request | None = None, *, streamed: bool = False) -> tuple[Response, list[str]]:
    """The response, and what was heard."""
    heard: list[str] = []
    hear = heard.append if streamed else None
    return run(model, model.respond(request or asking(), on_text=hear)), heard


def refused(model: LanguageModel, request: Request | None = None, *, streamed: bool = False) -> RetinueError:
    """What is raised instead of a response."""
    with pytest.raises(RetinueError) as caught:
        ask(model, request, streamed=streamed)
    return caught.value


def talk(model: LanguageModel, request: Request, **options: Any) -> Conversation:
    """A whole conversation."""
    return run(model, converse(model, request, **options))


def run(model: LanguageModel, work: Awaitable[_T]) -> _T:
    """What comes of `work`, with the connections of `model` closed afterwards. What hangs fails, and hangs nobody."""

    async def within() -> _T:
        try:
            async with asyncio.timeout(30):
                return await work
        finally:
            if isinstance(model, PydanticAIModel):
                await model.close()

    return asyncio.run(within())
