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

_KEY: Final = "conversation"


@dataclass(slots=True)
class ConversationCheckpoint:
    """A conversation that is not over.

    Attributes:
        turns: What was said and done.
        traces: The calls of tools in it.
        spent: What was spent in all attempts: the task's bounds are about that.
        unapproved: What was said of each use of a tool that a person had to allow and did not.
        toolset: Tells which tools were opened for it.
    """

    turns: tuple[Turn, ...] = ()
    traces: list[Trace] = field(default_factory=list)
    spent: Usage | None = None
    files_read: dict[str, None] = field(default_factory=dict)
    files_written: dict[str, None] = field(default_factory=dict)
    unapproved: dict[str, None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    toolset: str = ""


def read_checkpoint(store: dict[str, Any], *, owner: str) -> ConversationCheckpoint:
    """The notes in `store`; new ones when there are none, or another's.

    Args:
        store: Where they are kept.
        owner: The agent and skill they must be of.
    """
    value: object = store.get(_KEY)
    if not isinstance(value, dict):
        return ConversationCheckpoint()
    data = cast("dict[str, Any]", value)
    if data.get("whose") != owner:
        return ConversationCheckpoint()
    try:
        return ConversationCheckpoint(
            turns=turns_from_json(data["turns"]),
            traces=[Trace.model_validate_json(dumps(each)) for each in data["traces"]],
            spent=_usage(data.get("spent")),
            files_read=dict.fromkeys(map(str, data["files_read"])),
            files_written=dict.fromkeys(map(str, data["files_written"])),
            unapproved=dict.fromkeys(map(str, data["unapproved"])),
            warnings=[str(each) for each in data["warnings"]],
            toolset=str(data["kit"]),
        )
    except (ParseError, ValidationError, KeyError, TypeError, ValueError):
        return ConversationCheckpoint()


def write_checkpoint(
    store: dict[str, Any],
    checkpoint: ConversationCheckpoint,
    *,
    owner: str,
    stored: Literal["here", "outside"] = "here",
) -> None:
    """Keep `checkpoint` in `store`.

    Args:
        store: Where.
        checkpoint: What.
        owner: Of which agent and skill.
        stored: `outside` when others will store it: then it holds nothing that no JSON text can.
    """
    data: dict[str, Any] = {
        "whose": owner,
        "turns": turns_to_json(checkpoint.turns),
        "traces": [trace.to_json() for trace in checkpoint.traces],
        "files_read": list(checkpoint.files_read),
        "files_written": list(checkpoint.files_written),
        "unapproved": list(checkpoint.unapproved),
        "warnings": list(checkpoint.warnings),
        "kit": checkpoint.toolset,
    }
    if checkpoint.spent is not None:
        data["spent"] = checkpoint.spent.to_json()
    store[_KEY] = data if stored == "here" else _encodable(data)


def _usage(data: object) -> Usage | None:
    return None if data is None else Usage.model_validate_json(dumps(data))


def _encodable(data: dict[str, Any]) -> dict[str, Any]:
    """`data` as it is; where a model wrote halves of characters, without those."""
    try:
        dumps(data)
    except InvalidInput:
        return cast("dict[str, Any]", _replace_surrogates(data))
    return data


def _replace_surrogates(value: object) -> object:
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {
                str(_replace_surrogates(key)): _replace_surrogates(each)
                for key, each in cast("dict[object, object]", value).items()
            }
        case list():
            return [_replace_surrogates(each) for each in cast("list[object]", value)]
        case _:
            return value
