"""From text to contract: requests, answers and errors of A2A 1.0; what 0.3 called otherwise is borne below strict."""

from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact as FileArtifact, Lifecycle, Outcome, Result
from retinue.contract.task import Correction, Question, Task
from retinue.dialects.decoding import find_json, parse_timestamp
from retinue.dialects.diagnostics import (
    Diagnostics,
    parse_answer_object,
    parse_object,
    read_model,
    refuse,
)
from retinue.dialects.port import DEFAULT_CONTEXT, Detection, ParseContext, Parsed
from retinue.errors import FaultCode, InvalidInput, OutputInvalid

from .card import card_version
from .reading import (
    Block,
    Content,
    Extras,
    message_facts,
    normalise_message,
    normalise_task,
    note_older,
    read_parts,
    validate,
)
from .wire import (
    DATA_ARTIFACT,
    ERROR_INFO,
    ERRORS,
    EXTENSION,
    FAULTS,
    NAME,
    OUTCOMES,
    STATES,
    STRUCT,
    UNNAMED,
    Message,
    Part,
    RpcRequest,
    RpcResponse,
    SendMessageRequest,
    State,
    TaskObject,
    whole_numbers,
)

TASK_FIELDS: Final = frozenset({"id", "instruction", "parameters", "extras"})
"""What of a task the format says in its own words."""
RESULT_FIELDS: Final = frozenset(
    {"task_id", "lifecycle", "data", "content", "artifacts", "extras", "native", "reasoning"}
)
"""What of a result it does, and the two that are never handed on."""
FAILURES: Final = frozenset({"error", "failed", "rejected"})

# Requests.


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read a request: JSON-RPC, the body of HTTP+JSON, or a message by itself.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It breaks the format.
    """
    notes = Diagnostics(NAME, level)
    value, path, form, extras = parse_object(text, notes), "", "http", Extras()
    if "jsonrpc" in value:
        request = _rpc_request(value, notes, extras)
        value, path, form = request.params, "/params", "jsonrpc"
    if "message" not in value and ("parts" in value or "messageId" in value):
        form = "message" if form == "http" else form
        message_path = path
        normalise_message(value, notes, extras, path, role="ROLE_USER")
        body = SendMessageRequest(message=validate(value, Message, notes, path, InvalidInput))
    else:
        message_path = f"{path}/message"
        extras.take("request", value, SendMessageRequest, notes, path)
        if isinstance(value.get("message"), dict):
            normalise_message(cast("JsonObject", value["message"]), notes, extras, message_path, role="ROLE_USER")
        body = validate(value, SendMessageRequest, notes, path, InvalidInput)
        extras.add("request", {key: each for key, each in body.to_json().items() if key not in {"message", "metadata"}})
    facts = message_facts(body.message)
    # Ours stands beside the message or in it; beside it comes first.
    own, other = ("request", dict(body.metadata), f"{path}/metadata"), ("message", facts.pop("metadata", {}), "")
    if EXTENSION not in own[1] and EXTENSION in other[1]:
        own, other = ("message", other[1], f"{message_path}/metadata"), own
    block = Block(own[1], own[2], notes)
    correction = block.pop_correction()
    base = {"id": "", "agent": context.agent, **({"skill": context.skill} if context.skill else {})}
    overlay = block.read(Task, base, TASK_FIELDS)
    for place, metadata, _ in (own, other):
        extras.add(place, {"metadata": metadata} if metadata else {})
    extras.add("message", facts)
    texts, parameters = _instruction(body.message, correction, f"{message_path}/parts", context, notes, extras)
    message_id = "" if body.message.message_id == UNNAMED else body.message.message_id
    if notes.has_errors:
        refuse(notes, InvalidInput)
    fields: dict[str, Any] = dict(overlay) | {
        "id": message_id or context.task_id,
        "instruction": "\n".join(texts),
        "parameters": parameters,
        "extras": extras.to_json(),
    }
    return Parsed(Task(**fields), form, tuple(notes.findings), correction)


def _instruction(  # noqa: PLR0917 - what every reader here takes
    message: Message,
    correction: Correction | None,
    path: str,
    context: ParseContext,
    notes: Diagnostics,
    extras: Extras,
) -> tuple[list[str], JsonMapping]:
    """The texts of a request, which are its instruction, and its data, which are its parameters."""
    content = read_parts(message.parts, notes, path, context.data_schema)
    extras.parts += content.others
    texts, parameters = content.texts, dict[str, Any]()
    if correction is not None and texts and texts[-1] == correction_text(correction):
        texts = texts[:-1]
    for piece in content.data:
        if isinstance(piece, dict) and not parameters.keys() & piece.keys():
            parameters |= cast("JsonMapping", piece)
        else:
            what, fix = "Data of another part is not used as parameters; it was kept.", "Send one object."
            notes.add("data", what, path=path, fix=fix)
            extras.parts.append({"data": piece})
    return texts, parameters


def _rpc_request(value: JsonObject, notes: Diagnostics, extras: "Extras") -> RpcRequest:
    """The envelope of JSON-RPC; that of another method than one which sends a message is refused."""
    method = value.get("method")
    older = {"message/send": "SendMessage", "message/stream": "SendStreamingMessage"}
    if notes.level != "strict" and isinstance(method, str) and method in older:
        note_older(notes, f"The method {method!r}", "/method", older[method])
        value["method"] = older[method]
    extras.take("rpc", value, RpcRequest, notes, "")
    request = validate(value, RpcRequest, notes, "", InvalidInput)
    if request.method != "SendMessage":
        extras.add("rpc", {"method": request.method})
    if request.id != 1:
        extras.add("rpc", {"id": request.id})
    return request


# Answers.


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read an answer: a task, a message or an error, in JSON-RPC, as a body of HTTP+JSON, or by itself.

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    value, path, form, extras = parse_answer_object(text, notes), "", "http", Extras()
    if "jsonrpc" in value:
        extras.take("rpc", value, RpcResponse, notes, "")
        response = validate(value, RpcResponse, notes, "", OutputInvalid)
        if response.id != 1:
            extras.add("rpc", {"id": response.id})
        if response.error is not None:
            return _from_error(response.error, _AnswerFields("jsonrpc", "/error", context, notes, extras))
        value, path, form = response.result or {}, "/result", "jsonrpc"
    elif isinstance(value.get("error"), dict) and "status" not in value:
        return _from_error(cast("JsonMapping", value["error"]), _AnswerFields("http", "/error", context, notes, extras))
    for key in ("task", "message", "statusUpdate"):
        if isinstance(value.get(key), dict):
            extras.take("response", value, {key}, notes, path)
            return _from_payload(
                key, cast("JsonObject", value[key]), _AnswerFields(form, f"{path}/{key}", context, notes, extras)
            )
    if "status" in value:
        return _from_payload(
            "task", value, _AnswerFields("task" if form == "http" else form, path, context, notes, extras)
        )
    if "parts" in value:
        form = "message" if form == "http" else form
        return _from_payload("message", value, _AnswerFields(form, path, context, notes, extras))
    fix = "Send a `task` or a `message`."
    notes.add("payload", "There is neither a task nor a message.", path=path, fix=fix, severity="error")
    return refuse(notes, OutputInvalid)


@dataclass(frozen=True, slots=True)
class _AnswerFields:
    """An answer that is being read: its form, its place in the text, what is known of it, and what is found."""

    form: str
    path: str
    context: ParseContext
    notes: Diagnostics
    extras: Extras

    @property
    def base(self) -> JsonMapping:
        """The fields of a result that nothing but the context says."""
        skill = self.context.skill
        return {"task_id": "", "agent": self.context.agent, **({"skill": skill} if skill else {})}

    def parts(self, parts: list[Part], place: str) -> Content:
        """What the parts hold that stand at `place` in it."""
        return read_parts(parts, self.notes, f"{self.path}{place}", self.context.data_schema)

    def result(self, fields: JsonMapping) -> Parsed[Result]:
        """The result that says `fields`, if nothing was found that refuses it."""
        if self.notes.has_errors:
            refuse(self.notes, OutputInvalid)
        fields = {**fields, "task_id": fields["task_id"] or self.context.task_id, "extras": self.extras.to_json()}
        return Parsed(Result(**fields), self.form, tuple(self.notes.findings))


def _from_payload(key: str, value: JsonObject, answer: _AnswerFields) -> Parsed[Result]:
    notes, extras, path = answer.notes, answer.extras, answer.path
    if key == "message":
        # A peer that answers by a message where a task may stand is answered likewise.
        extras.payload = "message" if answer.form in {"http", "jsonrpc"} else ""
        normalise_message(value, notes, extras, path, role="ROLE_AGENT")
        return _from_message(validate(value, Message, notes, path, OutputInvalid), answer)
    if key == "statusUpdate":
        value["id"] = value.pop("taskId", "")
    normalise_task(value, notes, extras, path, task_id=answer.context.task_id)
    return _from_task(validate(value, TaskObject, notes, path, OutputInvalid), answer)


def _from_message(message: Message, answer: _AnswerFields) -> Parsed[Result]:
    """A result out of a message that is all of the answer."""
    content, facts = answer.parts(message.parts, "/parts"), message_facts(message)
    task_id = facts.pop("taskId", "")
    if message.message_id != message_id_of(task_id, "answer"):
        facts["messageId"] = message.message_id
    metadata = facts.pop("metadata", {})
    block = Block(metadata, f"{answer.path}/metadata", answer.notes)
    overlay = block.read(Result, answer.base, RESULT_FIELDS - {"artifacts"})
    if overlay.outcome not in {None, "success", "partial"}:
        answer.notes.add(
            "outcome",
            f"{overlay.outcome!r} is no outcome of a message.",
            path=f"{block.path}/outcome",
            fix="Send a task.",
            severity="error",
        )
    answer.extras.add("message", {**facts, **({"metadata": metadata} if metadata else {})})
    answer.extras.parts += content.others
    return answer.result(
        dict(overlay)
        | {
            "task_id": task_id,
            "outcome": overlay.outcome or "success",
            "content": "\n".join(content.texts),
            "data": _one_or_all(content.data),
        }
    )


def _from_task(task: TaskObject, answer: _AnswerFields) -> Parsed[Result]:
    """A result out of a task: the status says how far it is and why, the artifacts hold what came of it."""
    status, extras = task.status, answer.extras
    metadata = dict(task.metadata)
    block = Block(metadata, f"{answer.path}/metadata", answer.notes)
    overlay = block.read(Result, answer.base, RESULT_FIELDS)
    lifecycle, outcome = _ending(status.state, overlay, block, answer.notes)
    content = Content()
    if status.message is not None:
        content = answer.parts(status.message.parts, "/status/message/parts")
        facts = message_facts(status.message)
        if status.message.message_id != message_id_of(task.id, status.state):
            facts["messageId"] = status.message.message_id
        extras.add("message", facts)
        extras.parts += content.others
    fault, questions, text = overlay.fault, overlay.questions, "\n".join(content.texts)
    notice = status_text(fault, questions) if lifecycle == "input_required" or fault is not None else ""
    if notice and content.texts and content.texts[-1] == notice:
        content.texts.pop()
    elif outcome in FAILURES and fault is None and overlay.outcome != outcome:
        fault, content.texts = Fault(code="internal_error", message=text), []
    elif lifecycle == "input_required" and "questions" not in overlay.model_fields_set and text:
        questions, content.texts = (Question(id="q1", text=text),), []
    artifacts = _read_artifacts(task, content, answer)
    if status.timestamp is not None:
        at = None if fault is None else parse_timestamp(status.timestamp)
        if fault is not None and at is not None:
            fault = fault.model_copy(update={"timestamp_ns": at})
        else:
            extras.add("status", {"timestamp": status.timestamp})
    if status.state == "TASK_STATE_AUTH_REQUIRED":
        extras.add("status", {"state": status.state})
    extras.add("task", {"metadata": metadata} if metadata else {})
    extras.add("task", {"contextId": task.context_id} if task.context_id is not None else {})
    extras.add("task", {"history": task.history} if task.history is not None else {})
    return answer.result(
        dict(overlay)
        | {
            "task_id": task.id,
            "lifecycle": lifecycle,
            "outcome": outcome,
            "fault": fault,
            "questions": questions,
            "content": "\n".join(content.texts),
            "data": _one_or_all(content.data),
            "artifacts": artifacts,
        }
    )


def _ending(state: State, overlay: Result, block: Block, notes: Diagnostics) -> tuple[Lifecycle, Outcome | None]:
    """How far it is and how it ended: the state, and what our extension adds to it, which may not contradict it."""
    lifecycle, outcome = STATES[state]
    if overlay.outcome is None or (lifecycle == "ended" and OUTCOMES[overlay.outcome] != state):
        if overlay.outcome is not None:
            what, fix = f"{overlay.outcome!r} is no outcome of {state!r}.", "Leave it out, or say `partial`."
            severity = notes.severity("standard")
            notes.add("outcome", what, path=f"{block.path}/outcome", fix=fix, severity=severity)
        return lifecycle, outcome
    return lifecycle, overlay.outcome


def _read_artifacts(task: TaskObject, content: Content, answer: _AnswerFields) -> tuple[FileArtifact, ...]:
    """The files among the artifacts; what the others say in text and data joins `content`."""
    files: list[FileArtifact] = []
    for at, artifact in enumerate(task.artifacts):
        own = artifact.metadata.get(EXTENSION)
        file = None if own is None else read_model(FileArtifact, whole_numbers(own))
        if file is not None:
            files.append(file)
            continue
        read = answer.parts(artifact.parts, f"/artifacts/{at}/parts")
        content.texts += read.texts
        content.data += read.data
        facts = {key: each for key, each in artifact.to_json({"parts"}).items() if each not in ({}, [])}
        holds = [*(["text"] if read.texts else []), *(["data"] if read.data else [])]
        if facts != {"artifactId": DATA_ARTIFACT} or holds != ["data"] or read.others:
            answer.extras.artifacts.append({**facts, "parts": read.others, "holds": holds})
    return tuple(files)


def _from_error(error: JsonMapping, answer: _AnswerFields) -> Parsed[Result]:
    """A result out of an error: nothing was begun, or it broke so that there is no task."""
    key = "data" if answer.form == "jsonrpc" else "details"
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(message, str):
        fix = "Send `code`, a number, and `message`, a text."
        answer.notes.add("error", "An error has a `code` and a `message`.", path=answer.path, fix=fix, severity="error")
        refuse(answer.notes, OutputInvalid)
    items: object = error.get(key, [])
    reason, block, others = "", None, list[Any]()
    for each in cast("list[Any]", items) if isinstance(items, list) else [items]:
        facts = cast("JsonMapping", each) if isinstance(each, dict) else {}
        value = facts.get("value")
        if facts.get("@type") == ERROR_INFO and isinstance(facts.get("reason"), str) and not reason:
            reason = cast("str", facts["reason"])
            others += [each] if facts.get("metadata") else []
        elif facts.get("@type") == STRUCT and isinstance(value, dict) and EXTENSION in value and block is None:
            block = Block(cast("JsonMapping", value), f"{answer.path}/{key}", answer.notes)
        else:
            others.append(each)
    overlay = Result.model_validate(answer.base)
    if block is not None:
        overlay = block.read(Result, answer.base, RESULT_FIELDS - {"task_id"})
    status = error.get("status")
    fault = overlay.fault or error_fault(code, message, reason, status if isinstance(status, str) else "")
    answer.extras.error = {"code": code, **({"reason": reason} if reason else {})}
    answer.extras.error |= {"details": others} if others else {}
    answer.extras.error |= {name: each for name, each in error.items() if name not in {"code", "message", key}}
    outcome = overlay.outcome or ("canceled" if fault.code == "canceled" else "error")
    return answer.result(dict(overlay) | {"outcome": outcome, "fault": fault})


def error_fault(code: int, message: str, reason: str, status: str) -> Fault:
    """The fault that an error of the protocol stands for: by its reason, else its code, else what HTTP or gRPC say."""
    words = next((each for each in ERRORS.values() if each.reason == reason), ERRORS.get(code))
    if words is not None and (words.fault != "internal_error" or not reason):
        return Fault(code=words.fault, message=message, detail={"reason": words.reason})
    by_name: FaultCode | None = next((fault for fault in FAULTS if fault.upper() == reason), None)
    by_http: FaultCode | None = next(
        (fault for fault, (_, http, word) in FAULTS.items() if (http, word) == (code, status)), None
    )
    by_status: FaultCode | None = next((fault for fault, (_, http, _) in FAULTS.items() if http == code), None)
    detail = {"reason": reason} if reason else {"code": code}
    return Fault(code=by_name or by_http or by_status or "internal_error", message=message, detail=detail)


def status_text(fault: Fault | None, questions: tuple[Question, ...]) -> str:
    """What the status says in words: why it failed, or what is asked."""
    return fault.message if fault is not None else "\n".join(each.text for each in questions)


def message_id_of(task_id: str, about: str) -> str:
    """The id of a message of the agent: the same for everybody who reads the task."""
    return f"{task_id or 'task'}-{about.removeprefix('TASK_STATE_').lower()}"


def correction_text(correction: Correction) -> str:
    """The correction as text, for an agent that reads nothing else."""
    return " ".join(part for part in ("The last answer was refused.", correction.message, correction.hint) if part)


def _one_or_all(pieces: list[Any]) -> Any:
    return pieces[0] if len(pieces) == 1 else pieces or None


# Recognition.


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read."""
    value = find_json(text)
    if not isinstance(value, dict):
        # Events come one a line.
        first = text.lstrip().partition("\n")[0].removeprefix("data:")
        value = find_json(first) if "Update" in first else None
    if not isinstance(value, dict):
        return ()
    if value.get("jsonrpc") == "2.0":
        return _recognise_rpc(value)
    detection = _payload(value)
    return () if detection is None else (detection,)


def _recognise_rpc(value: JsonObject) -> tuple[Detection, ...]:
    why = 'it has "jsonrpc" and '
    if value.get("method") in {"SendMessage", "SendStreamingMessage", "message/send", "message/stream"}:
        return (Detection(NAME, "task", "jsonrpc", "certain", f"{why}a method that sends a message"),)
    if isinstance(value.get("error"), dict):
        return (Detection(NAME, "result", "jsonrpc", "likely", f'{why}an "error"'),)
    result = value.get("result")
    detection = _payload(result) if isinstance(result, dict) else None
    if detection is None:
        return ()
    return (Detection(NAME, detection.kind, "jsonrpc", detection.certainty, f"{why}in its result {detection.why[3:]}"),)


def _payload(value: JsonObject) -> Detection | None:
    """What an object could be by itself or in JSON-RPC."""
    if card_version(value):
        return Detection(NAME, "definition", "agent-card.json", "certain", 'it has "skills" and says where they are')
    update = value.get("statusUpdate", value.get("artifactUpdate"))
    if isinstance(update, dict):
        status = update.get("status")
        state = status.get("state") if isinstance(status, dict) else None
        is_end = isinstance(state, str) and STATES.get(cast("Any", state), ("",))[0] in {"ended", "input_required"}
        kind = "result" if is_end else "event"
        return Detection(NAME, kind, "http" if is_end else "events", "certain", 'it has an "Update"')
    for key in ("task", "message", None):
        inner = value if key is None else value.get(key)
        if not isinstance(inner, dict):
            continue
        status = inner.get("status")
        state = status.get("state") if isinstance(status, dict) else None
        if key != "message" and isinstance(state, str):
            is_certain = state.startswith("TASK_STATE_")
            if is_certain or key == "task":
                form, certainty = (key and "http") or "task", "certain" if is_certain else "likely"
                return Detection(NAME, "result", form, certainty, 'it has a "status" with a "state" of A2A')
        role = inner.get("role")
        if key != "task" and isinstance(inner.get("parts"), list) and ("messageId" in inner or "kind" in inner):
            is_agent = role in {"ROLE_AGENT", "agent"}
            certainty = "certain" if role in {"ROLE_AGENT", "ROLE_USER"} else "likely"
            form = "message" if key is None else "http"
            why = 'it has "parts" and a "messageId"'
            return Detection(NAME, "result" if is_agent else "task", form, certainty, why)
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict) and {"code", "status", "message"} <= error.keys():
        return Detection(NAME, "result", "http", "likely", 'it is an "error" with "code" and "status"')
    return None
