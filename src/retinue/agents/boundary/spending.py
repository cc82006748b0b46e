"""Whether there is anything left to spend (C6: the cost cap binds)."""

from retinue.contract.budget import Budget
from retinue.contract.result import Usage
from retinue.contract.task import Task
from retinue.errors import BudgetExceeded

__all__ = ["overspent"]


def overspent(task: Task, budget: Budget, spent: Usage | None) -> BudgetExceeded | None:
    """Why a task may not be called (again), by its own limits and the run's budget; None when it may.

    Args:
        task: With its limits and its depth.
        budget: What the run may still spend.
        spent: What this call has spent so far; what nobody measured counts as nothing.
    """
    if task.depth > budget.depth:
        return _exceeded("run.budget.depth", f"{budget.depth} delegations above each other", "Delegate less deeply.")
    tokens = (spent.tokens or 0) if spent else 0
    usd = (spent.known_usd or 0.0) if spent else 0.0
    for name, limit, used, unit in (
        ("task.limits.tokens", task.limits.tokens, tokens, "tokens"),
        ("run.budget.tokens", budget.tokens, tokens, "tokens"),
        ("task.limits.cost_usd", task.limits.cost_usd, usd, "USD"),
        ("run.budget.cost_usd", budget.cost_usd, usd, "USD"),
    ):
        if limit is not None and used >= limit:
            return _exceeded(name, f"{limit:g} {unit}", f"Raise `{name}`, or ask for less.")
    return None


def _exceeded(bound: str, what: str, hint: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"Nothing is left of {what} (`{bound}`).", hint=hint, suggestions=(hint,), detail={"bound": bound}
    )
