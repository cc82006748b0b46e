"""From the contract to the requests and answers of spec 000."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.contract.task import Context, Correction, Limits, Task
from retinue.dialects.losses import NO_EQUIVALENT, Losses, choose_form
from retinue.dialects.port import RenderedMessage

from .constraints import read_constraints, write_constraints
from .correction import write_correction
from .extras import restore_extras
from .parse import fault_in_result, split_questions
from .summary import read_summary, write_summary
from .tool_name import ToolName, read_tool_name, write_tool_name
from .wire import (
    CODES,
    ERROR_TYPES,
    OUTCOMES,
    STATUSES,
    STYLES,
    EnvelopeMetadata,
    HandOff,
    Payload,
    ReturnEnvelope,
    Status,
    ToolUseCall,
)

FORMS: Final = ("handoff", "call")


# Requests


def render_task(task: Task, *, form: str | None = None) -> RenderedMessage:
    """Write a request: a hand-off, which has only an instruction, or a call, which has only parameters.

    Unless a form is wanted, a task with parameters is a call. The history stays with whoever hands on (A9).

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    return _render(task, form, None)


def render_retry(task: Task, correction: Correction) -> RenderedMessage:
    """Write the request again, with the correction object beside its other keys (A12, A13).

    Raises:
        InvalidInput: Something in it is no JSON.
    """
    return _render(task, None, correction)


def _render(task: Task, form: str | None, correction: Correction | None) -> RenderedMessage:
    losses = Losses("tool_use")
    form_name = choose_form(form or ("call" if task.parameters else None), FORMS, "tool_use")
    message = _call(task, losses) if form_name == "call" else _hand_off(task, losses)
    if correction is not None:
        message["correction"] = write_correction(correction)
    losses.add_fields(task, *_UNSUPPORTED)
    return RenderedMessage(json.dumps(message), form_name, tuple(losses.entries))


_UNSUPPORTED: Final = ("target", "untyped", "parent", "depth", "model", "thinking", "idempotency_key")


def _hand_off(task: Task, losses: Losses) -> JsonMapping:
    context = task.context
    message: JsonMapping = {
        "source_agent": task.source_agent,
        "target_agent": _tool_name(task, losses),
        "message_type": "task_delegation",
        "payload": {
            "task_id": task.id,
            "instruction": task.instruction,
            "context_summary": _summary(context, losses),
            "constraints": _constraints(context.constraints, task.limits, losses),
            "required_output_format": _format(task, losses),
        },
    }
    if task.source_agent is None:
        del message["source_agent"]
    if message["payload"]["required_output_format"] is None:
        del message["payload"]["required_output_format"]
    losses.add_fields(task, "parameters", why="a hand-off carries an instruction only")
    losses.add_fields(task, "produced_by")
    losses.add_fields(context, "history", path="/context", why="the history stays with the one who hands on")
    losses.add_fields(context, "memory", "inputs", path="/context")
    restore_extras(message, task.extras, losses, reserved=HandOff.model_fields, sections={"payload": Payload})
    return message


def _call(task: Task, losses: Losses) -> JsonMapping:
    message: JsonMapping = {
        "type": "tool_use",
        "id": task.id,
        "name": _tool_name(task, losses),
        "input": task.parameters,
    }
    losses.add_fields(
        task, "instruction", "context", "limits", "output", "source_agent", why="a call has parameters only"
    )
    if task.produced_by != "model":
        losses.add("/produced_by", "a call is what a model writes")
    restore_extras(message, task.extras, losses, reserved={*ToolUseCall.model_fields, *HandOff.model_fields})
    return message


def _tool_name(task: Task, losses: Losses) -> str:
    name = write_tool_name(task.agent, major=task.major, skill=task.skill)
    read = read_tool_name(name) or ToolName(task.agent)
    for field, mine, theirs in zip(read._fields, (task.agent, task.major, task.skill), read, strict=True):
        if mine != theirs:
            losses.add(f"/{field}", f"{name!r} reads otherwise, or says nothing of it")
    return name


def _summary(context: Context, losses: Losses) -> str:
    text = write_summary(context.what, context.why)
    what, why = read_summary(text)
    if what != context.what:
        losses.add("/context/what", "it reads as its own label")
    if why != context.why:
        losses.add("/context/why", "it reads as its own label")
    return text


def _constraints(constraints: tuple[str, ...], limits: Limits, losses: Losses) -> list[str]:
    tokens = write_constraints(constraints, limits)
    words, bounds = read_constraints(tokens)
    if words != constraints:
        losses.add("/context/constraints", "one of them reads as a limit")
    for name in Limits.model_fields:
        if getattr(bounds, name) != getattr(limits, name):
            losses.add(f"/limits/{name}", NO_EQUIVALENT if name == "deadline_ns" else "a constraint reads as tighter")
    return tokens


def _format(task: Task, losses: Losses) -> str | None:
    """One field for two things (C22): the transport format goes first."""
    wish = task.output
    losses.add_fields(wish, "path", "answer_schema", path="/output")
    if wish.transport is None:
        if wish.style in STYLES:
            return wish.style
        losses.add_fields(wish, "style", path="/output", why="the format lists the styles it has")
        return None
    if wish.transport in STYLES:
        losses.add("/output/transport", "it reads as a style")
        if wish.style != wish.transport:
            losses.add("/output/style", "it reads as a style")
    else:
        losses.add_fields(wish, "style", path="/output", why="there is one field for it and the transport format")
    return wish.transport


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write a return envelope. It carries structured data only; an answer that is nothing but text stands in an object.

    The agent's reasoning is never written (C9).

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    form_name = choose_form(form, ("envelope",), "tool_use")
    losses = Losses("tool_use")
    status = _status(result)
    envelope: JsonMapping = {"status": status, "result": _answer(result, status, losses)}
    if envelope["result"] is None:
        del envelope["result"]
    envelope["metadata"] = _metadata(result, losses)
    fails = status != "success" and result.fault is not None
    if fails and result.fault is not None:
        envelope.update(_error(result.fault, result.retries, losses))
    else:
        losses.add_fields(result, "fault", "retries", why="only a failure says so")
    if result.fault is None and fault_in_result(envelope.get("result"), status=status) is not None:
        losses.add("/fault", "its data reads as the error there")
    losses.add_identity(result)
    losses.add_fields(result, "skill", "versions", "warnings", "traces", "attempts", "completeness")
    losses.add_fields(result, "files_read", "files_written", "native")
    losses.add_fields(result, "reasoning", why="it stays in the journal, and is never handed on")
    reserved = {"error", *ReturnEnvelope.model_fields} - (
        {"max_retries"} if fails and _has_max_retries(result.extras) else set()
    )
    restore_extras(envelope, result.extras, losses, reserved=reserved, sections={"metadata": EnvelopeMetadata})
    return RenderedMessage(json.dumps(envelope), form_name, tuple(losses.entries))


def _status(result: Result) -> Status:
    """The word of the table (C1); what has not ended is less than whole."""
    if result.lifecycle != "ended":
        return "partial"
    if result.outcome is None:
        return "success" if result.fault is None else "error"
    return STATUSES[result.outcome]


def _answer(result: Result, status: Status, losses: Losses) -> JsonValue:
    """The `result`, and all that will be read of it otherwise."""
    body = _structured_data(result, status)
    if result.lifecycle == "input_required" and result.questions:
        rest: JsonObject = body if isinstance(body, dict) else {} if body is None else {"content": body}
        items: list[JsonValue] = [question.to_json() for question in result.questions]
        body = rest | {"questions": cast("JsonValue", items)}
    data, questions = split_questions(body, status=status)
    lifecycle, outcome = ("input_required", None) if questions else ("ended", OUTCOMES[status])
    if lifecycle != result.lifecycle:
        losses.add("/lifecycle", f"it reads as {lifecycle!r}")
    if outcome != result.outcome:
        losses.add("/outcome", f"it reads as {outcome!r}" if outcome else "it reads as a question")
    if data != result.data:
        losses.add("/data", _STRUCTURED)
    if questions != result.questions:
        losses.add("/questions", "it reads otherwise" if questions else "only a partial answer asks")
    if result.content:
        losses.add("/content", _STRUCTURED)
    return body


_STRUCTURED: Final = "the format carries structured data only"


def _structured_data(result: Result, status: Status) -> JsonValue:
    """The data, in an object if it is none; the text only where there is nothing else, and something is owed (C8)."""
    data = result.data
    if isinstance(data, dict | list | tuple):
        return cast("JsonValue", data)
    if data is not None:
        return {"content": data}
    if status in {"error", "failed"}:
        return None
    return {"content": result.content} if result.content else {}


def _metadata(result: Result, losses: Losses) -> JsonMapping:
    """What was measured; what was not is left out."""
    usage = result.usage or Usage()
    fields: JsonMapping = {
        "execution_time_ms": None if result.duration_ns is None else (result.duration_ns + 500_000) // 1_000_000,
        "tokens_used": usage.tokens,
        "confidence": result.confidence,
        "model_used": usage.model,
    }
    if result.usage is not None and fields["tokens_used"] is None and usage.model is None:
        losses.add("/usage")
    else:
        if usage.tokens != usage.tokens_total:
            losses.add("/usage/tokens_total", _SUM)
        losses.add_fields(usage, "tokens_in", "tokens_out", path="/usage", why=_SUM)
        losses.add_fields(usage, "tokens_cached", "requests", "cost", "counter", "agent", "parts", path="/usage")
    if result.artifacts:
        fields["artifacts"] = [artifact.to_json() for artifact in result.artifacts]
    return {key: value for key, value in fields.items() if value is not None}


_SUM: Final = "tokens in and out are one sum there"


def _error(fault: Fault, retries: int, losses: Losses) -> JsonMapping:
    word = ERROR_TYPES[fault.code]
    if CODES[word] != fault.code:
        losses.add("/fault/code", f"{word!r} stands for several there")
    losses.add_fields(fault, "suggestions", "path", "retryable", "retry_after_s", "operation", path="/fault")
    losses.add_fields(fault, "target", "failed_at", "timestamp_ns", "detail", path="/fault")
    return {"error_type": word, "message": fault.message, "correction_hint": fault.hint, "retry_count": retries}


def _has_max_retries(extras: JsonMapping) -> bool:
    """Whether an earlier reading kept the number of retries there may be."""
    own: object = extras.get("tool_use")
    limit: object = cast("JsonMapping", own).get("max_retries") if isinstance(own, dict) else None
    return isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0
