"""What a run has spent, on both books: the ledger that sums what results say, and the purse that models ask first (C6).

A purse learns of a call of a model when it is made. Of what a program spent, and of what was spent before a run was
resumed, only the result tells; here the one is reconciled with the other, so that nothing is counted twice or not at
all.
"""

from dataclasses import dataclass, field

from retinue.contract.budget import Budget
from retinue.contract.result import Usage
from retinue.llm.purse import Purse
from retinue.orchestration.ledger import Ledger

__all__ = ["Account"]


@dataclass(slots=True)
class Account:
    """The account of one run.

    Attributes:
        purse: What models may still spend; the parent's, for a child run in the same process.
        ledger: What is spent, by what was measured.
        overhead: What the orchestrator itself took: planning, reconsidering, writing the answer.
    """

    budget: Budget
    purse: Purse
    ledger: Ledger = field(init=False)
    overhead: list[Usage] = field(default_factory=list)
    _open: dict[str, Purse] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Open the ledger."""
        self.ledger = Ledger(self.budget)

    def open(self, name: str, *, tokens: int | None = None) -> Purse:
        """The purse of one step or child run: what is spent in it is spent here.

        Args:
            name: The step.
            tokens: What it may spend at most, beside the bounds of the run.
        """
        purse = self._open[name] = Purse(
            tokens=tokens, above=self.purse, name="run.budget" if tokens is None else "orchestrator"
        )
        return purse

    def close(self, name: str, usage: Usage | None, *, overhead: bool = False) -> None:
        """Charge what a step says it took; what its purse has not seen of it is booked there too."""
        purse = self._open.pop(name, None)
        self.ledger.charge(usage)
        if usage is None:
            return
        if overhead:
            self.overhead.append(usage)
        seen = purse or Purse()
        tokens = max((usage.tokens or 0) - seen.spent_tokens, 0)
        usd = max((usage.known_usd or 0.0) - seen.spent_usd, 0.0)
        requests = max((usage.requests or 0) - seen.spent_requests, 0)
        if tokens or usd or requests:
            self.purse.book(tokens=tokens, usd=usd, requests=requests)

    def spent_before(self, usage: Usage | None) -> None:
        """Charge what was spent before the run began: on its plan."""
        self.close("", usage, overhead=True)

    @property
    def overhead_usage(self) -> Usage | None:
        """What the orchestrator itself took; None when it asked no model."""
        return Usage.together(self.overhead)
