"""A conversation that is not over, as it is kept: whole in the checkpoint of its agent, and turn by turn as events.

The checkpoint outlives a question, the events the process. Both are JSON that others store, so they may be from another
version: what cannot be read back is ignored, and the conversation begins anew.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NotRequired

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from retinue.agents.port import RunContext
from retinue.contract.event import Message, TurnsAdded
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace, Usage
from retinue.errors import InvalidInput, ParseError
from retinue.llm.port import AssistantMessage, ToolResults, Turn
from retinue.llm.turns import turns_from_json, turns_to_json

MAX_RECORDED: Final = 8_000_000
"""Characters of JSON that are recorded of one conversation: more than the largest context of a model holds."""

_KEY: Final = "conversation"


@dataclass(slots=True)
class ConversationCheckpoint:
    """A conversation that is not over.

    Attributes:
        turns: What was said and done.
        traces: The calls of tools in it.
        spent: What was spent in all attempts: the task's bounds are about that.
        unapproved: One sentence for each tool call that a person had to allow and did not.
        interrupted: How often a process died in the middle of a tool call, by the place of the call.
        toolset: Names the tools that were opened for it.
    """

    turns: tuple[Turn, ...] = ()
    traces: list[Trace] = field(default_factory=list)
    spent: Usage | None = None
    files_read: dict[str, None] = field(default_factory=dict)
    files_written: dict[str, None] = field(default_factory=dict)
    unapproved: dict[str, None] = field(default_factory=dict)
    interrupted: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    toolset: str = ""

    @property
    def has_answer(self) -> bool:
        """Whether the last word is an answer of the model, and not a wish to use tools."""
        last = self.turns[-1] if self.turns else None
        return isinstance(last, AssistantMessage) and not last.tool_calls

    def copy(self, turns: tuple[Turn, ...]) -> "ConversationCheckpoint":
        """What changes in it as it is now, with these turns."""
        return replace(
            self,
            turns=turns,
            traces=list(self.traces),
            files_read=dict(self.files_read),
            files_written=dict(self.files_written),
            unapproved=dict(self.unapproved),
        )

    def replay(self, events: Sequence[TurnsAdded]) -> bool:
        """Go on to where its process died, by what was recorded since this was written; False when that cannot be."""
        turns, traces, spent = self.turns, list[Trace](), self.spent
        interrupted, files_read, files_written, unapproved = Counter[str](), list[str](), list[str](), list[str]()
        try:
            for event in events:
                if event.start > len(turns):  # some of it was not recorded
                    return False
                notes = _NOTES.validate_json(dumps(event.notes))
                turns = _join_added(turns[: event.start], turns_from_json(event.turns))
                traces += notes.get("traces", ())
                spent = notes.get("spent", spent)
                interrupted.update(notes.get("calls", ()))
                files_read += notes.get("files_read", ())
                files_written += notes.get("files_written", ())
                unapproved += notes.get("unapproved", ())
        except (InvalidInput, ParseError, ValidationError):
            return False
        self.turns, self.spent = turns, spent
        self.traces += traces
        self.interrupted.update(interrupted)
        self.files_read.update(dict.fromkeys(files_read))
        self.files_written.update(dict.fromkeys(files_written))
        self.unapproved.update(dict.fromkeys(unapproved))
        return bool(events)


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
    interrupted: NotRequired[dict[str, int]]


class _StoredNotes(TypedDict, total=False):
    traces: list[Trace]
    files_read: list[str]
    files_written: list[str]
    unapproved: list[str]
    calls: list[str]
    spent: Usage


_STORED: Final = TypeAdapter(_StoredCheckpoint)
_NOTES: Final = TypeAdapter(_StoredNotes)


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
        interrupted=Counter(data.get("interrupted", {})),
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
    if checkpoint.interrupted:
        data["interrupted"] = dict(checkpoint.interrupted)
    store[_KEY], _ = _storable(data)


class TurnRecorder:
    """Records a conversation as it goes, each turn once.

    Args:
        run: Takes the events.
        conversation: Tells it from the others of the run.
        checkpoint: Where it begins: that much is recorded already.
    """

    def __init__(self, run: RunContext, conversation: str, checkpoint: ConversationCheckpoint) -> None:
        self._run, self._conversation, self._size = run, conversation, 0
        # Whether an answer at the end is recorded depends on how it ended; to record one again does no harm.
        self._last = checkpoint.copy(checkpoint.turns[:-1] if checkpoint.has_answer else checkpoint.turns)

    def record(self, checkpoint: ConversationCheckpoint, *, call_place: str = "") -> None:
        """Record what is new in `checkpoint`, and the place of a tool call that is about to be made, if any."""
        last = self._last
        if self._size > MAX_RECORDED:
            return
        start, added = _split_added(last.turns, checkpoint.turns)
        notes: JsonMapping = {
            name: new
            for name in ("files_read", "files_written", "unapproved")
            if (new := [each for each in getattr(checkpoint, name) if each not in getattr(last, name)])
        }
        if traces := checkpoint.traces[len(last.traces) :]:
            notes["traces"] = [trace.to_json() for trace in traces]
        if checkpoint.spent is not None and checkpoint.spent != last.spent:
            notes["spent"] = checkpoint.spent.to_json()
        if call_place:
            notes["calls"] = [call_place]
        if not (added or notes or start < len(last.turns)):
            return
        facts, size = _storable({"turns": turns_to_json(added), "notes": notes})
        self._size += size
        if self._size > MAX_RECORDED:
            text = f"Only {MAX_RECORDED:,} characters of a conversation are recorded: the rest of it cannot be resumed."
            self._run.emit(Message(text, level="warning"))
            return
        self._run.emit(TurnsAdded(self._conversation, start, facts["turns"], facts["notes"]))
        self._last = checkpoint.copy(checkpoint.turns)


def _split_added(before: Sequence[Turn], turns: Sequence[Turn]) -> tuple[int, tuple[Turn, ...]]:
    """How many of the turns `before` stay, and what follows them. Of more results of one response only the new ones."""
    pairs = zip(before, turns, strict=False)
    start = next((place for place, (old, new) in enumerate(pairs) if old != new), min(len(before), len(turns)))
    added = tuple(turns[start:])
    if added and start < len(before):
        old, new = before[start], added[0]
        if isinstance(old, ToolResults) and isinstance(new, ToolResults):
            more = ToolResults(tuple(each for each in new.results if each not in old.results))
            return start + 1, (more, *added[1:])
    return start, added


def _join_added(before: Sequence[Turn], added: Iterable[Turn]) -> tuple[Turn, ...]:
    turns = list(before)
    for turn in added:
        last = turns[-1] if turns else None
        if isinstance(turn, ToolResults) and isinstance(last, ToolResults):
            results = {each.id: each for each in (*last.results, *turn.results)}
            turns[-1] = ToolResults(tuple(results.values()))
        else:
            turns.append(turn)
    return tuple(turns)


def _storable(data: JsonMapping) -> tuple[JsonMapping, int]:
    """`data` as every store takes it, and how many characters of JSON it has."""
    try:
        return data, len(dumps(data))
    except InvalidInput:  # a model wrote halves of characters
        text = json.dumps(data, ensure_ascii=False).encode(errors="replace")
        return json.loads(text), len(text)
