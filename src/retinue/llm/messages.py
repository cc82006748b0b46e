"""Turns as the messages of pydantic-ai, and its responses as turns.

What a provider said comes back to it exactly as it was, signed thinking included; another provider gets the plain turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, assert_never, cast

from retinue.contract.json import dumps, loads
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, ParseError

from .port import Answered, Said, ToolAnswer, ToolAnswers, ToolUse, Turn
from .uses import MAX_ARGUMENTS

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart, ToolCallPart

__all__ = ["Messages", "Native"]

_EMPTY: Final = "(empty)"
"""Providers refuse a text that is empty."""


@dataclass(frozen=True, slots=True)
class Native:
    """A response as its provider gave it.

    Attributes:
        provider: Whose it is.
        message: The `ModelResponse` of pydantic-ai.
    """

    provider: str
    message: Any

    def to_json(self) -> JsonMapping:
        """It as JSON data."""
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - optional

        return {
            "provider": self.provider,
            "message": ModelMessagesTypeAdapter.dump_python([self.message], mode="json")[0],
        }


class Messages:
    """Translates for one provider.

    Args:
        provider: Whose own turns are sent back unchanged.
    """

    def __init__(self, provider: str) -> None:
        from pydantic_ai import messages  # noqa: PLC0415 - optional

        self._provider = provider
        self._types = messages

    def written(self, turns: Sequence[Turn]) -> "list[ModelMessage]":
        """These turns as messages; what several turns of the asking side say follows each other in one message."""
        types = self._types
        messages: list[ModelMessage] = []
        parts: list[ModelRequestPart] = []
        for turn in turns:
            match turn:
                case Said(text):
                    parts.append(types.UserPromptPart(text or _EMPTY))
                case ToolAnswers(answers):
                    parts.extend(self._return(answer) for answer in answers)
                case Answered():
                    if parts:
                        messages.append(types.ModelRequest(parts))
                        parts = []
                    messages.append(self._native(turn) or self._plain(turn))
                case _:
                    assert_never(turn)
        if parts:
            messages.append(types.ModelRequest(parts))
        return messages

    def read(self, message: "ModelResponse", *, answer: str = "") -> Answered:
        """What the provider said as a turn.

        Args:
            message: Its response.
            answer: The name of the tool whose arguments are the final answer; empty when there is none.
        """
        types = self._types
        texts: list[str] = []
        calls: list[ToolCallPart] = []
        final: ToolCallPart | None = None
        for part in message.parts:
            if isinstance(part, types.TextPart):
                texts.append(part.content)
            elif isinstance(part, types.ToolCallPart):
                if answer and part.tool_name == answer:
                    final = part
                else:
                    calls.append(part)
        if final is not None:
            return Answered("".join(texts), _uses(calls)) if calls else Answered(_as_text(final))
        ids = [call.tool_call_id for call in calls]
        if "" in ids or len(set(ids)) < len(ids):
            calls, message = self._named_apart(message, calls)
        uses = _uses(calls)
        whole = all(use.arguments is not None or len(use.raw) <= MAX_ARGUMENTS for use in uses)
        return Answered("".join(texts), uses, native=Native(self._provider, message) if whole else None)

    def _named_apart(
        self, message: "ModelResponse", calls: "list[ToolCallPart]"
    ) -> "tuple[list[ToolCallPart], ModelResponse]":
        """The response with an id for each call, and no id twice: their answers are paired by it."""
        seen: set[str] = {""}
        taken = {call.tool_call_id for call in calls}
        parts: list[ModelResponsePart] = []
        renamed: list[ToolCallPart] = []
        for part in message.parts:
            if not isinstance(part, self._types.ToolCallPart):
                parts.append(part)
                continue
            name, number = part.tool_call_id, 1
            while name in seen or (number > 1 and name in taken):
                number += 1
                name = f"{part.tool_call_id or 'use'}_{number}"
            seen.add(name)
            renamed.append(part if name == part.tool_call_id else replace(part, tool_call_id=name))
            parts.append(renamed[-1])
        return renamed, replace(message, parts=parts)

    def _native(self, turn: Answered) -> "ModelResponse | None":
        native: object = turn.native
        if isinstance(native, Native):
            return cast("ModelResponse", native.message) if native.provider == self._provider else None
        if not isinstance(native, dict):
            return None
        stored = cast("JsonMapping", native)
        if stored.get("provider") != self._provider:
            return None
        try:
            (message,) = self._types.ModelMessagesTypeAdapter.validate_python([stored.get("message")])
        except ValueError:
            return None
        return message if isinstance(message, self._types.ModelResponse) else None

    def _plain(self, turn: Answered) -> "ModelResponse":
        types = self._types
        parts: list[ModelResponsePart] = []
        if turn.text or not turn.uses:
            parts.append(types.TextPart(turn.text or _EMPTY))
        parts.extend(types.ToolCallPart(use.name, use.arguments or {}, use.id) for use in turn.uses)
        return types.ModelResponse(parts)

    def _return(self, answer: ToolAnswer) -> "ModelRequestPart":
        return self._types.ToolReturnPart(
            answer.name, answer.text or _EMPTY, answer.id, outcome="failed" if answer.failed else "success"
        )


def _uses(calls: "Iterable[ToolCallPart]") -> tuple[ToolUse, ...]:
    return tuple(_use(call) for call in calls)


def _use(call: "ToolCallPart") -> ToolUse:
    given = call.args
    if isinstance(given, dict):
        return ToolUse(call.tool_call_id, call.tool_name, given)
    written = given or ""
    if not written.strip():
        return ToolUse(call.tool_call_id, call.tool_name, {})
    if len(written) > MAX_ARGUMENTS:
        return ToolUse(call.tool_call_id, call.tool_name, None, written[: MAX_ARGUMENTS + 1])
    try:
        arguments = loads(written, max_bytes=4 * MAX_ARGUMENTS)
    except ParseError:
        arguments = None
    if not isinstance(arguments, dict):
        return ToolUse(call.tool_call_id, call.tool_name, None, written)
    return ToolUse(call.tool_call_id, call.tool_name, arguments)


def _as_text(call: "ToolCallPart") -> str:
    """The arguments of the final answer as JSON text; whoever asked for it reads it strictly."""
    given = call.args
    if not isinstance(given, dict):
        return given or ""
    try:
        return dumps(given)
    except InvalidInput:
        return repr(given)
