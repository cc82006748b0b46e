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
from retinue.llm.converse import MAX_TEXT
from retinue.llm.port import Answered, Hear, Said, ToolAnswer, ToolAnswers, ToolUse, Turn

from .command import SERVER
from .model import ClaudeModel

__all__ = ["Ending", "Hearing"]

_PREFIX: Final = f"mcp__{SERVER}__"
_SYNTHETIC: Final = "<synthetic>"
"""The model of what Claude Code says in the model's place: that it failed."""


@dataclass(frozen=True, slots=True)
class Ending:
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


class Hearing:
    """Makes turns of messages.

    Args:
        turns: Those there were before.
        model: Who answers.
        hear: Hears text as it arrives.
        keep: Hears all turns whenever there is something new.
        answered: Hears what each whole response took.

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
        hear: Hear,
        keep: Callable[[Sequence[Turn]], None],
        answered: Callable[[Usage], None],
    ) -> None:
        self._before, self._model = list(turns), model
        self._hear, self._keep, self._answered = hear, keep, answered
        self._text = ""
        self._uses: list[ToolUse] = []
        self._answers: dict[str, ToolAnswer] = {}
        self._begun: set[str] = set()
        self._open, self._streamed = False, False
        self._counts: dict[str, int] = {}
        self.used: list[Usage] = []
        self.heard = ""
        self.session = self.version = ""
        self.ending: Ending | None = None

    @property
    def is_streaming(self) -> bool:
        """Whether a response has begun and is not whole yet; it may ask for more."""
        return self._streamed

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation so far."""
        turns = list(self._before)
        if self._text or self._uses:
            turns.append(Answered(self._text, tuple(self._uses)))
        answers = tuple(self._answers[use.id] for use in self._uses if use.id in self._answers)
        return (*turns, ToolAnswers(answers)) if answers else tuple(turns)

    def take(self, message: JsonMapping) -> None:
        """Take the next message."""
        if message.get("parent_tool_use_id") is not None:
            return
        match message.get("type"):
            case "stream_event":
                self._piece(_object(message.get("event")))
            case "assistant":
                self._said(_object(message.get("message")))
            case "user":
                self._told(_object(message.get("message")))
            case "system" if message.get("subtype") == "init":
                self.session = _text(message.get("session_id"))
                self.version = _text(message.get("claude_code_version"))[:40]
            case "result":
                self._end(message)
            case _:
                pass

    def begin(self, name: str, arguments: JsonMapping) -> ToolUse:
        """The use that a call of one of our tools is: the first of them that has not begun."""
        if self._open and not self._streamed:
            self._whole()
        for use in self._uses:
            if use.id not in self._begun and use.name == name and use.arguments == arguments:
                break
        else:
            use = ToolUse(f"use_{len(self._before)}_{len(self._uses)}", name, arguments)
            self._uses.append(use)
        self._begun.add(use.id)
        return use

    def answer(self, answer: ToolAnswer) -> None:
        """A use was answered."""
        self._answers[answer.id] = answer
        self._keep(self.turns)

    # Its messages

    def _piece(self, event: JsonMapping) -> None:
        match event.get("type"):
            case "message_start":
                self._fold()
                self._open = self._streamed = True
                self._count(_object(_object(event.get("message")).get("usage")))
            case "content_block_delta":
                piece = _text(_object(event.get("delta")).get("text"))
                if piece and len(self.heard) < MAX_TEXT:
                    self.heard += piece
                    self._hear(piece)
            case "message_delta":
                self._count(_object(event.get("usage")))
            case "message_stop":
                self._streamed = False
                self._whole()
            case _:
                pass

    def _said(self, message: JsonMapping) -> None:
        """A block of a response: of the one that is open, or of one that was not streamed."""
        if message.get("model") == _SYNTHETIC:
            return
        if not self._streamed and not self._open:
            self._fold()
            self._open = True
        if not self._streamed:
            self._count(_object(message.get("usage")))
        for block in _objects(message.get("content")):
            if block.get("type") == "text":
                self._text = (self._text + _text(block.get("text")))[:MAX_TEXT]
            elif block.get("type") == "tool_use":
                self._use(block)
        self._keep(self.turns)

    def _use(self, block: JsonMapping) -> None:
        name = _text(block.get("name")).removeprefix(_PREFIX)[:200]
        taken = {use.id for use in self._uses}
        own = _text(block.get("id"))[:200]
        use = own if own and own not in taken else f"use_{len(self._before)}_{len(self._uses)}"
        self._uses.append(ToolUse(use, name, _object(block.get("input"))))

    def _told(self, message: JsonMapping) -> None:
        """What was told to the model that we did not tell: by Claude Code itself."""
        content = message.get("content")
        for block in _objects(content):
            use = next((each for each in self._uses if each.id == block.get("tool_use_id")), None)
            if use is not None and use.id not in self._answers and use.id not in self._begun:
                failed = block.get("is_error") is True
                self._answers[use.id] = ToolAnswer(use.id, use.name, _words(block.get("content")), failed=failed)
        if self._open and not self._streamed:
            self._whole()
        words = (
            content if isinstance(content, str) else "\n".join(_text(each.get("text")) for each in _objects(content))
        )
        if words.strip():
            self._fold()
            self._before.append(Said(words))
        self._keep(self.turns)

    def _end(self, message: JsonMapping) -> None:
        if self._open:
            self._whole()
        answer = message.get("structured_output")
        usage = _object(message.get("usage"))
        told = "; ".join(filter(None, map(_text, _list(message.get("errors")))))
        usd, status = message.get("total_cost_usd"), message.get("api_error_status")
        self.ending = Ending(
            text=_text(message.get("result")) or told if answer is None else _written(answer),
            subtype=_text(message.get("subtype")),
            failed=message.get("is_error") is True or message.get("subtype") != "success",
            status=status if isinstance(status, int) and not isinstance(status, bool) else None,
            stop=_text(message.get("stop_reason")),
            usage=self._usage(_counts(usage), requests=len(self.used)) if usage else None,
            usd=float(usd) if isinstance(usd, int | float) and not isinstance(usd, bool) and usd >= 0 else None,
        )

    # One response

    def _count(self, usage: JsonMapping) -> None:
        self._counts |= _counts(usage)

    def _whole(self) -> None:
        """The response is whole."""
        usage = self._usage(self._counts, requests=1)
        self._open, self._counts, self.heard = False, {}, ""
        self.used.append(usage)
        self._answered(usage)
        self._keep(self.turns)

    def _fold(self) -> None:
        """What was the last response is one of those before."""
        self._before, self._text = list(self.turns), ""
        self._uses, self._answers = [], {}
        self._begun.clear()
        self._open, self._counts, self.heard = False, {}, ""

    def _usage(self, counts: dict[str, int], *, requests: int) -> Usage:
        if "out" not in counts:
            return Usage(requests=requests, model=self._model.name)
        cached, written = counts.get("cached", 0), counts.get("written", 0)
        tokens_in = counts.get("in", 0) + cached + written
        return Usage(
            tokens_in=tokens_in,
            tokens_out=counts["out"],
            tokens_cached=cached,
            requests=requests,
            cost=self._model.cost(
                tokens_in=tokens_in, tokens_out=counts["out"], tokens_cached=cached, tokens_written=written
            ),
            model=self._model.name,
        )


_COUNTED: Final = {
    "input_tokens": "in",
    "output_tokens": "out",
    "cache_read_input_tokens": "cached",
    "cache_creation_input_tokens": "written",
}
_MOST: Final = 10**12


def _counts(usage: JsonMapping) -> dict[str, int]:
    found: dict[str, int] = {}
    for theirs, ours in _COUNTED.items():
        value = usage.get(theirs)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST:
            found[ours] = value
    return found


def _object(value: object) -> JsonMapping:
    return cast("JsonMapping", value) if isinstance(value, dict) else {}


def _objects(value: object) -> list[JsonMapping]:
    return [_object(each) for each in _list(value)]


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(content: object) -> str:
    said = content if isinstance(content, str) else "\n".join(_text(each.get("text")) for each in _objects(content))
    return said[:MAX_TEXT]


def _written(answer: object) -> str:
    try:
        return dumps(answer)
    except InvalidInput:
        return ""
