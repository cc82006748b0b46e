"""From the record of a task (P17) to a `Result`."""

from typing import Any, Final, cast, get_args

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Lifecycle, Outcome, Result
from retinue.contract.task import Question
from retinue.dialects.coercion import drop_nulls
from retinue.dialects.dates import parse_timestamp
from retinue.dialects.diagnostics import Diagnostics, refuse
from retinue.dialects.port import ParseContext, Parsed
from retinue.errors import OutputInvalid

from .bodies import fault_in
from .extras import NAME, RESULT_FIELDS, extract_extras, read_metadata
from .message_parts import normalise_message, parts_of
from .wire import STATES, TaskRecord, TaskStatus

_PASSED_THROUGH: Final = ("request_message", "history", "session_id", "created_at", "updated_at")
_OUTCOMES: Final = frozenset[str](get_args(Outcome))
_STATE_WORDS: Final = {
    "submitted": "pending",
    "running": "working",
    "in_progress": "working",
    "input-required": "working",
    "input_required": "working",
    "complete": "completed",
    "success": "completed",
    "done": "completed",
    "error": "failed",
    "rejected": "failed",
    "cancelled": "canceled",
}
"""Words of others for the states (C1)."""


def is_record(value: JsonObject) -> bool:
    """Whether `value` is meant as the record of a task; also one whose `status` is no object but the state itself."""
    status = value.get("status")
    if isinstance(status, str):
        has_record_keys = value.keys() <= TaskRecord.model_fields.keys() and "id" in value
        return has_record_keys and (_state_word(status) in STATES or _state_word(status) in _STATE_WORDS)
    return isinstance(status, dict) and "state" in status


def _state_word(state: str) -> str:
    return state.lower().removeprefix("task_state_")


def normalise_record(value: JsonObject, notes: Diagnostics, extras: JsonMapping, context: ParseContext) -> None:
    """Mend a record where it has one meaning; what the format has no word for goes into `extras`."""
    extract_extras(value, frozenset(TaskRecord.model_fields), notes, extras)
    drop_nulls(value, tuple(value), notes)
    if "id" not in value:
        notes.add("id", "The record has no `id`.", path="/id", fix="Say the task's `id`.")
        value["id"] = context.task_id
    for name, role in (("request_message", "user"), ("response_message", "agent")):
        if name in value:
            value[name] = normalise_message(value[name], notes, extras, path=f"/{name}", role=role)
    state = value["status"]
    if isinstance(state, str):
        notes.add("state", "The status is a bare word.", path="/status", fix='Send `{"state": …}`.')
        value["status"] = {"state": state}
    _normalise_status(cast("JsonObject", value["status"]), value, notes, extras)


def _normalise_status(status: JsonObject, value: JsonObject, notes: Diagnostics, extras: JsonMapping) -> None:
    unknown: JsonMapping = {}
    extract_extras(status, frozenset(TaskStatus.model_fields), notes, unknown)
    if unknown:
        extras["status"] = unknown
    drop_nulls(status, tuple(status), notes, path="/status")
    message = status.get("message")
    if isinstance(message, dict):
        notes.add("message", "The message of the status is not text.", path="/status/message", fix="Send text.")
        parts = message.get("parts")
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        status["message"] = "\n".join(text for text in texts if isinstance(text, str))
    state = status.get("state")
    word = _state_word(state) if isinstance(state, str) else ""
    standard_state = word if word in STATES else _STATE_WORDS.get(word)
    if standard_state is not None and standard_state != state:
        notes.add(
            "state",
            f"The state {state!r} was read as {standard_state!r}.",
            path="/status/state",
            fix=f"Say {standard_state!r}.",
        )
        status["state"] = standard_state
        metadata = value.setdefault("metadata", {})
        if word in {"input-required", "input_required"} and isinstance(metadata, dict):
            metadata.setdefault("questions", cast("JsonValue", _status_questions(status.get("message"))))


def _status_questions(message: JsonValue) -> list[JsonMapping]:
    return [{"id": "q1", "text": message}] if isinstance(message, str) and message else []


def from_record(record: TaskRecord, context: ParseContext, notes: Diagnostics, extras: JsonMapping) -> Parsed[Result]:
    """A result out of a record."""
    metadata = dict(record.metadata)
    texts, pieces = parts_of(record.response_message)
    base: JsonMapping = {"task_id": "", "agent": context.agent}
    if context.skill is not None:
        base["skill"] = context.skill
    overlay = read_metadata(metadata, Result, base, notes, exclude=RESULT_FIELDS)
    lifecycle, outcome, questions = _ending(record, metadata, overlay, notes)
    fault = _fault(record, outcome, metadata, notes)
    timestamp = record.status.timestamp
    if timestamp is not None:
        at = parse_timestamp(timestamp)
        if fault is not None and at is not None:
            fault = fault.model_copy(update={"timestamp_ns": at})
        else:
            extras["timestamp"] = timestamp
    artifacts = _artifacts(record, notes, extras)
    if metadata:
        extras["metadata"] = metadata
    extras |= {name: value for name, value in record.to_json().items() if name in _PASSED_THROUGH}
    fields: dict[str, Any] = dict(overlay) | {
        "task_id": record.id,
        "lifecycle": lifecycle,
        "outcome": outcome,
        "questions": questions,
        "content": "\n".join(texts),
        "data": pieces[0] if len(pieces) == 1 else pieces or None,
        "artifacts": artifacts,
        "fault": fault,
        "extras": {NAME: extras} if extras else {},
    }
    if notes.has_errors:
        refuse(notes, OutputInvalid)
    return Parsed(Result(**fields), "task", tuple(notes.findings))


def _ending(
    record: TaskRecord, metadata: JsonMapping, overlay: Result, notes: Diagnostics
) -> tuple[Lifecycle, Outcome | None, tuple[Question, ...]]:
    """How far it is and how it ended: the state, and what the metadata adds to it."""
    lifecycle, outcome = STATES[record.status.state]
    if "outcome" in metadata:
        word = metadata["outcome"]
        if isinstance(word, str) and word in _OUTCOMES:
            outcome = cast("Outcome", metadata.pop("outcome"))
        else:
            what, severity = f"{word!r} is not an outcome.", notes.severity("standard")
            fix = "Leave it out, or say `partial`."
            notes.add("outcome", what, path="/metadata/outcome", fix=fix, severity=severity)
    if "questions" in metadata and lifecycle == "working":
        questions = questions_in(metadata["questions"])
        if questions is not None:
            del metadata["questions"]
            return "input_required", outcome, questions
        what, fix = "`questions` is not a list of questions.", "Give each an `id` and a `text`."
        notes.add("questions", what, path="/metadata/questions", fix=fix, severity=notes.severity("standard"))
    return lifecycle, outcome, overlay.questions


def questions_in(value: object) -> tuple[Question, ...] | None:
    """The questions of a list; None when it is none."""
    if not isinstance(value, list):
        return None
    try:
        return tuple(Question.model_validate_json(json.dumps(each)) for each in cast("list[object]", value))
    except ValidationError:
        return None


def _fault(record: TaskRecord, outcome: Outcome | None, metadata: JsonMapping, notes: Diagnostics) -> Fault | None:
    """Why it failed: the error of the metadata, else the message of the status."""
    error = metadata.get("error")
    if error is not None:
        fault, problems = fault_in(error)
        for each in problems:
            path = f"/metadata/error{each.path}"
            notes.add("error", each.message, path=path, fix=each.fix, severity=notes.severity("standard"))
        if fault is not None:
            del metadata["error"]
            return fault
    if outcome not in {"error", "failed", "rejected"}:
        return None
    return Fault(code="internal_error", message=record.status.message or "")


def parse_artifact(value: JsonMapping) -> Artifact | None:
    """An artifact of ours; None for one of another shape."""
    try:
        return Artifact.model_validate_json(json.dumps(value))
    except ValidationError:
        return None


def _artifacts(record: TaskRecord, notes: Diagnostics, extras: JsonMapping) -> tuple[Artifact, ...]:
    read = [(item, parse_artifact(item)) for item in record.artifacts]
    foreign = [item for item, artifact in read if artifact is None]
    if foreign:
        what, fix = f"{len(foreign)} artifacts name no file; they were kept.", "Give each its `path`."
        notes.add("artifacts", what, path="/artifacts", fix=fix)
        extras["artifacts"] = foreign
    return tuple(artifact for _, artifact in read if artifact is not None)
