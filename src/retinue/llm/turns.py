"""Turns as JSON data and back: for memos, recordings and journals.

What is read is somebody's stored data, so it is checked like anything else from outside. The provider's own form of a
turn rides along where it can be written; it is opened again by the provider that wrote it, not here.
"""

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, assert_never, cast, runtime_checkable

from retinue.contract.json import pointer
from retinue.contract.model import JsonMapping
from retinue.errors import ParseError

from .port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn, UserMessage


@runtime_checkable
class Writable(Protocol):
    """A provider's own form of a turn that can be written as JSON data."""

    def to_json(self) -> JsonMapping:
        """It as JSON data."""
        ...


def turns_to_json(turns: Sequence[Turn]) -> list[JsonMapping]:
    """These turns as JSON data; absent facts are left out."""
    return [turn_to_json(turn) for turn in turns]


def turns_from_json(data: object) -> tuple[Turn, ...]:
    """Read what `turns_to_json` wrote.

    Raises:
        ParseError: It is something else; `path` is the JSON Pointer of the place.
    """
    if not isinstance(data, list):
        _refuse("a list of turns", data, ())
    return tuple(turn_from_json(each, place=place) for place, each in enumerate(cast("list[object]", data)))


def turn_to_json(turn: Turn) -> JsonMapping:
    """This turn as JSON data."""
    match turn:
        case UserMessage(text):
            return {"said": text}
        case AssistantMessage():
            return _assistant_to_json(turn)
        case ToolResults(answers):
            return {"tool_answers": [_result_to_json(each) for each in answers]}
        case _:
            assert_never(turn)


def turn_from_json(data: object, *, place: int = 0) -> Turn:
    """Read what `turn_to_json` wrote.

    Args:
        data: The turn as data.
        place: Where it stands among others, for the error.

    Raises:
        ParseError: It is something else.
    """
    turn = _mapping(data, (place,))
    if "said" in turn:
        return UserMessage(_text(turn, "said", (place,)))
    if "tool_answers" in turn:
        results = _list(turn["tool_answers"], (place, "tool_answers"))
        return ToolResults(
            tuple(_result_from_json(each, (place, "tool_answers", number)) for number, each in enumerate(results))
        )
    if "answered" in turn:
        calls = _list(turn.get("uses", []), (place, "uses"))
        native = turn.get("native")
        return AssistantMessage(
            _text(turn, "answered", (place,)),
            tuple(_call_from_json(each, (place, "uses", number)) for number, each in enumerate(calls)),
            native=None if native is None else _mapping(native, (place, "native")),
        )
    return _refuse("a turn (`said`, `answered` or `tool_answers`)", data, (place,))


def _assistant_to_json(turn: AssistantMessage) -> JsonMapping:
    data: JsonMapping = {"answered": turn.text}
    if turn.tool_calls:
        data["uses"] = [_call_to_json(each) for each in turn.tool_calls]
    native: object = turn.native
    if native is None:  # which is cheap to see, and whether a thing fits a protocol is not
        return data
    if isinstance(native, Writable):
        data["native"] = native.to_json()
    elif isinstance(native, dict):
        data["native"] = cast("JsonMapping", native)
    return data


def _call_to_json(call: ToolCall) -> JsonMapping:
    data: JsonMapping = {"id": call.id, "name": call.name}
    if call.arguments is not None:
        data["arguments"] = call.arguments
    if call.raw:
        data["raw"] = call.raw
    return data


def _call_from_json(data: object, where: tuple[str | int, ...]) -> ToolCall:
    call = _mapping(data, where)
    arguments = call.get("arguments")
    return ToolCall(
        _text(call, "id", where),
        _text(call, "name", where),
        None if arguments is None else _mapping(arguments, (*where, "arguments")),
        _text(call, "raw", where) if "raw" in call else "",
    )


def _result_to_json(result: ToolResult) -> JsonMapping:
    data: JsonMapping = {"id": result.id, "name": result.name, "text": result.text}
    if result.failed:
        data["failed"] = True
    return data


def _result_from_json(data: object, where: tuple[str | int, ...]) -> ToolResult:
    result = _mapping(data, where)
    return ToolResult(
        _text(result, "id", where),
        _text(result, "name", where),
        _text(result, "text", where),
        result.get("failed") is True,
    )


def _mapping(data: object, where: tuple[str | int, ...]) -> dict[str, Any]:
    if not isinstance(data, dict):
        _refuse("an object", data, where)
    return cast("dict[str, Any]", data)


def _list(data: object, where: tuple[str | int, ...]) -> list[object]:
    if not isinstance(data, list):
        _refuse("a list", data, where)
    return cast("list[object]", data)


def _text(data: dict[str, Any], key: str, where: tuple[str | int, ...]) -> str:
    value: object = data.get(key)
    if not isinstance(value, str):
        _refuse("text", value, (*where, key))
    return value


def _refuse(expected: str, value: object, where: tuple[str | int, ...]) -> NoReturn:
    raise ParseError(
        f"A stored conversation needs {expected} here, not {type(value).__name__!r}.",
        hint="Use what `turns_to_json` wrote, unchanged.",
        path=pointer(where),
    )
