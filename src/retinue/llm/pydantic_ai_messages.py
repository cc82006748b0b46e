"""Turns as the messages of pydantic-ai, and its responses as turns.

What a provider said comes back to it exactly as it was, signed thinking included; another provider gets the plain turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, assert_never, cast

from retinue.contract.json import dumps, loads
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, ParseError

from .port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn, UserMessage
from .tool_calls import MAX_ARGUMENTS

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart, ToolCallPart

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
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415 - optional

        return {
            "provider": self.provider,
            "message": ModelMessagesTypeAdapter.dump_python([self.message], mode="json")[0],
        }


class MessageTranslator:
    """Translates for one provider.

    Args:
        provider: Whose own turns are sent back unchanged.
    """

    def __init__(self, provider: str) -> None:
        from pydantic_ai import messages  # noqa: PLC0415 - optional

        self._provider = provider
        self._types = messages

    def to_messages(self, turns: Sequence[Turn]) -> "list[ModelMessage]":
        """These turns as messages; what several turns of the asking side say follows each other in one message."""
        types = self._types
        messages: list[ModelMessage] = []
        parts: list[ModelRequestPart] = []
        for turn in turns:
            match turn:
                case UserMessage(text):
                    parts.append(types.UserPromptPart(text or _EMPTY))
                case ToolResults(answers):
                    parts.extend(self._tool_return(answer) for answer in answers)
                case AssistantMessage():
                    if parts:
                        messages.append(types.ModelRequest(parts))
                        parts = []
                    messages.append(self._native_message(turn) or self._from_turn(turn))
                case _:
                    assert_never(turn)
        if parts:
            messages.append(types.ModelRequest(parts))
        return messages

    def to_turn(self, message: "ModelResponse", *, output_tool: str = "") -> AssistantMessage:
        """What the provider said as a turn.

        Args:
            message: Its response.
            output_tool: The name of the tool whose arguments are the final answer; empty when there is none.
        """
        types = self._types
        texts: list[str] = []
        calls: list[ToolCallPart] = []
        output_call: ToolCallPart | None = None
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
                AssistantMessage("".join(texts), _tool_calls(calls))
                if calls
                else AssistantMessage(_arguments_text(output_call))
            )
        call_ids = [call.tool_call_id for call in calls]
        if "" in call_ids or len(set(call_ids)) < len(call_ids):
            calls, message = self._with_unique_ids(message, calls)
        tool_calls = _tool_calls(calls)
        is_complete = all(use.arguments is not None or len(use.raw) <= MAX_ARGUMENTS for use in tool_calls)
        return AssistantMessage(
            "".join(texts), tool_calls, native=NativeMessage(self._provider, message) if is_complete else None
        )

    def _with_unique_ids(
        self, message: "ModelResponse", calls: "list[ToolCallPart]"
    ) -> "tuple[list[ToolCallPart], ModelResponse]":
        """The response with an id for each call, and no id twice: their answers are paired by it."""
        used_ids: set[str] = {""}
        all_ids = {call.tool_call_id for call in calls}
        parts: list[ModelResponsePart] = []
        renamed: list[ToolCallPart] = []
        for part in message.parts:
            if not isinstance(part, self._types.ToolCallPart):
                parts.append(part)
                continue
            name, number = part.tool_call_id, 1
            while name in used_ids or (number > 1 and name in all_ids):
                number += 1
                name = f"{part.tool_call_id or 'use'}_{number}"
            used_ids.add(name)
            renamed.append(part if name == part.tool_call_id else replace(part, tool_call_id=name))
            parts.append(renamed[-1])
        return renamed, replace(message, parts=parts)

    def _native_message(self, turn: AssistantMessage) -> "ModelResponse | None":
        native: object = turn.native
        if isinstance(native, NativeMessage):
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

    def _from_turn(self, turn: AssistantMessage) -> "ModelResponse":
        types = self._types
        parts: list[ModelResponsePart] = []
        if turn.text or not turn.tool_calls:
            parts.append(types.TextPart(turn.text or _EMPTY))
        parts.extend(types.ToolCallPart(use.name, use.arguments or {}, use.id) for use in turn.tool_calls)
        return types.ModelResponse(parts)

    def _tool_return(self, answer: ToolResult) -> "ModelRequestPart":
        return self._types.ToolReturnPart(
            answer.name, answer.text or _EMPTY, answer.id, outcome="failed" if answer.failed else "success"
        )


def _tool_calls(calls: "Iterable[ToolCallPart]") -> tuple[ToolCall, ...]:
    return tuple(_tool_call(call) for call in calls)


def _tool_call(call: "ToolCallPart") -> ToolCall:
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


def _arguments_text(call: "ToolCallPart") -> str:
    """The arguments of the final answer as JSON text; whoever asked for it reads it strictly."""
    args = call.args
    if not isinstance(args, dict):
        return args or ""
    try:
        return dumps(args)
    except InvalidInput:
        return repr(args)
