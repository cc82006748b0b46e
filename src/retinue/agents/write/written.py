"""A definition, written; and what its text does not say, found by reading it back."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from retinue.agents.load.loaded import Loaded
from retinue.contract import json as strict
from retinue.contract.definition import Definition
from retinue.contract.finding import Loss, as_detail, in_short
from retinue.contract.json import JsonValue, pointer
from retinue.dialects.writing import NO_WORD
from retinue.errors import InvalidInput

__all__ = ["Written", "json_text", "written"]

_CHANGED: Final = "the format cannot say it in this form"
_DEEP: Final = ("runner", "wire_names", "extras")
"""Fields whose members are told apart in a report."""


@dataclass(frozen=True, slots=True)
class Written:
    """A definition as one text of some format.

    Attributes:
        file: What the file is usually called, relative to the folder for such files.
        losses: Every field that the text does not say, or says less of, as JSON Pointers into the definition. Where it
            was said before (`source`) is no part of what is said.
    """

    text: str
    file: str
    losses: tuple[Loss, ...] = ()


def written(
    definition: Definition,
    text: str,
    *,
    file: str,
    load: Callable[[bytes], Loaded],
    why: Mapping[str, str] | None = None,
) -> Written:
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
            f"No text of this format can hold `{definition.name}`: {in_short(loaded.errors)}.",
            hint="Fix the definition, or write it in another format.",
            path=loaded.errors[0].path if loaded.errors else "",
            detail=dict(as_detail(loaded.errors)),
        )
    after = loaded.agents[0].definition
    losses = (
        Loss(field=path, why=_why(path, gone=gone, better=why or {})) for path, gone in _differences(definition, after)
    )
    return Written(text, file, tuple(losses))


def json_text(value: JsonValue) -> str:
    """`value` as a file of indented JSON.

    Raises:
        InvalidInput: It holds something JSON cannot say.
    """
    strict.dumps(value)
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _why(path: str, *, gone: bool, better: Mapping[str, str]) -> str:
    _, first, *_, last = f"{path}/{path}".split("/")
    known = {**_USUAL, **better}
    general = NO_WORD if gone else _CHANGED
    return next((known[each] for each in (path, last, first) if each in known), general)


_USUAL: Final = {
    "unavailable": "whether a skill can be called is not for a file to say",
    "thinks": "the format cannot say whether a skill asks a model",
}


def _differences(before: Definition, after: Definition) -> Iterator[tuple[str, bool]]:
    """Where the two differ, and whether nothing of it is left."""
    one, other = _whole(before), _whole(after)
    for key, mine in one.items():
        yours = other[key]
        if key == "skills" and len(mine) == len(yours):
            for at, (skill, its) in enumerate(zip(mine, yours, strict=True)):
                yield from _members(skill, its, path=f"/skills/{at}")
        elif key in _DEEP:
            yield from _members(mine, yours, path=f"/{key}")
        elif not _same(mine, yours):
            yield f"/{key}", not yours


def _members(one: Mapping[str, Any], other: Mapping[str, Any], *, path: str) -> Iterator[tuple[str, bool]]:
    for key in {**one, **other}:
        if key not in one or key not in other or not _same(one[key], other[key]):
            yield path + pointer([key]), not other.get(key)


def _same(one: object, other: object) -> bool:
    """Whether two JSON values are the same: 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _whole(definition: Definition) -> dict[str, Any]:
    """The definition as JSON data, without its places."""
    value = definition.model_dump(mode="json", exclude={"source": True})
    for skill in value["skills"]:
        for sample in skill["samples"]:
            del sample["source"]
    return value
