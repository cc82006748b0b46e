"""How much the next request of a conversation may answer, and its whole size set aside in a purse.

What may be spent at all is the business of `purse`, how large a request is that of `sizes`.
"""

from collections.abc import Sequence
from typing import Final

from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded

from .port import LanguageModel, Request, Turn
from .purse import Hold, Purse
from .sizes import Sizes

__all__ = ["ANSWER", "SENSIBLE", "THOUGHT", "Allowance"]

ANSWER: Final = 4_096
"""Tokens that an answer may have when neither the request nor the model says."""

THOUGHT: Final = 16_384
"""The same where the model is asked to think: thinking counts as answer, and models that think have the room."""

SENSIBLE: Final = 1_024
"""Tokens that an answer should have at least, where the purse has them."""

_LEAST: Final = 16
"""With fewer tokens nothing is said that helps anybody."""


class Allowance:
    """What one conversation takes from a purse, request by request.

    Attributes:
        bound: The bound of the purse that made the last request shorter than it would have been, if one did.
    """

    def __init__(self, model: LanguageModel, request: Request, purse: Purse) -> None:
        self._model, self._purse, self._wanted = model, purse, request.max_tokens
        self._usual = model.max_output or (THOUGHT if request.effort else ANSWER)
        self._sizes = Sizes(request)
        self.bound: str | None = None

    async def hold(self, turns: Sequence[Turn]) -> tuple[int | None, Hold]:
        """Set aside what a request with these turns may take; while others hold what is missing, wait for them.

        Returns:
            The most tokens that the answer may have, and what was set aside. None leaves it to the provider, which only
            happens when nothing bounds tokens or money.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        while True:
            try:
                return self._hold(turns)
            except BudgetExceeded:
                if not self._purse.is_held:
                    raise
                await self._purse.let_go()

    def _hold(self, turns: Sequence[Turn]) -> tuple[int | None, Hold]:
        purse = self._purse
        self.bound = None
        if not purse.is_bounded:
            return self._wanted, purse.hold(tokens=0, usd=None)
        tokens, usd = purse.tokens_left, purse.usd_left
        tokens_in = self._sizes.tokens_in(turns)
        tokens_out = self._affordable(tokens_in, tokens, usd)
        price = self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)
        return tokens_out, purse.hold(tokens=tokens_in + tokens_out, usd=price)

    def settle(self, hold: Hold, usage: Usage, turns: Sequence[Turn]) -> None:
        """Book what a request took; `turns` ends with its answer."""
        hold.settle(usage)
        if self._purse.is_bounded and usage.tokens_in is not None and usage.tokens_out is not None:
            self._sizes.measured(usage.tokens_in + usage.tokens_out, turns)

    def _affordable(self, tokens_in: int, tokens: int | None, usd: float | None) -> int:
        """How long the answer may be: as wanted, else a share of what is left, so that others have some too."""
        wanted = self._wanted or self._usual
        left = [] if tokens is None else [("tokens", tokens - tokens_in)]
        if usd is not None:
            left.append(("cost_usd", self._bought(tokens_in, usd, wanted)))
        what, most = min(left, key=lambda each: each[1])
        if most < _LEAST:
            return min(wanted, SENSIBLE)
        share = most if self._wanted else max(most // 4, SENSIBLE)
        if min(share, most) >= wanted:
            return wanted
        self.bound = what
        return min(share, most)

    def _bought(self, tokens_in: int, usd: float, wanted: int) -> int:
        """How many tokens of an answer the money buys, at most `wanted` and a few more."""
        question = self._model.price(tokens_in=tokens_in, tokens_out=0)
        whole = self._model.price(tokens_in=tokens_in, tokens_out=wanted)
        if question is None or whole is None or whole <= usd / 4:
            return 4 * wanted
        if whole == question:
            return 4 * wanted if whole <= usd else 0
        return int((usd - question) / (whole - question) * wanted)
