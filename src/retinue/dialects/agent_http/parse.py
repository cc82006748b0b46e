"""From text to contract: which of the messages it is, and who reads it."""

from typing import Any

from retinue.contract.finding import Level
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects.port import NOTHING, Known, Parsed
from retinue.dialects.reading import Notes, answer_in, object_in, read
from retinue.errors import InvalidInput, OutputInvalid

from .bodies import error_in, from_error, from_output
from .record import from_record, is_record, mend_record
from .request import from_message, from_parameters, is_message, mend_body
from .rest import NAME
from .wire import TaskBody, TaskRecord

__all__ = ["parse_result", "parse_task"]


def parse_task(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Task]:
    """Read what was posted: a message to `/tasks` (P1), or the parameters of a skill (P3).

    Only a message says what it is; anything else is the parameters of `known.skill`.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It breaks the format.
    """
    notes = Notes(NAME, level)
    value = object_in(text, notes)
    if not is_message(value, known.skill):
        return from_parameters(value, known, notes)
    kept: dict[str, Any] = {}
    if level != "strict":
        mend_body(value, notes, kept)
    return from_message(read(value, TaskBody, notes, refusal=InvalidInput), known, notes, kept)


def parse_result(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Result]:
    """Read what came back: the record of a task (P17), the output of a skill (P3), or an error body.

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Notes(NAME, level)
    value = answer_in(text, notes)
    if is_record(value):
        kept: dict[str, Any] = {}
        if level != "strict":
            mend_record(value, notes, kept, known)
        return from_record(read(value, TaskRecord, notes, refusal=OutputInvalid), known, notes, kept)
    error = error_in(value, notes)
    return from_output(value, known, notes) if error is None else from_error(error, known, notes)
