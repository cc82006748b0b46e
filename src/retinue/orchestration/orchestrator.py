"""The one entry to orchestration: a goal, a plan or a single task in, one result out (A2, A3, G17).

It plans with the rules planner, hands the plan to an engine as the payload of the one workflow there is, and waits.
Which engine, and what becomes of its history, is its caller's choice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from retinue.agents.boundary import Boundary
from retinue.agents.light_schema import light_schema_of
from retinue.agents.registry import Registry
from retinue.contract.budget import Budget
from retinue.contract.definition import Definition
from retinue.contract.event import Body
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Join, Plan
from retinue.contract.result import Result
from retinue.contract.task import Limits
from retinue.contract.tokens import DEFAULT
from retinue.engine.base import Engine, Scope, Workflow
from retinue.engine.offload import Pool
from retinue.engine.outside import REAL, Outside
from retinue.orchestration.check import Check
from retinue.orchestration.context import Surface
from retinue.orchestration.order import RUN_PLAN, Order
from retinue.orchestration.walk import Walk
from retinue.orchestration.whereabouts import exists_in, find_in
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.orchestration.planner import Planner
    from retinue.orchestration.reading import Surroundings

__all__ = ["Orchestrator", "workflows"]


def workflows(
    registry: Registry,
    *,
    boundary: Boundary | None = None,
    workspace: Workspace | None = None,
    offload: Pool | None = None,
    outside: Outside = REAL,
) -> Mapping[str, Workflow]:
    """What an engine must know to run plans for the agents of `registry`: give it to the engine when it is made."""
    call = (boundary or Boundary(registry)).call
    definitions = _by_name(registry.definitions())
    check, light = Check(registry.definitions()), partial(light_schema_of, registry)
    exists = exists_in(workspace)

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
            exists=exists,
            check=check,
            light_schema=light,
            above=order.above,
        )
        return await Walk(scope, order, surface, definitions).run()

    return {RUN_PLAN: run_plan}


@dataclass(frozen=True, slots=True)
class Orchestrator:
    """Answers goals with the agents of a registry, on an engine that was made with `workflows` of the same registry.

    Attributes:
        today: What "yesterday" is relative to; the machine's own day when absent.
        counter: Which token counter measures hand-offs (C20).
    """

    registry: Registry
    engine: Engine
    workspace: Workspace | None = None
    planner: "Planner | None" = None
    today: date | None = None
    counter: str = DEFAULT

    def plan(self, goal: str) -> Plan:
        """What would be done for `goal`, without doing it.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        from retinue.orchestration.planner import Planner  # noqa: PLC0415 - a plan made by hand needs none

        planner = self.planner or Planner(self.registry.definitions())
        return planner.plan(goal, around=self._around())

    async def start(
        self,
        plan: Plan,
        *,
        budget: Budget | None = None,
        run: str | None = None,
        answer: Literal["merged", "collected"] = "merged",
    ) -> str:
        """Start walking `plan`, and give the id of the run."""
        order = Order(
            plan=plan, budget=budget or Budget(), answer=answer, today=self._day().isoformat(), counter=self.counter
        )
        return await self.engine.start(RUN_PLAN, order.to_json(), run=run, label=plan.goal)

    async def run_goal(self, goal: str, *, budget: Budget | None = None, run: str | None = None) -> Result:
        """Answer `goal`: plan it, walk the plan, merge what came (G17).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        return await self.engine.result(await self.start(self.plan(goal), budget=budget, run=run))

    async def run_plan(self, plan: Plan, *, budget: Budget | None = None, run: str | None = None) -> Result:
        """Walk a plan made by hand, and merge what came."""
        return await self.engine.result(await self.start(plan, budget=budget, run=run))

    async def gather(
        self,
        delegations: Iterable[Delegation],
        *,
        join: Join = "all",
        quorum: float = 0.5,
        budget: Budget | None = None,
    ) -> Result:
        """Run delegations side by side, or as their `needs` say, and give what each brought.

        `data["results"]` holds the data of every useful one by its id, `data["failures"]` the others.
        """
        plan = Plan(nodes=tuple(delegations), join=join, quorum=quorum)
        return await self.engine.result(await self.start(plan, budget=budget, answer="collected"))

    async def run_task(
        self,
        agent: str,
        skill: str | None = None,
        *,
        instruction: str = "",
        target: str | None = None,
        parameters: JsonMapping | None = None,
        limits: Limits | None = None,
        budget: Budget | None = None,
        run: str | None = None,
    ) -> Result:
        """Ask one skill of one agent: a plan of one node, by the same way as any other.

        What the instruction says fills the parameters that were not given.

        Raises:
            UnknownName: Nobody is called that; or no skill, or there are several and none is named.
        """
        plan = self.task_plan(
            agent, skill, instruction=instruction, target=target, parameters=parameters, limits=limits
        )
        return await self.engine.result(await self.start(plan, budget=budget, run=run))

    def task_plan(
        self,
        agent: str,
        skill: str | None = None,
        *,
        instruction: str = "",
        target: str | None = None,
        parameters: JsonMapping | None = None,
        limits: Limits | None = None,
    ) -> Plan:
        """The plan that `run_task` walks."""
        definition = self.registry.get(agent).definition
        found = definition.skills[0] if skill is None and len(definition.skills) == 1 else definition.skill(skill or "")
        if found is None:  # the boundary says best what there is
            node = Delegation(
                id="n1", agent=definition.name, major=definition.major, limits=limits or Limits(), skill=skill
            )
            return Plan(goal=instruction, nodes=(node,))
        from retinue.orchestration.bind import bind  # noqa: PLC0415 - nor does it need to read words

        bound = bind(
            found,
            instruction,
            agent=definition.name,
            target=target,
            given=parameters,
            around=self._around(),
        )
        node = Delegation(
            id="n1",
            agent=definition.name,
            major=definition.major,
            skill=found.name,
            instruction=instruction,
            target=target,
            parameters=bound.parameters,
            limits=limits or Limits(),
            bindings=bound.bindings,
            questions=tuple(question for question in bound.questions if question.parameter is not None),
        )
        return Plan(goal=instruction, nodes=(node,))

    def _around(self) -> "Surroundings":
        from retinue.orchestration.reading import Surroundings  # noqa: PLC0415 - as above

        return Surroundings(today=self._day(), exists=exists_in(self.workspace), find=find_in(self.workspace))

    def _day(self) -> date:
        return self.today or datetime.fromtimestamp(REAL.clock() / 1_000_000_000, UTC).astimezone().date()


def _by_name(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Of two majors the oldest: it answers to the bare name."""
    found: dict[str, Definition] = {}
    for definition in definitions:
        found.setdefault(definition.name, definition)
    return found
