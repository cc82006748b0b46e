"""From an envelope to a `Result`. The text has been judged by now; here it is only understood."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Versions, Warned
from retinue.contract.task import Question
from retinue.contract.version import is_version
from retinue.dialects.dates import parse_timestamp
from retinue.dialects.port import ParseContext

from .normalise import Normalisation
from .vocabulary import ASKING, from_wire, strip_unstated
from .wire import ERROR_TYPES, FAULT_CODES, AnswerEnvelope, ErrorEnvelope, PartialEnvelope, SuccessEnvelope

MILLISECOND: Final = 1_000_000


def result_of(envelope: AnswerEnvelope, context: ParseContext, normalisation: Normalisation) -> Result:
    """What the envelope says, and what it carried that the contract has no word for."""
    metadata = envelope.metadata
    extras = dict(normalisation.extras)
    counts = {name: getattr(metadata, name) for name in ("files_read", "files_written")}
    _add_extras(extras, "metadata", {name: count for name, count in counts.items() if count is not None})
    has_version = "version" not in normalisation.filled_keys and is_version(envelope.version)
    fields: dict[str, Any] = {
        "task_id": context.task_id,
        "agent": context.agent if "agent" in normalisation.filled_keys else from_wire(envelope.agent),
        "skill": from_wire(envelope.operation) if envelope.operation is not None else context.skill,
        "versions": Versions(agent=metadata.agent_version, contract=envelope.version if has_version else None),
        "warnings": tuple(
            Warned(
                type=each.type,
                message=strip_unstated(each.message),
                impact=strip_unstated(each.impact),
                recovery=strip_unstated(each.recovery),
                synthetic=bool(each.synthetic),
            )
            for each in envelope.warnings
        ),
        "completeness": metadata.completeness,
        "artifacts": tuple(metadata.artifacts or ()),
    }
    if metadata.execution_time_ms is not None:
        fields["duration_ns"] = metadata.execution_time_ms * MILLISECOND
    if isinstance(envelope, SuccessEnvelope):
        fields |= {"outcome": "success", "data": envelope.result}
    elif isinstance(envelope, PartialEnvelope):
        fields |= _partial(envelope, fields["warnings"])
    else:
        fields |= _failure(cast("ErrorEnvelope", envelope), extras)
    return Result(**fields, extras={"markdown_json": extras} if extras else {})


def _add_extras(extras: JsonMapping, name: str, values: JsonMapping) -> None:
    if values:
        extras[name] = {**cast("JsonMapping", extras.get(name, {})), **values}


def _partial(envelope: PartialEnvelope, warnings: tuple[Warned, ...]) -> JsonMapping:
    """A partial answer, or one that asks back: three signs together say so."""
    questions = questions_in(envelope.result) if any(w.type == "incomplete_context" for w in warnings) else None
    if questions is None:
        return {"outcome": "partial", "data": envelope.result}
    rest = {name: value for name, value in envelope.result.items() if name != "next_questions"}
    last = warnings[-1]
    if last.synthetic and last.type == "incomplete_context" and last.message == ASKING:
        warnings = warnings[:-1]
    return {"lifecycle": "input_required", "questions": questions, "data": rest or None, "warnings": warnings}


def questions_in(data: object) -> tuple[Question, ...] | None:
    """The questions under `next_questions`; None when there is no such list of questions."""
    items = cast("JsonMapping", data).get("next_questions") if isinstance(data, dict) else None
    if not isinstance(items, list):
        return None
    questions = [_question(each, number) for number, each in enumerate(cast("list[object]", items), start=1)]
    read = tuple(each for each in questions if each is not None)
    return read if len(read) == len(questions) else None


def _question(value: object, number: int) -> Question | None:
    if isinstance(value, str):
        return Question(id=f"q{number}", text=value)
    try:
        return Question.model_validate_json(json.dumps(value))
    except ValidationError:
        pass
    text = cast("JsonMapping", value).get("question") if isinstance(value, dict) else None
    return Question(id=f"q{number}", text=text) if isinstance(text, str) else None


def _failure(envelope: ErrorEnvelope, extras: JsonMapping) -> JsonMapping:
    context = envelope.context
    code = FAULT_CODES[envelope.error_type]
    if context.kind is not None and ERROR_TYPES[context.kind] == envelope.error_type:
        code = context.kind
    elif context.kind is not None:
        _add_extras(extras, "context", {"class": context.kind})
    operation = None if context.operation is None else from_wire(context.operation)
    suggestions = [strip_unstated(each) for each in envelope.recovery_suggestions]
    moment = envelope.metadata.error_timestamp
    timestamp = None if moment is None else parse_timestamp(moment)
    if moment is not None and timestamp is None:
        _add_extras(extras, "metadata", {"error_timestamp": moment})
    fault = Fault(
        code=code,
        message=strip_unstated(envelope.message),
        hint=suggestions[0] if suggestions else "",
        suggestions=tuple(suggestions[1:]),
        operation=operation,
        target=context.target,
        failed_at=context.failed_at,
        timestamp_ns=timestamp,
        detail=context.detail or {},
    )
    fields: JsonMapping = {"outcome": "error", "fault": fault, "data": envelope.partial_results}
    if context.attempts is not None:
        fields |= {"outcome": "failed", "retries": context.attempts - 1}
    if envelope.operation is None and operation and operation.strip():
        fields["skill"] = operation
    return fields
