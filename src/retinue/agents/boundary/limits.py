"""What bounds a call: when it must end (C21), and whether there is anything left to spend (C6: the cost cap binds).

The tightest of all bounds counts, with the name of the one that won. No clock is read here.
"""

from dataclasses import dataclass

from retinue.contract.result import Usage
from retinue.contract.task import Budget, Task
from retinue.errors import BudgetExceeded, DeadlineExceeded

_SECOND = 1_000_000_000
_FOREVER_S = 1_000_000_000.0
"""More than thirty years: more is the same."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A moment, in nanoseconds since 1970 UTC, and who set it."""

    name: str
    at_ns: int

    def remaining_s(self, now_ns: int) -> float:
        """Seconds until then; negative once it has passed."""
        return (self.at_ns - now_ns) / _SECOND

    def error(self, agent: str, *, seconds: float | None = None) -> DeadlineExceeded:
        """What to say when it has passed. `seconds` is how long the agent had; None when it was not called."""
        clause = "was not called: its time was up before"
        if seconds is not None:  # 2 ms less than what was said are not worth a word
            clause = f"did not end within {round(seconds, 2) or seconds:.3g} s"
        return DeadlineExceeded(
            f"`{agent}` {clause} (`{self.name}`).",
            hint=f"Allow more time by `{self.name}`, or ask for less.",
            suggestions=(f"Raise `{self.name}`.", "Ask for a part of it."),
            detail={"bound": self.name, **({} if seconds is None else {"seconds": round(seconds, 3)})},
        )


def call_time_limit(task: Task, *, run_deadline_ns: int | None, started_ns: int) -> TimeLimit | None:
    """What bounds the whole call, all attempts together; None when nothing does."""
    limits = task.limits
    time_limits: list[TimeLimit] = []
    if limits.timeout_s is not None:
        time_limits.append(TimeLimit("task.limits.timeout_s", _after(started_ns, limits.timeout_s)))
    if limits.deadline_ns is not None:
        time_limits.append(TimeLimit("task.limits.deadline_ns", limits.deadline_ns))
    if run_deadline_ns is not None:
        time_limits.append(TimeLimit("run.budget.timeout_s", run_deadline_ns))
    return min(time_limits, key=_end_ns, default=None)


def attempt_time_limit(
    call: TimeLimit | None, task: Task, *, now_ns: int, skill_timeout_s: float | None, default_timeout_s: float
) -> TimeLimit:
    """What bounds the attempt that starts now.

    A skill's own time is for one attempt. The default (K32) applies only where neither task nor skill says anything:
    who asks for ten minutes has ten minutes.
    """
    time_limits = [] if call is None else [call]
    if skill_timeout_s is not None:
        time_limits.append(TimeLimit("skill.timeout_s", _after(now_ns, skill_timeout_s)))
    elif task.limits.timeout_s is None and task.limits.deadline_ns is None:
        time_limits.append(TimeLimit("policy.timeout_s", _after(now_ns, default_timeout_s)))
    return min(time_limits, key=_end_ns)


def _end_ns(time_limit: TimeLimit) -> int:
    return time_limit.at_ns


def _after(now_ns: int, seconds: float) -> int:
    return now_ns + int(min(seconds, _FOREVER_S) * _SECOND)


def budget_error(task: Task, budget: Budget, spent: Usage | None) -> BudgetExceeded | None:
    """Why a task may not be called (again), by its own limits and the run's budget; None when it may.

    Args:
        task: With its limits and its depth.
        budget: What the run may still spend.
        spent: What this call has spent so far; what nobody measured counts as nothing.
    """
    if task.depth > budget.depth:
        return _budget_exceeded(
            "run.budget.depth", f"{budget.depth} delegations above each other", "Delegate less deeply."
        )
    tokens = (spent.tokens or 0) if spent else 0
    usd = (spent.known_usd or 0.0) if spent else 0.0
    for name, limit, used, unit in (
        ("task.limits.tokens", task.limits.tokens, tokens, "tokens"),
        ("run.budget.tokens", budget.tokens, tokens, "tokens"),
        ("task.limits.cost_usd", task.limits.cost_usd, usd, "USD"),
        ("run.budget.cost_usd", budget.cost_usd, usd, "USD"),
    ):
        if limit is not None and used >= limit:
            return _budget_exceeded(name, f"{limit:g} {unit}", f"Raise `{name}`, or ask for less.")
    return None


def _budget_exceeded(bound: str, what: str, hint: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"Nothing is left of {what} (`{bound}`).", hint=hint, suggestions=(hint,), detail={"bound": bound}
    )
