"""The three envelopes of spec 003 as exact shapes, and the tables of its words. No judgement beyond types.

Of ours, all optional: `metadata.agent_version` (C35), `metadata.artifacts` (the files that were made: the result is the
agent's own, and its schema may be closed), `context.attempts`, `context.class` and `context.detail` (C2),
`synthetic` on a warning that we wrote (C3), warnings on any envelope.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationError

from retinue.contract.model import Completeness, Count, JsonMapping
from retinue.contract.result import Artifact, WarningType
from retinue.dialects.diagnostics import NOT_NULL, NonBlankText, WireModel
from retinue.errors import FaultCode

CONTRACT: Final = "1.0"
"""The version of the contract that we speak (C35)."""

Status: TypeAlias = Literal["success", "partial", "error"]
ErrorType: TypeAlias = Literal[
    "missing_file", "invalid_input", "parse_error", "access_denied", "timeout", "internal_error"
]

ERROR_TYPES: Final[Mapping[FaultCode, ErrorType]] = {
    "missing_file": "missing_file",
    "invalid_input": "invalid_input",
    "output_invalid": "internal_error",
    "parse_error": "parse_error",
    "access_denied": "access_denied",
    "unauthenticated": "access_denied",
    "network_error": "internal_error",
    "unavailable": "internal_error",
    "timeout": "timeout",
    "budget_exceeded": "internal_error",
    "canceled": "internal_error",
    "internal_error": "internal_error",
}
"""The word for each fault. Where it says less, `context.class` keeps the finer cause (C2)."""

FAULT_CODES: Final[Mapping[ErrorType, FaultCode]] = {
    "missing_file": "missing_file",
    "invalid_input": "invalid_input",
    "parse_error": "parse_error",
    "access_denied": "access_denied",
    "timeout": "timeout",
    "internal_error": "internal_error",
}

STATUSES: Final[Mapping[str, Status]] = {
    "success": "success",
    "complete": "success",
    "completed": "success",
    "done": "success",
    "ok": "success",
    "partial": "partial",
    "error": "error",
    "failed": "error",
    "failure": "error",
}
"""Words of the other formats for the same thing; only `lenient` reads them (C1)."""


class WarningEntry(WireModel):
    """What makes an answer less than whole (K4, K5)."""

    type: WarningType
    message: str
    impact: str
    recovery: str
    synthetic: Annotated[bool | None, NOT_NULL] = None


class AnswerMetadata(WireModel):
    """Measurements. Spec 003 shows a choice of them with each kind of answer; one that nobody made is absent."""

    execution_time_ms: Annotated[Count | None, NOT_NULL] = None
    files_read: Annotated[Count | None, NOT_NULL] = None
    files_written: Annotated[Count | None, NOT_NULL] = None
    completeness: Annotated[Completeness | None, NOT_NULL] = None
    error_timestamp: Annotated[str | None, NOT_NULL] = None
    agent_version: Annotated[str | None, NOT_NULL] = None
    artifacts: Annotated[list[Artifact] | None, NOT_NULL] = None


class ErrorContext(WireModel):
    """Where an operation failed (K6)."""

    operation: Annotated[str | None, NOT_NULL] = None
    target: Annotated[str | None, NOT_NULL] = None
    failed_at: Annotated[str | None, NOT_NULL] = None
    attempts: Annotated[int | None, Field(ge=1), NOT_NULL] = None
    kind: Annotated[FaultCode | None, NOT_NULL] = Field(default=None, alias="class")
    detail: Annotated[JsonMapping | None, NOT_NULL] = None


class AnswerEnvelope(WireModel):
    """What every answer has beside its status."""

    agent: NonBlankText
    version: NonBlankText
    metadata: AnswerMetadata
    operation: Annotated[NonBlankText | None, NOT_NULL] = None
    warnings: list[WarningEntry] = Field(default_factory=list[WarningEntry])


class UnknownEnvelope(AnswerEnvelope):
    """An answer whose status is none of the three: never valid, so that everything else about it can be judged."""

    model_config = ConfigDict(extra="allow")

    status: Status


class SuccessEnvelope(AnswerEnvelope):
    """A whole answer (K3)."""

    status: Literal["success"]
    result: Annotated[Any, NOT_NULL]


class PartialEnvelope(AnswerEnvelope):
    """An answer with something missing, and what that is (K4)."""

    status: Literal["partial"]
    result: Annotated[Any, NOT_NULL]
    warnings: list[WarningEntry] = Field(default_factory=list[WarningEntry], min_length=1, validate_default=True)


class ErrorEnvelope(AnswerEnvelope):
    """A failure, with what to do about it (K6). The operation stands in the context (C4)."""

    status: Literal["error"]
    error_type: ErrorType
    message: str
    context: ErrorContext = ErrorContext()
    partial_results: Annotated[Any, NOT_NULL] = None
    recovery_suggestions: list[str]


_ENVELOPES: Final[Mapping[object, type[AnswerEnvelope]]] = {
    "success": SuccessEnvelope,
    "partial": PartialEnvelope,
    "error": ErrorEnvelope,
}


def envelope_for(status: object) -> type[AnswerEnvelope]:
    """The shape that goes with a status."""
    return _ENVELOPES.get(status, UnknownEnvelope) if isinstance(status, str) else UnknownEnvelope


_CODES: Final[Mapping[str, FaultCode]] = {code: code for code in ERROR_TYPES}


def code_of(word: object) -> FaultCode | None:
    """The fault that one of our own codes names; None for any other word."""
    return _CODES.get(word) if isinstance(word, str) else None


def are_artifacts(artifacts: object) -> bool:
    """Whether something is a list of artifacts of ours."""
    try:
        AnswerMetadata.model_validate({"artifacts": artifacts})
    except ValidationError:
        return False
    return True
