"""The port between whoever thinks with a language model and the model: one request in, one response out.

A request is a value, so it can be counted, priced, recorded and replayed. How a provider is spoken to is the business
of `providers`, whether another request may be made that of `budget_tracker`, and what a tool does that of whoever hands
it in.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage
from retinue.contract.task import Thinking

Effort: TypeAlias = Literal["low", "medium", "high", "max"]
"""How much a model should think, where it can be told."""

StopReason: TypeAlias = Literal["end", "tools", "length", "refused", "other"]

OnText: TypeAlias = Callable[[str], None]
"""Hears each piece of text as it arrives."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A turn of whoever asks."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants used.

    Attributes:
        id: Pairs it with its answer; unique in one response, whatever the provider sent.
        arguments: None when what the model wrote is no JSON object; `raw` is then what it wrote.
    """

    id: str
    name: str
    arguments: JsonMapping | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A turn of the model.

    Attributes:
        native: The provider's own form of it, sent back unchanged to the same provider: thinking may be signed. Opaque
            outside `llm`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    native: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of one use of a tool."""

    id: str
    name: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The turn after tools were used: an answer for every use, in their order."""

    results: tuple[ToolResult, ...]


Turn: TypeAlias = UserMessage | AssistantMessage | ToolResults


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """That the final answer must be one JSON object of this schema. Whoever asked validates it again."""

    schema: JsonMapping
    name: str = "answer"
    description: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """All a model is asked with.

    Attributes:
        instructions: What the system says; never text from outside.
        max_tokens: The most it may answer with; None leaves it to the provider.
        timeout_s: Seconds to wait for the whole response.
    """

    turns: tuple[Turn, ...]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    shape: AnswerShape | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    effort: Effort | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What came back.

    Attributes:
        usage: What the provider says it took, its cost where the price is known, and the model that answered.
    """

    turn: AssistantMessage
    usage: Usage = field(default_factory=Usage)
    stop: StopReason = "end"


class LanguageModel(Protocol):
    """A model that can be asked.

    Attributes:
        name: `provider:model`, as a person would write it.
        max_output: The most tokens one response can hold, as far as known: what a budget reserves for a call.
    """

    name: str
    max_output: int | None

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Answer once. With `on_text`, text is streamed to it as it arrives; the response is the same.

        Raises:
            Unauthenticated: The key is missing or refused; the hint names the variable.
            UnknownName: The provider has no such model; `suggestions` names the nearest.
            InvalidInput: The provider refuses the request as it stands.
            Unavailable: It is overloaded or limits the rate; `retry_after_s` where it said so.
            NetworkError: It cannot be reached, or the stream was cut.
            DeadlineExceeded: `timeout_s` is over.
            OutputInvalid: What it sent cannot be read.
        """
        ...

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars that a call of this size would cost; None when the price is not known."""
        ...


EFFORT_OF: Final[Mapping[Thinking, Effort | None]] = MappingProxyType(
    {"standard": None, "think": "medium", "think_hard": "high", "ultrathink": "max"}
)
"""How much a model should think in each thinking mode of a task (C43), said once for agents and orchestration; None
leaves it to the model."""
