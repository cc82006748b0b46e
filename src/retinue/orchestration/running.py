"""What an engine must know to run plans: the one workflow there is, put together from an order and the agents at hand.

A workflow is made anew for every run and holds nothing between runs, but for what child runs share on their way
down. What it does is the business of `walk`; what it is told, of `order`.
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
from retinue.engine.base import REAL, Outside, Scope, Workflow
from retinue.engine.offload import Pool
from retinue.errors import Unavailable
from retinue.llm.purse import Purse
from retinue.orchestration.check import Check
from retinue.orchestration.context import Deadline, Surface
from retinue.orchestration.goals import by_name
from retinue.orchestration.order import RUN_PLAN, Order
from retinue.orchestration.reader.parameters import surroundings
from retinue.orchestration.walk import Walk
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.llm.port import LanguageModel
    from retinue.orchestration.reader.model import ModelReader
    from retinue.orchestration.reader.router import Embedder

__all__ = ["workflows"]


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
    check = Check(registry.definitions())
    around = surroundings(registry, workspace, grants=grants)
    shared: dict[str, tuple[Purse, Deadline]] = {}
    planners = _Planners(registry, grants, likeness)

    def light_schema() -> str:
        from retinue.agents.light_schema import light_schema_of  # noqa: PLC0415 - few agents ask who there is

        return light_schema_of(registry)

    async def run_plan(scope: Scope, payload: JsonMapping) -> Result:
        order = Order.read(payload)

        def emit(body: Body, node: str, attempt: int) -> None:
            scope.emit(body, node=node, attempt=attempt)

        surface = Surface(
            run=scope.run,
            call=call,
            emit=emit,
            budget=order.budget,
            workspace=workspace,
            offload=offload,
            outside=outside,
            around=around,
            check=check,
            light_schema=light_schema,
            above=order.above,
            grants=grants,
        )
        if (above := shared.pop(scope.run, None)) is not None:
            purse, surface.deadline = above
            surface.purse = Purse(tokens=order.budget.tokens, usd=order.budget.cost_usd, above=purse)
        mind = None
        if order.model is not None:
            from retinue.orchestration.thoughts import Mind  # noqa: PLC0415 - most runs ask no model

            mind = Mind(
                order.model, partial(_opened, models, order.model), planners.model, order.thinking, outside.clock
            )
        return await Walk(scope, order, surface, definitions, mind=mind, below=shared).run()

    return {RUN_PLAN: run_plan}


def _opened(models: "Models | None", name: str) -> "LanguageModel":
    if models is None:
        raise Unavailable(f"No models are configured here, and the run thinks with `{name}`.", hint="Configure one.")
    return models.get(name)


class _Planners:
    """The planners for one registry, made when first asked and then kept."""

    def __init__(self, registry: Registry, grants: Grants, likeness: "Embedder | None") -> None:
        self._registry, self._grants, self._likeness = registry, grants, likeness
        self._made: tuple[int, ModelReader] | None = None

    def model(self) -> "ModelReader":
        """Plans with a model's judgement."""
        from retinue.orchestration.reader.model import ModelReader  # noqa: PLC0415 - most runs ask no model
        from retinue.orchestration.reader.planner import Planner  # noqa: PLC0415 - as above

        if self._made is None or self._made[0] != len(self._registry):
            definitions = self._registry.offered()
            made = ModelReader(definitions, Planner(definitions, likeness=self._likeness), self._grants)
            self._made = len(self._registry), made
        return self._made[1]
