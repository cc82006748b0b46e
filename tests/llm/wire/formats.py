"""The wire formats that the server speaks, by the path that is asked. How each writes stands in a module of its own.

They follow the providers' public descriptions. No sockets.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from tests.llm.wire.anthropic import AnthropicMessages
from tests.llm.wire.bedrock import BedrockConverse
from tests.llm.wire.google import GoogleGemini
from tests.llm.wire.openai import OpenAIChat, OpenAIResponses
from tests.llm.wire.script import Asked, Refusal, Reply

__all__ = ["Format", "format_of"]


class Format(Protocol):
    """One provider's way of writing.

    Attributes:
        stream_type: The media type of a stream.
        garbled: An event that cannot be read.
    """

    stream_type: str
    garbled: bytes

    def is_streamed(self, asked: Asked) -> bool:
        """Whether a stream is wanted."""
        ...

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """The whole answer at once."""
        ...

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        """The answer event by event, as they go over the wire."""
        ...

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        ...

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """What the headers of an error say: its kind, how long to wait."""
        ...

    def late_error(self, refusal: Refusal) -> bytes:
        """An error as an event."""
        ...

    def foreign(self) -> dict[str, Any]:
        """JSON that is no answer."""
        ...

    def foreign_event(self) -> bytes:
        """An event that is none of an answer."""
        ...

    def empty(self, asked: Asked) -> dict[str, Any]:
        """An answer with nothing in it."""
        ...


_ENDINGS: tuple[tuple[str, Format], ...] = (
    ("/chat/completions", OpenAIChat()),
    ("/responses", OpenAIResponses()),
    ("/v1/messages", AnthropicMessages()),
    (":generateContent", GoogleGemini()),
    (":streamGenerateContent", GoogleGemini()),
    ("/converse", BedrockConverse()),
    ("/converse-stream", BedrockConverse()),
)


def format_of(path: str) -> Format | None:
    """The format that is spoken at `path`; providers keep the ending and put before it what they like."""
    plain = path.partition("?")[0]
    return next((form for ending, form in _ENDINGS if plain.endswith(ending)), None)
