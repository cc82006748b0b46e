"""The shapes of spec 004 and of the practice around it: a task and its record, an error body, the card. No judgement.

Spec 004 names the endpoints and the card; what runs over `/tasks` is the practice of its services (P17). Of ours, and
inside the open `metadata`: `outcome`, `error`, `questions`, `correction`, and under `retinue` what the format has no
word for.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from retinue.contract.model import JsonMapping
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.dialects.diagnostics import NOT_NULL, NonBlankText, WireModel
from retinue.errors import FaultCode

METADATA_KEY: Final = "retinue"
"""Under this name the metadata carries what the format has no word for."""

RESERVED_METADATA: Final = frozenset({"outcome", "error", "questions", "correction", METADATA_KEY})

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


class TextPart(WireModel):
    """Text of a message."""

    type: Literal["text"]
    text: str


class DataPart(WireModel):
    """Structured data of a message."""

    type: Literal["data"]
    data: Any


Part: TypeAlias = Annotated[TextPart | DataPart, Field(discriminator="type")]


class HttpMessage(WireModel):
    """What one side said."""

    role: Literal["user", "agent"]
    parts: list[Part]


class TaskBody(WireModel):
    """What is posted to `/tasks` (P1)."""

    message: HttpMessage
    id: Annotated[str | None, NOT_NULL] = None
    session_id: Annotated[str | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class TaskStatus(WireModel):
    """Where a task is."""

    state: State
    timestamp: Annotated[str | None, NOT_NULL] = None
    message: Annotated[str | None, NOT_NULL] = None


class TaskRecord(WireModel):
    """A task and what came of it (P17)."""

    id: str
    status: TaskStatus
    request_message: Annotated[HttpMessage | None, NOT_NULL] = None
    response_message: Annotated[HttpMessage | None, NOT_NULL] = None
    history: Annotated[list[Any] | None, NOT_NULL] = None
    artifacts: list[JsonMapping] = Field(default_factory=list[JsonMapping])
    session_id: Annotated[str | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])
    created_at: Annotated[str | None, NOT_NULL] = None
    updated_at: Annotated[str | None, NOT_NULL] = None


class Capability(WireModel):
    """One advertised skill (P5)."""

    name: NonBlankText
    description: NonBlankText
    endpoint: Annotated[str, StringConstraints(pattern=r"^(?:/|https?://)\S*$")]
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    input_schema: Annotated[JsonMapping | None, NOT_NULL] = None
    output_schema: Annotated[JsonMapping | None, NOT_NULL] = None


class Card(WireModel):
    """`.well-known/agent.json`: who the agent is, where it takes tasks, what it does (P2, P4)."""

    name: NonBlankText
    description: str
    version: Annotated[str | None, NOT_NULL] = None
    endpoints: dict[str, str]
    capabilities: list[Capability]


OK: Final = 200
_ACCEPTED: Final = 202
UNPARSABLE: Final = 400
"""The request was no JSON at all; one that was, and does not fit, is 422."""

STATUSES: Final[Mapping[FaultCode, int]] = {
    "missing_file": 404,
    "invalid_input": 422,
    "output_invalid": 502,
    "parse_error": 422,
    "access_denied": 403,
    "unauthenticated": 401,
    "network_error": 502,
    "unavailable": 503,
    "timeout": 504,
    "budget_exceeded": 429,
    "canceled": OK,
    "internal_error": 500,
}


def status_of(result: Result) -> int:
    """The HTTP status of an answer: 202 while it is at work, and 200 for a canceled one too, which is an answer."""
    fault = result.fault
    if result.lifecycle != "ended":
        return _ACCEPTED
    if result.outcome in {"success", "partial", "canceled"} or (result.outcome is None and fault is None):
        return OK
    if fault is None:
        return STATUSES["invalid_input" if result.outcome == "rejected" else "internal_error"]
    # The reader of JSON says where it stopped.
    is_unparsable = fault.code == "invalid_input" and "reason" in fault.detail and "line" in fault.detail
    return UNPARSABLE if is_unparsable else STATUSES[fault.code]
