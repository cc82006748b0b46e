"""The size of a conversation's next request, how long its answer may be, and both set aside in a `BudgetTracker`.

An estimate is never too small on purpose, because a budget relies on it. What the provider counted last time is better
than any estimate of ours, so only what is new since then is estimated.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from retinue.contract.result import Usage
from retinue.contract.tokens import get_counter
from retinue.errors import BudgetExceeded

from .budget_tracker import BudgetTracker, Reservation
from .port import AssistantMessage, LanguageModel, Request, ToolResults, Turn, UserMessage
from .tool_calls import json_text

ANSWER_TOKENS: Final = 4_096
"""Tokens that an answer may have when neither the request nor the model says."""

THINKING_TOKENS: Final = 16_384
"""The same where the model is asked to think: thinking counts as answer, and models that think have the room."""

SENSIBLE_TOKENS: Final = 1_024
"""Tokens that an answer should have at least, where the budget has them."""

_MIN_TOKENS: Final = 16
"""An answer with fewer tokens helps nobody."""


class ConversationBudget:
    """What one conversation takes from a budget, request by request.

    Attributes:
        bound: The bound of the budget that made the last request shorter than it would have been, if one did.
    """

    def __init__(self, model: LanguageModel, request: Request, budget_tracker: BudgetTracker) -> None:
        self._model, self._budget_tracker, self._max_tokens = model, budget_tracker, request.max_tokens
        self._default = model.max_output or (THINKING_TOKENS if request.effort else ANSWER_TOKENS)
        self._sizer = RequestSizer(request)
        self.bound: str | None = None

    async def reserve(self, turns: Sequence[Turn]) -> tuple[int | None, Reservation]:
        """Set aside what a request with these turns may take; while others hold what is missing, wait for them.

        Before that it waits as the tracker says.

        Returns:
            The most tokens that the answer may have, and what was set aside. None leaves it to the provider, which only
            happens when nothing bounds tokens or money.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        tracker = self._budget_tracker
        if tracker.before_request is not None:
            await tracker.before_request(self._model.name)
        while True:
            try:
                self.bound = None
                if not tracker.is_bounded:
                    return self._max_tokens, tracker.reserve(tokens=0, usd=None)
                tokens_in = self._sizer.tokens_in(turns)
                tokens_out = self._affordable_tokens(tokens_in, tracker.tokens_left, tracker.usd_left)
                price = self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)
                return tokens_out, tracker.reserve(tokens=tokens_in + tokens_out, usd=price)
            except BudgetExceeded:
                if not tracker.has_reservations:
                    raise
                await tracker.wait_for_release()

    def commit(self, reservation: Reservation, usage: Usage, turns: Sequence[Turn]) -> None:
        """Book what a request took; `turns` ends with its answer."""
        reservation.commit(usage)
        if self._budget_tracker.is_bounded and usage.tokens_in is not None and usage.tokens_out is not None:
            self._sizer.set_measured(usage.tokens_in + usage.tokens_out, turns)

    def _affordable_tokens(self, tokens_in: int, tokens: int | None, usd: float | None) -> int:
        """How long the answer may be: as wanted, else a share of what is left, so that others have some too."""
        target = self._max_tokens or self._default
        remaining = [] if tokens is None else [("tokens", tokens - tokens_in)]
        if usd is not None:
            remaining.append(("cost_usd", self._tokens_for(tokens_in, usd, target)))
        what, most = min(remaining, key=lambda each: each[1])
        if most < _MIN_TOKENS:
            return min(target, SENSIBLE_TOKENS)
        share = most if self._max_tokens else max(most // 4, SENSIBLE_TOKENS)
        if min(share, most) >= target:
            return target
        self.bound = what
        return min(share, most)

    def _tokens_for(self, tokens_in: int, usd: float, target: int) -> int:
        """How many tokens of an answer the money buys, at most `target` and a few more."""
        question = self._model.price(tokens_in=tokens_in, tokens_out=0)
        whole = self._model.price(tokens_in=tokens_in, tokens_out=target)
        if question is None or whole is None or whole <= usd / 4:
            return 4 * target
        if whole == question:
            return 4 * target if whole <= usd else 0
        return int((usd - question) / (whole - question) * target)


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
        request: The first request.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._counted_turns = 0
        self._tokens = 0

    def tokens_in(self, turns: Sequence[Turn]) -> int:
        """The most tokens a request with these turns should take; each turn is counted once."""
        if not self._counted_turns:
            request, shape = self._request, self._request.shape
            words = [request.instructions]
            words += [f"{tool.name} {tool.description} {json_text(tool.input_schema)}" for tool in request.tools]
            if shape:
                words.append(f"{shape.name} {shape.description} {json_text(shape.schema)}")
            self._tokens = _tokens_with_margin("\n".join(words)) + (_TOOLS if request.tools or shape else 0)
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
        case AssistantMessage(text, calls):
            return "\n".join((text, *(f"{call.name} {call.raw or json_text(call.arguments)}" for call in calls)))
        case ToolResults(results):
            return "\n".join(result.text for result in results)
        case _:
            assert_never(turn)


def _tokens_with_margin(text: str) -> int:
    return int(get_counter().count(text) * MARGIN) + 1
