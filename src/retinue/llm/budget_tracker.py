"""What may still be spent, kept while it is spent: a call that might pass a bound is not made.

Before each call its whole possible size is held; afterwards what it really took is booked and the rest let go. So
several conversations of one run can share a tracker and never spend more than there is, together.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from retinue.contract.old_names import with_old_names
from retinue.contract.result import Usage
from retinue.errors import BudgetExceeded

if TYPE_CHECKING:
    from asyncio import Future

OnUsage: TypeAlias = Callable[[Usage], None]
"""Hears what a call took, as soon as that is settled."""

BeforeRequest: TypeAlias = Callable[[str], Awaitable[None]]
"""Waits until the model of that name may be asked."""

_SLACK: Final = 1e-12
_SMALLEST: Final = 1e-3


@with_old_names(book="charge", hold="reserve", see_room="check_available")
@dataclass(slots=True)
class BudgetScope:
    """One set of bounds, and what is spent and reserved of them. Only a `BudgetTracker` writes in it."""

    name: str
    tokens: int | None = None
    usd: float | None = None
    requests: int | None = None
    spent_tokens: int = 0
    spent_usd: float = 0.0
    spent_requests: int = 0
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
    reserved_requests: int = 0
    waiters: "list[Future[None]]" = field(default_factory=list)

    @property
    def tokens_left(self) -> int | None:
        """Tokens that are neither spent nor held; None when nothing bounds them."""
        return None if self.tokens is None else max(0, self.tokens - self.spent_tokens - self.reserved_tokens)

    @property
    def usd_left(self) -> float | None:
        """Money that is neither spent nor held; None when nothing bounds it."""
        return None if self.usd is None else max(0.0, self.usd - self.spent_usd - self.reserved_usd)

    def check_available(self, tokens: int, usd: float | None) -> None:
        """See that a call of this size passes no bound.

        Raises:
            BudgetExceeded: It might.
        """
        if self.requests is not None and self.spent_requests + self.reserved_requests >= self.requests:
            raise self._exceeded("requests", f"all {self.requests} requests of a model are used up")
        if self.tokens is not None and self.spent_tokens + self.reserved_tokens + tokens > self.tokens:
            why = f"{self.tokens_left:,} of {self.tokens:,} tokens are left, and the next call may take {tokens:,}"
            raise self._exceeded("tokens", why)
        if self.usd is None:
            return
        if usd is None:
            why = "the price of the model is not known, so a bound on money cannot be kept"
            hint = f"Set a price of your own as `models.prices`, or leave `{self.name}.cost_usd` out."
            raise self._exceeded("cost_usd", why, hint)
        if self.spent_usd + self.reserved_usd + usd > self.usd + _SLACK:
            remaining = self.usd_left or 0.0
            why = f"{_amount(remaining)} of {_amount(self.usd)} USD are left, and the next call may take {_amount(usd)}"
            raise self._exceeded("cost_usd", why)

    def reserve(self, tokens: int, usd: float, requests: int) -> None:
        """Hold more, or with negative numbers less; then whoever waits for that looks again."""
        self.reserved_tokens += tokens
        self.reserved_usd += usd
        self.reserved_requests += requests
        if requests < 0:
            for future in self.waiters:
                if not future.done():
                    future.set_result(None)

    def charge(self, tokens: int, usd: float) -> None:
        """One call took this."""
        self.spent_tokens += tokens
        self.spent_usd += usd
        self.spent_requests += 1

    def _exceeded(self, what: str, why: str, hint: str = "") -> BudgetExceeded:
        bound = f"{self.name}.{what}"
        hint = hint or f"Raise `{bound}`, or ask for less."
        return BudgetExceeded(
            f"The next model call was not made: {why} (`{bound}`).",
            hint=hint,
            suggestions=(hint,),
            detail={"bound": bound},
        )


@with_old_names(
    book="charge",
    hold="reserve",
    is_held="has_reservations",
    ledgers="scopes",
    let_go="wait_for_release",
    used="usages",
)
class BudgetTracker:
    """Bounds on requests, tokens and money, and what is left of them. Absent bounds never end.

    Args:
        tokens: In and out together.
        usd: US dollars.
        requests: Calls of a model.
        parent: The tracker that this one is a part of; what is spent here is spent there.
        name: Whose bounds these are, as a fault names them: `run.budget`, `task.limits`, `runner`.
        separate: Its `usages` are its own, and not part of those of `parent`: another caller reports them.
        on_usage: Hears of each call through it; when absent, and unless `separate`, that of `parent` does.

    Attributes:
        before_request: Called before each request through it, and may wait; at first what `parent` has.
        usages: What each call through it took, also those that failed or were cancelled.
        scopes: The bounds that hold here: its own, then those of `parent`.
        is_bounded: Whether anything bounds tokens or money, here or above; if not, no call need be estimated.
    """

    __slots__ = ("before_request", "is_bounded", "on_usage", "scopes", "usages")

    def __init__(
        self,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        requests: int | None = None,
        parent: "BudgetTracker | None" = None,
        name: str = "run.budget",
        separate: bool = False,
        on_usage: OnUsage | None = None,
    ) -> None:
        own = BudgetScope(name, tokens, usd, requests)
        self.scopes: tuple[BudgetScope, ...] = (own, *parent.scopes) if parent is not None else (own,)
        whole = None if separate else parent
        self.usages: list[Usage] = [] if whole is None else whole.usages
        self.on_usage = on_usage or (None if whole is None else whole.on_usage)
        self.before_request: BeforeRequest | None = None if parent is None else parent.before_request
        self.is_bounded = tokens is not None or usd is not None or (parent is not None and parent.is_bounded)

    @property
    def spent_tokens(self) -> int:
        """Tokens that calls through this tracker took."""
        return self.scopes[0].spent_tokens

    @property
    def spent_usd(self) -> float:
        """US dollars that calls through this tracker cost, as far as it is known."""
        return self.scopes[0].spent_usd

    @property
    def spent_requests(self) -> int:
        """Calls that were made through this tracker."""
        return self.scopes[0].spent_requests

    @property
    def tokens_left(self) -> int | None:
        """Tokens that are neither spent nor held, here and above; None when nothing bounds them."""
        return min((remaining for scope in self.scopes if (remaining := scope.tokens_left) is not None), default=None)

    @property
    def usd_left(self) -> float | None:
        """Money that is neither spent nor held, here and above; None when nothing bounds it."""
        return min((remaining for scope in self.scopes if (remaining := scope.usd_left) is not None), default=None)

    @property
    def has_reservations(self) -> bool:
        """Whether something is set aside for a call under way, here or above: some of it may come back."""
        return any(scope.reserved_requests for scope in self.scopes)

    def reserve(self, *, tokens: int, usd: float | None) -> "Reservation":
        """Set aside what a call may take at most.

        Args:
            tokens: In and out together.
            usd: None when the price is not known; then a bound on money cannot be kept, and the call is refused.

        Raises:
            BudgetExceeded: It might pass a bound; `detail["bound"]` names it.
        """
        for scope in self.scopes:
            scope.check_available(tokens, usd)
        for scope in self.scopes:
            scope.reserve(tokens, usd or 0.0, 1)
        return Reservation(self.scopes, tokens, usd or 0.0, self._settle)

    def charge(self, *, tokens: int, usd: float, requests: int = 0) -> None:
        """Note what was spent without having been held here: by a program, or before a run was resumed.

        Args:
            tokens: In and out together.
            usd: US dollars.
            requests: Calls of a model.
        """
        for scope in self.scopes:
            scope.spent_tokens += tokens
            scope.spent_usd += usd
            scope.spent_requests += requests

    def _settle(self, usage: Usage) -> None:
        self.usages.append(usage)
        if self.on_usage is not None:
            self.on_usage(usage)

    async def wait_for_release(self) -> None:
        """Wait until some call under way is over, so that what it did not take is free again."""
        from asyncio import get_running_loop  # noqa: PLC0415 - most trackers never wait, and every process has this module

        released = get_running_loop().create_future()
        for scope in self.scopes:
            scope.waiters.append(released)
        try:
            await released
        finally:
            for scope in self.scopes:
                scope.waiters.remove(released)


@dataclass(slots=True)
class Reservation:
    """What is set aside for one call. Settle it or release it, once."""

    _scopes: tuple[BudgetScope, ...]
    _tokens: int
    _usd: float
    _on_commit: OnUsage
    _is_open: bool = True

    def commit(self, usage: Usage) -> None:
        """Book what the call took. What nobody counted is booked as held: nobody knows that it was less."""
        if self._is_open:
            tokens = self._tokens if usage.tokens is None else usage.tokens
            usd = usage.cost.usd if usage.cost else self._usd
            for scope in self._scopes:
                scope.charge(tokens, usd)
            self.release()
            self._on_commit(usage)

    def release(self) -> None:
        """Let it go: the call was not made, or was refused before anything was spent."""
        if self._is_open:
            self._is_open = False
            for scope in self._scopes:
                scope.reserve(-self._tokens, -self._usd, -1)


def _amount(usd: float) -> str:
    """Money with as many digits as it takes to be told from nothing."""
    return f"{usd:.4f}" if usd >= _SMALLEST or not usd else f"{usd:.9f}".rstrip("0").rstrip(".")
