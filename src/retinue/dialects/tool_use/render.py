"""From the contract to the requests and answers of spec 000."""

from typing import Final, cast

from retinue.contract import json
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.contract.task import Correction, Task
from retinue.dialects.losses import NO_EQUIVALENT, choose_form, own_extras, rendered_message
from retinue.dialects.port import RenderedMessage

from .extras import restore_extras, write_correction
from .parse import parse_result, parse_task
from .tool_name import write_constraints, write_summary, write_tool_name
from .wire import ERROR_TYPES, STATUSES, STYLES, EnvelopeMetadata, HandOff, Payload, ReturnEnvelope, Status, ToolUseCall

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
    form_name = choose_form(form or ("call" if task.parameters else None), FORMS, "tool_use")
    name = write_tool_name(task.agent, major=task.major, skill=task.skill)
    if form_name == "call":
        message: JsonMapping = {"type": "tool_use", "id": task.id, "name": name, "input": task.parameters}
        restore_extras(message, task.extras, reserved={*ToolUseCall.model_fields, *HandOff.model_fields})
    else:
        message = _hand_off(task, name)
    if correction is not None:
        message["correction"] = write_correction(correction)
    return rendered_message(
        json.dumps(message),
        form_name,
        task,
        dialect="tool_use",
        read=lambda text: parse_task(text).value,
        reasons=_CALL_REASONS if form_name == "call" else _HAND_OFF_REASONS,
    )


_CALL_REASONS: Final = {
    "/produced_by": "a call is what a model writes",
    **dict.fromkeys(("/instruction", "/context", "/limits", "/output", "/source_agent"), "a call has parameters only"),
}
_HAND_OFF_REASONS: Final = {
    "/parameters": "a hand-off carries an instruction only",
    "/context/history": "the history stays with the sender",
    "/context/what": "it reads as its own label",
    "/context/why": "it reads as its own label",
    "/context/constraints": "one of them reads as a limit",
    "/limits/deadline_ns": NO_EQUIVALENT,
    "/limits": "a constraint reads as tighter",
    "/output/style": "there is one field for it and the transport format, and the format lists the styles it has",
    "/output/transport": "it reads as a style",
}


def _hand_off(task: Task, name: str) -> JsonMapping:
    message: JsonMapping = {} if task.source_agent is None else {"source_agent": task.source_agent}
    # One field for two things (C22): the transport format goes first.
    wish = task.output
    style = wish.style if wish.style in STYLES else None
    output = style if wish.transport is None else wish.transport
    message |= {
        "target_agent": name,
        "message_type": "task_delegation",
        "payload": {
            "task_id": task.id,
            "instruction": task.instruction,
            "context_summary": write_summary(task.context.what, task.context.why),
            "constraints": write_constraints(task.context.constraints, task.limits),
            **({} if output is None else {"required_output_format": output}),
        },
    }
    restore_extras(message, task.extras, reserved=HandOff.model_fields, sections={"payload": Payload})
    return message


# Answers


def render_result(result: Result, *, form: str | None = None) -> RenderedMessage:
    """Write a return envelope. It carries structured data only; an answer that is nothing but text stands in an object.

    The agent's reasoning is never written (C9).

    Raises:
        InvalidInput: There is no such form, or something in it is no JSON.
    """
    form_name = choose_form(form, ("envelope",), "tool_use")
    # The word of the table (C1); what has not ended is less than whole.
    if result.lifecycle != "ended":
        status: Status = "partial"
    elif result.outcome is None:
        status = "success" if result.fault is None else "error"
    else:
        status = STATUSES[result.outcome]
    envelope: JsonMapping = {"status": status}
    answer = _answer(result, status)
    if answer is not None:
        envelope["result"] = answer
    # What was measured; what was not is left out.
    usage = result.usage or Usage()
    metadata: JsonMapping = {
        "execution_time_ms": None if result.duration_ns is None else (result.duration_ns + 500_000) // 1_000_000,
        "tokens_used": usage.tokens,
        "confidence": result.confidence,
        "model_used": usage.model,
        "artifacts": [artifact.to_json() for artifact in result.artifacts] or None,
    }
    envelope["metadata"] = {key: value for key, value in metadata.items() if value is not None}
    reserved = {"error", *ReturnEnvelope.model_fields}
    if status != "success" and (fault := result.fault) is not None:
        envelope |= {
            "error_type": ERROR_TYPES[fault.code],
            "message": fault.message,
            "correction_hint": fault.hint,
            "retry_count": result.retries,
        }
        limit: object = own_extras(result.extras, "tool_use").get("max_retries")
        if type(limit) is int and limit >= 0:
            reserved.remove("max_retries")
    restore_extras(envelope, result.extras, reserved=reserved, sections={"metadata": EnvelopeMetadata})
    return rendered_message(
        json.dumps(envelope),
        form_name,
        result,
        dialect="tool_use",
        read=lambda text: parse_result(text).value,
        reasons=_RESULT_REASONS if status == "success" or result.fault is None else _FAILURE_REASONS,
        unit_ns=1_000_000,
    )


_STRUCTURED: Final = "the format carries structured data only"
_SUM: Final = "tokens in and out are one sum there"
_RESULT_REASONS: Final = {
    "/data": _STRUCTURED,
    "/content": _STRUCTURED,
    "/questions": "only a partial answer asks",
    "/fault": "only a failure has one",
    "/retries": "only a failure counts them",
    "/usage/tokens_total": _SUM,
    "/usage/tokens_in": _SUM,
    "/usage/tokens_out": _SUM,
}
_FAILURE_REASONS: Final = _RESULT_REASONS | {
    "/fault": NO_EQUIVALENT,
    "/fault/code": "one word stands for several there",
}


def _answer(result: Result, status: Status) -> JsonValue:
    """The `result`: the data, in an object if it is none; the text only where nothing else is there, and must be (C8).

    The questions of an agent that asks stand in it too.
    """
    data: object = result.data
    body: JsonValue
    if data is None:
        body = None if status in {"error", "failed"} else {"content": result.content} if result.content else {}
    else:
        body = cast("JsonValue", data if isinstance(data, dict | list | tuple) else {"content": data})
    if result.lifecycle == "input_required" and result.questions:
        rest: JsonObject = dict(body) if isinstance(body, dict) else {} if body is None else {"content": body}
        rest["questions"] = [question.to_json() for question in result.questions]
        return rest
    return body
