"""From the requests and answers of spec 000 to the contract."""

from typing import TYPE_CHECKING, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.result import Result, Usage
from retinue.contract.task import Context, Correction, OutputWish, Question, Task
from retinue.dialects.mending import drop_nulls
from retinue.dialects.port import NOTHING, Known, Parsed
from retinue.dialects.reading import Notes, answer_in, object_in, read, refuse
from retinue.errors import FaultCode, InvalidInput, OutputInvalid, ParseError

from .constraints import read_constraints
from .correction import correction_of, mend_error
from .mending import Mended
from .names import ToolName, read_tool_name
from .rest import Rest
from .summary import read_summary, sentences_of
from .wire import CODES, OUTCOMES, STYLES, Call, CorrectionObject, Envelope, HandOff, Metadata, Payload

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping

__all__ = ["answered", "error_within", "parse_result", "parse_task"]


# Requests


def parse_task(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Task]:
    """Read a hand-off (A7) or a tool-use call. Keys that the spec does not show ride in `extras`, unless strict.

    Raises:
        ParseError: The text is no single JSON object.
        InvalidInput: It holds neither.
    """
    notes = Notes("tool_use", level)
    value = object_in(text, notes)
    handed = not ({"name", "input"} & value.keys()) or bool({"payload", "message_type"} & value.keys())
    return _hand_off(value, known, notes) if handed else _call(value, known, notes)


def _hand_off(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    rest = Rest()

    def mend(value: JsonObject, notes: Notes) -> None:
        drop_nulls(value, ("source_agent", "correction"), notes)
        payload = value.get("payload")
        if isinstance(payload, dict):
            drop_nulls(payload, ("context_summary", "constraints", "required_output_format"), notes, path="/payload")
            rest.take(payload, Payload, notes, section="payload")
        _mend_correction(value, notes)
        if notes.level == "lenient":
            _complete(value, known, notes)
        rest.take(value, HandOff, notes)

    wire = read(value, HandOff, notes, refusal=InvalidInput, mend=mend)
    target = _tool(wire.target_agent, "/target_agent", notes)
    payload = wire.payload
    what, why = read_summary(payload.context_summary)
    if sentences_of(payload.context_summary) > _SENTENCES:
        fix = "Say in one or two sentences what is done, and in one what for."
        notes.add("summary", "`context_summary` is long.", path="/payload/context_summary", fix=fix, severity="info")
    constraints, limits = read_constraints(payload.constraints, notes)
    task = Task(
        id=payload.task_id,
        agent=target.agent,
        major=target.major,
        skill=target.skill or known.skill,
        instruction=payload.instruction,
        context=Context(what=what, why=why, constraints=constraints),
        limits=limits,
        output=_wish(payload.required_output_format),
        source_agent=wire.source_agent,
        extras=rest.extras,
    )
    correction = _again(wire.correction, notes)
    return Parsed(task, "handoff", tuple(notes.findings), correction)


_SENTENCES: Final = 3


def _complete(value: JsonObject, known: Known, notes: Notes) -> None:
    """What a hand-off left out and whoever reads it knows."""
    payload = value.get("payload")
    filled = [(value, "", "target_agent", known.agent), (value, "", "message_type", "task_delegation")]
    if isinstance(payload, dict):
        filled.append((payload, "/payload", "task_id", known.task_id))
        if isinstance(payload.get("constraints"), str):
            payload["constraints"] = [payload["constraints"]]
            notes.add("list", "`constraints` was a single text.", path="/payload/constraints", fix="Send a list.")
    for holder, path, key, word in filled:
        if key not in holder:
            holder[key] = word
            what = f"`{key}` is missing; {word!r} was taken."
            notes.add("missing", what, path=f"{path}/{key}", fix=f"Send `{key}`.")


def _wish(word: str | None) -> OutputWish:
    """A word for how the answer is sent, or for the style of the report: two things, and one field (C22)."""
    return OutputWish(style=word) if word in STYLES else OutputWish(transport=word)


def _call(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    rest = Rest()

    def mend(value: JsonObject, notes: Notes) -> None:
        drop_nulls(value, ("type", "id", "correction"), notes)
        _mend_correction(value, notes)
        if notes.level == "lenient":
            _mend_input(value, notes)
        rest.take(value, Call, notes)

    wire = read(value, Call, notes, refusal=InvalidInput, mend=mend)
    called = _tool(wire.name, "/name", notes)
    task = Task(
        id=known.task_id if wire.id is None else wire.id,
        agent=called.agent,
        major=called.major,
        skill=called.skill or known.skill,
        parameters=wire.input,
        produced_by="model" if wire.type else None,
        extras=rest.extras,
    )
    correction = _again(wire.correction, notes)
    return Parsed(task, "call", tuple(notes.findings), correction)


def _mend_input(value: JsonObject, notes: Notes) -> None:
    """What other vendors call it, and a text that holds the object."""
    other = next((key for key in ("arguments", "parameters") if key in value and "input" not in value), None)
    if other is not None:
        value["input"] = value.pop(other)
        notes.add("input", f"The parameters are called `{other}`.", path=f"/{other}", fix="Call them `input`.")
    said = value.get("input")
    try:
        held = json.loads(said) if isinstance(said, str) else None
    except ParseError:
        return
    if isinstance(held, dict):
        value["input"] = held
        notes.add("input", "`input` is an object in a text.", path="/input", fix="Send the object itself.")


def _mend_correction(value: JsonObject, notes: Notes) -> None:
    correction = value.get("correction")
    if isinstance(correction, dict):
        mend_error(correction, notes, path="/correction")
        Rest().take(correction, CorrectionObject, notes, section="correction")


def _again(wire: CorrectionObject | None, notes: Notes) -> Correction | None:
    """Why a request is made again. With the request itself it is the answer to it that was refused."""
    if wire is None:
        return None
    code = "output_invalid" if wire.error_type == "validation_error" else CODES[wire.error_type]
    return correction_of(wire, notes, code=code, path="/correction")


def _tool(name: str, path: str, notes: Notes) -> ToolName:
    """Whom the name means; another spelling of a name is borne unless strict.

    Raises:
        InvalidInput: It is nobody's name.
    """
    found = read_tool_name(name)
    if found is None or (notes.level == "strict" and name != found.spelled):
        notes.add("name", f"{name[:100]!r} is not a valid name.", path=path, fix=_SNAKE, severity="error")
        refuse(notes, InvalidInput)
    if name != found.spelled:
        notes.add("name", f"{name[:100]!r} is read as {found.spelled!r}.", path=path, fix=_SNAKE)
    return found


_SNAKE: Final = "Use snake_case: small letters, digits and single underscores, as in `code_writer`."


# Answers


def parse_result(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Result]:
    """Read a return envelope (A11), that of a failure too. Its `reasoning_log` is for the journal only (C9).

    A partial answer whose `result` holds questions asks them. `tokens_used` does not say how many tokens went in and
    how many came out.

    Raises:
        OutputInvalid: The text is no such envelope.
    """
    notes = Notes("tool_use", level)
    value = answer_in(text, notes)
    return _envelope(value, known, notes)


def _envelope(value: JsonObject, known: Known, notes: Notes) -> Parsed[Result]:
    mended = Mended()
    wire = read(value, Envelope, notes, refusal=OutputInvalid, mend=mended)
    _see_it_is_whole(wire, notes, free=mended.free is not None)
    if notes.wrong:
        refuse(notes, OutputInvalid)
    data: JsonValue = wire.result if mended.free is None else mended.free
    data, questions = answered(data, status=wire.status)
    if wire.max_retries is not None:
        mended.rest.kept["max_retries"] = wire.max_retries
    measured = wire.metadata
    result = Result(
        task_id=known.task_id,
        agent=known.agent,
        skill=known.skill,
        lifecycle="input_required" if questions else "ended",
        outcome=None if questions else OUTCOMES[wire.status],
        data=data,
        artifacts=tuple(measured.artifacts or ()),
        fault=_fault(wire, mended.finer) or error_within(data, status=wire.status),
        usage=_usage(measured),
        duration_ns=None if measured.execution_time_ms is None else measured.execution_time_ms * 1_000_000,
        retries=wire.retry_count or 0,
        confidence=measured.confidence,
        questions=questions,
        reasoning=wire.reasoning_log,
        extras=mended.rest.extras,
    )
    return Parsed(result, "envelope", tuple(notes.findings))


def _see_it_is_whole(wire: Envelope, notes: Notes, *, free: bool) -> None:
    """What one key asks of the others."""
    strict, lenient = notes.level == "strict", notes.level == "lenient"
    ended_well = wire.status in {"success", "partial"}
    if ended_well and wire.result is None and not free:
        severity = "warning" if lenient else "error"
        fix = "Send the findings as an object."
        notes.add("result", f"`{wire.status}` without a `result`.", path="/result", fix=fix, severity=severity)
    said = [key for key in CorrectionObject.model_fields if getattr(wire, key) is not None]
    owed = [key for key, each in CorrectionObject.model_fields.items() if each.is_required() and key not in said]
    if not said and not ended_well and error_within(wire.result, status=wire.status) is None:
        fix = "Add `error_type`, `message`, `correction_hint` and `retry_count`."
        notes.add("error", f"It says `{wire.status}`, and not what failed.", path="/message", fix=fix)
    for key in owed if said else ():
        severity = "error" if strict or (key == "message" and not lenient) else "warning"
        fix = "Say what failed, and what to do about it."
        notes.add("error", f"The error has no `{key}`.", path=f"/{key}", fix=fix, severity=severity)
    if said and wire.status == "success":
        message = "It says `success`, and an error."
        fix = "Say `partial` or `error`, or leave the error out."
        notes.add("error", message, path="/status", fix=fix, severity="error" if strict else "warning")


def _fault(wire: Envelope, finer: tuple[FaultCode, ...]) -> Fault | None:
    if wire.message is None and wire.error_type is None:
        return None
    code = finer[0] if finer else CODES[wire.error_type or "runtime_error"]
    return Fault(code=code, message=wire.message or "", hint=wire.correction_hint or "")


def error_within(data: object, *, status: str) -> Fault | None:
    """The error that a failed answer puts into its `result`: the spec does not say where else it should stand (A12)."""
    named = cast("JsonMapping", data) if isinstance(data, dict) else {}
    word, message, hint = (named.get(key) for key in ("error_type", "message", "correction_hint"))
    if status not in {"error", "failed"} or word not in CODES or not isinstance(message, str):
        return None
    return Fault(code=CODES[word], message=message, hint=hint if isinstance(hint, str) else "")


def _usage(measured: Metadata) -> Usage | None:
    if measured.tokens_used is None and measured.model_used is None:
        return None
    return Usage(tokens_total=measured.tokens_used, model=measured.model_used)


def answered(result: JsonValue, *, status: str) -> tuple[JsonValue, tuple[Question, ...]]:
    """The data of a `result`, and what it asks: a partial one may hold `questions`, each with `id` and `text` (C1)."""
    asked = result.get("questions") if isinstance(result, dict) and status == "partial" else None
    try:
        each = asked if isinstance(asked, list) else []
        questions = tuple(Question.model_validate_json(json.dumps(question)) for question in each)
    except (ValidationError, InvalidInput):
        questions = ()
    if not questions or not isinstance(result, dict):
        return result, ()
    return {key: value for key, value in result.items() if key != "questions"} or None, questions
