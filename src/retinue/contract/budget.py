"""How much a run may spend, as a value. Who keeps the ledger is the business of `orchestration/`."""

from typing import Annotated

from pydantic import Field

from retinue.contract.model import Count, Model

__all__ = ["Budget"]


class Budget(Model):
    """The bounds of one run. What is absent is unbounded, but nodes and depth never are.

    Attributes:
        timeout_s: Seconds for the whole run.
        nodes: Delegations, child runs and alternatives included.
        depth: Delegations above each other (A25).
    """

    timeout_s: Annotated[float, Field(gt=0)] | None = None
    tokens: Count | None = None
    cost_usd: Annotated[float, Field(ge=0)] | None = None
    nodes: Annotated[int, Field(ge=1, le=100_000)] = 10_000
    depth: Annotated[int, Field(ge=1, le=100)] = 5
