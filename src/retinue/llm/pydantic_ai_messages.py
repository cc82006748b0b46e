"""Turns as the messages of pydantic-ai, and its responses as turns.

What a provider said comes back to it exactly as it was, signed thinking included; another provider gets the plain turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, assert_never, cast

from retinue.contract.json import loads
from retinue.contract.model import JsonMapping
from retinue.errors import ParseError

from .port import AssistantMessage, ToolCall, ToolResults, Turn, UserMessage
from .provider_info import LazyModule
from .tool_calls import MAX_ARGUMENTS, json_text, unique_ids

if TYPE_CHECKING:
    from pydantic_ai import messages as types
else:
    types = LazyModule("pydantic_ai.messages")

_EMPTY: Final = "(empty)"
"""Providers refuse a text that is empty."""


@dataclass(frozen=True, slots=True)
class NativeMessage:
    """A response as its provider gave it.

    Attributes:
        provider: Whose it is.
        message: The `ModelResponse` of pydantic-ai.
    """

    provider: str
    message: Any

    def to_json(self) -> JsonMapping:
        """It as JSON data."""
        message = types.ModelMessagesTypeAdapter.dump_python([self.message], mode="json")[0]
        return {"provider": self.provider, "message": message}


class MessageTranslator:
    """Translates for one provider.

    Args:
        provider: Whose own turns are sent back unchanged.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def to_messages(self, turns: Sequence[Turn]) -> "list[types.ModelMessage]":
        """These turns as messages; what several turns of the asking side say follows each other in one message."""
        messages: list[types.ModelMessage] = []
        parts: list[types.ModelRequestPart] = []
        for turn in turns:
            match turn:
                case UserMessage(text):
                    parts.append(types.UserPromptPart(text or _EMPTY))
                case ToolResults(results):
                    parts.extend(
                        types.ToolReturnPart(
                            each.name, each.text or _EMPTY, each.id, outcome="failed" if each.failed else "success"
                        )
                        for each in results
                    )
                case AssistantMessage():
                    if parts:
                        messages.append(types.ModelRequest(parts))
                        parts = []
                    messages.append(self._native_message(turn) or _from_turn(turn))
                case _:
                    assert_never(turn)
        if parts:
            messages.append(types.ModelRequest(parts))
        return messages

    def to_turn(self, message: "types.ModelResponse", *, output_tool: str = "") -> AssistantMessage:
        """What the provider said as a turn.

        Args:
            message: Its response.
            output_tool: The name of the tool whose arguments are the final answer; empty when there is none.
        """
        texts: list[str] = []
        calls: list[types.ToolCallPart] = []
        output_call: types.ToolCallPart | None = None
        for part in message.parts:
            if isinstance(part, types.TextPart):
                texts.append(part.content)
            elif isinstance(part, types.ToolCallPart):
                if output_tool and part.tool_name == output_tool:
                    output_call = part
                else:
                    calls.append(part)
        if output_call is not None:
            return (
                AssistantMessage("".join(texts), tuple(map(_tool_call, calls)))
                if calls
                else AssistantMessage(json_text(args) if isinstance(args := output_call.args, dict) else args or "")
            )
        ids = unique_ids([call.tool_call_id for call in calls])
        if ids != [call.tool_call_id for call in calls]:
            calls = [replace(call, tool_call_id=id_) for call, id_ in zip(calls, ids, strict=True)]
            renamed = iter(calls)
            message = replace(
                message,
                parts=[next(renamed) if isinstance(each, types.ToolCallPart) else each for each in message.parts],
            )
        tool_calls = tuple(map(_tool_call, calls))
        is_complete = all(use.arguments is not None or len(use.raw) <= MAX_ARGUMENTS for use in tool_calls)
        return AssistantMessage(
            "".join(texts), tool_calls, native=NativeMessage(self._provider, message) if is_complete else None
        )

    def _native_message(self, turn: AssistantMessage) -> "types.ModelResponse | None":
        native: object = turn.native
        if isinstance(native, NativeMessage):
            return cast("types.ModelResponse", native.message) if native.provider == self._provider else None
        if not isinstance(native, dict):
            return None
        stored = cast("JsonMapping", native)
        if stored.get("provider") != self._provider:
            return None
        try:
            (message,) = types.ModelMessagesTypeAdapter.validate_python([stored.get("message")])
        except ValueError:
            return None
        return message if isinstance(message, types.ModelResponse) else None


def _from_turn(turn: AssistantMessage) -> "types.ModelResponse":
    parts: list[types.ModelResponsePart] = []
    if turn.text or not turn.tool_calls:
        parts.append(types.TextPart(turn.text or _EMPTY))
    parts.extend(types.ToolCallPart(use.name, use.arguments or {}, use.id) for use in turn.tool_calls)
    return types.ModelResponse(parts)


def _tool_call(call: "types.ToolCallPart") -> ToolCall:
    args = call.args
    if isinstance(args, dict):
        return ToolCall(call.tool_call_id, call.tool_name, args)
    text = args or ""
    if not text.strip():
        return ToolCall(call.tool_call_id, call.tool_name, {})
    if len(text) > MAX_ARGUMENTS:
        return ToolCall(call.tool_call_id, call.tool_name, None, text[: MAX_ARGUMENTS + 1])
    try:
        arguments = loads(text, max_bytes=4 * MAX_ARGUMENTS)
    except ParseError:
        arguments = None
    if not isinstance(arguments, dict):
        return ToolCall(call.tool_call_id, call.tool_name, None, text)
    return ToolCall(call.tool_call_id, call.tool_name, arguments)
