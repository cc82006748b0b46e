"""What Claude Code says while it works, as turns of a conversation: text, uses of tools, what they took, and the end.

It is a peer's text: what does not have the expected shape is passed over, and nothing in it is done here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage
from retinue.errors import InvalidInput
from retinue.llm.conversation import MAX_TEXT
from retinue.llm.port import AssistantMessage, OnText, ToolCall, ToolResult, ToolResults, Turn, UserMessage

from .claude_model import ClaudeModel
from .launch import SERVER

_PREFIX: Final = f"mcp__{SERVER}__"
_SYNTHETIC: Final = "<synthetic>"
"""The model of what Claude Code says in the model's place: that it failed."""


@dataclass(frozen=True, slots=True)
class FinalResult:
    """What it said at the end.

    Attributes:
        text: The answer.
        subtype: How it ended, in its word; `success` also where the provider failed.
        failed: Whether it is no answer.
        status: What the provider answered with, when that is why.
        stop: Why the model stopped.
        usage: What all requests of this process took together.
        usd: What it says that the whole conversation has cost, earlier processes included.
    """

    text: str
    subtype: str
    failed: bool
    status: int | None
    stop: str
    usage: Usage | None
    usd: float | None


class StreamParser:
    """Makes turns of messages.

    Args:
        turns: Those there were before.
        model: Who answers.
        on_text: Hears text as it arrives.
        on_turns: Hears all turns whenever there is something new.
        on_usage: Hears what each whole response took.

    Attributes:
        used: What each response took.
        heard: The text of a response that is not whole.
        session: What Claude Code calls the conversation.
        version: Its version.
        ending: What it said at the end.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        *,
        model: ClaudeModel,
        on_text: OnText,
        on_turns: Callable[[Sequence[Turn]], None],
        on_usage: Callable[[Usage], None],
    ) -> None:
        self._before, self._model = list(turns), model
        self._on_text, self._on_turns, self._on_usage = on_text, on_turns, on_usage
        self._text = ""
        self._calls: list[ToolCall] = []
        self._results: dict[str, ToolResult] = {}
        self._started_ids: set[str] = set()
        self._is_open, self._is_streaming = False, False
        self._counts: dict[str, int] = {}
        self.usages: list[Usage] = []
        self.partial_text = ""
        self.session = self.version = ""
        self.result: FinalResult | None = None

    @property
    def is_streaming(self) -> bool:
        """Whether a response has begun and is not whole yet; it may ask for more."""
        return self._is_streaming

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation so far."""
        turns = list(self._before)
        if self._text or self._calls:
            turns.append(AssistantMessage(self._text, tuple(self._calls)))
        results = tuple(self._results[call.id] for call in self._calls if call.id in self._results)
        return (*turns, ToolResults(results)) if results else tuple(turns)

    def feed(self, message: JsonMapping) -> None:
        """Take the next message."""
        if message.get("parent_tool_use_id") is not None:
            return
        match message.get("type"):
            case "stream_event":
                self._on_stream_event(_object(message.get("event")))
            case "assistant":
                self._on_assistant(_object(message.get("message")))
            case "user":
                self._on_user(_object(message.get("message")))
            case "system" if message.get("subtype") == "init":
                self.session = _text(message.get("session_id"))
                self.version = _text(message.get("claude_code_version"))[:40]
            case "result":
                if self._is_open:
                    self._end_response()
                answer = message.get("structured_output")
                usage = _object(message.get("usage"))
                errors = "; ".join(filter(None, map(_text, _list(message.get("errors")))))
                usd, status = message.get("total_cost_usd"), message.get("api_error_status")
                self.result = FinalResult(
                    text=_text(message.get("result")) or errors if answer is None else _json_text(answer),
                    subtype=_text(message.get("subtype")),
                    failed=message.get("is_error") is True or message.get("subtype") != "success",
                    status=status if isinstance(status, int) and not isinstance(status, bool) else None,
                    stop=_text(message.get("stop_reason")),
                    usage=self._usage(_counts(usage), requests=len(self.usages)) if usage else None,
                    usd=float(usd) if isinstance(usd, int | float) and not isinstance(usd, bool) and usd >= 0 else None,
                )
            case _:
                pass

    def begin_call(self, name: str, arguments: JsonMapping) -> ToolCall:
        """The use that a call of one of our tools is: the first of them that has not begun."""
        if self._is_open and not self._is_streaming:
            self._end_response()
        for call in self._calls:
            if call.id not in self._started_ids and call.name == name and call.arguments == arguments:
                break
        else:
            call = ToolCall(f"use_{len(self._before)}_{len(self._calls)}", name, arguments)
            self._calls.append(call)
        self._started_ids.add(call.id)
        return call

    def add_result(self, result: ToolResult) -> None:
        """A use was answered."""
        self._results[result.id] = result
        self._on_turns(self.turns)

    # Its messages

    def _on_stream_event(self, event: JsonMapping) -> None:
        match event.get("type"):
            case "message_start":
                self._archive_response()
                self._is_open = self._is_streaming = True
                self._add_counts(_object(_object(event.get("message")).get("usage")))
            case "content_block_delta":
                piece = _text(_object(event.get("delta")).get("text"))
                if piece and len(self.partial_text) < MAX_TEXT:
                    self.partial_text += piece
                    self._on_text(piece)
            case "message_delta":
                self._add_counts(_object(event.get("usage")))
            case "message_stop":
                self._is_streaming = False
                self._end_response()
            case _:
                pass

    def _on_assistant(self, message: JsonMapping) -> None:
        """A block of a response: of the one that is open, or of one that was not streamed."""
        if message.get("model") == _SYNTHETIC:
            return
        if not self._is_streaming and not self._is_open:
            self._archive_response()
            self._is_open = True
        if not self._is_streaming:
            self._add_counts(_object(message.get("usage")))
        for block in _objects(message.get("content")):
            if block.get("type") == "text":
                self._text = (self._text + _text(block.get("text")))[:MAX_TEXT]
            elif block.get("type") == "tool_use":
                name = _text(block.get("name")).removeprefix(_PREFIX)[:200]
                ids = {call.id for call in self._calls}
                own = _text(block.get("id"))[:200]
                call_id = own if own and own not in ids else f"use_{len(self._before)}_{len(self._calls)}"
                self._calls.append(ToolCall(call_id, name, _object(block.get("input"))))
        self._on_turns(self.turns)

    def _on_user(self, message: JsonMapping) -> None:
        """What was told to the model that we did not tell: by Claude Code itself."""
        content = message.get("content")
        for block in _objects(content):
            call = next((each for each in self._calls if each.id == block.get("tool_use_id")), None)
            if call is not None and call.id not in self._results and call.id not in self._started_ids:
                failed = block.get("is_error") is True
                self._results[call.id] = ToolResult(
                    call.id, call.name, _content_text(block.get("content")), failed=failed
                )
        if self._is_open and not self._is_streaming:
            self._end_response()
        words = (
            content if isinstance(content, str) else "\n".join(_text(each.get("text")) for each in _objects(content))
        )
        if words.strip():
            self._archive_response()
            self._before.append(UserMessage(words))
        self._on_turns(self.turns)

    # One response

    def _add_counts(self, usage: JsonMapping) -> None:
        self._counts |= _counts(usage)

    def _end_response(self) -> None:
        """The response is whole."""
        usage = self._usage(self._counts, requests=1)
        self._is_open, self._counts, self.partial_text = False, {}, ""
        self.usages.append(usage)
        self._on_usage(usage)
        self._on_turns(self.turns)

    def _archive_response(self) -> None:
        """What was the last response is one of those before."""
        self._before, self._text = list(self.turns), ""
        self._calls, self._results = [], {}
        self._started_ids.clear()
        self._is_open, self._counts, self.partial_text = False, {}, ""

    def _usage(self, counts: dict[str, int], *, requests: int) -> Usage:
        if "out" not in counts:
            return Usage(requests=requests, model=self._model.name)
        cached, cache_writes = counts.get("cached", 0), counts.get("written", 0)
        tokens_in = counts.get("in", 0) + cached + cache_writes
        return Usage(
            tokens_in=tokens_in,
            tokens_out=counts["out"],
            tokens_cached=cached,
            requests=requests,
            cost=self._model.cost(
                tokens_in=tokens_in, tokens_out=counts["out"], tokens_cached=cached, tokens_written=cache_writes
            ),
            model=self._model.name,
        )


_COUNTERS: Final = {
    "input_tokens": "in",
    "output_tokens": "out",
    "cache_read_input_tokens": "cached",
    "cache_creation_input_tokens": "written",
}
_MOST: Final = 10**12


def _counts(usage: JsonMapping) -> dict[str, int]:
    counts: dict[str, int] = {}
    for theirs, ours in _COUNTERS.items():
        value = usage.get(theirs)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST:
            counts[ours] = value
    return counts


def _object(value: object) -> JsonMapping:
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[JsonMapping]:
    return [_object(each) for each in _list(value)]


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _content_text(content: object) -> str:
    text = content if isinstance(content, str) else "\n".join(_text(each.get("text")) for each in _objects(content))
    return text[:MAX_TEXT]


def _json_text(answer: object) -> str:
    try:
        return dumps(answer)
    except InvalidInput:
        return ""
