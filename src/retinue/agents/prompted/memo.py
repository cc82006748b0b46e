"""What an agent notes of its conversation, so that a later attempt goes on from there and repeats nothing.

It is JSON data that others store. What cannot be read back is treated as not there: the conversation begins anew.
"""

from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract.json import dumps
from retinue.contract.result import Trace, Usage
from retinue.errors import ParseError
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
        usage: What was spent and not told yet, because an attempt ended in a question.
        kit: Tells which tools were opened for it.
    """

    turns: tuple[Turn, ...] = ()
    traces: list[Trace] = field(default_factory=list[Trace])
    usage: Usage | None = None
    files_read: dict[str, None] = field(default_factory=dict[str, None])
    files_written: dict[str, None] = field(default_factory=dict[str, None])
    warnings: list[str] = field(default_factory=list[str])
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
        usage = data.get("usage")
        return Notes(
            turns=turns_from_json(data["turns"]),
            traces=[Trace.model_validate_json(dumps(each)) for each in data["traces"]],
            usage=None if usage is None else Usage.model_validate_json(dumps(usage)),
            files_read=dict.fromkeys(map(str, data["files_read"])),
            files_written=dict.fromkeys(map(str, data["files_written"])),
            warnings=[str(each) for each in data["warnings"]],
            kit=str(data["kit"]),
        )
    except (ParseError, ValidationError, KeyError, TypeError, ValueError):
        return Notes()


def write_notes(memo: dict[str, Any], notes: Notes, *, whose: str) -> None:
    """Keep `notes` in `memo`."""
    data: dict[str, Any] = {
        "whose": whose,
        "turns": turns_to_json(notes.turns),
        "traces": [trace.to_json() for trace in notes.traces],
        "files_read": list(notes.files_read),
        "files_written": list(notes.files_written),
        "warnings": list(notes.warnings),
        "kit": notes.kit,
    }
    if notes.usage is not None:
        data["usage"] = notes.usage.to_json()
    memo[_KEY] = data
