"""From text to contract: a body posted to `/tasks` or to a skill's route, and what comes back from either."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.correction import Correction
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.question import Question
from retinue.contract.refused import findings_of
from retinue.contract.result import Artifact, Result
from retinue.contract.task import Task
from retinue.dialects.moments import moment_ns
from retinue.dialects.port import NOTHING, Known, Parsed
from retinue.dialects.reading import Notes, object_in, read, refuse_text
from retinue.errors import InvalidInput, OutputInvalid, ParseError

from .messages import parts_of, tidy
from .rest import NAME, read_rest, set_aside
from .said import RESULT_SAID, TASK_SAID, asked_again
from .wire import OUTCOMES, STATES, TaskBody, TaskRecord

__all__ = ["parse_result", "parse_task"]

_BODY: Final = frozenset(TaskBody.model_fields)
_RECORD: Final = frozenset(TaskRecord.model_fields)
_SIMPLE: Final = frozenset({"task", "id", "session_id", "metadata"})
_ALONG: Final = ("request_message", "history", "session_id", "created_at", "updated_at")


# Requests


def parse_task(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Task]:
    """Read what was posted: a message to `/tasks` (P1), or the parameters of a skill (P3).

    Only a body for `/tasks` says so itself; anything else is the parameters of `known.skill`.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It breaks the format.
    """
    notes = Notes(NAME, level)
    value = object_in(text, notes)
    if not _is_message(value, known):
        return _call(value, known, notes)
    kept: JsonMapping = {}
    if level != "strict":
        _mend_body(value, notes, kept)
    return _posted(read(value, TaskBody, notes, refusal=InvalidInput), known, notes, kept)


def _is_message(value: JsonObject, known: Known) -> bool:
    said = value.get("message", value.get("request_message"))
    if isinstance(said, dict) and isinstance(said.get("parts"), list):
        return True
    if known.skill is not None:
        return False
    return isinstance(value.get("task", said), str) and value.keys() <= {*_SIMPLE, "message", "request_message"}


def _call(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    """The parameters of a skill; which one, the route says."""
    if known.skill is None:
        what, fix = "Nothing says which skill these are the parameters of.", "Say the skill, or send a `message`."
        notes.add("no_skill", what, fix=fix, severity=notes.severity("standard"))
    fields: JsonMapping = {"id": known.task_id, "agent": known.agent, "skill": known.skill, "parameters": value}
    return Parsed(_task(fields, notes), "skill", tuple(notes.findings))


def _task(fields: JsonMapping, notes: Notes) -> Task:
    try:
        task = Task(**fields)
    except ValidationError as error:
        notes.findings += findings_of(error, rule=f"{NAME}/shape")
        raise _refusal(notes) from None
    if notes.wrong:
        raise _refusal(notes)
    return task


def _refusal(notes: Notes) -> InvalidInput:
    from retinue.dialects.reading import refuse  # noqa: PLC0415

    try:
        refuse(notes, InvalidInput)
    except InvalidInput as error:
        return error


def _mend_body(value: JsonObject, notes: Notes, kept: JsonMapping) -> None:
    for other in ("request_message", "task"):
        if "message" not in value and other in value:
            notes.add("message", f"The message is called `{other}`.", path=f"/{other}", fix="Call it `message`.")
            value["message"] = value.pop(other)
    set_aside(value, _BODY, notes, kept)
    value["message"] = tidy(value.get("message"), notes, kept, path="/message", role="user")


def _posted(body: TaskBody, known: Known, notes: Notes, kept: JsonMapping) -> Parsed[Task]:
    metadata = dict(body.metadata)
    texts, pieces = parts_of(body.message)
    correction = _correction(metadata, notes)
    if correction is not None and texts and texts[-1] == asked_again(correction):
        texts = texts[:-1]
    base: JsonMapping = {"id": "", "agent": known.agent}
    if known.skill is not None:
        base["skill"] = known.skill
    parameters, odd = _parameters(pieces, notes)
    if odd:
        kept["parts"] = [*kept.get("parts", []), *odd]
    beside = read_rest(metadata, Task, base, notes, said=TASK_SAID)
    if metadata:
        kept["metadata"] = metadata
    if body.session_id is not None:
        kept["session_id"] = body.session_id
    fields = dict(beside) | {
        "id": known.task_id if body.id is None else body.id,
        "instruction": "\n".join(texts),
        "parameters": parameters,
        "extras": {NAME: kept} if kept else {},
    }
    return Parsed(_task(fields, notes), "task", tuple(notes.findings), correction)


def _parameters(pieces: list[Any], notes: Notes) -> tuple[JsonMapping, list[Any]]:
    """The pieces of data as parameters, and those that are none."""
    parameters: JsonMapping = {}
    odd: list[Any] = []
    for piece in pieces:
        if isinstance(piece, dict) and not parameters.keys() & piece.keys():
            parameters |= cast("JsonMapping", piece)
        else:
            fix = "Send one object of parameters."
            notes.add("data", "A piece of data is no further parameters; it was kept.", path="/message/parts", fix=fix)
            odd.append({"type": "data", "data": piece})
    return parameters, odd


def _correction(metadata: JsonMapping, notes: Notes) -> Correction | None:
    """Why the request is made again."""
    if "correction" not in metadata:
        return None
    try:
        correction = Correction.model_validate_json(json.dumps(metadata["correction"]))
    except ValidationError as error:
        for each in findings_of(error, rule=""):
            path = f"/metadata/correction{each.path}"
            notes.add("correction", each.message, path=path, fix="Leave it out.", severity=notes.severity("standard"))
        return None
    del metadata["correction"]
    return correction


# Answers


def parse_result(text: str | bytes, *, known: Known = NOTHING, level: Level = "standard") -> Parsed[Result]:
    """Read what came back: the record of a task (P17), the output of a skill (P3), or an error body.

    Raises:
        OutputInvalid: It is none; `detail["findings"]` lists every reason.
    """
    notes = Notes(NAME, level)
    try:
        value = _json_in(text, notes)
    except ParseError as error:
        refuse_text(error, notes)
    if isinstance(value, dict) and _is_record(value, notes):
        kept: JsonMapping = {}
        if level != "strict":
            _mend_record(value, notes, kept, known)
        return _recorded(read(value, TaskRecord, notes, refusal=OutputInvalid), known, notes, kept)
    from .bodies import parse_body  # noqa: PLC0415

    return parse_body(value, known, notes)


def _json_in(text: str | bytes, notes: Notes) -> JsonValue:
    """Any JSON value; unless strict, a single object out of its fence or prose."""
    try:
        return json.loads(text)
    except ParseError:
        return object_in(text, notes)


def _is_record(value: JsonObject, notes: Notes) -> bool:
    status = value.get("status")
    if isinstance(status, dict):
        return "state" in status
    return False
