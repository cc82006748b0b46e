"""How much the next request of a conversation may answer, and its whole size set aside in a purse.

What may be spent at all is the business of `budget_tracker`, how large a request is that of `sizes`.
"""

from collections.abc import Sequence
from typing import Final

from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded

from .budget_tracker import BudgetTracker, Reservation
from .port import LanguageModel, Request, Turn
from .sizes import RequestSizer

ANSWER_TOKENS: Final = 4_096
"""Tokens that an answer may have when neither the request nor the model says."""

THINKING_TOKENS: Final = 16_384
"""The same where the model is asked to think: thinking counts as answer, and models that think have the room."""

SENSIBLE_TOKENS: Final = 1_024
"""Tokens that an answer should have at least, where the purse has them."""

_MIN_TOKENS: Final = 16
"""With fewer tokens nothing is said that helps anybody."""


class ConversationBudget:
    """What one conversation takes from a purse, request by request.

    Attributes:
        bound: The bound of the purse that made the last request shorter than it would have been, if one did.
    """

    def __init__(self, model: LanguageModel, request: Request, budget_tracker: BudgetTracker) -> None:
        self._model, self._budget_tracker, self._max_tokens = model, budget_tracker, request.max_tokens
        self._default = model.max_output or (THINKING_TOKENS if request.effort else ANSWER_TOKENS)
        self._sizer = RequestSizer(request)
        self.bound: str | None = None

    async def reserve(self, turns: Sequence[Turn]) -> tuple[int | None, Reservation]:
        """Set aside what a request with these turns may take; while others hold what is missing, wait for them.

        Returns:
            The most tokens that the answer may have, and what was set aside. None leaves it to the provider, which only
            happens when nothing bounds tokens or money.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        while True:
            try:
                budget_tracker = self._budget_tracker
                self.bound = None
                if not budget_tracker.is_bounded:
                    return self._max_tokens, budget_tracker.reserve(tokens=0, usd=None)
                tokens, usd = budget_tracker.tokens_left, budget_tracker.usd_left
                tokens_in = self._sizer.tokens_in(turns)
                tokens_out = self._affordable_tokens(tokens_in, tokens, usd)
                price = self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)
                return tokens_out, budget_tracker.reserve(tokens=tokens_in + tokens_out, usd=price)
            except BudgetExceeded:
                if not self._budget_tracker.has_reservations:
                    raise
                await self._budget_tracker.wait_for_release()

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
