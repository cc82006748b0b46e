"""What one conversation of Claude Code's takes from a purse: set aside before each request that can be seen coming.

Those that it makes without a word to us (to have a refused object corrected, to go on with an answer that was cut) are
booked when they are over; the next one that would pass a bound is not made.
"""

from collections.abc import Sequence
from dataclasses import replace

from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded
from retinue.llm.allowance import Allowance
from retinue.llm.port import LanguageModel, Request, Turn
from retinue.llm.purse import Hold, Purse

__all__ = ["Spending"]


class Spending:
    """The account of one conversation.

    Attributes:
        max_tokens: How long each answer may be at most; None leaves it to Claude Code. It is told once, at the start.
        bound: The bound that made it shorter than it would have been.
    """

    def __init__(self, model: LanguageModel, request: Request, purse: Purse) -> None:
        self._model, self._request, self._purse = model, request, purse
        self._allowance = Allowance(model, request, purse)
        self._hold: Hold | None = None
        self._booked_tokens, self._booked_usd = 0, 0.0
        self.max_tokens: int | None = None
        self.bound = "model.max_output"

    async def begin(self, turns: Sequence[Turn]) -> None:
        """Set aside what the first request may take.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        self.max_tokens, self._hold = await self._allowance.hold(turns)
        self.bound = self._allowance.bound or self.bound
        self._allowance = Allowance(self._model, replace(self._request, max_tokens=self.max_tokens), self._purse)

    async def go_on(self, turns: Sequence[Turn]) -> None:
        """Set aside what the next request may take, unless that is done already.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        if self._hold is not None:
            return
        room, hold = await self._allowance.hold(turns)
        if self.max_tokens is not None and room is not None and room < self.max_tokens:
            hold.release()
            raise BudgetExceeded(
                f"The next model call was not made: {room:,} tokens are left for an answer of {self.max_tokens:,}.",
                hint="Raise the budget, or ask for less.",
                detail={"bound": self._allowance.bound or "tokens"},
            )
        self._hold = hold

    def answered(self, usage: Usage, turns: Sequence[Turn]) -> None:
        """A request was answered; `turns` end with its answer."""
        if self._hold is not None:
            hold, self._hold = self._hold, None
            self._allowance.settle(hold, usage, turns)
        else:
            self._purse.book(tokens=usage.tokens or 0, usd=usage.known_usd or 0.0, requests=1)
            self._purse.used.append(usage)
        self._booked_tokens += usage.tokens or 0
        self._booked_usd += usage.known_usd or 0.0

    def end(self, told: Usage | None, *, unspent: bool) -> None:
        """It is over.

        Args:
            told: What Claude Code says that all took together: more than was seen, when it asked for ends of its own.
            unspent: What is set aside was not used, or was refused before anything was spent.
        """
        if self._hold is not None:
            hold, self._hold = self._hold, None
            if unspent:
                hold.release()
            else:
                hold.settle(Usage())
        if told is not None:
            tokens = max(0, (told.tokens or 0) - self._booked_tokens)
            usd = max(0.0, (told.known_usd or 0.0) - self._booked_usd)
            if tokens or usd:
                self._purse.book(tokens=tokens, usd=usd)
