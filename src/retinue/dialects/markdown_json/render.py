"""From a `Result` to an envelope: all that the format demands is there, and no number that nobody measured."""

import re
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.version import Version, compatible
from retinue.dialects.moments import moment_text
from retinue.dialects.port import UNNAMED, Rendered
from retinue.dialects.writing import Losses, form_of
from retinue.errors import InvalidInput

from .answer import MILLISECOND, questions_in
from .wire import (
    CONTRACT,
    ERROR_TYPES,
    FAULT_CODES,
    ErrorContext,
    Metadata,
    Status,
    WarningEntry,
    envelope_for,
    names_files,
)
from .words import ASKING, AT_WORK, NO_WARNING, RECOVERIES, UNSTATED, canonical, to_wire

__all__ = ["RESULT_FORMS", "render_result"]

RESULT_FORMS: Final = ("envelope", "wide")
"""`wide` is for readers that look for the operation of a failure at the top (C4): it says it there too."""

_UNSAID: Final = ("traces", "usage", "attempts", "confidence", "reasoning", "native")
_NAME: Final = "markdown_json"
_OWN: Final = f"/extras/{_NAME}"
_DEMANDED: Final = "the format demands one"
_TAKEN: Final = "the format has its own there"
_MOVED: Final = "said inside the result"
_ASKS: Final = Warned(type="incomplete_context", message=ASKING, synthetic=True)
_WORKS: Final = Warned(type="incomplete_context", message=AT_WORK, synthetic=True)
_UNTOLD: Final = Warned(type="degraded_analysis", message=NO_WARNING, synthetic=True)


def render_result(result: Result, *, form: str | None = None) -> Rendered:
    """Write an answer as one of the three envelopes (K3 to K6).

    Raises:
        InvalidInput: There is no such form, or the data is no JSON.
    """
    form = form_of(form, RESULT_FORMS, _NAME)
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
    _ending(result, status, losses)
    losses.unsaid(result, *_UNSAID)
    if result.task_id:
        losses.add("/task_id")
    if result.content:
        losses.add("/content", "the format has data only")
    _extras(result, envelope, losses)
    return Rendered(json.dumps(envelope), form, tuple(losses.found))


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
    if canonical(agent) != result.agent:
        losses.add("/agent", "names have one spelling there")
    said, version = result.versions.contract, CONTRACT
    if said is not None and _spoken(said):
        version = said
    if version != said:
        losses.add("/versions/contract", _DEMANDED)
    return {"agent": agent, "version": version}


def _agent(result: Result) -> str:
    return to_wire(result.agent) if result.agent.strip() else UNNAMED


def _spoken(version: str) -> bool:
    try:
        return compatible(Version.parse(version), Version.parse(CONTRACT))
    except InvalidInput:
        return False


def _ending(result: Result, status: Status, losses: Losses) -> None:
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
    if canonical(answer["operation"]) != result.skill:
        losses.add("/skill", "names have one spelling there" if skill.strip() else _DEMANDED)
    warnings = _warned(result, status, losses)
    answer["result"] = _asking(result, losses) if result.lifecycle == "input_required" else _data(result, losses)
    if warnings:
        answer["warnings"] = [_warning(each, f"/warnings/{at}", losses) for at, each in enumerate(warnings)]
    asks = result.lifecycle == "input_required"
    mistaken = status == "partial" and not asks and any(each.type == "incomplete_context" for each in warnings)
    if mistaken and questions_in(answer["result"]) is not None:
        for name in ("lifecycle", "outcome", "questions", "data"):
            losses.add(f"/{name}", "a partial answer with questions asks back there")
    return answer


def _warned(result: Result, status: Status, losses: Losses) -> tuple[Warned, ...]:
    """The warnings, and the one that a partial answer owes."""
    warnings = result.warnings
    if result.lifecycle == "input_required":
        known = any(each.type == "incomplete_context" for each in warnings)
        return warnings if known and not _same(warnings[-1], _ASKS) else (*warnings, _ASKS)
    if status != "partial" or warnings:
        return warnings
    losses.add("/warnings", _DEMANDED)
    return (_UNTOLD if result.lifecycle == "ended" else _WORKS,)


def _same(one: Warned, other: Warned) -> bool:
    return (one.type, one.message, one.synthetic) == (other.type, other.message, other.synthetic)


def _warning(warned: Warned, path: str, losses: Losses) -> JsonMapping:
    entry: JsonMapping = {"type": warned.type}
    for name in ("message", "impact", "recovery"):
        entry[name] = _stated(getattr(warned, name), f"{path}/{name}", losses)
    entry["recovery"] = _way_out(entry["recovery"])
    if entry["recovery"] not in {warned.recovery, UNSTATED}:
        losses.add(f"{path}/recovery", _SENTENCE)
    return {**entry, "synthetic": True} if warned.synthetic else entry


def _stated(text: str, path: str, losses: Losses) -> str:
    """A text that the format demands: there is always one, and a missing one is read back as missing."""
    if text == UNSTATED or (text and not text.strip()):
        losses.add(path, _DEMANDED)
    return text if text.strip() else UNSTATED


def _data(result: Result, losses: Losses) -> Any:
    if result.data is not None:
        return result.data
    losses.add("/data", _MOVED if result.content else _DEMANDED)
    return {"content": result.content} if result.content else {}


def _asking(result: Result, losses: Losses) -> JsonMapping:
    """The data so far, and the questions in it."""
    questions = [each.model_dump(mode="json", exclude_defaults=True) for each in result.questions]
    if result.data is None:
        return {"next_questions": questions}
    said: object = result.data
    data = cast("JsonMapping", said) if isinstance(said, dict) else {"data": said}
    if data is not said or not data:
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
        said = Losses(_NAME)
    else:
        said = losses
    failure: JsonMapping = {"error_type": ERROR_TYPES[fault.code]}
    failure["message"] = _stated(fault.message, "/fault/message", said)
    top, context = _context(result, fault, said, losses)
    failure |= top
    failure["context"] = context
    if result.data is not None:
        failure["partial_results"] = result.data
    failure["recovery_suggestions"] = _recovery(fault, said)
    if result.warnings:
        failure["warnings"] = [_warning(each, f"/warnings/{at}", losses) for at, each in enumerate(result.warnings)]
    said.unsaid(fault, "path", "retryable", "retry_after_s", path="/fault")
    return failure


def _context(result: Result, fault: Fault, said: Losses, losses: Losses) -> tuple[JsonMapping, JsonMapping]:
    """Where it failed; the operation stands at the top too where the two differ (C4)."""
    top: JsonMapping = {}
    context: JsonMapping = {}
    operation = result.skill if fault.operation is None else fault.operation
    if operation is not None:
        context["operation"] = to_wire(operation)
    if result.skill not in {None, operation} and (result.skill or "").strip():
        top["operation"] = to_wire(result.skill or "")
    meant = canonical(context["operation"]) if operation is not None else None
    skill = canonical(top["operation"]) if top else meant if meant and meant.strip() else None
    if skill != result.skill:
        losses.add("/skill", "the operation of the failure stands there")
    if meant != fault.operation:
        said.add("/fault/operation", "the operation that was asked for stands there")
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


def _recovery(fault: Fault, losses: Losses) -> list[str]:
    """What to do next, the hint first; there is always something (K6)."""
    said = [each for each in dict.fromkeys((fault.hint, *fault.suggestions)) if each.strip() and each != UNSTATED]
    said = said or [RECOVERIES[ERROR_TYPES[fault.code]]]
    told = [_way_out(each) for each in said]
    if told[0] != fault.hint:
        losses.add("/fault/hint", _FIRST if said[0] != fault.hint else _SENTENCE)
    if tuple(told[1:]) != fault.suggestions:
        losses.add("/fault/suggestions", _FIRST if tuple(said[1:]) != fault.suggestions else _SENTENCE)
    return told


_FIRST: Final = "the first suggestion is the hint"
_SENTENCE: Final = "a name alone is no way out there, so a sentence has it"
_BARE: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_./:@-]*[A-Za-z0-9_/-])?")


def _way_out(text: str) -> str:
    """A sentence: what is the name of a thing, and nothing else, is what to use (K11)."""
    return f"Use `{text}`." if _BARE.fullmatch(text) else text


# What the format has no word for


def _extras(result: Result, envelope: JsonMapping, losses: Losses) -> None:
    """Put back what came along, and the moment of a failure."""
    _moment(result, envelope, losses)
    losses.foreign(result.extras)
    kept = _put_back(result.extras[_NAME], envelope, losses) if _NAME in result.extras else frozenset[str]()
    if _NAME in result.extras and not kept:
        losses.add(_OWN)
    for name in ("files_read", "files_written"):
        if getattr(result, name):
            where = f"/metadata/{name}" if "metadata" in kept else "/metadata" if kept else ""
            losses.add(f"{_OWN}{where}", "the number of files is read back there")


def _put_back(said: object, envelope: JsonMapping, losses: Losses) -> frozenset[str]:
    """Write what an earlier reading set aside; gives the names of which something was written."""
    own = cast("JsonMapping", said) if isinstance(said, dict) else {}
    shape = {*envelope_for(envelope["status"]).model_fields}
    if envelope["status"] == "error" and "partial_results" not in envelope:
        shape.add("result")  # which would be read as the partial results
    kept: set[str] = set()
    inner = Losses(_NAME)
    for name, value in own.items():
        path = _OWN + json.pointer([name])
        if name not in shape:
            envelope[name] = value
            kept.add(name)
        elif (name == "warnings" and _into_warnings(value, envelope, inner)) or (
            name in _INNER and _into(envelope[name], value, _INNER[name], path, inner)
        ):
            kept.add(name)
        else:
            inner.add(path, _TAKEN)
    losses.found.extend(inner.found if kept else [])
    return frozenset(kept)


_WARNING: Final = frozenset(WarningEntry.model_fields)
_INNER: Final = {
    "metadata": frozenset(Metadata.model_fields) - {"files_read", "files_written", "artifacts"},
    "context": frozenset(field.alias or name for name, field in ErrorContext.model_fields.items()),
}


def _into(target: JsonMapping, value: object, known: frozenset[str], path: str, losses: Losses) -> bool:
    """Add what came along to one of the format's own objects; whether anything was added."""
    members = cast("JsonMapping", value) if isinstance(value, dict) else {}
    fits = {name for name in members if name not in known and name not in target and _rides(name, members[name])}
    for name in members if fits else ():
        if name in fits:
            target[name] = members[name]
        else:
            losses.add(path + json.pointer([name]), _TAKEN)
    return bool(fits)


def _rides(name: str, value: object) -> bool:
    """Whether something would be kept again where it stood: what has a meaning there would be read as that."""
    if name == "artifacts":
        return value is not None and not names_files(value)
    return name not in {"files_read", "files_written"} or (type(value) is int and value >= 0)


def _into_warnings(value: object, envelope: JsonMapping, losses: Losses) -> bool:
    entries: list[JsonMapping] = envelope.get("warnings", [])
    by_index = cast("JsonMapping", value) if isinstance(value, dict) else {}
    places = {str(index): entry for index, entry in enumerate(entries)}
    kept = False
    inner = Losses(_NAME)
    for index, members in by_index.items():
        path = f"{_OWN}/warnings{json.pointer([index])}"
        if index in places and _into(places[index], members, _WARNING, path, inner):
            kept = True
        else:
            inner.add(path, _TAKEN)
    losses.found.extend(inner.found if kept else [])
    return kept


def _moment(result: Result, envelope: JsonMapping, losses: Losses) -> None:
    fault = result.fault
    if fault is None or fault.timestamp_ns is None or envelope["status"] != "error":
        return
    text = moment_text(fault.timestamp_ns)
    if text is None:
        losses.add("/fault/timestamp_ns", "the format ends with the year 9999")
    else:
        envelope["metadata"]["error_timestamp"] = text
