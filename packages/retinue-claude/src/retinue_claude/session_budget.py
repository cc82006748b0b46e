"""What one conversation of Claude Code's takes from a budget: set aside before each request that can be seen coming.

Those that it makes without a word to us (to have a refused object corrected, to go on with an answer that was cut) are
booked when they are over; the next one that would pass a bound is not made.
"""

from collections.abc import Sequence
from dataclasses import replace

from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded
from retinue.llm.budget_tracker import BudgetTracker, Reservation
from retinue.llm.conversation_budget import ConversationBudget
from retinue.llm.port import LanguageModel, Request, Turn


class SessionBudget:
    """The account of one conversation.

    Attributes:
        max_tokens: How long each answer may be at most; None leaves it to Claude Code. It is told once, at the start.
        bound: The bound that made it shorter than it would have been.
    """

    def __init__(self, model: LanguageModel, request: Request, budget_tracker: BudgetTracker) -> None:
        self._model, self._request, self._budget_tracker = model, request, budget_tracker
        self._conversation_budget = ConversationBudget(model, request, budget_tracker)
        self._reservation: Reservation | None = None
        self._booked_tokens, self._booked_usd = 0, 0.0
        self.max_tokens: int | None = None
        self.bound = "model.max_output"

    async def begin(self, turns: Sequence[Turn]) -> None:
        """Set aside what the first request may take.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        self.max_tokens, self._reservation = await self._conversation_budget.reserve(turns)
        self.bound = self._conversation_budget.bound or self.bound
        self._conversation_budget = ConversationBudget(
            self._model, replace(self._request, max_tokens=self.max_tokens), self._budget_tracker
        )

    async def go_on(self, turns: Sequence[Turn]) -> None:
        """Set aside what the next request may take, unless that is done already.

        Raises:
            BudgetExceeded: It might pass a bound.
        """
        if self._reservation is not None:
            return
        room, reservation = await self._conversation_budget.reserve(turns)
        if self.max_tokens is not None and room is not None and room < self.max_tokens:
            reservation.release()
            raise BudgetExceeded(
                f"The next model call was not made: {room:,} tokens are left for an answer of {self.max_tokens:,}.",
                hint="Raise the budget, or ask for less.",
                detail={"bound": self._conversation_budget.bound or "tokens"},
            )
        self._reservation = reservation

    def commit(self, usage: Usage, turns: Sequence[Turn]) -> None:
        """A request was answered; `turns` end with its answer."""
        if self._reservation is not None:
            reservation, self._reservation = self._reservation, None
            self._conversation_budget.commit(reservation, usage, turns)
        else:
            self._budget_tracker.charge(tokens=usage.tokens or 0, usd=usage.known_usd or 0.0, requests=1)
            self._budget_tracker.usages.append(usage)
        self._booked_tokens += usage.tokens or 0
        self._booked_usd += usage.known_usd or 0.0

    def end(self, reported: Usage | None, *, unspent: bool) -> None:
        """It is over.

        Args:
            reported: What Claude Code says that all took together: more than was seen, when it asked for ends of its
                own.
            unspent: What is set aside was not used, or was refused before anything was spent.
        """
        if self._reservation is not None:
            reservation, self._reservation = self._reservation, None
            if unspent:
                reservation.release()
            else:
                reservation.commit(Usage())
        if reported is not None:
            tokens = max(0, (reported.tokens or 0) - self._booked_tokens)
            usd = max(0.0, (reported.known_usd or 0.0) - self._booked_usd)
            if tokens or usd:
                self._budget_tracker.charge(tokens=tokens, usd=usd)
