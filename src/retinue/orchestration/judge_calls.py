"""What one walk asks its model, each as the body of a step: a replay reads the answer and asks nobody (A25, B25).

Three occasions: a request too large for one agent, a failure with several ways out, and the answer of a run of several
parts. Without a model nothing is asked, and the walk does as the rules say. What is made of an answer is decided
by pure functions elsewhere: `recovery_choice`, `cited_summary`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.contract.task import Thinking
from retinue.engine.base import REAL, Step
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.port import LanguageModel
from retinue.orchestration.budget_allocation import DEFAULT_SHARES
from retinue.orchestration.node_context import RunServices
from retinue.orchestration.plan_checker import PlanChecker
from retinue.orchestration.recovery_choice import RecoveryOptions
from retinue.orchestration.run_budget import RunBudget
from retinue.orchestration.run_request import RESERVED, RunRequest
from retinue.orchestration.structured_model import StructuredModel
from retinue.orchestration.synthesise import RUN_AGENT, FinishedRun
from retinue.orchestration.task_builder import NodeProgress, TaskBuilder

if TYPE_CHECKING:
    from retinue.orchestration.reader.model_reader import ModelReader

SPLIT_TOKENS: Final = 400
"""An instruction of more tokens may be several requests, and a model is asked whether it is."""

_SEVERAL: Final = 2

SYNTHESIS: Final = f"{RESERVED}synthesis"
"""The step in which a model writes the summary of a run."""


def judge_step_name(node: str, number: int) -> str:
    """The step in which a model reconsiders a node for the so-manieth time.

    It begins with the reserved sign, as all steps do that are no agent's: whoever follows a run tells by that.
    """
    return f"{RESERVED}think{number}.{node}"


def split_step_name(node: str) -> str:
    """The step in which a model splits the request of a node."""
    return f"{RESERVED}split.{node}"


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """The model that thinks along in a run.

    Attributes:
        model: What it is called.
        open: Gives the model; what it raises is a refusal like any other.
        planner: Gives whoever splits requests.
        thinking: How hard it is to think.
        clock: What time it is.
    """

    model: str
    open: Callable[[], LanguageModel]
    planner: "Callable[[], ModelReader]"
    thinking: Thinking | None = None
    clock: Callable[[], int] = REAL.clock

    def prepare(self, budget_tracker: BudgetTracker, deadline_ns: int | None) -> StructuredModel | str:
        """The model, ready to be asked; or why it is not."""
        try:
            model = self.open()
        except Exception as error:  # noqa: BLE001 - a provider may fail in any way; then the rules decide
            return f"it cannot be asked: {error}"
        return StructuredModel(model, budget_tracker, deadline_ns, self.thinking, self.clock)


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """What one walk asks.

    Each method gives the name of a step and its body, or None when there is nothing to ask.
    """

    judge: ModelJudge
    request: RunRequest
    services: RunServices
    run_budget: RunBudget
    tasks: TaskBuilder
    checker: PlanChecker

    def reconsider_step(
        self, progress: NodeProgress, result: Result, options: RecoveryOptions
    ) -> tuple[str, Step] | None:
        """Which of the ways that are open for a failed node is taken."""
        judge = self.judge
        if not options.has_choice:
            return None
        node, goal = progress.node, self.request.plan.goal
        progress.judge_calls += 1
        name = judge_step_name(node.id, progress.judge_calls)
        budget_tracker = self._open_tracker(name)

        async def body() -> Result:
            model = judge.prepare(budget_tracker, self.services.deadline_ns)
            if isinstance(model, str):
                return self._record(name, {"model": judge.model, "options": list(options.ids), "refused": model})
            return await options.ask_model(node, result, model, goal=goal, task=self._task(name))

        return name, body

    def split_step(self, progress: NodeProgress) -> tuple[str, Step] | None:
        """Whether the request of a node is several, when it is large enough to be (A25).

        Not when its agent may answer with a plan itself, when it has to leave a file, or when it is handed something:
        the parts would know nothing of that.
        """
        judge, node, request = self.judge, progress.node, self.request
        if len(node.instruction) <= SPLIT_TOKENS or request.depth >= request.budget.depth:
            return None
        bound = node.expects or node.needs or self.tasks.composes(node)
        if bound or self.tasks.counter.count(node.instruction) <= SPLIT_TOKENS:
            return None
        name = split_step_name(node.id)
        budget_tracker = self._open_tracker(name)
        above = (*request.above, self.checker.caller(node, request.place_of(node.id)))
        max_nodes = max(request.budget.nodes - self.run_budget.run_usage.nodes, 0)

        async def body() -> Result:
            model = judge.prepare(budget_tracker, self.services.deadline_ns)
            if isinstance(model, str):
                return self._record(name, {"model": judge.model, "reason": model})
            split = await judge.planner().split(
                node,
                model,
                goal=request.plan.goal,
                ancestors=above,
                limit=max_nodes,
                environment=self.tasks.environment,
            )
            data: JsonMapping = {"model": judge.model, "reason": split.reason}
            data |= {"plan": split.plan.to_json()} if split.plan is not None else {}
            return self._record(name, data, split.usage)

        return name, body

    def summary_step(self, run: FinishedRun) -> tuple[str, Step] | None:
        """The summary of several answers (B25). A single answer is its own."""
        judge = self.judge
        if self.request.answer == "collected" or sum(one.useful for one in run.results.values()) < _SEVERAL:
            return None
        from retinue.orchestration.cited_summary import collect_evidence, write_claims  # noqa: PLC0415 - only with a model

        evidence = collect_evidence(run)
        if not evidence.pieces:
            return None
        name = f"{SYNTHESIS}.{evidence.digest}"  # a resumed run may have more evidence, and then another summary
        budget_tracker = self._open_tracker(name)

        async def body() -> Result:
            model = judge.prepare(budget_tracker, self.services.deadline_ns)
            if isinstance(model, str):
                return self._record(name, {"model": judge.model, "refused": model})
            return await write_claims(self.request.plan.goal, evidence, model, task=self._task(name))

        return name, body

    def _open_tracker(self, name: str) -> BudgetTracker:
        """What one thought may take: what the orchestrator's share of the budget has left (H26)."""
        tokens = self.request.budget.tokens
        if tokens is None:
            return self.run_budget.open(name)
        overhead = self.run_budget.overhead_usage
        remaining = DEFAULT_SHARES.of_orchestrator(tokens) - ((overhead.tokens if overhead else None) or 0)
        return self.run_budget.open(name, tokens=max(remaining, 0))

    def _task(self, name: str) -> str:
        return f"{self.services.run}:{name}"

    def _record(self, name: str, data: JsonMapping, usage: Usage | None = None) -> Result:
        return Result(task_id=self._task(name), agent=RUN_AGENT, outcome="success", data=data, usage=usage)
