"""Child runs as values: the order for one, why there is none, and what it came to as the result of its node (A25).

When an agent answers with a plan, `executor` starts a run of that plan with the order from here, and hands what came
back through `as_node_result`. Nothing is lost on the way up: artifacts, warnings, usage and faults come along.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, cast

from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.contract.task import Budget
from retinue.errors import BudgetExceeded, MissingFile
from retinue.orchestration.plan_checker import PlanChecker
from retinue.orchestration.planning import without_planning
from retinue.orchestration.run_budget import RunUsage, total_usage
from retinue.orchestration.run_request import Caller, RunRequest, digests_of
from retinue.orchestration.task_builder import NodeProgress

T = TypeVar("T")


@dataclass(slots=True)
class ChildRuns:
    """The child runs of one walk, and the part of the budget that each is given.

    Attributes:
        composing: How many of the plan's agents may still answer with a plan, and share what is left.
    """

    request: RunRequest
    run_usage: RunUsage
    checker: PlanChecker
    composing: int

    def open(
        self, progress: NodeProgress, result: Result, plan: Plan, *, deadline_ns: int | None, unfinished: int
    ) -> RunRequest | Result:
        """The order for walking the plan that a node answered with; or what the node has come to without.

        Args:
            progress: How far the node is.
            result: What its agent said beside the plan.
            plan: What it answered with.
            deadline_ns: When the run must be over.
            unfinished: How many other nodes of this run have not ended: a call each is left for them.
        """
        node = progress.node
        self.composing = max(self.composing - 1, 0)
        granted = self.run_usage.grant(sharers=self.composing + 1, reserved=unfinished)
        error = limit_error(self.request, node, plan, granted)
        if error is not None or granted is None:
            if granted is not None:
                self.run_usage.refund(granted, 0)
            return result if error is None else refuse_plan(result, error)
        progress.last, progress.granted = result, granted
        caller = self.checker.caller(node, self.request.place_of(node.id))
        plan = self._with_model_of(node, plan)
        request = child_request(
            self.request, plan, caller, granted=granted, deadline_ns=deadline_ns, task=result.task_id
        )
        digests = digests_of((one.agent for one in plan.nodes), self.checker.definition)
        return request.model_copy(update={"definitions": digests})

    def _with_model_of(self, node: Delegation, plan: Plan) -> Plan:
        """`plan` done with the model that was chosen for `node`, where `node` has others think for it, or is parted."""
        if node.model is None:
            return plan
        node_skill = self.checker.skill(node.agent, node.skill)
        by_others = node_skill is not None and node_skill.thinks == "by_others"

        def with_model(one: Delegation) -> Delegation:
            skill = self.checker.skill(one.agent, one.skill)
            mine = by_others or one.agent == node.agent
            free = mine and one.model is None and skill is not None and skill.thinks != "never"
            return one.model_copy(update={"model": node.model}) if free else one

        return plan.model_copy(update={"nodes": tuple(map(with_model, plan.nodes))})

    def close(self, progress: NodeProgress, result: Result) -> Result:
        """What a child run came to, as the result of its node."""
        calls: object = result.extras.get("calls")
        if progress.granted is not None:
            self.run_usage.refund(progress.granted, calls if isinstance(calls, int) else progress.granted.nodes)
        return as_node_result(progress.node, progress.last, result)


def limit_error(request: RunRequest, node: Delegation, plan: Plan, granted: Budget | None) -> BudgetExceeded | None:
    """Why the plan that `node` answered with is not walked, if so: which bound it breaks, and where.

    Args:
        request: The run of `node`.
        node: Whose agent composes.
        plan: What it answered with.
        granted: What the child run could spend; None when nothing is left.
    """
    where, budget = request.place_of(node.id), request.budget
    if request.depth + 1 > budget.depth:
        chain = " → ".join(f"`{caller.agent}.{caller.skill}`" for caller in request.above[-5:])
        note = f" {chain} stand above it already." if chain else ""
        return BudgetExceeded(
            f"The plan of `{node.agent}` at `{where}` is not walked: delegations may stand {budget.depth} above each "
            f"other, and this would be one more.{note}",
            hint="Raise `depth` of the budget, or let it plan less deep.",
            detail={"bound": "depth", "allowed": budget.depth, "wanted": request.depth + 1, "node": where},
        )
    remaining = granted.nodes if granted else 0
    if len(plan.nodes) > remaining:
        return BudgetExceeded(
            f"The plan of `{node.agent}` at `{where}` is not walked: it has {len(plan.nodes):,} delegations, and the "
            f"budget has {remaining:,} left for it.",
            hint="Raise `nodes` of the budget, or let it plan less.",
            detail={"bound": "nodes", "allowed": remaining, "wanted": len(plan.nodes), "node": where},
        )
    return None


def refuse_plan(result: Result, error: BudgetExceeded) -> Result:
    """The answer of a composing agent whose plan is not walked; what it said beside the plan is kept."""
    extras = {name: value for name, value in result.extras.items() if name != "plan"}
    fault = Fault.from_error(error, operation=result.skill, failed_at="plan")
    return result.model_copy(update={"lifecycle": "ended", "outcome": "error", "fault": fault, "extras": extras})


def child_request(
    request: RunRequest, plan: Plan, caller: Caller, *, granted: Budget, deadline_ns: int | None, task: str
) -> RunRequest:
    """The order for walking `plan` below `caller`, the node that answered with it."""
    return RunRequest(
        plan=without_planning(plan),  # an agent does not speak for the orchestrator
        budget=granted,
        answer="collected" if request.answer == "collected" else "reduced",
        deadline_ns=deadline_ns,
        depth=request.depth + 1,
        above=(*request.above, caller),
        today=request.today,
        counter=request.counter,
        parent=task,
        model=request.model,
        thinking=request.thinking,
    )


def as_node_result(node: Delegation, before: Result | None, child: Result) -> Result:
    """What a child run came to, as the result of its node.

    Args:
        node: Whose agent answered with the plan.
        before: That answer: what it said beside the plan holds on.
        child: The result of the run.
    """
    if before is None:
        return child.model_copy(update={"agent": node.agent, "skill": node.skill})
    both = (before, child)
    whole = child.model_copy(
        update={
            "task_id": before.task_id,
            "agent": node.agent,
            "skill": node.skill,
            "versions": before.versions,
            "usage": total_usage(both),
            "artifacts": _union(one.artifacts for one in both),
            "warnings": _union(one.warnings for one in both),
            "files_read": _union(one.files_read for one in both),
            "files_written": _union(one.files_written for one in both),
            "attempts": before.attempts,
            "retries": before.retries,
        }
    )
    there = {artifact.path for artifact in whole.artifacts} | set(whole.files_written)
    missing = [expected.path for expected in node.expects if expected.path not in there]
    if not whole.useful or not missing:
        return whole
    message = f"The expected file {missing[0]!r} was written by none of its delegations."
    error = MissingFile(message, hint="Let one of them write it.", path=missing[0], detail={"missing": missing})
    return whole.model_copy(update={"outcome": "error", "fault": Fault.from_error(error, operation=node.skill)})


def plan_in(result: Result) -> Plan | None:
    """The plan that a composing agent answered with."""
    if result.lifecycle != "working" or "plan" not in result.extras:
        return None
    return Plan.model_validate_json(dumps(result.extras["plan"]))


def split_plan_in(split: Result) -> tuple[Plan | None, str]:
    """The plan into which a model split a request, if it did; and why, or why not."""
    data = cast("JsonMapping", split.data) if split.useful and isinstance(split.data, dict) else {}
    plan: object = data.get("plan")
    reason = str(data.get("reason", "")) or (split.fault.message if split.fault else "")
    return (None if plan is None else Plan.model_validate_json(dumps(plan))), reason


def _union(groups: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one for group in groups for one in group))
