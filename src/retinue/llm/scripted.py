"""Models that answer from a script: for tests of agents, with no provider and nothing installed.

They stand in for a model's judgement only: whatever is around it (tools, permissions, budgets, corrections) is real.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.old_names import with_old_names
from retinue.contract.result import Cost, Usage
from retinue.contract.tokens import DEFAULT, get_counter
from retinue.errors import Unavailable

from .conversation_budget import turn_text
from .port import AssistantMessage, OnText, Request, Response, ToolCall

Line: TypeAlias = str | JsonMapping | ToolCall | tuple[ToolCall, ...] | AssistantMessage | Response | Exception
"""One response: text, an object (as JSON text), tools to use, a whole turn or response, or an error to raise."""


def tool_call(name: str, /, *, id: str = "", **arguments: object) -> ToolCall:  # noqa: A002 - the word of every provider
    """A use of the tool `name`; without an `id` it gets one when it is said."""
    return ToolCall(id, name, dict(arguments))


@with_old_names(asked="requests")
class ScriptedModel:
    """A model that follows a script.

    Args:
        script: Its lines in order, or a function that gives the line for a request.
        name: What it is called, as `provider:model`.
        usd_per_million: What a million tokens costs, in and out alike; None when it has no price.

    Attributes:
        requests: Every request so far.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[Request], Line],
        *,
        name: str = "scripted:model",
        usd_per_million: float | None = None,
        max_output: int | None = 1_000,
    ) -> None:
        self.name = name
        self.max_output = max_output
        self.requests: list[Request] = []
        self._next = script if callable(script) else _in_order(tuple(script), name)
        self._usd_per_million = usd_per_million

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """The next line. Tokens are counted by our own counter, which the usage names.

        Raises:
            Unavailable: The script is at its end.
        """
        self.requests.append(request)
        line = self._next(request)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Response):
            response = line
        else:
            whole = _turn(line, len(self.requests))
            turn = _truncated(whole, request.max_tokens)
            stop = "length" if turn != whole else "tools" if turn.tool_calls else "end"
            response = Response(turn, self._usage(request, turn), stop)
        if on_text is not None and response.turn.text:
            on_text(response.turn.text)
        return response

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """By `usd_per_million`."""
        return None if self._usd_per_million is None else (tokens_in + tokens_out) * self._usd_per_million / 1e6

    def _usage(self, request: Request, turn: AssistantMessage) -> Usage:
        count = get_counter().count
        tokens_in = count(request.instructions) + sum(count(turn_text(each)) for each in request.turns)
        tokens_out = count(turn_text(turn))
        usd = self.price(tokens_in=tokens_in, tokens_out=tokens_out)
        cost = None if usd is None else Cost(usd=usd, price_id=self.name, price_date="1970-01-01")
        return Usage(
            tokens_in=tokens_in, tokens_out=tokens_out, requests=1, cost=cost, model=self.name, counter=DEFAULT
        )


def _in_order(lines: tuple[Line, ...], name: str) -> Callable[[Request], Line]:
    remaining = iter(lines)

    def next_line(_: Request) -> Line:
        for line in remaining:
            return line
        raise Unavailable(
            f"The script of `{name}` ended after {len(lines)} responses.",
            hint="Give it more lines, or a function.",
            detail={"retryable": False},
        )

    return next_line


def _turn(
    line: "str | JsonMapping | ToolCall | tuple[ToolCall, ...] | AssistantMessage", number: int
) -> AssistantMessage:
    match line:
        case AssistantMessage():
            return line
        case str():
            return AssistantMessage(line)
        case ToolCall():
            return _turn((line,), number)
        case tuple():
            with_ids = (
                each if each.id else replace(each, id=f"use_{number}_{place}") for place, each in enumerate(line, 1)
            )
            return AssistantMessage(tool_calls=tuple(with_ids))
        case _:
            return AssistantMessage(dumps(line))


def _truncated(turn: AssistantMessage, max_tokens: int | None) -> AssistantMessage:
    """`turn` cut where a provider would have stopped: a bound on tokens relies on that."""
    count = get_counter().count
    while max_tokens is not None and (tokens := count(turn_text(turn))) > max_tokens:
        if turn.tool_calls:
            turn = replace(turn, tool_calls=turn.tool_calls[:-1])
        else:
            turn = replace(turn, text=turn.text[: len(turn.text) * max_tokens // tokens])
    return turn
