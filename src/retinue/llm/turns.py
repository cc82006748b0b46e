"""Turns as JSON data and back: for checkpoints, recordings and journals.

Stored data is checked like anything else from outside. The provider's own form of a turn is kept where it can be
written; only the provider that wrote it reads it again.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol, Required, assert_never, cast, runtime_checkable

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from retinue.contract.finding import findings_of
from retinue.contract.model import JsonMapping
from retinue.errors import ParseError

from .port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn, UserMessage


@runtime_checkable
class Writable(Protocol):
    """A provider's own form of a turn that can be written as JSON data."""

    def to_json(self) -> JsonMapping:
        """It as JSON data."""
        ...


class _CallData(TypedDict, total=False):
    id: Required[str]
    name: Required[str]
    arguments: dict[str, Any] | None
    raw: str


class _ResultData(TypedDict, total=False):
    id: Required[str]
    name: Required[str]
    text: Required[str]
    failed: Any


class _TurnData(TypedDict, total=False):
    """One of `said`, `answered` and `tool_answers` says whose turn it is."""

    said: str
    answered: str
    uses: list[_CallData]
    native: dict[str, Any] | None
    tool_answers: list[_ResultData]


_TURNS: Final = TypeAdapter(list[_TurnData], config=ConfigDict(strict=True, defer_build=True))


def turns_to_json(turns: Sequence[Turn]) -> list[JsonMapping]:
    """These turns as JSON data; absent facts are left out."""
    return [turn_to_json(turn) for turn in turns]


def turn_to_json(turn: Turn) -> JsonMapping:
    """This turn as JSON data."""
    match turn:
        case UserMessage(text):
            return {"said": text}
        case ToolResults(results):
            return {
                "tool_answers": [
                    {"id": each.id, "name": each.name, "text": each.text} | ({"failed": True} if each.failed else {})
                    for each in results
                ]
            }
        case AssistantMessage(text, tool_calls, native):
            data: JsonMapping = {"answered": text}
            if tool_calls:
                data["uses"] = [
                    {"id": each.id, "name": each.name}
                    | ({} if each.arguments is None else {"arguments": each.arguments})
                    | ({"raw": each.raw} if each.raw else {})
                    for each in tool_calls
                ]
            if isinstance(native, dict):
                data["native"] = cast("JsonMapping", native)
            elif native is not None and isinstance(native, Writable):  # a look at a protocol is slow
                data["native"] = native.to_json()
            return data
        case _:
            assert_never(turn)


def turns_from_json(data: object) -> tuple[Turn, ...]:
    """Read what `turns_to_json` wrote.

    Raises:
        ParseError: It is something else; `path` is the JSON Pointer of the place.
    """
    try:
        turns = _TURNS.validate_python(data)
    except ValidationError as error:
        finding = findings_of(error, rule="conversation/stored")[0]
        raise _not_a_conversation(finding.message, finding.path or "") from None
    return tuple(_turn_from_data(turn, place) for place, turn in enumerate(turns))


def turn_from_json(data: object) -> Turn:
    """Read what `turn_to_json` wrote.

    Raises:
        ParseError: It is something else.
    """
    return turns_from_json([data])[0]


def _turn_from_data(turn: _TurnData, place: int) -> Turn:
    if "said" in turn:
        return UserMessage(turn["said"])
    if "tool_answers" in turn:
        results = turn["tool_answers"]
        return ToolResults(
            tuple(
                ToolResult(each["id"], each["name"], each["text"], failed=each.get("failed") is True)
                for each in results
            )
        )
    if "answered" in turn:
        calls = (
            ToolCall(each["id"], each["name"], each.get("arguments"), each.get("raw", ""))
            for each in turn.get("uses", ())
        )
        return AssistantMessage(turn["answered"], tuple(calls), native=turn.get("native"))
    raise _not_a_conversation("A turn needs `said`, `answered` or `tool_answers`.", f"/{place}")


def _not_a_conversation(why: str, path: str) -> ParseError:
    return ParseError(
        f"This is not a stored conversation: {why}", hint="Use what `turns_to_json` wrote, unchanged.", path=path
    )
