"""The shapes of spec 004 and of the practice around it: a task and its record, an error body, the card. No judgement.

Spec 004 names the endpoints and the card; what runs over `/tasks` is the practice of its services (P17). Of ours, and
inside the open `metadata`: `outcome`, `error`, `questions`, `correction`, and under `retinue` what the format has no
word for.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome

__all__ = [
    "OUTCOMES",
    "OWN_METADATA",
    "REST",
    "STATES",
    "Capability",
    "Card",
    "DataPart",
    "ErrorBody",
    "Message",
    "Part",
    "State",
    "TaskBody",
    "TaskRecord",
    "TaskStatus",
    "TextPart",
]

REST: Final = "retinue"
"""Under this name the metadata carries what the format has no word for."""

OWN_METADATA: Final = frozenset({"outcome", "error", "questions", "correction", REST})

State: TypeAlias = Literal["pending", "working", "completed", "failed", "canceled"]

STATES: Final[Mapping[State, tuple[Lifecycle, Outcome | None]]] = {
    "pending": ("submitted", None),
    "working": ("working", None),
    "completed": ("ended", "success"),
    "failed": ("ended", "error"),
    "canceled": ("ended", "canceled"),
}
"""What each state means when nothing else is said."""

OUTCOMES: Final[Mapping[Outcome, State]] = {
    "success": "completed",
    "partial": "completed",
    "error": "failed",
    "failed": "failed",
    "canceled": "canceled",
    "rejected": "failed",
}
"""The state of each outcome; where it says less, `metadata.outcome` says it."""


def _present(value: object) -> object:
    if value is None:
        message = "null is not allowed here: leave the key out"
        raise ValueError(message)
    return value


_PRESENT: Final = BeforeValidator(_present)
_Text: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S")]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def to_json(self) -> JsonMapping:
        """What was said, key by key; what was not said is absent."""
        return self.model_dump(mode="json", exclude_unset=True)


class TextPart(_Wire):
    """Text of a message."""

    type: Literal["text"]
    text: str


class DataPart(_Wire):
    """Structured data of a message."""

    type: Literal["data"]
    data: Any


Part: TypeAlias = Annotated[TextPart | DataPart, Field(discriminator="type")]


class Message(_Wire):
    """What one side said."""

    role: Literal["user", "agent"]
    parts: list[Part]


class TaskBody(_Wire):
    """What is posted to `/tasks` (P1)."""

    message: Message
    id: Annotated[str | None, _PRESENT] = None
    session_id: Annotated[str | None, _PRESENT] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class TaskStatus(_Wire):
    """Where a task is."""

    state: State
    timestamp: Annotated[str | None, _PRESENT] = None
    message: Annotated[str | None, _PRESENT] = None


class TaskRecord(_Wire):
    """A task and what came of it (P17)."""

    id: str
    status: TaskStatus
    request_message: Annotated[Message | None, _PRESENT] = None
    response_message: Annotated[Message | None, _PRESENT] = None
    history: Annotated[list[Any] | None, _PRESENT] = None
    artifacts: list[JsonMapping] = Field(default_factory=list[JsonMapping])
    session_id: Annotated[str | None, _PRESENT] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])
    created_at: Annotated[str | None, _PRESENT] = None
    updated_at: Annotated[str | None, _PRESENT] = None


class ErrorBody(_Wire):
    """What a skill's route answers instead of its output: a fault, with our own code."""

    error: JsonMapping


class Capability(_Wire):
    """One advertised skill (P5)."""

    name: _Text
    description: _Text
    endpoint: Annotated[str, StringConstraints(pattern=r"^(?:/|https?://)\S*$")]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    input_schema: Annotated[JsonMapping | None, _PRESENT] = None
    output_schema: Annotated[JsonMapping | None, _PRESENT] = None


class Card(_Wire):
    """`.well-known/agent.json`: who the agent is, where it takes tasks, what it does (P2, P4)."""

    name: _Text
    description: str
    version: Annotated[str | None, _PRESENT] = None
    endpoints: dict[str, str]
    capabilities: list[Capability]
