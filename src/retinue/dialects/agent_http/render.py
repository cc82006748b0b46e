"""From contract to text: a body for `/tasks` or a skill's route, and what is answered on either."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome, Result
from retinue.contract.task import Correction, Task
from retinue.dialects.dates import format_timestamp, parse_timestamp
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.losses import Losses, choose_form
from retinue.dialects.port import DEFAULT_AGENT, RenderedMessage
from retinue.errors import InvalidInput

from .bodies import error_in, error_json
from .extras import NAME, RESULT_FIELDS, TASK_FIELDS, metadata_fields, restore_extras
from .message_parts import build_message, correction_text
from .record import is_record, parse_artifact
from .request import is_message
from .wire import METADATA_KEY, OUTCOMES, STATES, HttpMessage, State

TASK_FORMS: Final = ("task", "skill")
RESULT_FORMS: Final = ("task", "skill")
"""Over the generic endpoint, and over a skill's own route."""

_ROUTE: Final = "the route says it"
_BARE: Final = "a skill's route takes its parameters only"
_OUTPUT: Final = "a skill's route answers its output only"
_WORKING: Final = ("submitted", "working", "input_required")


# Requests


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request: a message for `/tasks` (P1), or the parameters for a skill's route (P3).

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    losses = Losses(NAME)
    if choose_form(form, TASK_FORMS, NAME) == "skill":
        if is_message(task.parameters, task.skill):
            raise InvalidInput(
                "These parameters would be read as a message for `/tasks`.",
                hint="Write the request in the form `task`.",
                path="/parameters",
            )
        if task.agent != DEFAULT_AGENT:
            losses.add("/agent", _ROUTE)
        losses.add_fields(task, "skill", "major", why=_ROUTE)
        if task.id:
            losses.add("/id", _BARE)
        unsupported = set(Task.model_fields) - {"id", "agent", "skill", "major", "parameters"}
        losses.add_fields(task, *sorted(unsupported), why=_BARE)
        return RenderedMessage(json.dumps(task.parameters), "skill", tuple(losses.entries))
    return _render_message(task, None, losses)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with the correction in its metadata and as a further text (P14)."""
    return _render_message(task, correction, Losses(NAME))


def _render_message(task: Task, correction: Correction | None, losses: Losses) -> RenderedMessage:
    data = [task.parameters] if task.parameters else []
    text = None if data and not task.instruction else task.instruction
    user_message = build_message("user", text, data)
    rest = metadata_fields(task, TASK_FIELDS)
    if task.agent == DEFAULT_AGENT:
        del rest["agent"]
    metadata: JsonMapping = {METADATA_KEY: rest} if rest else {}
    if correction is not None:
        user_message["parts"].append({"type": "text", "text": correction_text(correction)})
        why = correction.model_dump(mode="json", exclude_defaults=True)
        metadata["correction"] = {**why, "retry_count": correction.retry_count}
    body: JsonMapping = {"message": user_message}
    if task.id:
        body = {"id": task.id, **body}
    if metadata:
        body["metadata"] = metadata
    restore_extras(
        task.extras, body, {"id": _reject, "session_id": _is_text, "task": _reject, "request_message": _reject}, losses
    )
    return RenderedMessage(json.dumps(body), "task", tuple(losses.entries))


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer: the record of a task (P17), or what a skill's route answers (P3).

    A skill that is not done answers the record.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    losses = Losses(NAME)
    if choose_form(form, RESULT_FORMS, NAME) == "skill" and result.lifecycle == "ended":
        return _output(result, losses)
    state = _state(result)
    record: JsonMapping = {"id": result.task_id, "status": {"state": state}}
    data = [] if result.data is None else [result.data]
    if result.content or data:
        record["response_message"] = build_message("agent", result.content or None, data)
    if result.artifacts:
        record["artifacts"] = [each.model_dump(mode="json", exclude_defaults=True) for each in result.artifacts]
    metadata = _metadata(result, state, losses)
    _explain(result, record, metadata, losses)
    if metadata:
        record["metadata"] = metadata
    losses.add_fields(result, "native", "reasoning", why="it is never handed on")
    # What came along, back in its place.
    status = record["status"]
    own = result.extras.get(NAME)
    if isinstance(own, dict):
        extras = cast("JsonMapping", own)
        moment = extras.get("timestamp")
        fits = isinstance(moment, str) and "timestamp" not in status
        if fits and (result.fault is None or parse_timestamp(cast("str", moment)) is None):
            status["timestamp"] = moment
            extras = {name: value for name, value in extras.items() if name != "timestamp"}
        if extras or own == {}:
            restore_extras({**result.extras, NAME: extras}, record, _FITS, losses)
        else:
            losses.add_foreign_extras(result.extras)
    else:
        restore_extras(result.extras, record, _FITS, losses)
    return RenderedMessage(json.dumps(record), "task", tuple(losses.entries))


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


def _metadata(result: Result, state: State, losses: Losses) -> JsonMapping:
    metadata: JsonMapping = {}
    if STATES[state][1] != result.outcome:
        if result.outcome is None:
            losses.add("/outcome", f"{state!r} is the nearest word")
        else:
            metadata["outcome"] = result.outcome
    rest = metadata_fields(result, RESULT_FIELDS)
    if result.agent == DEFAULT_AGENT:
        del rest["agent"]
    if result.lifecycle == "input_required":
        metadata["questions"] = rest.pop("questions", [])
    if rest:
        metadata[METADATA_KEY] = rest
    return metadata


def _explain(result: Result, record: JsonMapping, metadata: JsonMapping, losses: Losses) -> None:
    """What the status says beside the state: the failure, or the question."""
    status, fault = record["status"], result.fault
    outcome = metadata.get("outcome", STATES[status["state"]][1])
    if fault is not None:
        metadata["error"] = error_json(fault)
        if fault.message:
            status["message"] = fault.message
    elif outcome in {"error", "failed", "rejected"}:
        losses.add("/fault", "the format demands one")
    elif result.lifecycle == "input_required" and result.questions:
        status["message"] = "\n".join(each.text for each in result.questions)
    moment = None if fault is None or fault.timestamp_ns is None else format_timestamp(fault.timestamp_ns)
    if moment is not None:
        status["timestamp"] = moment


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
        isinstance(each, dict) and parse_artifact(cast("JsonMapping", each)) is None for each in items
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


def _output(result: Result, losses: Losses) -> RenderedMessage:
    """What a skill's route answers."""
    fault = result.fault
    failed = result.outcome not in {"success", "partial", None} or (result.outcome is None and fault is not None)
    if failed:
        body = _error_body(result, fault, losses)
        rendered_fields = {"fault", "outcome"}
    else:
        data: object = result.data
        if result.content:
            losses.add("/content", "it is inside the output" if data is None else _OUTPUT)
        if isinstance(data, dict):
            output = cast("JsonMapping", data)
        else:
            losses.add("/data", "an output is an object")
            content: JsonMapping = {"content": result.content} if result.content else {}
            output = content if data is None else {"value": result.data}
        if is_record(output) or error_in(output, Diagnostics(NAME, "standard")) is not None:
            raise InvalidInput(
                "This output would be read as something else: it looks like an error or the record of a task.",
                hint="Write the answer in the form `task`.",
                path="/data",
            )
        body = output
        if result.outcome != "success":
            losses.add("/outcome", _OUTPUT)
        rendered_fields = {"data", "outcome", "content"}
    if result.agent != DEFAULT_AGENT:
        losses.add("/agent", _ROUTE)
    if result.task_id:
        losses.add("/task_id", _OUTPUT)
    unsupported = set(Result.model_fields) - {"agent", "task_id", "lifecycle", *rendered_fields}
    losses.add_fields(result, *sorted(unsupported), why=_OUTPUT)
    return RenderedMessage(json.dumps(body), "skill", tuple(losses.entries))


def _error_body(result: Result, fault: Fault | None, losses: Losses) -> JsonMapping:
    if fault is None:
        losses.add("/fault", "the format demands one")
        fault = Fault(code="internal_error", message="The skill failed without a reason.")
    outcome = "canceled" if fault.code == "canceled" else "error"
    if result.outcome != outcome:
        losses.add("/outcome", f"{outcome!r} is what the error says")
    return {"error": error_json(fault)}
