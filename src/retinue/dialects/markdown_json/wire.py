"""The three envelopes of spec 003 as exact shapes, and the tables of its words. No judgement beyond types.

Of ours, all optional: `metadata.agent_version` (C35), `context.attempts`, `context.class` and `context.detail` (C2),
`synthetic` on a warning that we wrote (C3), warnings on any envelope.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from retinue.contract.model import Completeness, Count, JsonMapping
from retinue.contract.result import WarningType
from retinue.errors import FaultCode

__all__ = [
    "CONTRACT",
    "ERROR_TYPES",
    "FAULT_CODES",
    "STATUSES",
    "Envelope",
    "ErrorContext",
    "ErrorEnvelope",
    "ErrorType",
    "Metadata",
    "PartialEnvelope",
    "Status",
    "SuccessEnvelope",
    "UnknownEnvelope",
    "WarningEntry",
    "code_of",
    "envelope_for",
]

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


def _not_null(value: object) -> object:
    """Refuse null where a key may only be absent (K8, C16)."""
    if value is None:
        message = "null is not allowed here: leave the key out"
        raise ValueError(message)
    return value


_PRESENT: Final = BeforeValidator(_not_null)
_Text: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S")]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def to_json(self) -> JsonMapping:
        """What was said, key by key; what was not said is absent."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)


class WarningEntry(_Wire):
    """What makes an answer less than whole (K4, K5)."""

    type: WarningType
    message: str
    impact: str
    recovery: str
    synthetic: Annotated[bool | None, _PRESENT] = None


class Metadata(_Wire):
    """Measurements. Spec 003 shows a choice of them with each kind of answer; one that nobody made is absent."""

    execution_time_ms: Annotated[Count | None, _PRESENT] = None
    files_read: Annotated[Count | None, _PRESENT] = None
    files_written: Annotated[Count | None, _PRESENT] = None
    completeness: Annotated[Completeness | None, _PRESENT] = None
    error_timestamp: Annotated[str | None, _PRESENT] = None
    agent_version: Annotated[str | None, _PRESENT] = None


class ErrorContext(_Wire):
    """Where an operation failed (K6)."""

    operation: Annotated[str | None, _PRESENT] = None
    target: Annotated[str | None, _PRESENT] = None
    failed_at: Annotated[str | None, _PRESENT] = None
    attempts: Annotated[int | None, Field(ge=1), _PRESENT] = None
    kind: Annotated[FaultCode | None, _PRESENT] = Field(default=None, alias="class")
    detail: Annotated[JsonMapping | None, _PRESENT] = None


class Envelope(_Wire):
    """What every answer has beside its status."""

    agent: _Text
    version: _Text
    metadata: Metadata
    operation: Annotated[_Text | None, _PRESENT] = None
    warnings: list[WarningEntry] = Field(default_factory=list[WarningEntry])


class UnknownEnvelope(Envelope):
    """An answer whose status is none of the three: never valid, so that everything else about it can be judged."""

    model_config = ConfigDict(extra="allow")

    status: Status


class SuccessEnvelope(Envelope):
    """A whole answer (K3)."""

    status: Literal["success"]
    result: Annotated[Any, _PRESENT]


class PartialEnvelope(Envelope):
    """An answer with something missing, and what that is (K4)."""

    status: Literal["partial"]
    result: Annotated[Any, _PRESENT]
    warnings: list[WarningEntry] = Field(default_factory=list[WarningEntry], min_length=1, validate_default=True)


class ErrorEnvelope(Envelope):
    """A failure, with what to do about it (K6). The operation stands in the context (C4)."""

    status: Literal["error"]
    error_type: ErrorType
    message: str
    context: ErrorContext = ErrorContext()
    partial_results: Annotated[Any, _PRESENT] = None
    recovery_suggestions: list[str]


_ENVELOPES: Final[Mapping[object, type[Envelope]]] = {
    "success": SuccessEnvelope,
    "partial": PartialEnvelope,
    "error": ErrorEnvelope,
}


def envelope_for(status: object) -> type[Envelope]:
    """The shape that goes with a status."""
    return _ENVELOPES.get(status, UnknownEnvelope) if isinstance(status, str) else UnknownEnvelope


_CODES: Final[Mapping[str, FaultCode]] = {code: code for code in ERROR_TYPES}


def code_of(word: object) -> FaultCode | None:
    """The fault that one of our own codes names; None for any other word."""
    return _CODES.get(word) if isinstance(word, str) else None
