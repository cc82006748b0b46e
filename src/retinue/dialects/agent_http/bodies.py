"""What a skill's route answers: its bare output, or an error body."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, findings_of
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.dialects.dates import format_timestamp, parse_timestamp
from retinue.dialects.diagnostics import Diagnostics, refuse
from retinue.dialects.port import ParseContext, Parsed
from retinue.errors import OutputInvalid

from .status import STATUSES

_PROBLEM: Final = frozenset({"type", "title", "status", "detail", "instance"})


def error_in(value: JsonObject, notes: Diagnostics) -> JsonMapping | None:
    """The error that a body says, in our shape or one of the usual others, which strict refuses; None without one."""
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, dict):
        return cast("JsonMapping", error)
    if isinstance(error, dict) and "message" in error and value.keys() <= {"error", "jsonrpc", "id", "request_id"}:
        fields: Any = error
    elif value.keys() == {"error"} and isinstance(error, str):
        fields = {"message": error}
    elif value.keys() == {"detail"}:
        fields = _detail(value["detail"])
    elif value.keys() <= _PROBLEM and "title" in value:
        fields = {"message": str(value.get("detail") or value["title"]), "detail": dict(value)}
    else:
        return None
    fix = "Send `error` with `code`, `message` and `hint`."
    notes.add("error", "The error body has another shape.", fix=fix, severity=notes.severity("standard"))
    return {"code": "internal_error", "message": "", **cast("JsonMapping", fields)}


def _detail(detail: JsonValue) -> JsonMapping:
    """What web frameworks write: a sentence, or a list of what did not fit."""
    if isinstance(detail, str):
        return {"message": detail}
    return {"code": "invalid_input", "message": "The request does not fit.", "detail": {"findings": detail}}


def fault_in(error: object) -> tuple[Fault | None, tuple[Finding, ...]]:
    """The fault that an `error` object says, and what is wrong with it; a word of others for the code is kept."""
    if not isinstance(error, dict):
        return None, (Finding(rule="", message="An error is an object.", fix="Send `code` and `message`."),)
    fields = dict(cast("JsonMapping", error))
    problems: tuple[Finding, ...] = ()
    code = fields.get("code")
    if not isinstance(code, str) or code not in STATUSES:
        fix = f"Use one of: {', '.join(STATUSES)}."
        problems += (Finding(rule="", message=f"{str(code)[:80]!r} is not a fault code.", path="/code", fix=fix),)
        fields["code"] = "internal_error"
        detail = fields.get("detail", {})
        if isinstance(detail, dict) and code is not None:
            fields["detail"] = {"code": code, **cast("JsonMapping", detail)}
    at = fields.pop("timestamp", None)
    if isinstance(at, str) and (ns := parse_timestamp(at)) is not None:
        fields["timestamp_ns"] = ns
    try:
        return Fault.model_validate_json(json.dumps(fields)), problems
    except ValidationError as invalid:
        return None, (*problems, *findings_of(invalid, rule=""))


def error_json(fault: Fault) -> JsonMapping:
    """A fault as an `error` object."""
    fields = fault.model_dump(mode="json", exclude_defaults=True)
    moment = None if fault.timestamp_ns is None else format_timestamp(fault.timestamp_ns)
    if moment is not None:
        del fields["timestamp_ns"]
        fields["timestamp"] = moment
    return fields


def from_error(error: JsonMapping, context: ParseContext, notes: Diagnostics) -> Parsed[Result]:
    """A failed result out of an error body."""
    fault, problems = fault_in(error)
    for each in problems:
        severity = "error" if fault is None else notes.severity("standard")
        notes.add("error", each.message, path=f"/error{each.path}", fix=each.fix, severity=severity)
    if fault is None or notes.has_errors:
        refuse(notes, OutputInvalid)
    outcome = "canceled" if fault.code == "canceled" else "error"
    result = Result(task_id=context.task_id, agent=context.agent, skill=context.skill, outcome=outcome, fault=fault)
    return Parsed(result, "skill", tuple(notes.findings))


def from_output(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Result]:
    """A result out of the bare output of a skill (P3)."""
    result = Result(task_id=context.task_id, agent=context.agent, skill=context.skill, outcome="success", data=value)
    return Parsed(result, "skill", tuple(notes.findings))
