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
from retinue.dialects.port import DEFAULT_CONTEXT, ParseContext, Parsed
from retinue.errors import FaultCode, InvalidInput, OutputInvalid, ParseError

from .constraints import read_constraints
from .correction import correction_of, normalise_error
from .extras import UnknownKeys
from .tool_name import ToolName, read_summary, read_tool_name, sentences_of
from .wire import (
    CODES,
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
            _fill_missing(value, context, notes)
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


def _fill_missing(value: JsonObject, context: ParseContext, notes: Diagnostics) -> None:
    """What a hand-off left out and whoever reads it knows."""
    payload = value.get("payload")
    defaults = [(value, "", "target_agent", context.agent), (value, "", "message_type", "task_delegation")]
    if isinstance(payload, dict):
        defaults.append((payload, "/payload", "task_id", context.task_id))
        if isinstance(payload.get("constraints"), str):
            payload["constraints"] = [payload["constraints"]]
            notes.add("list", "`constraints` was a single text.", path="/payload/constraints", fix="Send a list.")
    for target, path, key, word in defaults:
        if key not in target:
            target[key] = word
            what = f"`{key}` is missing; {word!r} was taken."
            notes.add("missing", what, path=f"{path}/{key}", fix=f"Send `{key}`.")


def _call(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Task]:
    unknown_keys = UnknownKeys()

    def normalise(value: JsonObject, notes: Diagnostics) -> None:
        drop_nulls(value, ("type", "id", "correction"), notes)
        _normalise_correction(value, notes)
        if notes.level == "lenient":
            _normalise_input(value, notes)
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


def _normalise_input(value: JsonObject, notes: Diagnostics) -> None:
    """What other vendors call it, and a text that holds the object."""
    other = next((key for key in ("arguments", "parameters") if key in value and "input" not in value), None)
    if other is not None:
        value["input"] = value.pop(other)
        notes.add("input", f"The parameters are called `{other}`.", path=f"/{other}", fix="Call them `input`.")
    raw = value.get("input")
    try:
        parameters = json.loads(raw) if isinstance(raw, str) else None
    except ParseError:
        return
    if isinstance(parameters, dict):
        value["input"] = parameters
        notes.add("input", "`input` is an object in a text.", path="/input", fix="Send the object itself.")


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
    metadata = wire.metadata
    result = Result(
        task_id=context.task_id,
        agent=context.agent,
        skill=context.skill,
        lifecycle="input_required" if questions else "ended",
        outcome=None if questions else OUTCOMES[wire.status],
        data=data,
        artifacts=tuple(metadata.artifacts or ()),
        fault=_fault(wire, normaliser.codes) or fault_in_result(data, status=wire.status),
        usage=_usage(metadata),
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


def _fault(wire: ReturnEnvelope, codes: tuple[FaultCode, ...]) -> Fault | None:
    if wire.message is None and wire.error_type is None:
        return None
    code = codes[0] if codes else CODES[wire.error_type or "runtime_error"]
    return Fault(code=code, message=wire.message or "", hint=wire.correction_hint or "")


def fault_in_result(data: object, *, status: str) -> Fault | None:
    """The error that a failed answer puts into its `result`: the spec does not say where else it should stand (A12)."""
    mapping = cast("JsonMapping", data) if isinstance(data, dict) else {}
    word, message, hint = (mapping.get(key) for key in ("error_type", "message", "correction_hint"))
    if status not in {"error", "failed"} or word not in CODES or not isinstance(message, str):
        return None
    return Fault(code=CODES[word], message=message, hint=hint if isinstance(hint, str) else "")


def _usage(metadata: EnvelopeMetadata) -> Usage | None:
    if metadata.tokens_used is None and metadata.model_used is None:
        return None
    return Usage(tokens_total=metadata.tokens_used, model=metadata.model_used)


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
        self._normalise_status(value, notes)
        self._normalise_metadata(value, notes)
        self.codes = normalise_error(value, notes)
        if "result" in value and not isinstance(value["result"], dict | list):
            self.unstructured = value.pop("result")
            notes.add("structured", "`result` is not structured.", path="/result", fix="Send an object.")
        self.unknown_keys.extract(value, ReturnEnvelope, notes)

    def _normalise_status(self, value: JsonObject, notes: Diagnostics) -> None:
        """Words of the other specs for the same (C1); another spelling only when lenient."""
        if "status" not in value and "error_type" in value:
            value["status"] = "error"
            fix = "Put the error into an envelope, beside `status` and `metadata`."
            notes.add("status", "The error object stands alone; it is read as an `error`.", path="/status", fix=fix)
        word = value.get("status")
        if not isinstance(word, str) or word in OUTCOMES:
            return
        name = word.strip().casefold() if notes.level == "lenient" else word
        status = name if name in OUTCOMES else _STATUSES.get(name)
        if status is not None:
            value["status"] = status
            fix = f"Use one of: {', '.join(OUTCOMES)}."
            notes.add("status", f"{word[:100]!r} is read as `{status}`.", path="/status", fix=fix)

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
