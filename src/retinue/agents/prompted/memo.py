"""What an agent notes of its conversation, so that a later attempt goes on from there and repeats nothing.

It is JSON data that others store. What cannot be read back is treated as not there: the conversation begins anew.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from pydantic import ValidationError

from retinue.contract.json import dumps
from retinue.contract.result import Trace, Usage
from retinue.errors import InvalidInput, ParseError
from retinue.llm.port import Turn
from retinue.llm.turns import turns_from_json, turns_to_json

__all__ = ["Notes", "read_notes", "write_notes"]

_KEY: Final = "conversation"


@dataclass(slots=True)
class Notes:
    """A conversation that is not over.

    Attributes:
        turns: What was said and done.
        traces: The calls of tools in it.
        spent: What was spent in all attempts: the task's bounds are about that.
        unapproved: What was said of each use of a tool that a person had to allow and did not.
        kit: Tells which tools were opened for it.
    """

    turns: tuple[Turn, ...] = ()
    traces: list[Trace] = field(default_factory=list)
    spent: Usage | None = None
    files_read: dict[str, None] = field(default_factory=dict)
    files_written: dict[str, None] = field(default_factory=dict)
    unapproved: dict[str, None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    kit: str = ""


def read_notes(memo: dict[str, Any], *, whose: str) -> Notes:
    """The notes in `memo`; new ones when there are none, or another's.

    Args:
        memo: Where they are kept.
        whose: The agent and skill they must be of.
    """
    said: object = memo.get(_KEY)
    if not isinstance(said, dict):
        return Notes()
    data = cast("dict[str, Any]", said)
    if data.get("whose") != whose:
        return Notes()
    try:
        return Notes(
            turns=turns_from_json(data["turns"]),
            traces=[Trace.model_validate_json(dumps(each)) for each in data["traces"]],
            spent=_usage(data.get("spent")),
            files_read=dict.fromkeys(map(str, data["files_read"])),
            files_written=dict.fromkeys(map(str, data["files_written"])),
            unapproved=dict.fromkeys(map(str, data["unapproved"])),
            warnings=[str(each) for each in data["warnings"]],
            kit=str(data["kit"]),
        )
    except (ParseError, ValidationError, KeyError, TypeError, ValueError):
        return Notes()


def write_notes(memo: dict[str, Any], notes: Notes, *, whose: str, stored: Literal["here", "outside"] = "here") -> None:
    """Keep `notes` in `memo`.

    Args:
        memo: Where.
        notes: What.
        whose: Of which agent and skill.
        stored: `outside` when others will store it: then it holds nothing that no JSON text can.
    """
    data: dict[str, Any] = {
        "whose": whose,
        "turns": turns_to_json(notes.turns),
        "traces": [trace.to_json() for trace in notes.traces],
        "files_read": list(notes.files_read),
        "files_written": list(notes.files_written),
        "unapproved": list(notes.unapproved),
        "warnings": list(notes.warnings),
        "kit": notes.kit,
    }
    if notes.spent is not None:
        data["spent"] = notes.spent.to_json()
    memo[_KEY] = data if stored == "here" else _writable(data)


def _usage(data: object) -> Usage | None:
    return None if data is None else Usage.model_validate_json(dumps(data))


def _writable(data: dict[str, Any]) -> dict[str, Any]:
    """`data` as it is; where a model wrote halves of characters, without those."""
    try:
        dumps(data)
    except InvalidInput:
        return cast("dict[str, Any]", _mended(data))
    return data


def _mended(value: object) -> object:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {str(_mended(key)): _mended(each) for key, each in cast("dict[object, object]", value).items()}
        case list():
            return [_mended(each) for each in cast("list[object]", value)]
        case _:
            return value
