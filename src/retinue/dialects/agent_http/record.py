"""From the record of a task (P17) to a `Result`."""

from typing import Any, Final, cast, get_args

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Lifecycle, Outcome, Result
from retinue.contract.task import Question
from retinue.dialects.mending import drop_nulls
from retinue.dialects.moments import moment_ns
from retinue.dialects.port import Known, Parsed
from retinue.dialects.reading import Notes, refuse
from retinue.errors import OutputInvalid

from .bodies import fault_in
from .messages import parts_of, tidy
from .rest import NAME, RESULT_SAID, read_rest, set_aside
from .wire import STATES, TaskRecord, TaskStatus

__all__ = ["as_artifact", "from_record", "is_record", "mend_record", "questions_in"]

_ALONG: Final = ("request_message", "history", "session_id", "created_at", "updated_at")
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
        named = value.keys() <= TaskRecord.model_fields.keys() and "id" in value
        return named and (_word(status) in STATES or _word(status) in _STATE_WORDS)
    return isinstance(status, dict) and "state" in status


def _word(state: str) -> str:
    return state.lower().removeprefix("task_state_")


def mend_record(value: JsonObject, notes: Notes, kept: JsonMapping, known: Known) -> None:
    """Mend a record where it has one meaning; what the format has no word for goes into `kept`."""
    set_aside(value, frozenset(TaskRecord.model_fields), notes, kept)
    drop_nulls(value, tuple(value), notes)
    if "id" not in value:
        notes.add("id", "The record has no `id`.", path="/id", fix="Say the task's `id`.")
        value["id"] = known.task_id
    for name, role in (("request_message", "user"), ("response_message", "agent")):
        if name in value:
            value[name] = tidy(value[name], notes, kept, path=f"/{name}", role=role)
    state = value["status"]
    if isinstance(state, str):
        notes.add("state", "The status is a bare word.", path="/status", fix='Send `{"state": …}`.')
        value["status"] = {"state": state}
    _mend_status(cast("JsonObject", value["status"]), value, notes, kept)


def _mend_status(status: JsonObject, value: JsonObject, notes: Notes, kept: JsonMapping) -> None:
    aside: JsonMapping = {}
    set_aside(status, frozenset(TaskStatus.model_fields), notes, aside)
    if aside:
        kept["status"] = aside
    drop_nulls(status, tuple(status), notes, path="/status")
    message = status.get("message")
    if isinstance(message, dict):
        notes.add("message", "The message of the status is not text.", path="/status/message", fix="Send text.")
        parts = message.get("parts")
        texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        status["message"] = "\n".join(text for text in texts if isinstance(text, str))
    said = status.get("state")
    word = _word(said) if isinstance(said, str) else ""
    meant = word if word in STATES else _STATE_WORDS.get(word)
    if meant is not None and meant != said:
        notes.add("state", f"The state {said!r} was read as {meant!r}.", path="/status/state", fix=f"Say {meant!r}.")
        status["state"] = meant
        metadata = value.setdefault("metadata", {})
        if word in {"input-required", "input_required"} and isinstance(metadata, dict):
            metadata.setdefault("questions", cast("JsonValue", _asked(status.get("message"))))


def _asked(message: JsonValue) -> list[JsonMapping]:
    return [{"id": "q1", "text": message}] if isinstance(message, str) and message else []


def from_record(record: TaskRecord, known: Known, notes: Notes, kept: JsonMapping) -> Parsed[Result]:
    """A result out of a record."""
    metadata = dict(record.metadata)
    texts, pieces = parts_of(record.response_message)
    base: JsonMapping = {"task_id": "", "agent": known.agent}
    if known.skill is not None:
        base["skill"] = known.skill
    beside = read_rest(metadata, Result, base, notes, said=RESULT_SAID)
    lifecycle, outcome, questions = _ending(record, metadata, beside, notes)
    fault = _fault(record, outcome, metadata, notes)
    timestamp = record.status.timestamp
    if timestamp is not None:
        at = moment_ns(timestamp)
        if fault is not None and at is not None:
            fault = fault.model_copy(update={"timestamp_ns": at})
        else:
            kept["timestamp"] = timestamp
    artifacts = _artifacts(record, notes, kept)
    if metadata:
        kept["metadata"] = metadata
    kept |= {name: said for name, said in record.to_json().items() if name in _ALONG}
    fields: dict[str, Any] = dict(beside) | {
        "task_id": record.id,
        "lifecycle": lifecycle,
        "outcome": outcome,
        "questions": questions,
        "content": "\n".join(texts),
        "data": pieces[0] if len(pieces) == 1 else pieces or None,
        "artifacts": artifacts,
        "fault": fault,
        "extras": {NAME: kept} if kept else {},
    }
    if notes.wrong:
        refuse(notes, OutputInvalid)
    return Parsed(Result(**fields), "task", tuple(notes.findings))


def _ending(
    record: TaskRecord, metadata: JsonMapping, beside: Result, notes: Notes
) -> tuple[Lifecycle, Outcome | None, tuple[Question, ...]]:
    """How far it is and how it ended: the state, and what the metadata adds to it."""
    lifecycle, outcome = STATES[record.status.state]
    if "outcome" in metadata:
        said = metadata["outcome"]
        if isinstance(said, str) and said in _OUTCOMES:
            outcome = cast("Outcome", metadata.pop("outcome"))
        else:
            what, severity = f"{said!r} is not an outcome.", notes.severity("standard")
            fix = "Leave it out, or say `partial`."
            notes.add("outcome", what, path="/metadata/outcome", fix=fix, severity=severity)
    if "questions" in metadata and lifecycle == "working":
        asked = questions_in(metadata["questions"])
        if asked is not None:
            del metadata["questions"]
            return "input_required", outcome, asked
        what, fix = "`questions` is not a list of questions.", "Give each an `id` and a `text`."
        notes.add("questions", what, path="/metadata/questions", fix=fix, severity=notes.severity("standard"))
    return lifecycle, outcome, beside.questions


def questions_in(said: object) -> tuple[Question, ...] | None:
    """The questions of a list; None when it is none."""
    if not isinstance(said, list):
        return None
    try:
        return tuple(Question.model_validate_json(json.dumps(each)) for each in cast("list[object]", said))
    except ValidationError:
        return None


def _fault(record: TaskRecord, outcome: Outcome | None, metadata: JsonMapping, notes: Notes) -> Fault | None:
    """Why it failed: the error of the metadata, else the message of the status."""
    said = metadata.get("error")
    if said is not None:
        fault, wrong = fault_in(said)
        for each in wrong:
            path = f"/metadata/error{each.path}"
            notes.add("error", each.message, path=path, fix=each.fix, severity=notes.severity("standard"))
        if fault is not None:
            del metadata["error"]
            return fault
    if outcome not in {"error", "failed", "rejected"}:
        return None
    return Fault(code="internal_error", message=record.status.message or "")


def as_artifact(said: JsonMapping) -> Artifact | None:
    """An artifact of ours; None for one of another shape."""
    try:
        return Artifact.model_validate_json(json.dumps(said))
    except ValidationError:
        return None


def _artifacts(record: TaskRecord, notes: Notes, kept: JsonMapping) -> tuple[Artifact, ...]:
    read = [(said, as_artifact(said)) for said in record.artifacts]
    strange = [said for said, artifact in read if artifact is None]
    if strange:
        what, fix = f"{len(strange)} artifacts name no file; they were kept.", "Give each its `path`."
        notes.add("artifacts", what, path="/artifacts", fix=fix)
        kept["artifacts"] = strange
    return tuple(artifact for _, artifact in read if artifact is not None)
