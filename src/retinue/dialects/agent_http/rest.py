"""What the contract says and the format has no word for: it rides in the open metadata, in the contract's own words.

A stranger passes it by. What is read back is validated like any noun; what does not fit is kept and told, never used.
What came from others and the contract has no word for rides the other way, in the extras.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject, pointer
from retinue.contract.model import JsonMapping, Model

from .wire import OWN_METADATA, REST

if TYPE_CHECKING:
    from retinue.dialects.reading import Notes
    from retinue.dialects.writing import Losses

__all__ = ["NAME", "RESULT_SAID", "TASK_SAID", "put_back", "read_rest", "rest_of", "set_aside"]

NAME: Final = "agent_http"

TASK_SAID: Final = frozenset({"id", "instruction", "parameters", "extras"})
"""What of a task the format says in its own words."""

RESULT_SAID: Final = frozenset(
    {"task_id", "lifecycle", "outcome", "data", "content", "artifacts", "fault", "extras", "native", "reasoning"}
)
"""What of a result it does, and the two that are never handed on."""

Noun = TypeVar("Noun", bound=Model)
_TAKEN: Final = "the format has its own there"
_UNWRITTEN: Final = frozenset({"left_out", "message", "parts"})


def rest_of(noun: Model, said: frozenset[str]) -> JsonMapping:
    """The fields of `noun` that differ from their defaults, without those that are `said` elsewhere."""
    return noun.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(said))


def read_rest(
    metadata: JsonMapping, noun: type[Noun], base: JsonMapping, notes: "Notes", *, said: frozenset[str]
) -> Noun:
    """`base` with what the metadata says beside it. What is `said` elsewhere cannot be said there.

    What is used leaves the metadata; what cannot be used stays.
    """
    rest = metadata.get(REST)
    if rest is None:
        return noun.model_validate_json(json.dumps(base))
    severity = notes.severity("standard")
    path = f"/metadata/{REST}"
    taken = said.intersection(cast("JsonMapping", rest)) if isinstance(rest, dict) else {"anything"}
    if taken:
        what = f"`metadata.{REST}` cannot say {', '.join(sorted(taken))}."
        notes.add(REST, what, path=path, fix="Leave it out.", severity=severity)
        return noun.model_validate_json(json.dumps(base))
    try:
        read = noun.model_validate_json(json.dumps({**base, **cast("JsonMapping", rest)}))
    except ValidationError as error:
        for each in findings_of(error, rule=""):
            notes.add(REST, each.message, path=path + each.path, fix="Leave it out.", severity=severity)
        return noun.model_validate_json(json.dumps(base))
    del metadata[REST]
    return read


def set_aside(value: JsonObject, allowed: frozenset[str], notes: "Notes", kept: JsonMapping) -> None:
    """Take what the format has no word for out of `value`: it rides in the extras (C7)."""
    for name in [name for name in value if name not in allowed]:
        what, fix = f"The format has no `{name[:80]}` here; it was kept.", "Put what is yours into `metadata`."
        notes.add("unknown", what, path=pointer([name]), fix=fix)
        kept[name] = value.pop(name)


def put_back(
    extras: JsonMapping,
    written: JsonMapping,
    fits: Mapping[str, Callable[[object], bool]],
    losses: "Losses",
) -> None:
    """Write what an earlier reading set aside, and report the rest.

    Args:
        extras: Those of the noun.
        written: The message so far; what came along is added.
        fits: The fields of the format that ride in the extras, with what may stand there.
        losses: Takes what cannot be written.
    """
    losses.foreign(extras)
    if NAME not in extras:
        return
    said, path = extras[NAME], f"/extras/{NAME}"
    own = cast("JsonMapping", said) if isinstance(said, dict) else {}
    missed: list[str] = []
    kept = False
    for name, value in own.items():
        lost = _put(name, value, written, fits)
        kept = kept or lost != [pointer([name])]
        missed += lost
    for each in missed if kept else [""]:
        losses.add(path + each, _TAKEN)


def _put(name: str, value: object, written: JsonMapping, fits: Mapping[str, Callable[[object], bool]]) -> list[str]:
    """Write one thing; gives the pointers of what could not be written."""
    if name == "metadata" and isinstance(value, dict):
        return _metadata(cast("JsonMapping", value), written)
    if name == "artifacts" and "artifacts" in fits and fits[name](value):
        written[name] = [*written.get(name, []), *cast("list[Any]", value)]
        return []
    free = name not in written and name not in _UNWRITTEN and name != "metadata"
    if not free or (name in fits and not fits[name](value)):
        return [pointer([name])]
    written[name] = value
    return []


def _metadata(along: JsonMapping, written: JsonMapping) -> list[str]:
    """Add what came along to the metadata; gives the pointers of what could not be added."""
    free = {name: value for name, value in along.items() if name not in OWN_METADATA}
    if not free:
        return ["/metadata"]
    written["metadata"] = {**written.get("metadata", {}), **free}
    return [f"/metadata{pointer([name])}" for name in along if name not in free]
