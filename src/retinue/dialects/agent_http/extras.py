"""What the contract says and the format has no word for: it rides in the open metadata, in the contract's own words.

A stranger passes it by. What is read back is validated like any noun; what does not fit is kept and told, never used.
What came from others and the contract has no word for rides the other way, in the extras.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping, Model
from retinue.contract.task import Correction
from retinue.dialects.diagnostics import Diagnostics

from .wire import METADATA_KEY, RESERVED_METADATA, DataPart, HttpMessage, TextPart

NAME: Final = "agent_http"

TASK_FIELDS: Final = frozenset({"id", "instruction", "parameters", "extras"})
"""What of a task the format says in its own words."""

RESULT_FIELDS: Final = frozenset(
    {"task_id", "lifecycle", "outcome", "data", "content", "artifacts", "fault", "extras", "native", "reasoning"}
)
"""What of a result it does, and the two that are never handed on."""

ModelT = TypeVar("ModelT", bound=Model)
_UNWRITTEN: Final = frozenset({"left_out", "message", "parts"})


def metadata_fields(model: Model, exclude: frozenset[str]) -> JsonMapping:
    """The fields of `model` that differ from their defaults, without those that are `exclude` elsewhere."""
    return model.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(exclude))


def read_metadata(
    metadata: JsonMapping, model_type: type[ModelT], base: JsonMapping, notes: Diagnostics, *, exclude: frozenset[str]
) -> ModelT:
    """`base` with what the metadata says beside it. What is `exclude` elsewhere cannot be said there.

    What is used leaves the metadata; what cannot be used stays.
    """
    rest = metadata.get(METADATA_KEY)
    if rest is None:
        return model_type.model_validate_json(json.dumps(base))
    severity = notes.severity("standard")
    path = f"/metadata/{METADATA_KEY}"
    conflicts = exclude.intersection(cast("JsonMapping", rest)) if isinstance(rest, dict) else {"anything"}
    if conflicts:
        what = f"`metadata.{METADATA_KEY}` cannot say {', '.join(sorted(conflicts))}."
        notes.add(METADATA_KEY, what, path=path, fix="Leave it out.", severity=severity)
        return model_type.model_validate_json(json.dumps(base))
    try:
        read = model_type.model_validate_json(json.dumps({**base, **cast("JsonMapping", rest)}))
    except ValidationError as error:
        for each in findings_of(error, rule=""):
            notes.add(METADATA_KEY, each.message, path=path + each.path, fix="Leave it out.", severity=severity)
        return model_type.model_validate_json(json.dumps(base))
    del metadata[METADATA_KEY]
    return read


def extract_extras(
    value: JsonObject, allowed: frozenset[str], notes: Diagnostics, extras: JsonMapping, *, path: str = ""
) -> None:
    """Take what the format has no word for out of `value`: it rides in the extras (C7)."""
    for name in [name for name in value if name not in allowed]:
        what, fix = f"The format has no `{name[:80]}` here; it was kept.", "Put what is yours into `metadata`."
        notes.add("unknown", what, path=path + pointer([name]), fix=fix)
        extras[name] = value.pop(name)


def restore_extras(extras: JsonMapping, message: JsonMapping, fits: Mapping[str, Callable[[object], bool]]) -> None:
    """Write what an earlier reading set aside, where the format leaves it a place.

    Args:
        extras: Those of the noun.
        message: The message so far; what came along is added.
        fits: The fields of the format that ride in the extras, with what may stand there.
    """
    own: object = extras.get(NAME)
    for name, value in cast("JsonMapping", own).items() if isinstance(own, dict) else ():
        if name == "metadata":
            entries = cast("JsonMapping", value) if isinstance(value, dict) else {}
            free = {key: entry for key, entry in entries.items() if key not in RESERVED_METADATA}
            if free:
                message["metadata"] = {**message.get("metadata", {}), **free}
        elif name == "artifacts" and "artifacts" in fits and fits[name](value):
            message[name] = [*message.get(name, []), *cast("list[Any]", value)]
        elif name not in message and name not in _UNWRITTEN and (name not in fits or fits[name](value)):
            message[name] = value


_TYPES: Final = ("text", "data")


def build_message(role: str, text: str | None, data: list[Any]) -> JsonMapping:
    """A message with one part for the text, if there is any, and one for each piece of data."""
    parts: list[JsonMapping] = [] if text is None else [{"type": "text", "text": text}]
    return {"role": role, "parts": [*parts, *({"type": "data", "data": each} for each in data)]}


def parts_of(message: HttpMessage | None) -> tuple[list[str], list[Any]]:
    """The texts and the pieces of data of a message."""
    parts = [] if message is None else message.parts
    texts = [each.text for each in parts if isinstance(each, TextPart)]
    return texts, [each.data for each in parts if isinstance(each, DataPart)]


def correction_text(correction: Correction) -> str:
    """The correction as text, for an agent that reads nothing else."""
    return " ".join(part for part in ("The last answer was refused.", correction.message, correction.hint) if part)


def normalise_message(value: JsonValue, notes: Diagnostics, extras: JsonMapping, *, path: str, role: str) -> JsonValue:
    """Mend a message where it has one meaning: a bare text, another spelling of a part, a part without a word of ours.

    Args:
        value: The message as it came.
        notes: Takes a note of everything that was mended.
        extras: Takes the parts that the format has no word for.
        path: Where the message stands.
        role: Who speaks, for one that does not say.
    """
    if isinstance(value, str):
        notes.add("message", "The message is a bare text.", path=path, fix="Send `role` and `parts`.")
        return {"role": role, "parts": [{"type": "text", "text": value}]}
    if not isinstance(value, dict):
        return value
    if "role" not in value:
        notes.add("message", "The message does not say its `role`.", path=path, fix=f"Say `role`: {role!r}.")
        value["role"] = role
    for name in [name for name in value if name not in HttpMessage.model_fields]:
        where = path + pointer([name])
        notes.add("unknown", f"A message has no {name[:80]!r}; it was kept.", path=where)
        extras.setdefault("message", {})[name] = value.pop(name)
    parts = value.get("parts")
    if isinstance(parts, list):
        value["parts"] = [
            part for at, part in enumerate(parts) if not _extract_part(part, notes, extras, f"{path}/parts/{at}")
        ]
    return value


def _extract_part(part: JsonValue, notes: Diagnostics, extras: JsonMapping, path: str) -> bool:
    """Mend one part; True when it is none of ours and was kept elsewhere."""
    if not isinstance(part, dict):
        return False
    if "type" not in part and part.get("kind") in _TYPES:
        notes.add("part", "A part says `kind`.", path=path, fix="Say `type`.")
        part["type"] = part.pop("kind")
    if part.get("type") == "artifact_data" and isinstance(part.get("data"), dict):
        part["type"] = "data"
    kind = part.get("type")
    own = TextPart if kind == "text" else DataPart if kind == "data" else None
    if own is None:
        if not isinstance(kind, str):
            return False
        notes.add("part", f"A part of type {kind[:80]!r} was kept, and not read.", path=path)
        cast("list[JsonObject]", extras.setdefault("parts", [])).append(part)
        return True
    for name in [name for name in part if name not in own.model_fields]:
        notes.add("unknown", f"A part has no {name[:80]!r}; it was left out.", path=path + pointer([name]))
        cast("list[JsonObject]", extras.setdefault("left_out", [])).append({"part": path, name: part.pop(name)})
    return False
