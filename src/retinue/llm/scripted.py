"""Models that say what they are told to: for tests of agents, with no provider and nothing installed.

They stand in for a model's judgement only: whatever is around it (tools, permissions, budgets, corrections) is real.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Cost, Usage
from retinue.contract.tokens import DEFAULT, counter
from retinue.errors import Unavailable

from .port import Answered, Hear, Request, Response, Said, ToolAnswers, ToolUse, Turn

__all__ = ["Line", "ScriptedModel", "use"]

Line: TypeAlias = str | JsonMapping | ToolUse | tuple[ToolUse, ...] | Answered | Response | Exception
"""One response: text, an object (as JSON text), tools to use, a whole turn or response, or an error to raise."""


def use(name: str, /, *, id: str = "", **arguments: object) -> ToolUse:  # noqa: A002 - the word of every provider
    """A use of the tool `name`; without an `id` it gets one when it is said."""
    return ToolUse(id, name, dict(arguments))


class ScriptedModel:
    """A model that follows a script.

    Args:
        script: Its lines in order, or a function that gives the line for a request.
        name: What it is called, as `provider:model`.
        usd_per_million: What a million tokens costs, in and out alike; None when it has no price.

    Attributes:
        asked: Every request so far.
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
        self.asked: list[Request] = []
        self._next = script if callable(script) else _in_order(tuple(script), name)
        self._usd_per_million = usd_per_million

    async def respond(self, request: Request, *, hear: Hear | None = None) -> Response:
        """The next line. Tokens are counted by our own counter, which the usage names.

        Raises:
            Unavailable: The script is at its end.
        """
        self.asked.append(request)
        line = self._next(request)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Response):
            response = line
        else:
            whole = _turn(line, len(self.asked))
            turn = _within(whole, request.max_tokens)
            stop = "length" if turn != whole else "tools" if turn.uses else "end"
            response = Response(turn, self._usage(request, turn), stop)
        if hear is not None and response.turn.text:
            hear(response.turn.text)
        return response

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """By `usd_per_million`."""
        return None if self._usd_per_million is None else (tokens_in + tokens_out) * self._usd_per_million / 1e6

    def _usage(self, request: Request, turn: Answered) -> Usage:
        count = counter().count
        tokens_in = count(request.instructions) + sum(count(_text(each)) for each in request.turns)
        tokens_out = count(_text(turn))
        usd = self.price(tokens_in=tokens_in, tokens_out=tokens_out)
        cost = None if usd is None else Cost(usd=usd, price_id=self.name, price_date="1970-01-01")
        return Usage(
            tokens_in=tokens_in, tokens_out=tokens_out, requests=1, cost=cost, model=self.name, counter=DEFAULT
        )


def _in_order(lines: tuple[Line, ...], name: str) -> Callable[[Request], Line]:
    left = iter(lines)

    def following(_: Request) -> Line:
        for line in left:
            return line
        raise Unavailable(
            f"The script of `{name}` ended after {len(lines)} responses.",
            hint="Give it more lines, or a function.",
            detail={"retryable": False},
        )

    return following


def _turn(line: "str | JsonMapping | ToolUse | tuple[ToolUse, ...] | Answered", number: int) -> Answered:
    match line:
        case Answered():
            return line
        case str():
            return Answered(line)
        case ToolUse():
            return _turn((line,), number)
        case tuple():
            named = (
                each if each.id else replace(each, id=f"use_{number}_{place}") for place, each in enumerate(line, 1)
            )
            return Answered(uses=tuple(named))
        case _:
            return Answered(dumps(line))


def _within(turn: Answered, max_tokens: int | None) -> Answered:
    """`turn` cut where a provider would have stopped: a bound on tokens relies on that."""
    count = counter().count
    while max_tokens is not None and (tokens := count(_text(turn))) > max_tokens:
        if turn.uses:
            turn = replace(turn, uses=turn.uses[:-1])
        else:
            turn = replace(turn, text=turn.text[: len(turn.text) * max_tokens // tokens])
    return turn


def _text(turn: Turn) -> str:
    match turn:
        case Said(text):
            return text
        case Answered(text, uses):
            return " ".join((text, *(f"{each.name} {each.raw or dumps(each.arguments)}" for each in uses)))
        case ToolAnswers(answers):
            return " ".join(each.text for each in answers)
