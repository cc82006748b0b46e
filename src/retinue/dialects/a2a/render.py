"""From contract to text: requests, and the tasks, messages and errors that answer them."""

from typing import Any, Final, cast

from pydantic.alias_generators import to_camel

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Artifact as FileArtifact, Result
from retinue.contract.task import Correction, Task
from retinue.dialects.decoding import format_timestamp, parse_timestamp
from retinue.dialects.diagnostics import read_model
from retinue.dialects.losses import choose_form, own_extras, rendered_message
from retinue.dialects.port import DEFAULT_AGENT, RenderedMessage

from .parse import (
    FAILURES,
    RESULT_FIELDS,
    TASK_FIELDS,
    correction_text,
    error_fault,
    message_id_of,
    parse_result,
    parse_task,
    status_text,
)
from .wire import (
    DATA_ARTIFACT,
    DOMAIN,
    ERROR_INFO,
    ERRORS,
    EXTENSION,
    FAULTS,
    JSON_TYPE,
    LIFECYCLES,
    NAME,
    OUTCOMES,
    STATES,
    STRING_DATA,
    STRUCT,
    UNNAMED,
    A2AModel,
    Artifact,
    Message,
    Part,
    SendMessageRequest,
    State,
    TaskObject,
    is_exact,
    keys_of,
)

TASK_FORMS: Final = ("http", "jsonrpc", "message")
"""The body of HTTP+JSON, which JSON-RPC wraps; a message by itself."""
RESULT_FORMS: Final = ("http", "jsonrpc", "task", "message")
"""The body of HTTP+JSON, which JSON-RPC wraps; a task or a message by itself."""

_REASONS: Final = {
    "/id": "the format requires one",
    "/data": "free data of the format does not tell 7.0 from 7",
    "/parameters": "free data of the format does not tell 7.0 from 7",
    "/outcome": "the state of the task is the nearest word",
    "/extras": "it has a meaning of its own there, or no place",
}


# Requests.


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    return _render_request(task, None, choose_form(form, TASK_FORMS, NAME))


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with the correction in its metadata and as a further text."""
    return _render_request(task, correction, TASK_FORMS[0])


def _render_request(task: Task, correction: Correction | None, form: str) -> RenderedMessage:
    parts = [] if task.parameters and not task.instruction else [text_part(task.instruction)]
    parts += [data_part(task.parameters)] if task.parameters else []
    rest = _fields(task, TASK_FIELDS)
    if correction is not None:
        parts.append(text_part(correction_text(correction)))
        why = correction.model_dump(mode="json", exclude_defaults=True)
        rest["correction"] = {**why, "retry_count": correction.retry_count}
    extras = own_extras(task.extras, NAME)
    metadata = block_metadata(rest)
    message: JsonMapping = {
        "messageId": task.id if task.id.strip() else UNNAMED,
        "role": "ROLE_USER",
        "parts": [*parts, *_other_parts(extras)],
    }
    if metadata:
        message["extensions"] = [EXTENSION]
    if form == "message":
        body = _restored({**message, **({"metadata": metadata} if metadata else {})}, extras.get("message"), Message)
    else:
        message = _restored(message, extras.get("message"), Message)
        body = {"message": message, **({"metadata": metadata} if metadata else {})}
        body = _restored(body, extras.get("request"), SendMessageRequest)
    if form == "jsonrpc":
        body = {**_rpc(extras, "SendMessage"), "params": body}
    return rendered_message(
        json.dumps(body), form, task, dialect=NAME, read=lambda text: parse_task(text).value, reasons=_REASONS
    )


# Answers.


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer: a task, or a message or an error where an earlier reading found one.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    form = choose_form(form, RESULT_FORMS, NAME)
    extras = own_extras(result.extras, NAME)
    is_answer = result.lifecycle == "ended" and result.outcome in {"success", "partial"}
    error: object = extras.get("error")
    if isinstance(error, dict) and result.fault is not None and form in {"http", "jsonrpc"}:
        body = _error(result, result.fault, cast("JsonMapping", error), form)
    elif is_answer and (form == "message" or (extras.get("payload") == "message" and form != "task")):
        message = _answer_message(result, extras)
        body = message if form == "message" else {"message": message}
    else:
        form = "task" if form == "message" else form
        body = _task(result, extras)
        body = body if form == "task" else {"task": body}
    if form == "jsonrpc":
        body = {**_rpc(extras), **(body if "error" in body else {"result": body})}
    return rendered_message(
        json.dumps(body), form, result, dialect=NAME, read=lambda text: parse_result(text).value, reasons=_REASONS
    )


def render_error(fault: Fault, *, form: str = "jsonrpc", request_id: str | int | None = 1) -> RenderedMessage:
    """Write that there is no task, and why: the answer to a request that cannot be taken.

    Args:
        fault: Why. With the `reason` of one of the protocol's errors in its detail, it is that one.
        form: `jsonrpc` or `http`.
        request_id: The id of the request in JSON-RPC.
    """
    reason = fault.detail.get("reason")
    code = next((code for code, words in ERRORS.items() if words.reason == reason), None)
    error: JsonMapping = {"code": code, "reason": reason}
    if code is None:
        error = {"code": FAULTS[fault.code][0], "reason": fault.code.upper()}
    extras: JsonMapping = {"error": error, "rpc": {"id": request_id}}
    outcome = "canceled" if fault.code == "canceled" else "error"
    return render_result(
        Result(task_id="", agent=DEFAULT_AGENT, outcome=outcome, fault=fault, extras={NAME: extras}), form=form
    )


def _answer_message(result: Result, extras: JsonMapping) -> JsonMapping:
    """An answer that is a message alone."""
    parts = [text_part(result.content)] if result.content else []
    parts += [] if result.data is None else [data_part(result.data)]
    message: JsonMapping = {"messageId": message_id_of(result.task_id, "answer"), "role": "ROLE_AGENT"}
    message["parts"] = [*parts, *_other_parts(extras)]
    if result.task_id:
        message["taskId"] = result.task_id
    rest = _fields(result, RESULT_FIELDS - {"artifacts"})
    if rest.get("outcome") == "success":
        del rest["outcome"]
    if metadata := block_metadata(rest):
        message |= {"metadata": metadata, "extensions": [EXTENSION]}
    return _restored(message, extras.get("message"), Message)


def _task(result: Result, extras: JsonMapping) -> JsonMapping:
    """A task: in its status the words, in its artifacts the data and the files, in its metadata the rest."""
    state = _state(result, extras)
    fault, lifecycle = result.fault, result.lifecycle
    rest = _fields(result, RESULT_FIELDS)
    # What the state says needs no other word; but a failure without a reason would get one, and so would a question.
    if result.outcome == STATES[state][1] and not (result.outcome in FAILURES and fault is None):
        rest.pop("outcome", None)
    if lifecycle == "input_required":
        rest.setdefault("questions", [])
    timestamp = None if fault is None or fault.timestamp_ns is None else format_timestamp(fault.timestamp_ns)
    if timestamp is not None:
        del rest["fault"]["timestamp_ns"]
    else:
        status_facts: object = extras.get("status")
        original = cast("JsonMapping", status_facts).get("timestamp") if isinstance(status_facts, dict) else None
        if isinstance(original, str) and (fault is None or parse_timestamp(original) is None):
            timestamp = original
    artifacts, placed_kinds = _artifacts(result, extras)
    texts = [result.content] if result.content and "text" not in placed_kinds else []
    notice = status_text(fault, result.questions) if fault is not None or lifecycle == "input_required" else ""
    parts = [*(text_part(text) for text in (*texts, notice) if text), *_other_parts(extras)]
    status: JsonMapping = {"state": state}
    if parts:
        message = {"messageId": message_id_of(result.task_id, state), "role": "ROLE_AGENT", "parts": parts}
        status["message"] = _restored(message, extras.get("message"), Message)
    if timestamp is not None:
        status["timestamp"] = timestamp
    task: JsonMapping = {"id": result.task_id, "status": status}
    if artifacts:
        task["artifacts"] = artifacts
    if metadata := block_metadata(rest):
        task["metadata"] = metadata
    return _restored(task, extras.get("task"), TaskObject)


def _state(result: Result, extras: JsonMapping) -> State:
    if result.lifecycle == "ended":
        if result.outcome is None:
            return "TASK_STATE_COMPLETED" if result.fault is None else "TASK_STATE_FAILED"
        return OUTCOMES[result.outcome]
    status: object = extras.get("status")
    if result.lifecycle == "input_required" and isinstance(status, dict):
        is_auth = cast("JsonMapping", status).get("state") == "TASK_STATE_AUTH_REQUIRED"
        return "TASK_STATE_AUTH_REQUIRED" if is_auth else "TASK_STATE_INPUT_REQUIRED"
    return LIFECYCLES[result.lifecycle]


def _artifacts(result: Result, extras: JsonMapping) -> tuple[list[JsonMapping], set[str]]:
    """The artifacts of a task, and which of text and data an artifact of an earlier reading holds again."""
    placed_kinds: set[str] = set()
    artifacts: list[JsonMapping] = []
    contents = {"text": text_part(result.content) if result.content else None}
    contents["data"] = None if result.data is None else data_part(result.data)
    items: object = extras.get("artifacts")
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        facts = cast("JsonMapping", item) if isinstance(item, dict) else {}
        holds, others = facts.get("holds"), facts.get("parts")
        parts: list[JsonMapping] = []
        for kind in ("text", "data"):
            part = contents[kind]
            if part is not None and kind not in placed_kinds and isinstance(holds, list) and kind in holds:
                parts.append(part)
                placed_kinds.add(kind)
        whole = {key: value for key, value in facts.items() if key != "holds"}
        whole["parts"] = [*parts, *_other_parts({"parts": others})]
        metadata = whole.get("metadata")
        is_ours = isinstance(metadata, dict) and EXTENSION in metadata
        if whole["parts"] and not is_ours and read_model(Artifact, whole) is not None:
            artifacts.append(whole)
        else:
            placed_kinds -= {kind for kind in placed_kinds if contents[kind] in parts}
    if contents["data"] is not None and "data" not in placed_kinds:
        artifacts.append({"artifactId": DATA_ARTIFACT, "parts": [contents["data"]]})
    artifacts += [_file(artifact, number) for number, artifact in enumerate(result.artifacts, 1)]
    return artifacts, placed_kinds


def _file(artifact: FileArtifact, number: int) -> JsonMapping:
    """A file that was made, by its path in the workspace; whoever serves it may put a whole URL there."""
    part: JsonMapping = {"url": artifact.path, "filename": artifact.path.rpartition("/")[2]}
    if artifact.media_type:
        part["mediaType"] = artifact.media_type
    whole: JsonMapping = {"artifactId": f"file-{number}", "parts": [part]}
    if artifact.title:
        whole["name"] = artifact.title
    if artifact.summary:
        whole["description"] = artifact.summary
    whole["metadata"] = {EXTENSION: artifact.model_dump(mode="json", exclude_defaults=True)}
    return whole


def _error(result: Result, fault: Fault, words: JsonMapping, form: str) -> JsonMapping:
    """An error, by the words of HTTP or of JSON-RPC."""
    code: object = words.get("code")
    reason: object = words.get("reason")
    code = code if isinstance(code, int) and not isinstance(code, bool) else 0
    rpc_code, http, status = FAULTS[fault.code]
    number = code if code in ERRORS else next((each for each, error in ERRORS.items() if error.reason == reason), None)
    is_ours = isinstance(reason, str) and reason.lower() in FAULTS
    if number is not None and not is_ours:
        rpc_code, http, status = number, ERRORS[number].http, ERRORS[number].status
    elif code < 0:
        rpc_code = code
    if code > 0:
        http, status = code, words["status"] if isinstance(words.get("status"), str) else status
    error: JsonMapping = {"code": http, "status": status} if form == "http" else {"code": rpc_code}
    error["message"] = fault.message
    details: list[Any] = []
    if isinstance(reason, str):
        details.append({"@type": ERROR_INFO, "reason": reason, "domain": DOMAIN})
    rest = _fields(result, RESULT_FIELDS - {"task_id"})
    if not result.task_id:
        del rest["task_id"]
    word = reason if isinstance(reason, str) else ""
    if fault == error_fault(error["code"], fault.message, word, str(error.get("status", ""))):
        del rest["fault"]
    if result.outcome == ("canceled" if fault.code == "canceled" else "error"):
        del rest["outcome"]
    if block := block_metadata(rest):
        details.append({"@type": STRUCT, "value": block})
    others = words.get("details")
    details += cast("list[Any]", others) if isinstance(others, list) else []
    if details:
        error["details" if form == "http" else "data"] = details
    return {"error": error}


# Pieces.


def text_part(text: str) -> JsonMapping:
    """A part that is text."""
    return {"text": text}


def data_part(data: object) -> JsonMapping:
    """A part that is data: a string as text, and as JSON in a text where free data would lose a whole number."""
    if isinstance(data, str) and data:
        return {"text": data, "metadata": STRING_DATA}
    return {"data": data} if is_exact(data) else {"text": json.dumps(data), "mediaType": JSON_TYPE}


def block_metadata(fields: JsonMapping) -> JsonMapping:
    """Metadata in which our extension says `fields`; none where there are none."""
    if not fields:
        return {}
    exact = {name: value for name, value in fields.items() if is_exact(value)}
    rest = {name: value for name, value in fields.items() if name not in exact}
    return {EXTENSION: {**exact, **({"json": json.dumps(rest)} if rest else {})}}


def _fields(model: Model, exclude: frozenset[str]) -> JsonMapping:
    """The fields that differ from their defaults, without those that are said elsewhere."""
    fields = model.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(exclude))
    if fields.get("agent") == DEFAULT_AGENT:
        del fields["agent"]
    return fields


def _rpc(extras: JsonMapping, method: str = "") -> JsonMapping:
    """What stands around every message of JSON-RPC."""
    facts: object = extras.get("rpc")
    own = cast("JsonMapping", facts) if isinstance(facts, dict) else {}
    number = own.get("id", 1)
    is_id = (isinstance(number, int) and not isinstance(number, bool)) or isinstance(number, str)
    envelope: JsonMapping = {"jsonrpc": "2.0"}
    if method:
        is_stream = own.get("method") == "SendStreamingMessage"
        envelope["method"] = "SendStreamingMessage" if is_stream else method
    elif number is None:
        is_id = True
    envelope["id"] = number if is_id else 1
    return envelope


def _other_parts(extras: JsonMapping) -> list[JsonMapping]:
    """The parts of an earlier reading that are bytes or URLs."""
    items: object = extras.get("parts")
    parts: list[JsonMapping] = []
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        part = read_model(Part, item)
        if part is not None and (part.raw is not None or part.url is not None):
            parts.append(part.to_json())
    return parts


def _restored(message: JsonMapping, facts: object, model: type[A2AModel]) -> JsonMapping:
    """`message` with what an earlier reading set aside of it, where the format has a place for that."""
    whole, keys = dict(message), keys_of(model)
    for key, value in cast("JsonMapping", facts).items() if isinstance(facts, dict) else ():
        if key == "metadata" and isinstance(value, dict):
            free = {name: each for name, each in cast("JsonMapping", value).items() if name != EXTENSION}
            candidate: object = {**free, **whole.get(key, {})}
        elif key == "extensions" and isinstance(value, list):
            candidate = [*whole.get(key, []), *cast("list[Any]", value)]
        elif key == "messageId" or key not in whole:
            candidate = value
        else:
            continue
        if key in keys:
            can_be_read = read_model(model, {**whole, key: candidate}) is not None
        else:
            can_be_read = to_camel(key) not in keys and key != "kind"
        if can_be_read:
            whole[key] = candidate
    return whole
