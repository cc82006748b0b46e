"""What is saved of an agent's conversation, so that a later attempt continues it and repeats nothing.

It is JSON data that others store. What cannot be read back is ignored: the conversation begins anew.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

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
        unapproved: One sentence for each tool call that a person had to allow and did not.
        toolset: Names the tools that were opened for it.
    """

    turns: tuple[Turn, ...] = ()
    traces: list[Trace] = field(default_factory=list)
    spent: Usage | None = None
    files_read: dict[str, None] = field(default_factory=dict)
    files_written: dict[str, None] = field(default_factory=dict)
    unapproved: dict[str, None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    toolset: str = ""


class _StoredCheckpoint(TypedDict):
    whose: str
    turns: list[Any]
    traces: list[Trace]
    files_read: list[str]
    files_written: list[str]
    unapproved: list[str]
    warnings: list[str]
    kit: str
    spent: NotRequired[Usage]


_STORED: Final = TypeAdapter(_StoredCheckpoint)


def read_checkpoint(store: dict[str, Any], *, owner: str) -> ConversationCheckpoint:
    """The checkpoint in `store`; a new one when there is none, or another's.

    Args:
        store: Where it is kept.
        owner: The agent and skill it must be of.
    """
    if _KEY not in store:
        return ConversationCheckpoint()
    try:
        data = _STORED.validate_json(dumps(store[_KEY]))  # as JSON, which has no tuples
        turns = turns_from_json(data["turns"])
    except (InvalidInput, ParseError, ValidationError):
        return ConversationCheckpoint()
    if data["whose"] != owner:
        return ConversationCheckpoint()
    return ConversationCheckpoint(
        turns=turns,
        traces=data["traces"],
        spent=data.get("spent"),
        files_read=dict.fromkeys(data["files_read"]),
        files_written=dict.fromkeys(data["files_written"]),
        unapproved=dict.fromkeys(data["unapproved"]),
        warnings=data["warnings"],
        toolset=data["kit"],
    )


def write_checkpoint(store: dict[str, Any], checkpoint: ConversationCheckpoint, *, owner: str) -> None:
    """Keep `checkpoint` in `store`, as the agent and skill `owner`."""
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
    try:
        dumps(data)
    except InvalidInput:  # a model wrote halves of characters, which no store takes
        data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    store[_KEY] = data
