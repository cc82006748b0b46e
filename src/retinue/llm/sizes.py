"""How many tokens the next request may take, before anybody is asked. Never too few on purpose: a budget relies on it.

What the provider counted last time is better than any estimate of ours, so only what is new since then is estimated.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from retinue.contract.json import dumps
from retinue.contract.tokens import get_counter
from retinue.errors import InvalidInput

from .port import AssistantMessage, Request, ToolResults, Turn, UserMessage

MARGIN: Final = 1.25
"""What an estimate is multiplied with: our counter is up to 9 % off, and not every model cuts text like the one it was
measured against."""

_TURN: Final = 8
"""Tokens that a provider puts around a turn."""

_TOOLS: Final = 400
"""Tokens of a provider's own words about tools, when there are any."""


class RequestSizer:
    """The size of a conversation's next request.

    Args:
        request: What it begins with.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._counted_turns = 0
        self._tokens = 0

    def tokens_in(self, turns: Sequence[Turn]) -> int:
        """The most tokens a request with these turns should take; each turn is looked at once."""
        if not self._counted_turns:
            self._tokens = _fixed_tokens(self._request)
        self._tokens += sum((_tokens_with_margin(turn_text(turn)) + _TURN) for turn in turns[self._counted_turns :])
        self._counted_turns = len(turns)
        return self._tokens

    def set_measured(self, tokens: int, turns: Sequence[Turn]) -> None:
        """The provider counted `tokens` for these turns, the last one its answer."""
        self._tokens, self._counted_turns = tokens, len(turns)


def turn_text(turn: Turn) -> str:
    """The words of a turn, as they are counted."""
    match turn:
        case UserMessage(text):
            return text
        case AssistantMessage(text, uses):
            return "\n".join((text, *(f"{call.name} {call.raw or _json(call.arguments)}" for call in uses)))
        case ToolResults(results):
            return "\n".join(result.text for result in results)
        case _:
            assert_never(turn)


def _fixed_tokens(request: Request) -> int:
    words = [request.instructions]
    words += [f"{tool.name} {tool.description} {_json(tool.input_schema)}" for tool in request.tools]
    if request.shape:
        words.append(f"{request.shape.name} {request.shape.description} {_json(request.shape.schema)}")
    return _tokens_with_margin("\n".join(words)) + (_TOOLS if request.tools or request.shape else 0)


def _tokens_with_margin(text: str) -> int:
    return int(get_counter().count(text) * MARGIN) + 1


def _json(value: object) -> str:
    try:
        return dumps(value)
    except InvalidInput:
        return repr(value)
