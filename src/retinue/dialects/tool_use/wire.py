"""The exact shapes of spec 000, and its words: status (C1), error type (C2), message type, format (C22).

Keys that the spec does not show are refused here. Below strict the reader takes them out first and keeps them.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from retinue.contract.result import Artifact, Outcome
from retinue.dialects.diagnostics import WireModel, not_null
from retinue.errors import FaultCode

Status: TypeAlias = Literal["success", "error", "partial", "failed"]
"""§3.2 lists three; §4.2 has a fourth, for an agent whose attempts are used up (A14)."""

ErrorType: TypeAlias = Literal["validation_error", "runtime_error", "timeout"]

STATUSES: Final[dict[Outcome, Status]] = {
    "success": "success",
    "partial": "partial",
    "error": "error",
    "failed": "failed",
    "canceled": "error",
    "rejected": "error",
}
OUTCOMES: Final[dict[str, Outcome]] = {
    "success": "success",
    "partial": "partial",
    "error": "error",
    "failed": "failed",
}
ERROR_TYPES: Final[dict[FaultCode, ErrorType]] = {
    "missing_file": "runtime_error",
    "invalid_input": "validation_error",
    "output_invalid": "validation_error",
    "parse_error": "validation_error",
    "access_denied": "runtime_error",
    "unauthenticated": "runtime_error",
    "network_error": "runtime_error",
    "unavailable": "runtime_error",
    "timeout": "timeout",
    "budget_exceeded": "runtime_error",
    "canceled": "runtime_error",
    "internal_error": "runtime_error",
}
CODES: Final[dict[ErrorType, FaultCode]] = {
    "validation_error": "invalid_input",  # as in the spec's own sample, where the request is to be corrected
    "runtime_error": "internal_error",
    "timeout": "timeout",
}
STYLES: Final = frozenset({"summary", "detailed_report", "bullet_points"})
"""The words of `output_format` (A5). Any other word in `required_output_format` names a transport format (C22)."""


class _NonNullModel(WireModel):
    """A shape without any null."""

    _present = field_validator("*", mode="before")(not_null)


_Natural = Annotated[int, Field(ge=0)]


class CorrectionObject(_NonNullModel):
    """Why something is asked for again (A12). `max_retries` is in the sample, and not in the list of requirements."""

    error_type: ErrorType
    message: str
    correction_hint: str
    retry_count: _Natural
    max_retries: _Natural | None = None


class Payload(_NonNullModel):
    """What is handed on (A7)."""

    task_id: str
    instruction: str
    context_summary: str = ""
    constraints: list[str] = Field(default_factory=list[str])
    required_output_format: str | None = None


class HandOff(_NonNullModel):
    """One agent's request to another (A7). `correction` is there when it asks again."""

    source_agent: str | None = None
    target_agent: str
    message_type: Literal["task_delegation"]
    payload: Payload
    correction: CorrectionObject | None = None


class ToolUseCall(_NonNullModel):
    """A tool-use call: as a model writes it, with `type` and `id`, or bare."""

    type: Literal["tool_use"] | None = None
    id: str | None = None
    name: str
    input: dict[str, Any]
    correction: CorrectionObject | None = None


class EnvelopeMetadata(_NonNullModel):
    """What was measured (A11); what was not is left out. Of ours: `artifacts`, the files that were made.

    They stand here because the result is the agent's own, and its schema may be closed.
    """

    execution_time_ms: _Natural | None = None
    tokens_used: _Natural | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    model_used: str | None = None
    artifacts: list[Artifact] | None = None


def _require_structured(value: object) -> object:
    """C8: an object, or an array of them; never free text."""
    if not isinstance(value, dict | list):
        raise PydanticCustomError("structured", "Send an object or an array, not free text")
    return cast("object", value)


class ReturnEnvelope(_NonNullModel):
    """What every agent returns (A11), with the keys of the error object beside the others where it failed (A12).

    The spec shows the two apart. Put together this way, each key means what it means there.
    """

    status: Status
    result: Annotated[Any, AfterValidator(_require_structured)] = None
    metadata: EnvelopeMetadata
    reasoning_log: str | None = None
    error_type: ErrorType | None = None
    message: str | None = None
    correction_hint: str | None = None
    retry_count: _Natural | None = None
    max_retries: _Natural | None = None


class ToolDefinition(_NonNullModel):
    """A definition: exactly three keys (A4)."""

    name: str
    description: str
    input_schema: dict[str, Any]
