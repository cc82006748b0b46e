"""The exact shapes of spec 001, as pydantic models; that of an answer also as the spec's JSON Schema (B7).

Where its two published forms disagree (the Python types default `traces` to an empty list and take null for what is
absent), the schema is right; what the other form would say is borne by the reader unless it is strict.
"""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Attempt, Lifecycle, Outcome, Warned
from retinue.contract.task import Question
from retinue.dialects.diagnostics import not_null


class ToolTraceMinimal(BaseModel):
    """One tool call, under the name that the spec gives it; closed (B5)."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    tool: str
    output: str
    args: dict[str, Any] | None = None
    duration_secs: float | None = None

    _present = field_validator("args", "duration_secs", mode="before")(not_null)


class AgentOutputMinimal(BaseModel):
    """What `run_agent` returns, under the name that the spec gives it; open (B4, B6)."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)

    content: str
    response_time_secs: float
    traces: list[ToolTraceMinimal]


class Arguments(BaseModel):
    """What `run_agent` is called with (B1). Null is absent: the function's own defaults say so. Others may be added."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow", allow_inf_nan=False)

    prompt: str
    chat_history: str | None = None
    memory: str | None = None
    config: dict[str, Any] | None = None


ANSWER_SCHEMA: Final[JsonMapping] = {
    "type": "object",
    "required": ["content", "response_time_secs", "traces"],
    "properties": {
        "content": {"type": "string"},
        "response_time_secs": {"type": "number"},
        "traces": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "output"],
                "properties": {
                    "tool": {"type": "string"},
                    "output": {"type": "string"},
                    "args": {"type": "object"},
                    "duration_secs": {"type": "number"},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": True,
}
"""The spec's own schema of an answer; takes what `AgentOutputMinimal` takes (B7)."""


# What we say beside the required fields. Agents that mean something else by one of these keys lose nothing: only a
# value of our shape is read, any other stays an extra.

CORRECTION: Final = "correction"
"""The key of `config` that holds why a request is made again."""

DATA: Final = "results"
"""The key of an answer that holds its data (C8)."""


class AnswerExtensions(BaseModel):
    """The shapes of our own keys. Each is read alone."""

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True)

    warnings: tuple[Warned, ...] = ()
    error: Fault | None = None
    attempts: tuple[Attempt, ...] = ()
    questions: Annotated[tuple[Question, ...], Field(min_length=1)] = ()
    artifacts: Annotated[tuple[Artifact, ...], Field(min_length=1)] = ()
    outcome: Outcome | None = None


def read_outcome(fields: JsonMapping, outcome: Outcome | None) -> tuple[Lifecycle, Outcome | None]:
    """What an answer came to that says these of our keys and this word: the table of words, read (C1).

    What is empty says nothing: many an agent always sends `warnings`.
    """
    keys = [key for key, value in fields.items() if value]
    if outcome is not None:
        return "ended", outcome
    if "questions" in keys:
        return "input_required", None
    if "error" in keys:
        return "ended", "failed" if "attempts" in keys else "error"
    return "ended", "partial" if "warnings" in keys else "success"
