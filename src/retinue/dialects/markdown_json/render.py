"""From a `Result` to an envelope: all that the format demands is there, and no number that nobody measured."""

import re
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.version import Version, is_compatible
from retinue.dialects.dates import format_timestamp
from retinue.dialects.losses import Losses, choose_form
from retinue.dialects.port import DEFAULT_AGENT, RenderedMessage
from retinue.errors import InvalidInput

from .parse_envelope import MILLISECOND, questions_in
from .vocabulary import ASKING, AT_WORK, NO_WARNING, RECOVERIES, UNSTATED, from_wire, to_wire
from .wire import (
    CONTRACT,
    ERROR_TYPES,
    FAULT_CODES,
    AnswerMetadata,
    ErrorContext,
    Status,
    WarningEntry,
    are_artifacts,
    envelope_for,
)

RESULT_FORMS: Final = ("envelope", "wide")
"""`wide` is for readers that look for the operation of a failure at the top (C4): it says it there too."""

_UNSUPPORTED: Final = ("traces", "usage", "attempts", "confidence", "reasoning", "native")
_NAME: Final = "markdown_json"
_OWN: Final = f"/extras/{_NAME}"
_DEMANDED: Final = "the format demands one"
_RESERVED: Final = "the format has its own there"
_MOVED: Final = "said inside the result"
_ASKS: Final = Warned(type="incomplete_context", message=ASKING, synthetic=True)
_WORKS: Final = Warned(type="incomplete_context", message=AT_WORK, synthetic=True)
_UNEXPLAINED: Final = Warned(type="degraded_analysis", message=NO_WARNING, synthetic=True)


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer as one of the three envelopes (K3 to K6).

    Raises:
        InvalidInput: There is no such form, or the data is no JSON.
    """
    form = choose_form(form, RESULT_FORMS, _NAME)
    losses = Losses(_NAME)
    status = _status(result)
    envelope: JsonMapping = {"status": status, **_head(result, losses)}
    if status == "error":
        envelope |= _failure(result, losses)
        operation = envelope["context"].get("operation", "")
        if form == "wide" and operation.strip():
            envelope.setdefault("operation", operation)
    else:
        envelope |= _answer(result, status, losses)
    metadata = _metadata(result, losses)
    envelope["metadata"] = metadata
    _check_ending(result, status, losses)
    losses.add_fields(result, *_UNSUPPORTED)
    if result.task_id:
        losses.add("/task_id")
    if result.content:
        losses.add("/content", "the format has data only")
    # Put back what came along, and the moment of a failure.
    _moment(result, envelope, losses)
    losses.add_foreign_extras(result.extras)
    names = _restore_extras(result.extras[_NAME], envelope, losses) if _NAME in result.extras else frozenset[str]()
    if _NAME in result.extras and not names:
        losses.add(_OWN)
    for name in ("files_read", "files_written"):
        if getattr(result, name):
            where = f"/metadata/{name}" if "metadata" in names else "/metadata" if names else ""
            losses.add(f"{_OWN}{where}", "the number of files is read back there")
    return RenderedMessage(json.dumps(envelope), form, lambda: losses.entries)


def _status(result: Result) -> Status:
    if result.lifecycle != "ended":
        return "partial"
    match result.outcome:
        case "success" | "partial":
            return result.outcome
        case None if result.fault is None:
            return "success"
        case _:
            return "error"


def _head(result: Result, losses: Losses) -> JsonMapping:
    agent = _agent(result)
    if from_wire(agent) != result.agent:
        losses.add("/agent", "names have one spelling there")
    contract, version = result.versions.contract, CONTRACT
    if contract is not None and _is_compatible(contract):
        version = contract
    if version != contract:
        losses.add("/versions/contract", _DEMANDED)
    return {"agent": agent, "version": version}


def _agent(result: Result) -> str:
    return to_wire(result.agent) if result.agent.strip() else DEFAULT_AGENT


def _is_compatible(version: str) -> bool:
    try:
        return is_compatible(Version.parse(version), Version.parse(CONTRACT))
    except InvalidInput:
        return False


def _check_ending(result: Result, status: Status, losses: Losses) -> None:
    """What the three status words say less of."""
    asks = result.lifecycle == "input_required"
    lifecycle = "input_required" if asks else "ended"
    outcome = None if asks else "failed" if status == "error" and result.outcome == "failed" else status
    if lifecycle != result.lifecycle:
        losses.add("/lifecycle")
    if outcome != result.outcome:
        losses.add("/outcome", f"{status!r} is the nearest word")
    if result.questions and not asks:
        losses.add("/questions")
    if result.retries and outcome != "failed":
        losses.add("/retries")
    if result.fault is not None and status != "error":
        losses.add("/fault", "only a failure has one there")


def _metadata(result: Result, losses: Losses) -> JsonMapping:
    metadata: JsonMapping = {}
    if result.duration_ns is not None:
        metadata["execution_time_ms"] = (result.duration_ns + MILLISECOND // 2) // MILLISECOND
    for name in ("files_read", "files_written"):
        paths: tuple[str, ...] = getattr(result, name)
        if paths:
            metadata[name] = len(paths)
            losses.add(f"/{name}", "only their number is said there")
    if result.completeness is not None:
        metadata["completeness"] = result.completeness
    if result.versions.agent is not None:
        metadata["agent_version"] = result.versions.agent
    if result.artifacts:
        metadata["artifacts"] = [each.to_json() for each in result.artifacts]
    return metadata


# Whole and partial answers


def _answer(result: Result, status: Status, losses: Losses) -> JsonMapping:
    skill = result.skill or ""
    # K9 demands an operation. An agent that names none did what it is there for, which goes by its own name.
    answer: JsonMapping = {"operation": to_wire(skill) if skill.strip() else _agent(result)}
    if from_wire(answer["operation"]) != result.skill:
        losses.add("/skill", "names have one spelling there" if skill.strip() else _DEMANDED)
    warnings = _all_warnings(result, status, losses)
    answer["result"] = (
        _data_with_questions(result, losses) if result.lifecycle == "input_required" else _data(result, losses)
    )
    if warnings:
        answer["warnings"] = [_warning(each, f"/warnings/{at}", losses) for at, each in enumerate(warnings)]
    asks = result.lifecycle == "input_required"
    is_ambiguous = status == "partial" and not asks and any(each.type == "incomplete_context" for each in warnings)
    if is_ambiguous and questions_in(answer["result"]) is not None:
        for name in ("lifecycle", "outcome", "questions", "data"):
            losses.add(f"/{name}", "a partial answer with questions asks back there")
    return answer


def _all_warnings(result: Result, status: Status, losses: Losses) -> tuple[Warned, ...]:
    """The warnings, and the one that a partial answer owes."""
    warnings = result.warnings
    if result.lifecycle == "input_required":
        has_question = any(each.type == "incomplete_context" for each in warnings)
        return warnings if has_question and not _is_same(warnings[-1], _ASKS) else (*warnings, _ASKS)
    if status != "partial" or warnings:
        return warnings
    losses.add("/warnings", _DEMANDED)
    return (_UNEXPLAINED if result.lifecycle == "ended" else _WORKS,)


def _is_same(one: Warned, other: Warned) -> bool:
    return (one.type, one.message, one.synthetic) == (other.type, other.message, other.synthetic)


def _warning(warned: Warned, path: str, losses: Losses) -> JsonMapping:
    entry: JsonMapping = {"type": warned.type}
    for name in ("message", "impact", "recovery"):
        entry[name] = _text_or_unstated(getattr(warned, name), f"{path}/{name}", losses)
    entry["recovery"] = _as_sentence(entry["recovery"])
    if entry["recovery"] not in {warned.recovery, UNSTATED}:
        losses.add(f"{path}/recovery", _SENTENCE)
    return {**entry, "synthetic": True} if warned.synthetic else entry


def _text_or_unstated(text: str, path: str, losses: Losses) -> str:
    """A text that the format demands: there is always one, and a missing one is read back as missing."""
    if text == UNSTATED or (text and not text.strip()):
        losses.add(path, _DEMANDED)
    return text if text.strip() else UNSTATED


def _data(result: Result, losses: Losses) -> Any:
    if result.data is not None:
        return result.data
    losses.add("/data", _MOVED if result.content else _DEMANDED)
    return {"content": result.content} if result.content else {}


def _data_with_questions(result: Result, losses: Losses) -> JsonMapping:
    """The data so far, and the questions in it."""
    questions = [each.model_dump(mode="json", exclude_defaults=True) for each in result.questions]
    if result.data is None:
        return {"next_questions": questions}
    raw: object = result.data
    data = cast("JsonMapping", raw) if isinstance(raw, dict) else {"data": raw}
    if data is not raw or not data:
        losses.add("/data", _MOVED)
    elif "next_questions" in data:
        losses.add("/data" if len(data) == 1 else "/data/next_questions", "the questions stand there")
    return {**data, "next_questions": questions}


# Failures


def _failure(result: Result, losses: Losses) -> JsonMapping:
    fault = result.fault
    if fault is None:
        losses.add("/fault", _DEMANDED)
        fault = Fault(code="internal_error", message="The agent failed without a reason.")
        fault_losses = Losses(_NAME)
    else:
        fault_losses = losses
    failure: JsonMapping = {"error_type": ERROR_TYPES[fault.code]}
    failure["message"] = _text_or_unstated(fault.message, "/fault/message", fault_losses)
    top, context = _context(result, fault, fault_losses, losses)
    failure |= top
    failure["context"] = context
    if result.data is not None:
        failure["partial_results"] = result.data
    # What to do next, the hint first; there is always something (K6).
    suggestions = [
        each for each in dict.fromkeys((fault.hint, *fault.suggestions)) if each.strip() and each != UNSTATED
    ]
    suggestions = suggestions or [RECOVERIES[ERROR_TYPES[fault.code]]]
    sentences = [_as_sentence(each) for each in suggestions]
    if sentences[0] != fault.hint:
        fault_losses.add("/fault/hint", _FIRST if suggestions[0] != fault.hint else _SENTENCE)
    if tuple(sentences[1:]) != fault.suggestions:
        fault_losses.add("/fault/suggestions", _FIRST if tuple(suggestions[1:]) != fault.suggestions else _SENTENCE)
    failure["recovery_suggestions"] = sentences
    if result.warnings:
        failure["warnings"] = [_warning(each, f"/warnings/{at}", losses) for at, each in enumerate(result.warnings)]
    fault_losses.add_fields(fault, "path", "retryable", "retry_after_s", path="/fault")
    return failure


def _context(result: Result, fault: Fault, fault_losses: Losses, losses: Losses) -> tuple[JsonMapping, JsonMapping]:
    """Where it failed; the operation stands at the top too where the two differ (C4)."""
    top: JsonMapping = {}
    context: JsonMapping = {}
    operation = result.skill if fault.operation is None else fault.operation
    if operation is not None:
        context["operation"] = to_wire(operation)
    if result.skill not in {None, operation} and (result.skill or "").strip():
        top["operation"] = to_wire(result.skill or "")
    read_operation = from_wire(context["operation"]) if operation is not None else None
    skill = (
        from_wire(top["operation"]) if top else read_operation if read_operation and read_operation.strip() else None
    )
    if skill != result.skill:
        losses.add("/skill", "the operation of the failure stands there")
    if read_operation != fault.operation:
        fault_losses.add("/fault/operation", "the operation that was asked for stands there")
    for name in ("target", "failed_at"):
        if getattr(fault, name) is not None:
            context[name] = getattr(fault, name)
    if result.outcome == "failed":
        context["attempts"] = result.retries + 1
    if FAULT_CODES[ERROR_TYPES[fault.code]] != fault.code:
        context["class"] = fault.code
    if fault.detail:
        context["detail"] = fault.detail
    return top, context


_FIRST: Final = "the first suggestion is the hint"
_SENTENCE: Final = "a name alone is no way out there, so a sentence has it"
_BARE: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_./:@-]*[A-Za-z0-9_/-])?")


def _as_sentence(text: str) -> str:
    """A sentence: what is the name of a thing, and nothing else, is what to use (K11)."""
    return f"Use `{text}`." if _BARE.fullmatch(text) else text


# What the format has no word for


def _restore_extras(extras: object, envelope: JsonMapping, losses: Losses) -> frozenset[str]:
    """Write what an earlier reading set aside; gives the names of which something was written."""
    own = cast("JsonMapping", extras) if isinstance(extras, dict) else {}
    shape = {*envelope_for(envelope["status"]).model_fields}
    if envelope["status"] == "error" and "partial_results" not in envelope:
        shape.add("result")  # which would be read as the partial results
    names: set[str] = set()
    inner = Losses(_NAME)
    for name, value in own.items():
        path = _OWN + json.pointer([name])
        if name not in shape:
            envelope[name] = value
            names.add(name)
        elif (name == "warnings" and _merge_warnings(value, envelope, inner)) or (
            name in _INNER and _merge(envelope[name], value, _INNER[name], path, inner)
        ):
            names.add(name)
        else:
            inner.add(path, _RESERVED)
    losses.entries.extend(inner.entries if names else [])
    return frozenset(names)


_WARNING: Final = frozenset(WarningEntry.model_fields)
_INNER: Final = {
    "metadata": frozenset(AnswerMetadata.model_fields) - {"files_read", "files_written", "artifacts"},
    "context": frozenset(field.alias or name for name, field in ErrorContext.model_fields.items()),
}


def _merge(target: JsonMapping, value: object, reserved: frozenset[str], path: str, losses: Losses) -> bool:
    """Add what came along to one of the format's own objects; whether anything was added."""
    members = cast("JsonMapping", value) if isinstance(value, dict) else {}
    fits = {name for name in members if name not in reserved and name not in target and _is_free(name, members[name])}
    for name in members if fits else ():
        if name in fits:
            target[name] = members[name]
        else:
            losses.add(path + json.pointer([name]), _RESERVED)
    return bool(fits)


def _is_free(name: str, value: object) -> bool:
    """Whether something would be kept again where it stood: what has a meaning there would be read as that."""
    if name == "artifacts":
        return value is not None and not are_artifacts(value)
    return name not in {"files_read", "files_written"} or (type(value) is int and value >= 0)


def _merge_warnings(value: object, envelope: JsonMapping, losses: Losses) -> bool:
    entries: list[JsonMapping] = envelope.get("warnings", [])
    by_index = cast("JsonMapping", value) if isinstance(value, dict) else {}
    places = {str(index): entry for index, entry in enumerate(entries)}
    any_written = False
    inner = Losses(_NAME)
    for index, members in by_index.items():
        path = f"{_OWN}/warnings{json.pointer([index])}"
        if index in places and _merge(places[index], members, _WARNING, path, inner):
            any_written = True
        else:
            inner.add(path, _RESERVED)
    losses.entries.extend(inner.entries if any_written else [])
    return any_written


def _moment(result: Result, envelope: JsonMapping, losses: Losses) -> None:
    fault = result.fault
    if fault is None or fault.timestamp_ns is None or envelope["status"] != "error":
        return
    text = format_timestamp(fault.timestamp_ns)
    if text is None:
        losses.add("/fault/timestamp_ns", "the format ends with the year 9999")
    else:
        envelope["metadata"]["error_timestamp"] = text
