"""What may still be spent, kept while it is spent: a call that might pass a bound is not made.

Before each call its whole possible size is held; afterwards what it really took is booked and the rest let go. So
several conversations of one run can share a purse and never spend more than there is, together.
"""

from dataclasses import dataclass
from typing import Final

from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded

__all__ = ["Hold", "Purse"]

_SLACK: Final = 1e-12


class Purse:
    """Bounds on requests, tokens and money, and what is left of them. Absent bounds never end.

    Args:
        tokens: In and out together.
        usd: US dollars.
        requests: Calls of a model.
        above: The purse this one is a part of; what is spent here is spent there.
        name: Whose bounds these are, as a fault names them: `run.budget`, `task.limits`, `runner`.
    """

    __slots__ = (
        "_above",
        "_held_requests",
        "_held_tokens",
        "_held_usd",
        "_name",
        "_requests",
        "_tokens",
        "_usd",
        "spent_requests",
        "spent_tokens",
        "spent_usd",
    )

    def __init__(
        self,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        requests: int | None = None,
        above: "Purse | None" = None,
        name: str = "run.budget",
    ) -> None:
        self._tokens, self._usd, self._requests = tokens, usd, requests
        self._above, self._name = above, name
        self._held_tokens, self._held_usd, self._held_requests = 0, 0.0, 0
        self.spent_tokens, self.spent_usd, self.spent_requests = 0, 0.0, 0

    @property
    def tokens_left(self) -> int | None:
        """Tokens that are neither spent nor held, here and above; None when nothing bounds them."""
        mine = None if self._tokens is None else max(0, self._tokens - self.spent_tokens - self._held_tokens)
        above = self._above.tokens_left if self._above else None
        return min((each for each in (mine, above) if each is not None), default=None)

    @property
    def usd_left(self) -> float | None:
        """Money that is neither spent nor held, here and above; None when nothing bounds it."""
        mine = None if self._usd is None else max(0.0, self._usd - self.spent_usd - self._held_usd)
        above = self._above.usd_left if self._above else None
        return min((each for each in (mine, above) if each is not None), default=None)

    def hold(self, *, tokens: int, usd: float | None) -> "Hold":
        """Set aside what a call may take at most.

        Args:
            tokens: In and out together.
            usd: None when the price is not known; then a bound on money cannot be kept, and the call is refused.

        Raises:
            BudgetExceeded: It might pass a bound; `detail["bound"]` names it.
        """
        purse: Purse | None = self
        while purse is not None:
            purse._see_room(tokens, usd)
            purse = purse._above
        held = Hold(self, tokens, usd or 0.0)
        self._set_aside(tokens, usd or 0.0, 1)
        return held

    def _see_room(self, tokens: int, usd: float | None) -> None:
        if self._requests is not None and self.spent_requests + self._held_requests >= self._requests:
            raise self._exceeded("requests", f"all {self._requests} requests of a model are used up")
        if self._tokens is not None and self.spent_tokens + self._held_tokens + tokens > self._tokens:
            left = max(0, self._tokens - self.spent_tokens - self._held_tokens)
            raise self._exceeded(
                "tokens", f"{left} of {self._tokens} tokens are left, and the next call may take {tokens}"
            )
        if self._usd is None:
            return
        if usd is None:
            raise self._exceeded("cost_usd", "the price of the model is not known, so a bound on money cannot be kept")
        if self.spent_usd + self._held_usd + usd > self._usd + _SLACK:
            left_usd = max(0.0, self._usd - self.spent_usd - self._held_usd)
            raise self._exceeded(
                "cost_usd", f"{left_usd:.4f} of {self._usd:.4f} USD are left, and the next call may take {usd:.4f}"
            )

    def _exceeded(self, what: str, why: str) -> BudgetExceeded:
        bound = f"{self._name}.{what}"
        hint = f"Raise `{bound}`, or ask for less."
        return BudgetExceeded(
            f"The next call of a model is not made: {why} (`{bound}`).",
            hint=hint,
            suggestions=(hint,),
            detail={"bound": bound},
        )

    def _set_aside(self, tokens: int, usd: float, requests: int) -> None:
        self._held_tokens += tokens
        self._held_usd += usd
        self._held_requests += requests
        if self._above:
            self._above._set_aside(tokens, usd, requests)

    def _book(self, tokens: int, usd: float) -> None:
        self.spent_tokens += tokens
        self.spent_usd += usd
        self.spent_requests += 1
        if self._above:
            self._above._book(tokens, usd)


@dataclass(slots=True)
class Hold:
    """What is set aside for one call. Settle it or release it, once."""

    _purse: Purse
    _tokens: int
    _usd: float
    _open: bool = True

    def settle(self, usage: Usage) -> None:
        """Book what the call took. What nobody counted is booked as held: nobody knows that it was less."""
        if self._open:
            self.release()
            tokens = usage.tokens
            self._purse._book(  # pyright: ignore[reportPrivateUsage] - the two are one thing  # noqa: SLF001
                self._tokens if tokens is None else tokens, usage.cost.usd if usage.cost else self._usd
            )

    def release(self) -> None:
        """Let it go: the call was not made, or was refused before anything was spent."""
        if self._open:
            self._open = False
            self._purse._set_aside(-self._tokens, -self._usd, -1)  # pyright: ignore[reportPrivateUsage] - as above  # noqa: SLF001
