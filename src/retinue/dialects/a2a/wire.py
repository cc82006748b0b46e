"""The shapes of A2A 1.0 in JSON: messages, tasks, events and errors, and the tables of their words. No judgement.

The protocol is defined in protobuf, so this is its ProtoJSON mapping. There all numbers in free data (`data` parts,
`metadata`) are doubles: 7 arrives as 7.0, and 2^53 + 1 as its neighbour. `is_exact` and `whole_numbers` are the answer.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from operator import is_not
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeAlias, cast

from pydantic import ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Lifecycle, Outcome
from retinue.dialects.diagnostics import NOT_NULL, NonBlankText, WireModel
from retinue.errors import FaultCode

NAME: Final[DialectName] = "a2a"
EXTENSION: Final = "urn:retinue:definition:1"
"""Our extension of the protocol: under this name cards and metadata say what A2A has no word for."""
STRING_DATA: Final[JsonMapping] = {EXTENSION: {"data": True}}
"""The metadata of a text part whose text is data, of an agent that gives a string: many readers see only texts."""
JSON_TYPE: Final = "application/json"
UNNAMED: Final = "message"
"""The id of a message that has none, for the format requires one."""
DATA_ARTIFACT: Final = "result"
"""The id of the artifact that is the structured answer."""

State: TypeAlias = Literal[
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_AUTH_REQUIRED",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
]
Role: TypeAlias = Literal["ROLE_USER", "ROLE_AGENT"]

STATES: Final[Mapping[State, tuple[Lifecycle, Outcome | None]]] = {
    "TASK_STATE_SUBMITTED": ("submitted", None),
    "TASK_STATE_WORKING": ("working", None),
    "TASK_STATE_INPUT_REQUIRED": ("input_required", None),
    "TASK_STATE_AUTH_REQUIRED": ("input_required", None),
    "TASK_STATE_COMPLETED": ("ended", "success"),
    "TASK_STATE_FAILED": ("ended", "error"),
    "TASK_STATE_CANCELED": ("ended", "canceled"),
    "TASK_STATE_REJECTED": ("ended", "rejected"),
}
"""What each state means when nothing else is said (C1)."""

LIFECYCLES: Final[Mapping[Lifecycle, State]] = {
    "submitted": "TASK_STATE_SUBMITTED",
    "working": "TASK_STATE_WORKING",
    "input_required": "TASK_STATE_INPUT_REQUIRED",
}
OUTCOMES: Final[Mapping[Outcome, State]] = {
    "success": "TASK_STATE_COMPLETED",
    "partial": "TASK_STATE_COMPLETED",
    "error": "TASK_STATE_FAILED",
    "failed": "TASK_STATE_FAILED",
    "canceled": "TASK_STATE_CANCELED",
    "rejected": "TASK_STATE_REJECTED",
}
"""The state of each outcome; where it says less, the metadata says it."""

ENUM_NUMBERS: Final[Mapping[int, State]] = {
    1: "TASK_STATE_SUBMITTED",
    2: "TASK_STATE_WORKING",
    3: "TASK_STATE_COMPLETED",
    4: "TASK_STATE_FAILED",
    5: "TASK_STATE_CANCELED",
    6: "TASK_STATE_INPUT_REQUIRED",
    7: "TASK_STATE_REJECTED",
    8: "TASK_STATE_AUTH_REQUIRED",
}
"""ProtoJSON lets a writer give the number of a word in its place."""


class A2AModel(WireModel):
    """A message of the protocol: its keys are in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


class Part(A2AModel):
    """A piece of a message or an artifact: exactly one of text, bytes in base64, a URL and data."""

    text: Annotated[str | None, NOT_NULL] = None
    raw: Annotated[str | None, NOT_NULL] = None
    url: Annotated[str | None, NOT_NULL] = None
    data: Any = None
    metadata: Annotated[JsonMapping | None, NOT_NULL] = None
    filename: Annotated[str | None, NOT_NULL] = None
    media_type: Annotated[str | None, NOT_NULL] = None

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if len(self.model_fields_set & CONTENT) != 1:
            raise PydanticCustomError("part", "a part has exactly one of `text`, `raw`, `url` and `data`")
        return self


CONTENT: Final = frozenset({"text", "raw", "url", "data"})


class Message(A2AModel):
    """What one side said."""

    message_id: NonBlankText
    role: Role
    parts: list[Part]
    context_id: Annotated[str | None, NOT_NULL] = None
    task_id: Annotated[str | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])
    extensions: list[str] = Field(default_factory=list[str])
    reference_task_ids: Annotated[list[str] | None, NOT_NULL] = None


class SendMessageRequest(A2AModel):
    """A request: the body of `POST /message:send`, and the parameters of the method `SendMessage`."""

    message: Message
    tenant: Annotated[str | None, NOT_NULL] = None
    configuration: Annotated[JsonMapping | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class TaskStatus(A2AModel):
    """Where a task is."""

    state: State
    message: Annotated[Message | None, NOT_NULL] = None
    timestamp: Annotated[str | None, NOT_NULL] = None


class Artifact(A2AModel):
    """Something that a task made."""

    artifact_id: NonBlankText
    parts: list[Part]
    name: Annotated[str | None, NOT_NULL] = None
    description: Annotated[str | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])
    extensions: list[str] = Field(default_factory=list[str])


class TaskObject(A2AModel):
    """A task and what came of it: `Task` in the protocol."""

    id: str
    status: TaskStatus
    context_id: Annotated[str | None, NOT_NULL] = None
    artifacts: list[Artifact] = Field(default_factory=list[Artifact])
    history: Annotated[list[JsonMapping] | None, NOT_NULL] = None
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class StatusUpdate(A2AModel):
    """An event: the status has changed."""

    task_id: str
    status: TaskStatus
    context_id: str = ""
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class ArtifactUpdate(A2AModel):
    """An event: there is an artifact, or more of it."""

    task_id: str
    artifact: Artifact
    context_id: str = ""
    append: bool = False
    last_chunk: bool = False
    metadata: JsonMapping = Field(default_factory=dict[str, Any])


class RpcRequest(A2AModel):
    """A request in JSON-RPC."""

    jsonrpc: Literal["2.0"]
    method: Literal["SendMessage", "SendStreamingMessage"]
    params: JsonMapping
    id: str | int = 1


class RpcResponse(A2AModel):
    """An answer in JSON-RPC: a result or an error."""

    jsonrpc: Literal["2.0"]
    result: Annotated[JsonMapping | None, NOT_NULL] = None
    error: Annotated[JsonMapping | None, NOT_NULL] = None
    id: str | int | None = 1


@cache
def keys_of(model: type[A2AModel]) -> frozenset[str]:
    """The keys of a message, as the format spells them."""
    return frozenset(info.alias or name for name, info in model.model_fields.items())


# Errors.


class ErrorWords(NamedTuple):
    """What an error is called in JSON-RPC and in HTTP, and to us."""

    fault: FaultCode
    http: int
    status: str
    reason: str


ERRORS: Final[Mapping[int, ErrorWords]] = {
    -32700: ErrorWords("parse_error", 400, "INVALID_ARGUMENT", "JSON_PARSE_ERROR"),
    -32600: ErrorWords("invalid_input", 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    -32601: ErrorWords("invalid_input", 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    -32602: ErrorWords("invalid_input", 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    -32603: ErrorWords("internal_error", 500, "INTERNAL", "INTERNAL_ERROR"),
    -32001: ErrorWords("invalid_input", 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    -32002: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    -32003: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    -32004: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    -32005: ErrorWords("invalid_input", 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    -32006: ErrorWords("output_invalid", 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    -32007: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    -32008: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    -32009: ErrorWords("invalid_input", 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
}
"""The errors of the protocol, by their code in JSON-RPC."""

FAULTS: Final[Mapping[FaultCode, tuple[int, int, str]]] = {
    "missing_file": (-32603, 404, "NOT_FOUND"),
    "invalid_input": (-32602, 400, "INVALID_ARGUMENT"),
    "output_invalid": (-32006, 500, "INTERNAL"),
    "parse_error": (-32700, 400, "INVALID_ARGUMENT"),
    "access_denied": (-32603, 403, "PERMISSION_DENIED"),
    "unauthenticated": (-32603, 401, "UNAUTHENTICATED"),
    "network_error": (-32603, 502, "UNAVAILABLE"),
    "unavailable": (-32603, 503, "UNAVAILABLE"),
    "timeout": (-32603, 504, "DEADLINE_EXCEEDED"),
    "budget_exceeded": (-32603, 429, "RESOURCE_EXHAUSTED"),
    "canceled": (-32603, 499, "CANCELLED"),
    "internal_error": (-32603, 500, "INTERNAL"),
}
"""What each fault is called where an error is all that is answered: code in JSON-RPC, HTTP status, word of gRPC."""

ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
STRUCT: Final = "type.googleapis.com/google.protobuf.Struct"
DOMAIN: Final = "a2a-protocol.org"


# Numbers.

_EXACT: Final = 2**53
"""Up to here every whole number is a double of its own."""


def is_exact(value: object) -> bool:
    """Whether free data keeps every whole number in `value`."""
    match value:
        case int():
            return abs(value) <= _EXACT
        case list():
            return all(is_exact(each) for each in cast("list[object]", value))
        case dict():
            return all(is_exact(each) for each in cast("JsonMapping", value).values())
        case _:
            return True


def keeps_digits(text: str) -> bool:
    """Whether doubles keep every digit of the fractions in a JSON text, which any reader makes doubles of.

    They do up to 15 digits, and also the 17 by which some programs write a double. A text that is no JSON has none.
    """
    flags: list[bool] = []
    if _MANY_DIGITS.search(text):
        with suppress(ValueError, RecursionError):
            json.loads(text, parse_float=lambda literal: flags.append(_is_kept(literal)))
    return all(flags)


_MANY_DIGITS: Final = re.compile(r"\d[\d.]{15}|\d[eE]-\d{3}")


def _is_kept(literal: str) -> bool:
    digits = len(literal.lower().partition("e")[0].replace(".", "").strip("-0"))
    # A double has 767 digits at most, and its own text is not asked for more.
    return digits < 800 and Decimal(f"{float(literal):.{max(digits - 1, 0)}e}") == Decimal(literal)


def whole_numbers(value: Any, schema: object = None) -> Any:
    """`value` with 7 in place of 7.0, but where its schema takes any number; `value` itself where there is none.

    Args:
        value: JSON data that came as free data.
        schema: The JSON Schema of `value`, when it is known.
    """
    here = cast("JsonMapping", schema) if isinstance(schema, dict) else {}
    match value:
        case float():
            is_whole = value.is_integer() and abs(value) <= _EXACT and here.get("type") != "number"
            return int(value) if is_whole else value
        case list():
            items = [whole_numbers(each, here.get("items")) for each in cast("list[Any]", value)]
            return items if any(map(is_not, items, cast("list[Any]", value))) else cast("list[Any]", value)
        case dict():
            properties = here.get("properties")
            schemas = cast("JsonMapping", properties) if isinstance(properties, dict) else {}
            members = {
                name: whole_numbers(each, schemas.get(name, here.get("additionalProperties")))
                for name, each in cast("JsonMapping", value).items()
            }
            is_changed = any(map(is_not, members.values(), cast("JsonMapping", value).values()))
            return members if is_changed else cast("JsonMapping", value)
        case _:
            return value
