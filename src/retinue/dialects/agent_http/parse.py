"""From text to contract: which of the messages it is, and who reads it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, Level, findings_of
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Artifact, Lifecycle, Outcome, Result
from retinue.contract.task import Correction, Question, Task
from retinue.dialects.decoding import find_json, format_timestamp, parse_timestamp
from retinue.dialects.diagnostics import (
    Diagnostics,
    drop_nulls,
    parse_answer_object,
    parse_object,
    read_model,
    refuse,
    take_unknown,
    validate,
)
from retinue.dialects.losses import own_extras
from retinue.dialects.port import DEFAULT_CONTEXT, Detection, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid

from .wire import (
    METADATA_KEY,
    RESERVED_METADATA,
    STATES,
    STATUSES,
    DataPart,
    HttpMessage,
    TaskBody,
    TaskRecord,
    TaskStatus,
    TextPart,
)


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read what was posted: a message to `/tasks` (P1), or the parameters of a skill (P3).

    Only a message says what it is; anything else is the parameters of `context.skill`.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It breaks the format.
    """
    notes = Diagnostics(NAME, level)
    value = parse_object(text, notes)
    extras: dict[str, Any] = {}
    fields: JsonMapping
    if is_message(value, context.skill):
        if level != "strict":
            for other in ("request_message", "task"):
                if "message" not in value and other in value:
                    fix = "Call it `message`."
                    notes.add("message", f"The message is called `{other}`.", path=f"/{other}", fix=fix)
                    value["message"] = value.pop(other)
            extras |= take_unknown(value, TaskBody.model_fields, notes, _UNKNOWN, fix=_OWN_METADATA)
            value["message"] = normalise_message(value["message"], notes, extras, path="/message", role="user")
        body = validate(value, TaskBody, notes, refusal=InvalidInput)
        fields, correction = _message_fields(body, context, notes, extras)
    else:
        if context.skill is None:
            what, fix = "Nothing says which skill these are the parameters of.", "Say the skill, or send a `message`."
            notes.add("no_skill", what, fix=fix, severity=notes.severity("standard"))
        fields = {"id": context.task_id, "agent": context.agent, "skill": context.skill, "parameters": value}
        correction, body = None, None
    task = None
    try:
        task = Task(**fields)
    except ValidationError as error:
        notes.extend(findings_of(error, rule=f"{NAME}/shape"))
    if task is None or notes.has_errors:
        refuse(notes, InvalidInput)
    return Parsed(task, "skill" if body is None else "task", tuple(notes.findings), correction)


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read what came back: the record of a task (P17), the output of a skill (P3), or an error body.

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    value = parse_answer_object(text, notes)
    if is_record(value):
        extras: dict[str, Any] = {}
        if level != "strict":
            _normalise_record(value, notes, extras, context)
        return _from_record(validate(value, TaskRecord, notes, refusal=OutputInvalid), context, notes, extras)
    error = error_in(value, notes)
    defaults: JsonMapping = {"task_id": context.task_id, "agent": context.agent, "skill": context.skill}
    if error is None:
        return Parsed(Result(**defaults, outcome="success", data=value), "skill", tuple(notes.findings))
    fault, problems = fault_in(error)
    for each in problems:
        severity = "error" if fault is None else notes.severity("standard")
        notes.add("error", each.message, path=f"/error{each.path}", fix=each.fix, severity=severity)
    if fault is None or notes.has_errors:
        refuse(notes, OutputInvalid)
    outcome = "canceled" if fault.code == "canceled" else "error"
    return Parsed(Result(**defaults, outcome=outcome, fault=fault), "skill", tuple(notes.findings))


_SIMPLE: Final = frozenset({"task", "message", "request_message", "id", "session_id", "metadata"})


def is_message(value: JsonObject, skill: str | None) -> bool:
    """Whether `value` is meant for `/tasks`, and is not the parameters of `skill`."""
    message = value.get("message", value.get("request_message"))
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return True
    simple = isinstance(message, str) or isinstance(value.get("task"), str)
    return skill is None and simple and value.keys() <= _SIMPLE


def _message_fields(
    body: TaskBody, context: ParseContext, notes: Diagnostics, extras: JsonMapping
) -> tuple[JsonMapping, Correction | None]:
    """The fields of a task out of a message: its texts are the instruction, its data the parameters."""
    metadata = dict(body.metadata)
    texts, pieces = parts_of(body.message)
    # Why the request is made again; what cannot be read of it stays in the metadata.
    correction: Correction | None = None
    if "correction" in metadata:
        try:
            correction = Correction.model_validate_json(json.dumps(metadata["correction"]))
            del metadata["correction"]
        except ValidationError as error:
            for each in findings_of(error, rule=""):
                path, severity = f"/metadata/correction{each.path}", notes.severity("standard")
                notes.add("correction", each.message, path=path, fix="Leave it out.", severity=severity)
    if correction is not None and texts and texts[-1] == correction_text(correction):
        texts = texts[:-1]
    base: JsonMapping = {"id": "", "agent": context.agent}
    if context.skill is not None:
        base["skill"] = context.skill
    overlay = read_metadata(metadata, Task, base, notes, exclude=TASK_FIELDS)
    # The pieces of data as parameters; those that are none are kept.
    parameters: JsonMapping = {}
    for piece in pieces:
        if isinstance(piece, dict) and not parameters.keys() & piece.keys():
            parameters |= cast("JsonMapping", piece)
        else:
            fix = "Send one object of parameters."
            notes.add(
                "data", "Data of another part is not used as parameters; it was kept.", path="/message/parts", fix=fix
            )
            extras.setdefault("parts", []).append({"type": "data", "data": piece})
    if metadata:
        extras["metadata"] = metadata
    if body.session_id is not None:
        extras["session_id"] = body.session_id
    fields = dict(overlay) | {
        "id": context.task_id if body.id is None else body.id,
        "instruction": "\n".join(texts),
        "parameters": parameters,
        "extras": {NAME: extras} if extras else {},
    }
    return fields, correction


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


def _normalise_record(value: JsonObject, notes: Diagnostics, extras: JsonMapping, context: ParseContext) -> None:
    """Mend a record where it has one meaning; what the format has no word for goes into `extras`."""
    extras |= take_unknown(value, TaskRecord.model_fields, notes, _UNKNOWN, fix=_OWN_METADATA)
    drop_nulls(value, tuple(value), notes)
    if "id" not in value:
        notes.add("id", "The record has no `id`.", path="/id", fix="Say the task's `id`.")
        value["id"] = context.task_id
    for name, role in (("request_message", "user"), ("response_message", "agent")):
        if name in value:
            value[name] = normalise_message(value[name], notes, extras, path=f"/{name}", role=role)
    if isinstance(value["status"], str):
        notes.add("state", "The status is a bare word.", path="/status", fix='Send `{"state": …}`.')
        value["status"] = {"state": value["status"]}
    status = cast("JsonObject", value["status"])
    if unknown := take_unknown(status, TaskStatus.model_fields, notes, _UNKNOWN, fix=_OWN_METADATA, path="/status"):
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
            question = status.get("message")
            questions: list[JsonValue] = (
                [{"id": "q1", "text": question}] if isinstance(question, str) and question else []
            )
            metadata.setdefault("questions", questions)


def _from_record(record: TaskRecord, context: ParseContext, notes: Diagnostics, extras: JsonMapping) -> Parsed[Result]:
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
    artifacts = [(item, read_model(Artifact, item)) for item in record.artifacts]
    foreign = [item for item, artifact in artifacts if artifact is None]
    if foreign:
        what, fix = f"{len(foreign)} artifacts name no file; they were kept.", "Give each its `path`."
        notes.add("artifacts", what, path="/artifacts", fix=fix)
        extras["artifacts"] = foreign
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
        "artifacts": tuple(artifact for _, artifact in artifacts if artifact is not None),
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
        items = metadata["questions"]
        questions = (
            [read_model(Question, each) for each in cast("list[object]", items)] if isinstance(items, list) else [None]
        )
        if None not in questions:
            del metadata["questions"]
            return "input_required", outcome, tuple(each for each in questions if each is not None)
        what, fix = "`questions` is not a list of questions.", "Give each an `id` and a `text`."
        notes.add("questions", what, path="/metadata/questions", fix=fix, severity=notes.severity("standard"))
    return lifecycle, outcome, overlay.questions


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


_PROBLEM: Final = frozenset({"type", "title", "status", "detail", "instance"})


def error_in(value: JsonObject, notes: Diagnostics) -> JsonMapping | None:
    """The error that a body says, in our shape or one of the usual others, which strict refuses; None without one."""
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict):
        return cast("JsonMapping", error)
    if isinstance(error, dict) and "message" in error and value.keys() <= {"error", "jsonrpc", "id", "request_id"}:
        fields: Any = error
    elif value.keys() == {"error"} and isinstance(error, str):
        fields = {"message": error}
    elif value.keys() == {"detail"}:
        # What web frameworks write: a sentence, or a list of what did not fit.
        fields = {
            "code": "invalid_input",
            "message": "The request does not fit.",
            "detail": {"findings": value["detail"]},
        }
        if isinstance(value["detail"], str):
            fields = {"message": value["detail"]}
    elif value.keys() <= _PROBLEM and "title" in value:
        fields = {"message": str(value.get("detail") or value["title"]), "detail": dict(value)}
    else:
        return None
    fix = "Send `error` with `code`, `message` and `hint`."
    notes.add("error", "The error body has another shape.", fix=fix, severity=notes.severity("standard"))
    return {"code": "internal_error", "message": "", **cast("JsonMapping", fields)}


def fault_in(error: object) -> tuple[Fault | None, tuple[Finding, ...]]:
    """The fault that an `error` object says, and what is wrong with it; a word of others for the code is kept."""
    if not isinstance(error, dict):
        return None, (Finding(rule="", message="An error is an object.", fix="Send `code` and `message`."),)
    fields = dict(cast("JsonMapping", error))
    problems: tuple[Finding, ...] = ()
    code = fields.get("code")
    if not isinstance(code, str) or code not in STATUSES:
        fix = f"Use one of: {', '.join(STATUSES)}."
        problems += (Finding(rule="", message=f"{str(code)[:80]!r} is not a fault code.", path="/code", fix=fix),)
        fields["code"] = "internal_error"
        detail = fields.get("detail", {})
        if isinstance(detail, dict) and code is not None:
            fields["detail"] = {"code": code, **cast("JsonMapping", detail)}
    at = fields.pop("timestamp", None)
    if isinstance(at, str) and (ns := parse_timestamp(at)) is not None:
        fields["timestamp_ns"] = ns
    try:
        return Fault.model_validate_json(json.dumps(fields)), problems
    except ValidationError as invalid:
        return None, (*problems, *findings_of(invalid, rule=""))


def error_json(fault: Fault) -> JsonMapping:
    """A fault as an `error` object."""
    fields = fault.model_dump(mode="json", exclude_defaults=True)
    moment = None if fault.timestamp_ns is None else format_timestamp(fault.timestamp_ns)
    if moment is not None:
        del fields["timestamp_ns"]
        fields["timestamp"] = moment
    return fields


NAME: Final = "agent_http"

TASK_FIELDS: Final = frozenset({"id", "instruction", "parameters", "extras"})
"""What of a task the format says in its own words."""

RESULT_FIELDS: Final = frozenset(
    {"task_id", "lifecycle", "outcome", "data", "content", "artifacts", "fault", "extras", "native", "reasoning"}
)
"""What of a result it does, and the two that are never handed on."""

ModelT = TypeVar("ModelT", bound=Model)
_UNWRITTEN: Final = frozenset({"left_out", "message", "parts"})


def metadata_fields(model: Model, exclude: frozenset[str]) -> JsonMapping:
    """The fields of `model` that differ from their defaults, without those that are `exclude` elsewhere."""
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(exclude))


def read_metadata(
    metadata: JsonMapping, model_type: type[ModelT], base: JsonMapping, notes: Diagnostics, *, exclude: frozenset[str]
) -> ModelT:
    """`base` with what the metadata says beside it. What is `exclude` elsewhere cannot be said there.

    What is used leaves the metadata; what cannot be used stays.
    """
    rest = metadata.get(METADATA_KEY)
    if rest is None:
        return model_type.model_validate_json(json.dumps(base))
    severity = notes.severity("standard")
    path = f"/metadata/{METADATA_KEY}"
    conflicts = exclude.intersection(cast("JsonMapping", rest)) if isinstance(rest, dict) else {"anything"}
    if conflicts:
        what = f"`metadata.{METADATA_KEY}` cannot say {', '.join(sorted(conflicts))}."
        notes.add(METADATA_KEY, what, path=path, fix="Leave it out.", severity=severity)
        return model_type.model_validate_json(json.dumps(base))
    try:
        read = model_type.model_validate_json(json.dumps({**base, **cast("JsonMapping", rest)}))
    except ValidationError as error:
        for each in findings_of(error, rule=""):
            notes.add(METADATA_KEY, each.message, path=path + each.path, fix="Leave it out.", severity=severity)
        return model_type.model_validate_json(json.dumps(base))
    del metadata[METADATA_KEY]
    return read


_UNKNOWN: Final = "The format has no `{}` here; it was kept."
_OWN_METADATA: Final = "Put what is yours into `metadata`."


def restore_extras(extras: JsonMapping, message: JsonMapping, fits: Mapping[str, Callable[[object], bool]]) -> None:
    """Write what an earlier reading set aside, where the format leaves it a place.

    Args:
        extras: Those of the noun.
        message: The message so far; what came along is added.
        fits: The fields of the format that ride in the extras, with what may stand there.
    """
    for name, value in own_extras(extras, NAME).items():
        if name == "metadata":
            entries = cast("JsonMapping", value) if isinstance(value, dict) else {}
            free = {key: entry for key, entry in entries.items() if key not in RESERVED_METADATA}
            if free:
                message["metadata"] = {**message.get("metadata", {}), **free}
        elif name == "artifacts" and "artifacts" in fits and fits[name](value):
            message[name] = [*message.get(name, []), *cast("list[Any]", value)]
        elif name not in message and name not in _UNWRITTEN and (name not in fits or fits[name](value)):
            message[name] = value


_TYPES: Final = ("text", "data")


def build_message(role: str, text: str | None, data: list[Any]) -> JsonMapping:
    """A message with one part for the text, if there is any, and one for each piece of data."""
    parts: list[JsonMapping] = [] if text is None else [{"type": "text", "text": text}]
    return {"role": role, "parts": [*parts, *({"type": "data", "data": each} for each in data)]}


def parts_of(message: HttpMessage | None) -> tuple[list[str], list[Any]]:
    """The texts and the pieces of data of a message."""
    parts = [] if message is None else message.parts
    texts = [each.text for each in parts if isinstance(each, TextPart)]
    return texts, [each.data for each in parts if isinstance(each, DataPart)]


def correction_text(correction: Correction) -> str:
    """The correction as text, for an agent that reads nothing else."""
    return " ".join(part for part in ("The last answer was refused.", correction.message, correction.hint) if part)


def normalise_message(value: JsonValue, notes: Diagnostics, extras: JsonMapping, *, path: str, role: str) -> JsonValue:
    """Mend a message where it has one meaning: a bare text, another spelling of a part, a part without a word of ours.

    Args:
        value: The message as it came.
        notes: Takes a note of everything that was mended.
        extras: Takes the parts that the format has no word for.
        path: Where the message stands.
        role: Who speaks, for one that does not say.
    """
    if isinstance(value, str):
        notes.add("message", "The message is a bare text.", path=path, fix="Send `role` and `parts`.")
        return {"role": role, "parts": [{"type": "text", "text": value}]}
    if not isinstance(value, dict):
        return value
    if "role" not in value:
        notes.add("message", "The message does not say its `role`.", path=path, fix=f"Say `role`: {role!r}.")
        value["role"] = role
    if unknown := take_unknown(
        value, HttpMessage.model_fields, notes, "A message has no {!r}; it was kept.", path=path
    ):
        extras.setdefault("message", {}).update(unknown)
    parts = value.get("parts")
    if isinstance(parts, list):
        value["parts"] = [
            part for at, part in enumerate(parts) if not _extract_part(part, notes, extras, f"{path}/parts/{at}")
        ]
    return value


def _extract_part(part: JsonValue, notes: Diagnostics, extras: JsonMapping, path: str) -> bool:
    """Mend one part; True when it is none of ours and was kept elsewhere."""
    if not isinstance(part, dict):
        return False
    if "type" not in part and part.get("kind") in _TYPES:
        notes.add("part", "A part says `kind`.", path=path, fix="Say `type`.")
        part["type"] = part.pop("kind")
    if part.get("type") == "artifact_data" and isinstance(part.get("data"), dict):
        part["type"] = "data"
    kind = part.get("type")
    own = TextPart if kind == "text" else DataPart if kind == "data" else None
    if own is None:
        if not isinstance(kind, str):
            return False
        notes.add("part", f"A part of type {kind[:80]!r} was kept, and not read.", path=path)
        cast("list[JsonObject]", extras.setdefault("parts", [])).append(part)
        return True
    for name, rest in take_unknown(
        part, own.model_fields, notes, "A part has no {!r}; it was left out.", path=path
    ).items():
        extras.setdefault("left_out", []).append({"part": path, name: rest})
    return False


_RECORD: Final = ("id", "response_message", "artifacts", "request_message", "history", "session_id", "created_at")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read; anything in JSON could be the input or the output of a skill."""
    value = find_json(text)
    if not isinstance(value, dict):
        return ()
    certain = tuple(
        detection for detection in (_card(value), _record(value), _body(value), _error(value)) if detection is not None
    )
    possible = (
        Detection("agent_http", "result", "skill", "possible", "any JSON object may be the output of a skill"),
        Detection("agent_http", "task", "skill", "possible", "any JSON object may be the parameters of a skill"),
    )
    return certain or possible


def _card(value: JsonObject) -> Detection | None:
    several = value.get("agents")
    first = several[0] if isinstance(several, list) and several else value
    capabilities = first.get("capabilities") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(capabilities, list):
        return None
    routes = all(isinstance(each, dict) and "endpoint" in each for each in capabilities)
    is_certain = routes and (bool(capabilities) or "endpoints" in first)
    why = 'it has "capabilities" with an "endpoint" each' if is_certain else 'it has a list of "capabilities"'
    return Detection("agent_http", "definition", "agent.json", "certain" if is_certain else "likely", why)


def _record(value: JsonObject) -> Detection | None:
    status = value.get("status")
    if not isinstance(status, dict) or "state" not in status:
        return None
    is_certain = status["state"] in tuple(STATES) and any(name in value for name in _RECORD)
    why = 'it has a "status" with a "state"'
    return Detection("agent_http", "result", "task", "certain" if is_certain else "likely", why)


def _body(value: JsonObject) -> Detection | None:
    message = value.get("message", value.get("request_message"))
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return Detection("agent_http", "task", "task", "certain", 'it has a "message" with "parts"')
    if isinstance(value.get("task"), str) and value.keys() <= {"task", "id", "session_id", "metadata"}:
        return Detection(
            "agent_http", "task", "task", "likely", 'it has a "task" and nothing that is not posted with one'
        )
    return None


def _error(value: JsonObject) -> Detection | None:
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict) and "message" in error:
        return Detection("agent_http", "result", "skill", "likely", 'it is an "error" and nothing else')
    return None
