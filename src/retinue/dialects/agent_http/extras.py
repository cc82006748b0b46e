"""What the contract says and the format has no word for: it rides in the open metadata, in the contract's own words.

A stranger passes it by. What is read back is validated like any noun; what does not fit is kept and told, never used.
What came from others and the contract has no word for rides the other way, in the extras.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject, pointer
from retinue.contract.model import JsonMapping, Model
from retinue.dialects.diagnostics import Diagnostics

from .wire import METADATA_KEY, RESERVED_METADATA

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


def extract_extras(value: JsonObject, allowed: frozenset[str], notes: Diagnostics, extras: JsonMapping) -> None:
    """Take what the format has no word for out of `value`: it rides in the extras (C7)."""
    for name in [name for name in value if name not in allowed]:
        what, fix = f"The format has no `{name[:80]}` here; it was kept.", "Put what is yours into `metadata`."
        notes.add("unknown", what, path=pointer([name]), fix=fix)
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
