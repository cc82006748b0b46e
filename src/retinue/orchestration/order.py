"""What a run of a plan is told when it starts: the plan and its bounds, as the JSON payload of a workflow."""

import json
from functools import lru_cache
from typing import Final, Literal

from pydantic import Field

from retinue.contract.budget import Budget
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.plan import Plan
from retinue.contract.tokens import DEFAULT
from retinue.errors import InvalidInput

__all__ = ["RESERVED", "RUN_PLAN", "Order"]

RUN_PLAN: Final = "run_plan"
"""The one workflow that walks plans. Its payload is an `Order`."""

RESERVED: Final = "~"
"""Stands between a node and its further steps (`n1~2`), so no node may have it in its id."""


class Order(Model):
    """A plan to be walked, and within which bounds.

    Attributes:
        answer: `merged` makes one answer with sources; `collected` leaves the results side by side.
        deadline_ns: Absolute end, for a child run; a run of its own takes `budget.timeout_s`.
        depth: How many delegations stand above this run's nodes.
        today: The day that "yesterday" is relative to, `YYYY-MM-DD`, when an alternative has to be bound anew.
        counter: Which token counter measures hand-offs.
        parent: Id of the task that this run does, when it does one.
    """

    plan: Plan
    budget: Budget = Field(default_factory=Budget)
    answer: Literal["merged", "collected"] = "merged"
    deadline_ns: Count | None = None
    depth: Count = 0
    today: str | None = None
    counter: str = DEFAULT
    parent: str | None = None

    @classmethod
    def read(cls, payload: JsonMapping) -> "Order":
        """The order that `payload` holds.

        Raises:
            InvalidInput: A node's id holds `~`, or the plan has more nodes than the budget allows.
        """
        order = _read(json.dumps(payload, separators=(",", ":")))
        reserved = [node.id for node in order.plan.nodes if RESERVED in node.id]
        if reserved:
            raise InvalidInput(
                f"`{RESERVED}` is reserved, and stands in the ids {', '.join(reserved[:5])}.",
                hint="Use letters, digits, dots and dashes.",
                path="/plan/nodes",
            )
        return order


@lru_cache(maxsize=16)
def _read(payload: str) -> Order:
    """Orders are values, so many runs of the same plan share one."""
    return Order.model_validate_json(payload)
