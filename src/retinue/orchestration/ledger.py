"""What a run has spent of its budget, and what is left. Sums only what was measured; prices nothing itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retinue.contract.budget import Budget
from retinue.contract.fault import Fault
from retinue.contract.result import Result, Usage
from retinue.errors import BudgetExceeded

__all__ = ["Ledger", "total_usage"]

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
        self.cost_usd += usage.known_usd or 0.0

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

    def grant(self, *, sharers: int, reserved: int = 0) -> Budget | None:
        """A fair part of what is left for a child run, taken from this account; None when nothing is left.

        The nodes are given for good until `refund`, so that no nesting can exceed them; `reserved` of them stay here,
        for what this run has still to start while the child runs.
        """
        nodes = (self.budget.nodes - self.nodes - reserved) // max(sharers, 1)
        if nodes < 1 or self.objection() is not None:
            return None
        self.nodes += nodes
        left = self.left()
        return Budget(tokens=left.tokens, cost_usd=left.cost_usd, nodes=nodes, depth=left.depth)

    def refund(self, granted: Budget, used: int) -> None:
        """Take back the nodes that a child run did not use."""
        self.nodes -= max(granted.nodes - used, 0)


def total_usage(results: Iterable[Result]) -> Usage | None:
    """What `results` used together; what none of them measured is absent."""
    return Usage.together(result.usage for result in results)


def _exceeded(message: str, bound: str) -> Fault:
    return Fault.from_error(BudgetExceeded(message, hint=_HINT, detail={"bound": bound}))
