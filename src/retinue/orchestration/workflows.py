"""What an engine must know to run plans: the one workflow there is, put together from an order and the agents at hand.

A workflow is made anew for every run and holds nothing between runs, but for what child runs share on their way
down. What it does is the business of `executor`; what it is told, of `run_request`.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, Grants
from retinue.agents.registry import Registry
from retinue.contract.event import Body
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import REAL, Outside, Workflow, WorkflowScope
from retinue.engine.offload import Pool
from retinue.errors import Unavailable
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.executor import Executor
from retinue.orchestration.goal_planner import by_name
from retinue.orchestration.node_context import Deadline, RunServices
from retinue.orchestration.plan_checker import PlanChecker
from retinue.orchestration.reader.parameters import reader_environment
from retinue.orchestration.run_request import RUN_PLAN, RunRequest
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.llm.port import LanguageModel
    from retinue.orchestration.reader.model_reader import ModelReader
    from retinue.orchestration.reader.router import Embedder


def workflows(
    registry: Registry,
    *,
    boundary: Boundary | None = None,
    workspace: Workspace | None = None,
    offload: Pool | None = None,
    outside: Outside = REAL,
    models: "Models | None" = None,
    grants: Grants = ALL,
    likeness: "Embedder | None" = None,
) -> Mapping[str, Workflow]:
    """What an engine must know to run plans for the agents of `registry`: give it to the engine when it is made.

    Args:
        registry: Who there is.
        boundary: Calls them.
        workspace: The fenced directory.
        offload: Where CPU-heavy work goes.
        outside: Time and chance for the bodies of steps.
        models: Where the model that thinks along in a run comes from, for runs that have one.
        grants: What the agents may use at most.
        likeness: Ranks skills by meaning as well, such as `retinue.SentenceEmbedder`.
    """
    call = (boundary or Boundary(registry)).call
    definitions = by_name(registry.definitions())
    checker = PlanChecker(registry.definitions())
    environment = reader_environment(registry, workspace, grants=grants)
    child_limits: dict[str, tuple[BudgetTracker, Deadline]] = {}
    planners = _PlannerCache(registry, grants, likeness)

    def light_schema() -> str:
        from retinue.agents.registry import light_schema_of  # noqa: PLC0415 - few agents ask who there is

        return light_schema_of(registry)

    async def run_plan(scope: WorkflowScope, payload: JsonMapping) -> Result:
        request = RunRequest.read(payload)

        def emit(body: Body, node: str, attempt: int) -> None:
            scope.emit(body, node=node, attempt=attempt)

        services = RunServices(
            run=scope.run,
            call=call,
            emit=emit,
            budget=request.budget,
            workspace=workspace,
            offload=offload,
            outside=outside,
            environment=environment,
            checker=checker,
            light_schema=light_schema,
            above=request.above,
            grants=grants,
        )
        if (parent_limits := child_limits.pop(scope.run, None)) is not None:
            budget_tracker, services.deadline = parent_limits
            services.budget_tracker = BudgetTracker(
                tokens=request.budget.tokens, usd=request.budget.cost_usd, parent=budget_tracker
            )
        judge = None
        if request.model is not None:
            from retinue.orchestration.judge_calls import ModelJudge  # noqa: PLC0415 - most runs ask no model

            judge = ModelJudge(
                request.model,
                partial(_open_model, models, request.model),
                planners.model_reader,
                request.thinking,
                outside.clock,
            )
        return await Executor(scope, request, services, definitions, judge=judge, child_limits=child_limits).run()

    return {RUN_PLAN: run_plan}


def _open_model(models: "Models | None", name: str) -> "LanguageModel":
    if models is None:
        raise Unavailable(f"No models are configured here, and the run thinks with `{name}`.", hint="Configure one.")
    return models.get(name)


class _PlannerCache:
    """The planners for one registry, made when first asked and then kept."""

    def __init__(self, registry: Registry, grants: Grants, likeness: "Embedder | None") -> None:
        self._registry, self._grants, self._likeness = registry, grants, likeness
        self._cached: tuple[int, ModelReader] | None = None

    def model_reader(self) -> "ModelReader":
        """Plans with a model's judgement."""
        from retinue.orchestration.reader.model_reader import ModelReader  # noqa: PLC0415 - most runs ask no model
        from retinue.orchestration.reader.planner import Planner  # noqa: PLC0415 - as above

        if self._cached is None or self._cached[0] != len(self._registry):
            definitions = self._registry.selectable()
            reader = ModelReader(definitions, Planner(definitions, likeness=self._likeness), self._grants)
            self._cached = len(self._registry), reader
        return self._cached[1]
