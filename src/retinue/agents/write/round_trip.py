"""A definition, written; and what its text does not say, found by reading it back."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from retinue.agents.load.loaded_agents import LoadedAgents
from retinue.contract import json as strict
from retinue.contract.definition import Definition
from retinue.contract.finding import Loss, as_detail, summarise_findings
from retinue.contract.json import JsonValue, pointer
from retinue.dialects.losses import NO_EQUIVALENT
from retinue.errors import InvalidInput

_CHANGED: Final = "the format cannot say it in this form"
_DEEP: Final = ("runner", "wire_names", "extras")
"""Fields whose members are told apart in a report."""


@dataclass(frozen=True, slots=True)
class WrittenDefinition:
    """A definition as one text of some format.

    Attributes:
        file: What the file is usually called, relative to the folder for such files.
        losses: Every field that the text does not say, or says less of, as JSON Pointers into the definition. Where it
            was said before (`source`) is no part of what is said.
    """

    text: str
    file: str
    losses: tuple[Loss, ...] = ()


def check_round_trip(
    definition: Definition,
    text: str,
    *,
    file: str,
    load: Callable[[bytes], LoadedAgents],
    why: Mapping[str, str] | None = None,
) -> WrittenDefinition:
    """Judge `text` by reading it: what comes back otherwise than it went in is a loss.

    Args:
        definition: What was written.
        text: What it became.
        file: What the file is called.
        load: Reads the format.
        why: Reasons that are better than the general one, by the loss's path or by the field's name.

    Raises:
        InvalidInput: The text cannot be read back, so no text of this format can hold the definition.
    """
    try:
        loaded = load(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(
            f"`{definition.name}` holds half of a surrogate pair, which no file can hold.", hint="Remove it."
        ) from None
    if len(loaded.agents) != 1:
        raise InvalidInput(
            f"No text of this format can hold `{definition.name}`: {summarise_findings(loaded.errors)}.",
            hint="Fix the definition, or write it in another format.",
            path=loaded.errors[0].path if loaded.errors else "",
            detail=dict(as_detail(loaded.errors)),
        )
    after = loaded.agents[0].definition
    losses = (
        Loss(field=path, why=_why(path, is_missing=is_missing, better=why or {}))
        for path, is_missing in _differences(definition, after)
    )
    return WrittenDefinition(text, file, tuple(losses))


def json_text(value: JsonValue) -> str:
    """`value` as a file of indented JSON.

    Raises:
        InvalidInput: It holds something JSON cannot say.
    """
    strict.dumps(value)
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _why(path: str, *, is_missing: bool, better: Mapping[str, str]) -> str:
    _, first, *_, last = f"{path}/{path}".split("/")
    reasons = {**_DEFAULT_REASONS, **better}
    general = NO_EQUIVALENT if is_missing else _CHANGED
    return next((reasons[each] for each in (path, last, first) if each in reasons), general)


_DEFAULT_REASONS: Final = {
    "unavailable": "whether a skill can be called is not for a file to say",
    "thinks": "the format cannot say whether a skill asks a model",
}


def _differences(before: Definition, after: Definition) -> Iterator[tuple[str, bool]]:
    """Where the two differ, and whether nothing of it is left."""
    one, other = _comparable(before), _comparable(after)
    for key, old in one.items():
        new = other[key]
        if key == "skills" and len(old) == len(new):
            for at, (skill, new_skill) in enumerate(zip(old, new, strict=True)):
                yield from _member_differences(skill, new_skill, path=f"/skills/{at}")
        elif key in _DEEP:
            yield from _member_differences(old, new, path=f"/{key}")
        elif not _is_same(old, new):
            yield f"/{key}", not new


def _member_differences(one: Mapping[str, Any], other: Mapping[str, Any], *, path: str) -> Iterator[tuple[str, bool]]:
    for key in {**one, **other}:
        if key not in one or key not in other or not _is_same(one[key], other[key]):
            yield path + pointer([key]), not other.get(key)


def _is_same(one: object, other: object) -> bool:
    """Whether two JSON values are the same: 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _comparable(definition: Definition) -> dict[str, Any]:
    """The definition as JSON data, without its places."""
    value = definition.model_dump(mode="json", exclude={"source": True})
    for skill in value["skills"]:
        for sample in skill["samples"]:
            del sample["source"]
    return value
