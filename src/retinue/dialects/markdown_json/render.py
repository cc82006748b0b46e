"""From a `Result` to an envelope: all that the format demands is there, and no number that nobody measured."""

import re
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.task import Correction, Task
from retinue.contract.version import Version, is_compatible
from retinue.dialects.decoding import format_timestamp
from retinue.dialects.losses import NO_EQUIVALENT, choose_form, own_extras, rendered_message
from retinue.dialects.port import DEFAULT_AGENT, RenderedMessage
from retinue.errors import InvalidInput

from .block import (
    ASKING,
    AT_WORK,
    CLOSING_SENTENCES,
    KEYS,
    LISTS,
    NO_WARNING,
    RECOVERIES,
    UNSTATED,
    agent_text,
    context_text,
    instruction_in,
    is_unknown_key,
    item_text,
    line_text,
    prose_text,
    starts_or_fences,
    to_wire,
)
from .parse import MILLISECOND, parse_result, parse_task
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

_NAME: Final[DialectName] = "markdown_json"
_ASKS: Final = Warned(type="incomplete_context", message=ASKING, synthetic=True)
_WORKS: Final = Warned(type="incomplete_context", message=AT_WORK, synthetic=True)
_UNEXPLAINED: Final = Warned(type="degraded_analysis", message=NO_WARNING, synthetic=True)


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write an answer as one of the three envelopes (K3 to K6).

    Raises:
        InvalidInput: There is no such form, or the data is no JSON.
    """
    form = choose_form(form, RESULT_FORMS, _NAME)
    status = _status(result)
    agent = to_wire(result.agent) if result.agent.strip() else DEFAULT_AGENT
    contract = result.versions.contract
    version = contract if contract is not None and _is_compatible(contract) else CONTRACT
    envelope: JsonMapping = {"status": status, "agent": agent, "version": version}
    if status == "error":
        envelope |= _failure(result)
        operation = envelope["context"].get("operation", "")
        if form == "wide" and operation.strip():
            envelope.setdefault("operation", operation)
    else:
        # K9 demands an operation. An agent that names none did what it is there for, which goes by its own name.
        skill = result.skill or ""
        envelope["operation"] = to_wire(skill) if skill.strip() else agent
        envelope["result"] = _data(result)
        if warnings := _all_warnings(result, status):
            envelope["warnings"] = [_warning(each) for each in warnings]
    envelope["metadata"] = _metadata(result, is_failure=status == "error")
    _restore_extras(own_extras(result.extras, _NAME), envelope)
    return rendered_message(
        json.dumps(envelope),
        form,
        result,
        dialect=_NAME,
        read=lambda text: parse_result(text).value,
        reasons={
            **_REASONS,
            **(_FAILURE_REASONS if status == "error" else {}),
            "/outcome": f"{status!r} is the nearest word",
        },
        unit_ns=MILLISECOND,
    )


_REQUIRED: Final = "the format requires one"
_COUNT_ONLY: Final = "only their number is given there"
_REASONS: Final = {
    "/agent": "names have one spelling there",
    "/skill": "names have one spelling there, and the format requires one",
    "/content": "the format has data only",
    "/versions/contract": _REQUIRED,
    "/data": "it stands inside the result",
    "/warnings": _REQUIRED,
    "/warnings/*/recovery": "a name alone says not what to do, so it is written as a sentence",
    "/fault": "only a failure has one there",
    "/files_read": _COUNT_ONLY,
    "/files_written": _COUNT_ONLY,
    f"/extras/{_NAME}/metadata/files_read": "the number of files is read back there",
    f"/extras/{_NAME}/metadata/files_written": "the number of files is read back there",
}
_FAILURE_REASONS: Final = {
    "/skill": "the operation of the failure stands there",
    "/fault": NO_EQUIVALENT,
    "/fault/message": _REQUIRED,
    "/fault/operation": "the operation that was asked for stands there",
    "/fault/hint": "the first suggestion is the hint, and each is a sentence",
    "/fault/suggestions": "the first suggestion is the hint, and each is a sentence",
    "/fault/timestamp_ns": "the format ends with the year 9999",
}


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


def _is_compatible(version: str) -> bool:
    try:
        return is_compatible(Version.parse(version), Version.parse(CONTRACT))
    except InvalidInput:
        return False


def _metadata(result: Result, *, is_failure: bool) -> JsonMapping:
    fault = result.fault
    metadata: JsonMapping = {
        "execution_time_ms": None
        if result.duration_ns is None
        else (result.duration_ns + MILLISECOND // 2) // MILLISECOND,
        "files_read": len(result.files_read) or None,
        "files_written": len(result.files_written) or None,
        "completeness": result.completeness,
        "agent_version": result.versions.agent,
        "artifacts": [each.to_json() for each in result.artifacts] or None,
    }
    if is_failure and fault is not None and fault.timestamp_ns is not None:
        metadata["error_timestamp"] = format_timestamp(fault.timestamp_ns)
    return {name: value for name, value in metadata.items() if value is not None}


# Whole and partial answers


def _all_warnings(result: Result, status: Status) -> tuple[Warned, ...]:
    """The warnings, and the one that a partial answer owes."""
    warnings = result.warnings
    if result.lifecycle == "input_required":
        has_question = any(each.type == "incomplete_context" for each in warnings)
        # A last one that reads as ours is the agent's own: the reader takes one off, so another goes behind it.
        is_ours = has_question and warnings[-1].model_copy(update={"impact": "", "recovery": ""}) == _ASKS
        return warnings if has_question and not is_ours else (*warnings, _ASKS)
    if status != "partial" or warnings:
        return warnings
    return (_UNEXPLAINED if result.lifecycle == "ended" else _WORKS,)


def _warning(warned: Warned) -> JsonMapping:
    entry: JsonMapping = {
        "type": warned.type,
        "message": _text_or_unstated(warned.message),
        "impact": _text_or_unstated(warned.impact),
        "recovery": _as_sentence(_text_or_unstated(warned.recovery)),
    }
    return {**entry, "synthetic": True} if warned.synthetic else entry


def _text_or_unstated(text: str) -> str:
    """A text that the format demands: there is always one, and a missing one is read back as missing."""
    return text if text.strip() else UNSTATED


def _data(result: Result) -> Any:
    """The data, and in it the questions of an agent that asks; the text where there is nothing else."""
    data: object = result.data
    if result.lifecycle != "input_required":
        return data if data is not None else {"content": result.content} if result.content else {}
    members = cast("JsonMapping", data) if isinstance(data, dict) else {} if data is None else {"data": data}
    questions = [each.model_dump(mode="json", exclude_defaults=True) for each in result.questions]
    return {**members, "next_questions": questions}


# Failures


def _failure(result: Result) -> JsonMapping:
    fault = result.fault or Fault(code="internal_error", message="The agent failed without a reason.")
    failure: JsonMapping = {"error_type": ERROR_TYPES[fault.code], "message": _text_or_unstated(fault.message)}
    # Where it failed; the operation stands at the top too where the two differ (C4).
    context: JsonMapping = {}
    operation = result.skill if fault.operation is None else fault.operation
    if operation is not None:
        context["operation"] = to_wire(operation)
    if result.skill not in {None, operation} and (result.skill or "").strip():
        failure["operation"] = to_wire(result.skill or "")
    context |= {name: text for name in ("target", "failed_at") if (text := getattr(fault, name)) is not None}
    if result.outcome == "failed":
        context["attempts"] = result.retries + 1
    if FAULT_CODES[ERROR_TYPES[fault.code]] != fault.code:
        context["class"] = fault.code
    if fault.detail:
        context["detail"] = fault.detail
    failure["context"] = context
    if result.data is not None:
        failure["partial_results"] = result.data
    # What to do next, the hint first; there is always something (K6).
    suggestions = [
        each for each in dict.fromkeys((fault.hint, *fault.suggestions)) if each.strip() and each != UNSTATED
    ]
    suggestions = suggestions or [RECOVERIES[ERROR_TYPES[fault.code]]]
    failure["recovery_suggestions"] = [_as_sentence(each) for each in suggestions]
    if result.warnings:
        failure["warnings"] = [_warning(each) for each in result.warnings]
    return failure


_PLAIN_VALUE: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_./:@-]*[A-Za-z0-9_/-])?")


def _as_sentence(text: str) -> str:
    """A sentence: what is the name of a thing, and nothing else, is what to use (K11)."""
    return f"Use `{text}`." if _PLAIN_VALUE.fullmatch(text) else text


# What the format has no word for


def _restore_extras(own: JsonMapping, envelope: JsonMapping) -> None:
    """Write what an earlier reading set aside."""
    shape = {*envelope_for(envelope["status"]).model_fields}
    if envelope["status"] == "error" and "partial_results" not in envelope:
        shape.add("result")  # which would be read as the partial results
    for name, value in own.items():
        if name not in shape:
            envelope[name] = value
        elif name in _INNER and name in envelope:
            _merge(envelope[name], value, _INNER[name])
        elif name == "warnings" and isinstance(value, dict):
            for index, entry in enumerate(envelope.get("warnings", [])):
                _merge(entry, cast("JsonMapping", value).get(str(index)), _WARNING)


_WARNING: Final = frozenset(WarningEntry.model_fields)
_INNER: Final = {
    "metadata": frozenset(AnswerMetadata.model_fields) - {"files_read", "files_written", "artifacts"},
    "context": frozenset(field.alias or name for name, field in ErrorContext.model_fields.items()),
}


def _merge(target: JsonMapping, value: object, reserved: frozenset[str]) -> None:
    """Add what came along to one of the format's own objects, where it means nothing else."""
    members = cast("JsonMapping", value) if isinstance(value, dict) else {}
    for name, member in members.items():
        if name not in reserved and name not in target and _is_free(name, member):
            target[name] = member


def _is_free(name: str, value: object) -> bool:
    """Whether something would be kept again where it stood: what has a meaning there would be read as that."""
    if name == "artifacts":
        return value is not None and not are_artifacts(value)
    return name not in {"files_read", "files_written"} or (type(value) is int and value >= 0)


TASK_FORMS: Final = ("block", "invocation")
"""The input block alone, and with the sentence that asks to follow the contract (K23)."""


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request as an input block (K2).

    A value that plain text could not hold is a JSON string. Parameters become text; the instruction is prose behind
    the block.

    Raises:
        InvalidInput: There is no such form, or a value is no JSON.
    """
    return _render(task, choose_form(form, TASK_FORMS, "markdown_json"), None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with what was wrong as a list of its own (C6)."""
    return _render(task, TASK_FORMS[0], correction)


def _render(task: Task, form: str, correction: Correction | None) -> RenderedMessage:
    before, unknown = _own_extras(task.extras)
    # A strict reader requires an operation (K9); the agent's own name is no other skill than the one it has.
    lines = [
        f"**{KEYS[0]}:** {agent_text(task.agent, task.major)}",
        f"**{KEYS[1]}:** {to_wire(task.skill or task.agent)}",
    ]
    if task.target is not None:
        lines.append(f"**{KEYS[2]}:** {line_text(task.target)}")
    context = context_text(task.context.what, task.context.why, task.context.constraints)
    if context:
        lines.append(f"**{KEYS[3]}:** {context}")
    parts = [before, "\n".join([*lines, *unknown])]
    if task.parameters:
        texts = {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in task.parameters.items()
        }
        parts.append(_list(LISTS[0], [item_text(name, text) for name, text in texts.items()]))
    if correction is not None:
        parts.append(_list(LISTS[1], _correction(correction)))
    if task.instruction:
        text = prose_text(task.instruction)
        is_plain = instruction_in(text) == (task.instruction, TASK_FORMS[0])
        parts.append(text if is_plain else json.dumps(task.instruction))
    if form == "invocation":
        parts.append(CLOSING_SENTENCES[0])
    return rendered_message(
        "\n\n".join(part for part in parts if part),
        form,
        task,
        dialect="markdown_json",
        read=lambda text: parse_task(text).value,
        reasons=_TASK_REASONS,
    )


_TASK_REASONS: Final = {
    "/agent": "a name that ends in a version is read as one",
    "/major": "a version is at most nine digits behind the name",
    "/skill": "the format requires one, and has the agent's own name",
}


def _correction(correction: Correction) -> list[str]:
    limit = "" if correction.max_retries is None else f" of {correction.max_retries}"
    items = [
        item_text("Message", correction.message),
        item_text("Retry", f"{correction.retry_count}{limit}"),
        item_text("Code", correction.code),
    ]
    items += [item_text("Hint", correction.hint)] if correction.hint else []
    items += [f"- Findings: {json.dumps(list(correction.findings))}"] if correction.findings else []
    items += [f"- Previous: {json.dumps(correction.previous)}"] if correction.previous is not None else []
    items += [item_text("Said", correction.said)] if correction.said is not None else []
    return items


def _list(heading: str, items: list[str]) -> str:
    return "\n".join([f"**{heading}:**", *items])


def _own_extras(extras: JsonMapping) -> tuple[str, list[str]]:
    """The prose before the block, and the lines of the fields that the format has no word for."""
    own = own_extras(extras, _NAME)
    before, fields = own.get("before"), own.get("fields")
    mapping = cast("JsonMapping", fields) if isinstance(fields, dict) else {}
    lines = [
        f"**{name}:** {line_text(value, lines=True)}"
        for name, value in mapping.items()
        if isinstance(value, str) and is_unknown_key(name)
    ]
    return before if isinstance(before, str) and _stands_before(before) else "", lines


def _stands_before(text: str) -> bool:
    """Whether `text` is read as prose before a block, and as nothing else."""
    is_whole = text == text.strip() != "" and "\r" not in text and not text.startswith("\ufeff")
    return is_whole and not starts_or_fences(text)
