"""What a run has spent of its budget, and what is left. Sums only what was measured; prices nothing itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.contract.budget import Budget
from retinue.contract.fault import Fault
from retinue.contract.result import Cost, Result, Usage
from retinue.errors import BudgetExceeded

__all__ = ["Ledger", "total_of", "total_usage"]

_HINT: Final = "Raise the budget, or ask for less; what was finished is kept."


@dataclass(slots=True)
class Ledger:
    """The open account of one run."""

    budget: Budget
    nodes: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def objection(self) -> Fault | None:
        """Why no further node may start, if so."""
        budget = self.budget
        if self.nodes >= budget.nodes:
            return _exceeded(f"All {budget.nodes} delegations of the budget are used up.", "nodes")
        if budget.tokens is not None and self.tokens >= budget.tokens:
            return _exceeded(f"{self.tokens:,} of {budget.tokens:,} tokens are spent.", "tokens")
        if budget.cost_usd is not None and self.cost_usd >= budget.cost_usd and self.cost_usd > 0:
            return _exceeded(f"${self.cost_usd:.4f} of ${budget.cost_usd:.4f} are spent.", "cost_usd")
        return None

    def charge(self, usage: Usage | None) -> None:
        """Note what something cost."""
        if usage is None:
            return
        self.tokens += usage.tokens or 0
        self.cost_usd += usage.cost.usd if usage.cost else 0.0

    def left(self) -> Budget:
        """What may still be spent; time is bounded by the deadline instead."""
        budget = self.budget
        if budget.tokens is None and budget.cost_usd is None and budget.timeout_s is None:
            return budget
        return Budget(
            tokens=None if budget.tokens is None else max(budget.tokens - self.tokens, 0),
            cost_usd=None if budget.cost_usd is None else max(budget.cost_usd - self.cost_usd, 0.0),
            nodes=budget.nodes,
            depth=budget.depth,
        )

    def grant(self, *, sharers: int) -> Budget | None:
        """A fair part of what is left for a child run, taken from this account; None when nothing is left.

        The nodes are given for good until `refund`, so that no nesting can exceed them.
        """
        nodes = (self.budget.nodes - self.nodes) // max(sharers, 1)
        if nodes < 1 or self.objection() is not None:
            return None
        self.nodes += nodes
        left = self.left()
        return Budget(tokens=left.tokens, cost_usd=left.cost_usd, nodes=nodes, depth=left.depth)

    def refund(self, granted: Budget, used: int) -> None:
        """Take back the nodes that a child run did not use."""
        self.nodes -= max(granted.nodes - used, 0)


def total_usage(results: list[Result]) -> Usage | None:
    """What `results` used together; what none of them measured is absent."""
    return total_of([result.usage for result in results if result.usage is not None])


def total_of(used: Sequence[Usage]) -> Usage | None:
    """These usages together; None when there is none."""
    if not used:
        return None
    models = sorted({usage.model for usage in used if usage.model})
    counters = sorted({usage.counter for usage in used if usage.counter})
    return Usage(
        tokens_in=_sum(usage.tokens_in for usage in used),
        tokens_out=_sum(usage.tokens_out for usage in used),
        tokens_total=Usage.total(used),
        tokens_cached=_sum(usage.tokens_cached for usage in used),
        requests=_sum(usage.requests for usage in used),
        cost=_costs([usage.cost for usage in used if usage.cost is not None]),
        model=", ".join(models) or None,
        counter=", ".join(counters) or None,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _costs(costs: list[Cost]) -> Cost | None:
    if not costs:
        return None
    return Cost(
        usd=sum(cost.usd for cost in costs),
        price_id=", ".join(sorted({cost.price_id for cost in costs})),
        price_date=min(cost.price_date for cost in costs),
    )


def _exceeded(message: str, bound: str) -> Fault:
    return Fault.from_error(BudgetExceeded(message, hint=_HINT, detail={"bound": bound}))
