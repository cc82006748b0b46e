"""From contract to text: a body for `/tasks` or a skill's route, and what is answered on either."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Outcome, Result
from retinue.contract.schema import embed_schema
from retinue.contract.task import Correction, Task
from retinue.dialects.decoding import format_timestamp, parse_timestamp
from retinue.dialects.diagnostics import Diagnostics, read_model
from retinue.dialects.losses import choose_form, own_extras, rendered_message
from retinue.dialects.port import DEFAULT_AGENT, ParseContext, RenderedMessage
from retinue.errors import InvalidInput

from .parse import (
    NAME,
    RESULT_FIELDS,
    TASK_FIELDS,
    build_message,
    correction_text,
    error_in,
    error_json,
    is_message,
    is_record,
    metadata_fields,
    parse_result,
    parse_task,
    restore_extras,
)
from .wire import METADATA_KEY, OUTCOMES, STATES, HttpMessage, State

TASK_FORMS: Final = ("task", "skill")
RESULT_FORMS: Final = ("task", "skill")
"""Over the generic endpoint, and over a skill's own route."""

_ROUTE_SAYS: Final = "the route says it"
_PARAMETERS_REASONS: Final = {
    **dict.fromkeys(("/" + name for name in Task.model_fields), "a skill's route takes its parameters only"),
    **dict.fromkeys(("/agent", "/skill", "/major"), _ROUTE_SAYS),
}


# Requests


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request: a message for `/tasks` (P1), or the parameters for a skill's route (P3).

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    if choose_form(form, TASK_FORMS, NAME) == "task":
        return _render_message(task, None)
    if is_message(task.parameters, task.skill):
        raise InvalidInput(
            "These parameters would be read as a message for `/tasks`.",
            hint="Write the request in the form `task`.",
            path="/parameters",
        )

    def read(text: str) -> Task:
        """Read the parameters as the one does who serves the route; the text itself does not say the skill."""
        task_read = parse_task(text, context=ParseContext(skill=task.skill)).value
        return task_read.model_copy(update={"skill": None})

    return rendered_message(
        json.dumps(task.parameters), "skill", task, dialect=NAME, read=read, reasons=_PARAMETERS_REASONS
    )


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with the correction in its metadata and as a further text (P14)."""
    return _render_message(task, correction)


def _render_message(task: Task, correction: Correction | None) -> RenderedMessage:
    data = [task.parameters] if task.parameters else []
    user_message = build_message("user", None if data and not task.instruction else task.instruction, data)
    rest = metadata_fields(task, TASK_FIELDS)
    if task.agent == DEFAULT_AGENT:
        del rest["agent"]
    metadata: JsonMapping = {METADATA_KEY: rest} if rest else {}
    if correction is not None:
        user_message["parts"].append({"type": "text", "text": correction_text(correction)})
        why = correction.model_dump(mode="json", exclude_defaults=True)
        metadata["correction"] = {**why, "retry_count": correction.retry_count}
    body: JsonMapping = {"id": task.id} if task.id else {}
    body["message"] = user_message
    if metadata:
        body["metadata"] = metadata
    reserved = {"id": _reject, "session_id": _is_text, "task": _reject, "request_message": _reject}
    restore_extras(task.extras, body, reserved)
    return rendered_message(
        json.dumps(body), "task", task, dialect=NAME, read=lambda text: parse_task(text).value, reasons={}
    )


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer: the record of a task (P17), or what a skill's route answers (P3).

    A skill that is not done answers the record.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    if choose_form(form, RESULT_FORMS, NAME) == "skill" and result.lifecycle == "ended":
        return _output(result)
    state = _state(result)
    status: JsonMapping = {"state": state}
    record: JsonMapping = {"id": result.task_id, "status": status}
    data = [] if result.data is None else [result.data]
    if result.content or data:
        record["response_message"] = build_message("agent", result.content or None, data)
    if result.artifacts:
        record["artifacts"] = [each.model_dump(mode="json", exclude_defaults=True) for each in result.artifacts]
    metadata: JsonMapping = {}
    if result.outcome is not None and result.outcome != STATES[state][1]:
        metadata["outcome"] = result.outcome
    rest = metadata_fields(result, RESULT_FIELDS)
    if result.agent == DEFAULT_AGENT:
        del rest["agent"]
    if result.lifecycle == "input_required":
        metadata["questions"] = rest.pop("questions", [])
    if rest:
        metadata[METADATA_KEY] = rest
    # What the status says beside the state: the failure, or the question.
    fault = result.fault
    if fault is not None:
        metadata["error"] = error_json(fault)
        if fault.message:
            status["message"] = fault.message
    elif result.lifecycle == "input_required" and result.questions:
        status["message"] = "\n".join(each.text for each in result.questions)
    # When it failed; else the time that came along, unless it would be read as that of the failure.
    timestamp = None if fault is None or fault.timestamp_ns is None else format_timestamp(fault.timestamp_ns)
    original: object = own_extras(result.extras, NAME).get("timestamp")
    if timestamp is None and isinstance(original, str) and (fault is None or parse_timestamp(original) is None):
        timestamp = original
    if timestamp is not None:
        status["timestamp"] = timestamp
    if metadata:
        record["metadata"] = metadata
    restore_extras(result.extras, record, _FITS)
    return rendered_message(
        json.dumps(record),
        "task",
        result,
        dialect=NAME,
        read=lambda text: parse_result(text).value,
        reasons={"/fault": _REQUIRED, "/outcome": f"{state!r} is the nearest word"},
    )


def _state(result: Result) -> State:
    match result.lifecycle:
        case "submitted":
            return "pending"
        case "working" | "input_required":
            return "working"
        case "ended" if result.outcome is None:
            return "completed" if result.fault is None else "failed"
        case "ended":
            return OUTCOMES[cast("Outcome", result.outcome)]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_message(value: object) -> bool:
    try:
        return HttpMessage.model_validate(value).to_json() == value
    except ValidationError:
        return False


def _are_foreign_artifacts(value: object) -> bool:
    """Artifacts of another shape than ours, as they were kept."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(items) and all(
        isinstance(each, dict) and read_model(Artifact, cast("object", each)) is None for each in items
    )


def _reject(value: object) -> bool:
    del value
    return False


_FITS: Final = {
    "request_message": _is_message,
    "response_message": _reject,
    "history": _is_list,
    "artifacts": _are_foreign_artifacts,
    "session_id": _is_text,
    "created_at": _is_text,
    "updated_at": _is_text,
    "timestamp": _reject,
}


def _output(result: Result) -> RenderedMessage:
    """What a skill's route answers."""
    fault = result.fault
    body: JsonMapping
    if result.outcome not in {"success", "partial", None} or (result.outcome is None and fault is not None):
        body = {
            "error": error_json(fault or Fault(code="internal_error", message="The skill failed without a reason."))
        }
    else:
        data: object = result.data
        if isinstance(data, dict):
            body = cast("JsonMapping", data)
        elif data is not None:
            body = {"value": data}
        else:
            body = {"content": result.content} if result.content else {}
        if is_record(body) or error_in(body, Diagnostics(NAME, "standard")) is not None:
            raise InvalidInput(
                "This output would be read as something else: it looks like an error or the record of a task.",
                hint="Write the answer in the form `task`.",
                path="/data",
            )
    return rendered_message(
        json.dumps(body),
        "skill",
        result,
        dialect=NAME,
        read=lambda text: parse_result(text).value,
        reasons=dict.fromkeys(("/" + name for name in Result.model_fields), _OUTPUT) | _OUTPUT_REASONS,
    )


def body_schema(schema: JsonMapping | None) -> JsonMapping | None:
    """What a skill's route answers when its output is of `schema`: always an object (P3). None where that varies."""
    kind: object = None if schema is None else schema.get("type")
    if schema is None or kind == "object":
        return schema
    if kind not in {"string", "number", "integer", "boolean", "array"}:
        return None
    value = embed_schema(schema, "/properties/value")
    return {"type": "object", "properties": {"value": value}, "required": ["value"], "additionalProperties": False}


_REQUIRED: Final = "the format requires one"
_OUTPUT: Final = "a skill's route answers its output only"
_OUTPUT_REASONS: Final = {"/agent": _ROUTE_SAYS, "/data": "an output is an object", "/fault": _REQUIRED}
