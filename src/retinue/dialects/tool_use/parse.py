"""From the requests and answers of spec 000 to the contract."""

from dataclasses import dataclass, field
from typing import Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Result, Usage
from retinue.contract.task import Context, Correction, OutputWish, Question, Task
from retinue.dialects.decoding import find_json, quote_keys
from retinue.dialects.diagnostics import (
    Diagnostics,
    drop_nulls,
    parse_answer_object,
    parse_object,
    read_model,
    read_numbers,
    refuse,
    validate,
)
from retinue.dialects.port import DEFAULT_CONTEXT, Certainty, Detection, Kind, ParseContext, Parsed
from retinue.errors import FaultCode, InvalidInput, OutputInvalid, ParseError

from .extras import UnknownKeys, correction_of, fill_missing, normalise_error
from .tool_name import ToolName, read_constraints, read_summary, read_tool_name, sentences_of
from .wire import (
    CODES,
    ERROR_TYPES,
    OUTCOMES,
    STYLES,
    CorrectionObject,
    EnvelopeMetadata,
    HandOff,
    Payload,
    ReturnEnvelope,
    Status,
    ToolUseCall,
)

# Requests


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read a hand-off (A7) or a tool-use call. Keys that the spec does not show ride in `extras`, unless strict.

    Raises:
        ParseError: The text is no single JSON object.
        InvalidInput: It holds neither.
    """
    notes = Diagnostics("tool_use", level)
    value = parse_object(text, notes)
    is_handoff = not ({"name", "input"} & value.keys()) or bool({"payload", "message_type"} & value.keys())
    return _hand_off(value, context, notes) if is_handoff else _call(value, context, notes)


def _hand_off(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Task]:
    unknown_keys = UnknownKeys()

    def normalise(value: JsonObject, notes: Diagnostics) -> None:
        drop_nulls(value, ("source_agent", "correction"), notes)
        payload = value.get("payload")
        if isinstance(payload, dict):
            drop_nulls(payload, ("context_summary", "constraints", "required_output_format"), notes, path="/payload")
            unknown_keys.extract(payload, Payload, notes, section="payload")
        _normalise_correction(value, notes)
        if notes.level == "lenient":
            if isinstance(payload, dict) and isinstance(payload.get("constraints"), str):
                payload["constraints"] = [payload["constraints"]]
                path, fix = "/payload/constraints", "Send a list."
                notes.add("list", "`constraints` was a single text.", path=path, fix=fix)
            # What the hand-off left out and its reader knows.
            fill_missing(value, {"target_agent": context.agent, "message_type": "task_delegation"}, notes)
            if isinstance(payload, dict):
                fill_missing(payload, {"task_id": context.task_id}, notes, path="/payload")
        unknown_keys.extract(value, HandOff, notes)

    wire = validate(value, HandOff, notes, refusal=InvalidInput, normalise=normalise)
    target = _read_tool_name(wire.target_agent, "/target_agent", notes)
    payload = wire.payload
    what, why = read_summary(payload.context_summary)
    if sentences_of(payload.context_summary) > _SENTENCES:
        fix = "Say in one or two sentences what is done, and in one what for."
        notes.add("summary", "`context_summary` is long.", path="/payload/context_summary", fix=fix, severity="info")
    constraints, limits = read_constraints(payload.constraints, notes)
    # A word for how the answer is sent, or for the style of the report: two things, and one field (C22).
    task = Task(
        id=payload.task_id,
        agent=target.agent,
        major=target.major,
        skill=target.skill or context.skill,
        instruction=payload.instruction,
        context=Context(what=what, why=why, constraints=constraints),
        limits=limits,
        output=(
            OutputWish(style=payload.required_output_format)
            if payload.required_output_format in STYLES
            else OutputWish(transport=payload.required_output_format)
        ),
        source_agent=wire.source_agent,
        extras=unknown_keys.extras,
    )
    correction = _retry_correction(wire.correction, notes)
    return Parsed(task, "handoff", tuple(notes.findings), correction)


_SENTENCES: Final = 3


def _call(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Task]:
    unknown_keys = UnknownKeys()

    def normalise(value: JsonObject, notes: Diagnostics) -> None:
        drop_nulls(value, ("type", "id", "correction"), notes)
        _normalise_correction(value, notes)
        if notes.level == "lenient":
            # What other vendors call it, and a text that holds the object.
            other = next((key for key in ("arguments", "parameters") if key in value and "input" not in value), None)
            if other is not None:
                value["input"] = value.pop(other)
                notes.add("input", f"The parameters are called `{other}`.", path=f"/{other}", fix="Call them `input`.")
            raw = value.get("input")
            try:
                parameters = json.loads(raw) if isinstance(raw, str) else None
            except ParseError:
                parameters = None
            if isinstance(parameters, dict):
                value["input"] = parameters
                notes.add("input", "`input` is an object in a text.", path="/input", fix="Send the object itself.")
        unknown_keys.extract(value, ToolUseCall, notes)

    wire = validate(value, ToolUseCall, notes, refusal=InvalidInput, normalise=normalise)
    tool = _read_tool_name(wire.name, "/name", notes)
    task = Task(
        id=context.task_id if wire.id is None else wire.id,
        agent=tool.agent,
        major=tool.major,
        skill=tool.skill or context.skill,
        parameters=wire.input,
        produced_by="model" if wire.type else None,
        extras=unknown_keys.extras,
    )
    correction = _retry_correction(wire.correction, notes)
    return Parsed(task, "call", tuple(notes.findings), correction)


def _normalise_correction(value: JsonObject, notes: Diagnostics) -> None:
    correction = value.get("correction")
    if isinstance(correction, dict):
        normalise_error(correction, notes, path="/correction")
        UnknownKeys().extract(correction, CorrectionObject, notes, section="correction")


def _retry_correction(wire: CorrectionObject | None, notes: Diagnostics) -> Correction | None:
    """Why a request is made again. With the request itself it is the answer to it that was refused."""
    if wire is None:
        return None
    code = "output_invalid" if wire.error_type == "validation_error" else CODES[wire.error_type]
    return correction_of(wire, notes, code=code, path="/correction")


def _read_tool_name(name: str, path: str, notes: Diagnostics) -> ToolName:
    """Whom the name means; another spelling of a name is borne unless strict.

    Raises:
        InvalidInput: It is nobody's name.
    """
    tool_name = read_tool_name(name)
    if tool_name is None or (notes.level == "strict" and name != tool_name.canonical):
        notes.add("name", f"{name[:100]!r} is not a valid name.", path=path, fix=_SNAKE, severity="error")
        refuse(notes, InvalidInput)
    if name != tool_name.canonical:
        notes.add("name", f"{name[:100]!r} is read as {tool_name.canonical!r}.", path=path, fix=_SNAKE)
    return tool_name


_SNAKE: Final = "Use snake_case: small letters, digits and single underscores, as in `code_writer`."


# Answers


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read a return envelope (A11), that of a failure too. Its `reasoning_log` is for the journal only (C9).

    A partial answer whose `result` holds questions asks them. `tokens_used` does not say how many tokens went in and
    how many came out.

    Raises:
        OutputInvalid: The text is no such envelope.
    """
    notes = Diagnostics("tool_use", level)
    value = parse_answer_object(text, notes)
    normaliser = EnvelopeNormaliser()
    wire = validate(value, ReturnEnvelope, notes, refusal=OutputInvalid, normalise=normaliser)
    _check_complete(wire, notes, has_data=normaliser.unstructured is not None)
    if notes.has_errors:
        refuse(notes, OutputInvalid)
    data: JsonValue = wire.result if normaliser.unstructured is None else normaliser.unstructured
    data, questions = split_questions(data, status=wire.status)
    if wire.max_retries is not None:
        normaliser.unknown_keys.keys["max_retries"] = wire.max_retries
    fault = fault_in_result(data, status=wire.status)
    if wire.message is not None or wire.error_type is not None:
        code = normaliser.codes[0] if normaliser.codes else CODES[wire.error_type or "runtime_error"]
        fault = Fault(code=code, message=wire.message or "", hint=wire.correction_hint or "")
    metadata = wire.metadata
    usage = None
    if metadata.tokens_used is not None or metadata.model_used is not None:
        usage = Usage(tokens_total=metadata.tokens_used, model=metadata.model_used)
    result = Result(
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        lifecycle="input_required" if questions else "ended",
        outcome=None if questions else OUTCOMES[wire.status],
        data=data,
        artifacts=tuple(metadata.artifacts or ()),
        fault=fault,
        usage=usage,
        duration_ns=None if metadata.execution_time_ms is None else metadata.execution_time_ms * 1_000_000,
        retries=wire.retry_count or 0,
        confidence=metadata.confidence,
        questions=questions,
        reasoning=wire.reasoning_log,
        extras=normaliser.unknown_keys.extras,
    )
    return Parsed(result, "envelope", tuple(notes.findings))


def _check_complete(wire: ReturnEnvelope, notes: Diagnostics, *, has_data: bool) -> None:
    """What one key asks of the others."""
    strict, lenient = notes.level == "strict", notes.level == "lenient"
    ended_well = wire.status in {"success", "partial"}
    if ended_well and wire.result is None and not has_data:
        severity = "warning" if lenient else "error"
        fix = "Send the findings as an object."
        notes.add("result", f"`{wire.status}` without a `result`.", path="/result", fix=fix, severity=severity)
    present = [key for key in CorrectionObject.model_fields if getattr(wire, key) is not None]
    missing = [key for key, each in CorrectionObject.model_fields.items() if each.is_required() and key not in present]
    if not present and not ended_well and fault_in_result(wire.result, status=wire.status) is None:
        fix = "Add `error_type`, `message`, `correction_hint` and `retry_count`."
        notes.add("error", f"It says `{wire.status}`, and not what failed.", path="/message", fix=fix)
    for key in missing if present else ():
        severity = "error" if strict or (key == "message" and not lenient) else "warning"
        fix = "Say what failed, and what to do about it."
        notes.add("error", f"The error has no `{key}`.", path=f"/{key}", fix=fix, severity=severity)
    if present and wire.status == "success":
        message = "It says `success`, and an error."
        fix = "Say `partial` or `error`, or leave the error out."
        notes.add("error", message, path="/status", fix=fix, severity="error" if strict else "warning")


def fault_in_result(data: object, *, status: str) -> Fault | None:
    """The error that a failed answer puts into its `result`: the spec does not say where else it should stand (A12)."""
    mapping = cast("JsonMapping", data) if isinstance(data, dict) else {}
    word, message, hint = (mapping.get(key) for key in ("error_type", "message", "correction_hint"))
    if status not in {"error", "failed"} or word not in CODES or not isinstance(message, str):
        return None
    return Fault(code=CODES[word], message=message, hint=hint if isinstance(hint, str) else "")


def split_questions(result: JsonValue, *, status: str) -> tuple[JsonValue, tuple[Question, ...]]:
    """The data of a `result`, and what it asks: a partial one may hold `questions`, each with `id` and `text` (C1)."""
    items = result.get("questions") if isinstance(result, dict) and status == "partial" else None
    read = [read_model(Question, each) for each in items] if isinstance(items, list) else []
    questions = tuple(each for each in read if each is not None)
    questions = questions if len(questions) == len(read) else ()
    if not questions or not isinstance(result, dict):
        return result, ()
    return {key: value for key, value in result.items() if key != "questions"} or None, questions


@dataclass(slots=True)
class EnvelopeNormaliser:
    """What is borne of an envelope, and what of it the wire model has no place for.

    Attributes:
        unstructured: A `result` that is not structured.
        codes: The code that an error type of another spec names.
    """

    unknown_keys: UnknownKeys = field(default_factory=UnknownKeys)
    unstructured: JsonValue = None
    codes: tuple[FaultCode, ...] = ()

    def __call__(self, value: JsonObject, notes: Diagnostics) -> None:
        """Mend `value`, and note everything that was mended."""
        drop_nulls(value, [key for key in ReturnEnvelope.model_fields if key != "status"], notes)
        self.unknown_keys.keys.update(lift_error(value, notes))
        # Words of the other specs for the same status (C1); another spelling only when lenient.
        if "status" not in value and "error_type" in value:
            value["status"] = "error"
            fix = "Put the error into an envelope, beside `status` and `metadata`."
            notes.add("status", "The error object stands alone; it is read as an `error`.", path="/status", fix=fix)
        word = value.get("status")
        if isinstance(word, str) and word not in OUTCOMES:
            name = word.strip().casefold() if notes.level == "lenient" else word
            status = name if name in OUTCOMES else _STATUSES.get(name)
            if status is not None:
                value["status"] = status
                fix = f"Use one of: {', '.join(OUTCOMES)}."
                notes.add("status", f"{word[:100]!r} is read as `{status}`.", path="/status", fix=fix)
        self._normalise_metadata(value, notes)
        self.codes = normalise_error(value, notes)
        if "result" in value and not isinstance(value["result"], dict | list):
            self.unstructured = value.pop("result")
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        self.unknown_keys.extract(value, ReturnEnvelope, notes)

    def _normalise_metadata(self, value: JsonObject, notes: Diagnostics) -> None:
        if "metadata" not in value:
            value["metadata"] = {}
            notes.add("metadata", "`metadata` is missing.", path="/metadata", fix="Send it, with what was measured.")
        metadata = value["metadata"]
        if not isinstance(metadata, dict):
            return
        drop_nulls(metadata, EnvelopeMetadata.model_fields, notes, path="/metadata")
        if notes.level == "lenient":
            read_numbers(metadata, ("execution_time_ms", "tokens_used", "confidence"), notes, path="/metadata")
        if str(metadata.get("confidence")).strip().casefold() in _LABELS:
            self.unknown_keys.keys.setdefault("metadata", {})["confidence"] = metadata.pop("confidence")
            path, fix = "/metadata/confidence", "Send a number from 0 to 1, or leave it out."
            notes.add(
                "confidence", "`confidence` is a label; it was kept, and no number made of it.", path=path, fix=fix
            )
        duration = metadata.get("execution_time_ms")
        if isinstance(duration, float) and duration >= 0:
            metadata["execution_time_ms"] = round(duration)
            path = "/metadata/execution_time_ms"
            notes.add("milliseconds", f"{duration} is not a whole number.", path=path, fix="Round it.")
        self.unknown_keys.extract(metadata, EnvelopeMetadata, notes, section="metadata")
        if "artifacts" in metadata and not are_artifacts(metadata["artifacts"]):
            self.unknown_keys.keys.setdefault("metadata", {})["artifacts"] = metadata.pop("artifacts")
            path, fix = "/metadata/artifacts", "Send a list of objects, each with the `path` of a file."
            notes.add("artifacts", "`artifacts` are not files; they were kept.", path=path, fix=fix)


def are_artifacts(value: JsonValue) -> bool:
    """Whether something is a list of files, as the contract describes them."""
    return isinstance(value, list) and all(read_model(Artifact, each) is not None for each in value)


_LABELS: Final = frozenset({"high", "medium", "low", "very high", "very low"})
"""How sure an agent says that it is where it has no number (C31)."""


def lift_error(value: JsonObject, notes: Diagnostics) -> JsonObject:
    """Put an error that stands under `error` beside the other keys, where an envelope has it.

    Returns:
        What was under `error` and is no part of an error.
    """
    raw = value.get("error")
    error: JsonObject = {"message": raw} if isinstance(raw, str) and raw.strip() else {}
    error = raw if isinstance(raw, dict) else error
    fields = [key for key in CorrectionObject.model_fields if key in error]
    if value.get("status") == "success" or not {"message", "error_type"} & error.keys() or value.keys() & set(fields):
        return {}
    value |= {key: error[key] for key in fields}
    del value["error"]
    fix = "Put `error_type`, `message`, `correction_hint` and `retry_count` beside `status`."
    notes.add("error", "The error stands under `error`.", path="/error", fix=fix)
    rest = {key: item for key, item in error.items() if key not in fields}
    return {"error": rest} if rest else {}


_STATUSES: Final[dict[str, Status]] = {
    "complete": "success",
    "completed": "success",
    "done": "success",
    "canceled": "error",
    "rejected": "error",
}

_TOOL: Final = ("name", "description", "input_schema")


def recognise(text: str) -> tuple[Detection, ...]:
    """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
    value = find_json(text)
    if isinstance(value, list):
        tools = [item for item in value if isinstance(item, dict) and _is_tool(item)]
        whole = bool(tools) and len(tools) == len(value)
        return (_detection("definition", "tools", "certain", "each item has", *_TOOL),) if whole else ()
    return tuple(_detections(value)) if isinstance(value, dict) else ()


def _detections(value: JsonObject) -> list[Detection]:
    detections: list[Detection] = []
    if _is_tool(value):
        detections.append(_detection("definition", "tools", "certain", "it has", *_TOOL))
    if value.get("message_type") == "task_delegation":
        detections.append(_detection("task", "handoff", "certain", 'its "message_type" is', "task_delegation"))
    elif "target_agent" in value and isinstance(value.get("payload"), dict):
        detections.append(_detection("task", "handoff", "likely", "it has", "target_agent", "payload"))
    if isinstance(value.get("name"), str) and isinstance(value.get("input"), dict):
        has_type = value.get("type") == "tool_use"
        detections.append(_detection("task", "call", "certain" if has_type else "likely", "it has", "name", "input"))
    if "correction_hint" in value and "error_type" in value and "status" not in value:
        is_ours = value["error_type"] in ERROR_TYPES.values()
        certainty: Certainty = "certain" if is_ours else "likely"
        detections.append(_detection("correction", "correction", certainty, "it has", "error_type", "correction_hint"))
    if "status" in value:
        detections += _envelope_detections(value)
    return detections


def _envelope_detections(value: JsonObject) -> list[Detection]:
    """An envelope shares its status with other formats; its own keys tell it from them."""
    if {"agent", "operation", "response_message", "artifacts"} & value.keys() or value["status"] not in tuple(OUTCOMES):
        return []
    metadata = value.get("metadata")
    own = [key for key in ("correction_hint", "reasoning_log") if key in value]
    if isinstance(metadata, dict):
        own += [key for key in EnvelopeMetadata.model_fields if key in metadata and key != "execution_time_ms"]
    if own:
        return [_detection("result", "envelope", "certain", "it has", "status", *own)]
    if "result" in value or "error_type" in value:
        return [_detection("result", "envelope", "likely" if "metadata" in value else "possible", "it has", "status")]
    return []


def _is_tool(value: JsonObject) -> bool:
    return isinstance(value.get("name"), str) and isinstance(value.get("input_schema"), dict)


def _detection(kind: Kind, form: str, certainty: Certainty, how: str, *words: str) -> Detection:
    return Detection("tool_use", kind, form, certainty, f"{how} {quote_keys(words)}")
