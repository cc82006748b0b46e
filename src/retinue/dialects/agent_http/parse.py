"""From text to contract: which of the messages it is, and who reads it."""

from typing import Any

from retinue.contract.finding import Level
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects.diagnostics import Diagnostics, parse_answer_object, parse_object, validate
from retinue.dialects.port import DEFAULT_CONTEXT, ParseContext, Parsed
from retinue.errors import InvalidInput, OutputInvalid

from .bodies import error_in, from_error, from_output
from .extras import NAME
from .record import from_record, is_record, normalise_record
from .request import from_message, from_parameters, is_message, normalise_body
from .wire import TaskBody, TaskRecord


def parse_task(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Task]:
    """Read what was posted: a message to `/tasks` (P1), or the parameters of a skill (P3).

    Only a message says what it is; anything else is the parameters of `context.skill`.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It breaks the format.
    """
    notes = Diagnostics(NAME, level)
    value = parse_object(text, notes)
    if not is_message(value, context.skill):
        return from_parameters(value, context, notes)
    extras: dict[str, Any] = {}
    if level != "strict":
        normalise_body(value, notes, extras)
    return from_message(validate(value, TaskBody, notes, refusal=InvalidInput), context, notes, extras)


def parse_result(
    text: str | bytes, *, context: ParseContext = DEFAULT_CONTEXT, level: Level = "standard"
) -> Parsed[Result]:
    """Read what came back: the record of a task (P17), the output of a skill (P3), or an error body.

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    value = parse_answer_object(text, notes)
    if is_record(value):
        extras: dict[str, Any] = {}
        if level != "strict":
            normalise_record(value, notes, extras, context)
        return from_record(validate(value, TaskRecord, notes, refusal=OutputInvalid), context, notes, extras)
    error = error_in(value, notes)
    return from_output(value, context, notes) if error is None else from_error(error, context, notes)
