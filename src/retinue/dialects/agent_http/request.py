"""From what was posted to a `Task`: a message with its parts, or bare parameters."""

from typing import Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects.diagnostics import Diagnostics, refuse
from retinue.dialects.port import ParseContext, Parsed
from retinue.errors import InvalidInput

from .extras import NAME, TASK_FIELDS, extract_extras, read_metadata
from .message_parts import correction_text, normalise_message, parts_of
from .wire import TaskBody

_SIMPLE: Final = frozenset({"task", "message", "request_message", "id", "session_id", "metadata"})


def is_message(value: JsonObject, skill: str | None) -> bool:
    """Whether `value` is meant for `/tasks`, and is not the parameters of `skill`."""
    message = value.get("message", value.get("request_message"))
    if isinstance(message, dict) and isinstance(message.get("parts"), list):
        return True
    simple = isinstance(message, str) or isinstance(value.get("task"), str)
    return skill is None and simple and value.keys() <= _SIMPLE


def normalise_body(value: JsonObject, notes: Diagnostics, extras: JsonMapping) -> None:
    """Mend a body where it has one meaning; what the format has no word for goes into `extras`."""
    for other in ("request_message", "task"):
        if "message" not in value and other in value:
            notes.add("message", f"The message is called `{other}`.", path=f"/{other}", fix="Call it `message`.")
            value["message"] = value.pop(other)
    extract_extras(value, frozenset(TaskBody.model_fields), notes, extras)
    value["message"] = normalise_message(value["message"], notes, extras, path="/message", role="user")


def from_message(body: TaskBody, context: ParseContext, notes: Diagnostics, extras: JsonMapping) -> Parsed[Task]:
    """A task out of a message: its texts are the instruction, its data the parameters."""
    metadata = dict(body.metadata)
    texts, pieces = parts_of(body.message)
    correction = _correction(metadata, notes)
    if correction is not None and texts and texts[-1] == correction_text(correction):
        texts = texts[:-1]
    base: JsonMapping = {"id": "", "agent": context.agent}
    if context.skill is not None:
        base["skill"] = context.skill
    overlay = read_metadata(metadata, Task, base, notes, exclude=TASK_FIELDS)
    # The pieces of data as parameters; those that are none are kept.
    parameters: JsonMapping = {}
    for piece in pieces:
        if isinstance(piece, dict) and not parameters.keys() & piece.keys():
            parameters |= cast("JsonMapping", piece)
        else:
            fix = "Send one object of parameters."
            notes.add(
                "data", "Data of another part is not used as parameters; it was kept.", path="/message/parts", fix=fix
            )
            extras.setdefault("parts", []).append({"type": "data", "data": piece})
    if metadata:
        extras["metadata"] = metadata
    if body.session_id is not None:
        extras["session_id"] = body.session_id
    fields = dict(overlay) | {
        "id": context.task_id if body.id is None else body.id,
        "instruction": "\n".join(texts),
        "parameters": parameters,
        "extras": {NAME: extras} if extras else {},
    }
    return Parsed(_task(fields, notes), "task", tuple(notes.findings), correction)


def from_parameters(value: JsonObject, context: ParseContext, notes: Diagnostics) -> Parsed[Task]:
    """A task out of the parameters of a skill; which one, the route says."""
    if context.skill is None:
        what, fix = "Nothing says which skill these are the parameters of.", "Say the skill, or send a `message`."
        notes.add("no_skill", what, fix=fix, severity=notes.severity("standard"))
    fields: JsonMapping = {"id": context.task_id, "agent": context.agent, "skill": context.skill, "parameters": value}
    return Parsed(_task(fields, notes), "skill", tuple(notes.findings))


def _task(fields: JsonMapping, notes: Diagnostics) -> Task:
    task = None
    try:
        task = Task(**fields)
    except ValidationError as error:
        notes.extend(findings_of(error, rule=f"{NAME}/shape"))
    if task is None or notes.has_errors:
        refuse(notes, InvalidInput)
    return task


def _correction(metadata: JsonMapping, notes: Diagnostics) -> Correction | None:
    """Why the request is made again; one that cannot be read stays in the metadata."""
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
