"""From what was posted to a `Task`: a message with its parts, or bare parameters."""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects.port import Known, Parsed
from retinue.dialects.reading import Notes, refuse
from retinue.errors import InvalidInput

from .messages import asked_again, parts_of, tidy
from .rest import NAME, TASK_SAID, read_rest, set_aside
from .wire import TaskBody

__all__ = ["from_message", "from_parameters", "is_message", "mend_body"]


_SIMPLE: Final = frozenset({"task", "message", "request_message", "id", "session_id", "metadata"})


def is_message(value: JsonObject, skill: str | None) -> bool:
    """Whether `value` is meant for `/tasks`, and is not the parameters of `skill`."""
    said = value.get("message", value.get("request_message"))
    if isinstance(said, dict) and isinstance(said.get("parts"), list):
        return True
    simple = isinstance(said, str) or isinstance(value.get("task"), str)
    return skill is None and simple and value.keys() <= _SIMPLE


def mend_body(value: JsonObject, notes: Notes, kept: JsonMapping) -> None:
    """Mend a body where it has one meaning; what the format has no word for goes into `kept`."""
    for other in ("request_message", "task"):
        if "message" not in value and other in value:
            notes.add("message", f"The message is called `{other}`.", path=f"/{other}", fix="Call it `message`.")
            value["message"] = value.pop(other)
    set_aside(value, frozenset(TaskBody.model_fields), notes, kept)
    value["message"] = tidy(value["message"], notes, kept, path="/message", role="user")


def from_message(body: TaskBody, known: Known, notes: Notes, kept: JsonMapping) -> Parsed[Task]:
    """A task out of a message: its texts are the instruction, its data the parameters."""
    metadata = dict(body.metadata)
    texts, pieces = parts_of(body.message)
    correction = _correction(metadata, notes)
    if correction is not None and texts and texts[-1] == asked_again(correction):
        texts = texts[:-1]
    base: JsonMapping = {"id": "", "agent": known.agent}
    if known.skill is not None:
        base["skill"] = known.skill
    beside = read_rest(metadata, Task, base, notes, said=TASK_SAID)
    parameters = _parameters(pieces, notes, kept)
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


def from_parameters(value: JsonObject, known: Known, notes: Notes) -> Parsed[Task]:
    """A task out of the parameters of a skill; which one, the route says."""
    if known.skill is None:
        what, fix = "Nothing says which skill these are the parameters of.", "Say the skill, or send a `message`."
        notes.add("no_skill", what, fix=fix, severity=notes.severity("standard"))
    fields: JsonMapping = {"id": known.task_id, "agent": known.agent, "skill": known.skill, "parameters": value}
    return Parsed(_task(fields, notes), "skill", tuple(notes.findings))


def _task(fields: JsonMapping, notes: Notes) -> Task:
    task = None
    try:
        task = Task(**fields)
    except ValidationError as error:
        notes.take(findings_of(error, rule=f"{NAME}/shape"))
    if task is None or notes.wrong:
        refuse(notes, InvalidInput)
    return task


def _parameters(pieces: list[Any], notes: Notes, kept: JsonMapping) -> JsonMapping:
    """The pieces of data as parameters; those that are none are kept."""
    parameters: JsonMapping = {}
    for piece in pieces:
        if isinstance(piece, dict) and not parameters.keys() & piece.keys():
            parameters |= cast("JsonMapping", piece)
        else:
            fix = "Send one object of parameters."
            notes.add(
                "data", "Data of another part is not used as parameters; it was kept.", path="/message/parts", fix=fix
            )
            kept.setdefault("parts", []).append({"type": "data", "data": piece})
    return parameters


def _correction(metadata: JsonMapping, notes: Notes) -> Correction | None:
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
