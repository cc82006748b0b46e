"""The parts of a message, both ways: text and data out of them, and what they hold beside that."""

from typing import Any, Final, cast

from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.task import Correction
from retinue.dialects.diagnostics import Diagnostics

from .wire import DataPart, HttpMessage, TextPart

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
