"""What a run has spent, on both books: the ledger that sums what results say, and the purse that models ask first (C6).

A purse learns of a call of a model when it is made. Of what a program spent, and of what was spent before a run was
resumed, only the result tells; here the one is reconciled with the other, so that nothing is counted twice or not at
all.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.event import Event, NodeFinished, NodeStarted, UsageReported
from retinue.contract.fault import Fault
from retinue.contract.result import Result, Usage
from retinue.contract.task import Budget
from retinue.engine.run_history import is_kept
from retinue.errors import BudgetExceeded
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.run_request import RESERVED

_HINT: Final = "Raise the budget, or ask for less; what was finished is kept."


@dataclass(slots=True)
class RunUsage:
    """The open account of one run."""

    budget: Budget
    nodes: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def limit_fault(self) -> Fault | None:
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

    def remaining(self) -> Budget:
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
        if nodes < 1 or self.limit_fault() is not None:
            return None
        self.nodes += nodes
        remaining = self.remaining()
        return Budget(tokens=remaining.tokens, cost_usd=remaining.cost_usd, nodes=nodes, depth=remaining.depth)

    def refund(self, granted: Budget, used: int) -> None:
        """Take back the nodes that a child run did not use."""
        self.nodes -= max(granted.nodes - used, 0)


def total_usage(results: Iterable[Result]) -> Usage | None:
    """What `results` used together; what none of them measured is absent."""
    return Usage.total(result.usage for result in results)


def _exceeded(message: str, bound: str) -> Fault:
    return Fault.from_error(BudgetExceeded(message, hint=_HINT, detail={"bound": bound}))


@dataclass(slots=True)
class RunBudget:
    """The account of one run.

    Attributes:
        budget_tracker: What models may still spend; the parent's, for a child run in the same process.
        run_usage: What is spent, by what was measured.
        usages: What everything took that it paid for, in order.
        overhead: What the orchestrator itself took of that: planning, reconsidering, writing the answer.
    """

    budget: Budget
    budget_tracker: BudgetTracker
    run_usage: RunUsage = field(init=False)
    usages: list[Usage] = field(default_factory=list)
    overhead: list[Usage] = field(default_factory=list)
    _step_trackers: dict[str, BudgetTracker] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the ledger."""
        self.run_usage = RunUsage(self.budget)

    def open(self, name: str, *, tokens: int | None = None) -> BudgetTracker:
        """The purse of one step or child run: what is spent in it is spent here.

        Args:
            name: The step.
            tokens: What it may spend at most, beside the bounds of the run.
        """
        budget_tracker = self._step_trackers[name] = BudgetTracker(
            tokens=tokens,
            parent=self.budget_tracker,
            name="run.budget" if tokens is None else "orchestrator",
            separate=True,
        )
        return budget_tracker

    def close(self, name: str, usage: Usage | None, *, overhead: bool = False) -> None:
        """Charge what a step says it took; what its purse has not seen of it is booked there too.

        Where it says nothing, because it was stopped, its purse says what it asked models for.
        """
        step_tracker = self._step_trackers.pop(name, None)
        if usage is None and step_tracker is not None:
            usage = Usage.total(step_tracker.usages)
        self.run_usage.charge(usage)
        if usage is None:
            return
        self.usages.append(usage)
        if overhead:
            self.overhead.append(usage)
        budget_tracker = step_tracker or BudgetTracker()
        tokens = max((usage.tokens or 0) - budget_tracker.spent_tokens, 0)
        usd = max((usage.known_usd or 0.0) - budget_tracker.spent_usd, 0.0)
        requests = max((usage.requests or 0) - budget_tracker.spent_requests, 0)
        if tokens or usd or requests:
            self.budget_tracker.charge(tokens=tokens, usd=usd, requests=requests)

    def charge_earlier(self, planning: Usage | None, events: Sequence[Event] = ()) -> None:
        """Charge what was spent before: on the plan, and by earlier lives of the run on what is not kept of them.

        That are steps that failed, and those that were under way when the process was killed. Child runs see to their
        own.
        """
        self.close("", planning, overhead=True)
        lost_usage: list[Usage | None] = []
        results: dict[str, Result] = {}
        node_usages: dict[str, list[Usage]] = {}
        for event in events:
            name, node = event.node, event.node.partition(RESERVED)[0]
            match event.body:
                case NodeFinished(result) if name:
                    node_usages.pop(node, None)
                    lost_usage += [earlier.usage] if (earlier := results.get(name)) else []
                    results[name] = result
                case UsageReported(usage):
                    node_usages.setdefault(node, []).append(usage)
                case _:
                    pass
        children = {event.node for event in events if isinstance(event.body, NodeStarted) and RESERVED in event.node}
        lost_usage += [one.usage for name, one in results.items() if not is_kept(one) and name not in children]
        lost_usage += [usage for usages in node_usages.values() for usage in usages]
        self.close("", Usage.total(lost_usage))

    @property
    def overhead_usage(self) -> Usage | None:
        """What the orchestrator itself took; None when it asked no model."""
        return Usage.total(self.overhead)
