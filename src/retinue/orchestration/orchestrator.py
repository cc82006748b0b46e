"""The one entry to orchestration: a goal, a plan or a single task in, one result out (A2, A3, G17).

It plans by rules, or with a model where there is one, hands the plan to an engine as the payload of the one workflow there
is, and waits. Which engine, and what becomes of its history, is its caller's choice.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Literal

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, Grants
from retinue.agents.light_schema import light_schema_of
from retinue.agents.registry import Registry
from retinue.contract.budget import Budget
from retinue.contract.definition import Definition
from retinue.contract.event import Body
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Join, Plan
from retinue.contract.question import Answer, Question
from retinue.contract.result import Result, Usage
from retinue.contract.task import Limits, Thinking
from retinue.contract.tokens import DEFAULT
from retinue.engine.base import Engine, Scope, Workflow
from retinue.engine.offload import Pool
from retinue.engine.outside import REAL, Outside
from retinue.errors import RetinueError, Unavailable
from retinue.llm.purse import Purse
from retinue.orchestration.check import Check
from retinue.orchestration.context import Surface
from retinue.orchestration.ledger import total_of
from retinue.orchestration.modes import harder, thinking_in, with_thinking
from retinue.orchestration.order import RUN_PLAN, Order
from retinue.orchestration.planning import Planning, planning_of, with_planning
from retinue.orchestration.synthesise import RUN_AGENT
from retinue.orchestration.thoughts import Mind
from retinue.orchestration.walk import Walk
from retinue.orchestration.whereabouts import exists_in, find_in
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.llm.port import LanguageModel
    from retinue.orchestration.allotment import Allocate
    from retinue.orchestration.model_planner import ModelPlanner
    from retinue.orchestration.planner import Planner
    from retinue.orchestration.reading import Surroundings
    from retinue.orchestration.thinker import Thinker

__all__ = ["Orchestrator", "workflows"]


def workflows(
    registry: Registry,
    *,
    boundary: Boundary | None = None,
    workspace: Workspace | None = None,
    offload: Pool | None = None,
    outside: Outside = REAL,
    models: "Models | None" = None,
    grants: Grants = ALL,
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
    """
    call = (boundary or Boundary(registry)).call
    definitions = _by_name(registry.definitions())
    check, light = Check(registry.definitions()), partial(light_schema_of, registry)
    exists = exists_in(workspace)
    purses: dict[str, Purse] = {}
    planners = Planners(registry, check, grants)

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
            grants=grants,
        )
        if (above := purses.pop(scope.run, None)) is not None:
            surface.purse = Purse(tokens=order.budget.tokens, usd=order.budget.cost_usd, above=above)
        mind = None
        if order.model is not None:
            mind = Mind(
                order.model, partial(_opened, models, order.model), planners.model, order.thinking, outside.clock
            )
        return await Walk(scope, order, surface, definitions, mind=mind, purses=purses).run()

    return {RUN_PLAN: run_plan}


def _opened(models: "Models | None", name: str) -> "LanguageModel":
    if models is None:
        raise Unavailable(f"No models are configured here, and the run thinks with `{name}`.", hint="Configure one.")
    return models.get(name)


class Planners:
    """The planners for one registry, made when first asked and then kept."""

    def __init__(self, registry: Registry, check: Check, grants: Grants) -> None:
        self._registry, self._check, self._grants = registry, check, grants
        self._made: tuple[int, ModelPlanner] | None = None

    def model(self) -> "ModelPlanner":
        """Plans with a model's judgement."""
        from retinue.orchestration.model_planner import ModelPlanner  # noqa: PLC0415 - most runs ask no model
        from retinue.orchestration.planner import Planner  # noqa: PLC0415 - as above

        if self._made is None or self._made[0] != len(self._registry):
            definitions = self._registry.definitions()
            made = ModelPlanner(definitions, Planner(definitions), self._check, self._grants)
            self._made = len(self._registry), made
        return self._made[1]


@dataclass(frozen=True, slots=True)
class Orchestrator:
    """Answers goals with the agents of a registry, on an engine that was made with `workflows` of the same registry.

    Attributes:
        today: What "yesterday" is relative to; the machine's own day when absent.
        counter: Which token counter measures hand-offs (C20).
        models: The models at hand; without any the rules decide alone.
        model: The model that plans and thinks along, by name or tier; the default of `models` when absent.
        thinking: How hard agents are to think where the goal does not say.
        grants: What the agents may use at most: the same that `workflows` was given.
        allocate: Which model each agent gets for its part; its own rules when absent.
    """

    registry: Registry
    engine: Engine
    workspace: Workspace | None = None
    planner: "Planner | None" = None
    today: date | None = None
    counter: str = DEFAULT
    models: "Models | None" = None
    model: str | None = None
    thinking: Thinking | None = None
    grants: Grants = ALL
    allocate: "Allocate | None" = None

    def plan(self, goal: str) -> Plan:
        """What would be done for `goal` by the rules, without doing it and without asking a model.

        "Think hard about …" is read as a wish about how it is done (C43).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        mode, words = thinking_in(goal)
        plan = self._rules().plan(words, around=self._around())
        whole = plan if words == goal else plan.model_copy(update={"goal": goal.strip()})
        return self._finished(with_thinking(whole, harder(self.thinking, mode)))

    async def plan_goal(
        self,
        goal: str,
        *,
        budget: Budget | None = None,
        by: Literal["auto", "model", "rules"] = "auto",
        ask: Callable[[Question], Awaitable[Answer | None]] | None = None,
    ) -> Plan:
        """What would be done for `goal`, planned with a model (B19, P20).

        When the model's plan cannot be walked, or there is no budget for one, the rules plan, and the plan says why.

        Args:
            goal: What is asked.
            budget: The budget of the run that the plan is for: planning is paid from it.
            by: `auto` asks a model when one is configured, `model` insists on it, `rules` asks none.
            ask: Puts a question to the person when the goal cannot be understood; without it the plan holds the question.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
            Unavailable: `by` is `model`, and none is configured.
            RetinueError: `by` is `model`, and it cannot be opened: its name, its key or a package is missing.
        """
        mode, words = thinking_in(goal)
        thinker = None if by == "rules" else self._thinker(by, budget or Budget(), harder(self.thinking, mode))
        if thinker is None:
            return self.plan(goal)
        if isinstance(thinker, str):
            name = self.model or (self.models.default if self.models else "")
            planning = Planning(
                model=name, reason=f"The rules made the plan, since `{name}` cannot be asked: {thinker}"
            )
            return with_planning(self.plan(goal), planning)
        planner = replace(self._planner(), finish=self._finished)
        said: list[tuple[str, str]] = []
        usage: list[Usage] = []
        while True:
            plan = await planner.plan(words, thinker, around=self._around(), said=said)
            planning = planning_of(plan) or Planning()
            usage += [planning.usage] if planning.usage else []
            if planning.move != "clarify" or ask is None or said:
                break
            answer = await ask(Question(id="clarify", text=planning.text, agent=RUN_AGENT))
            if answer is None or not str(answer.value or "").strip():
                break
            said.append((planning.text, str(answer.value)))
        whole = with_planning(plan, planning.model_copy(update={"usage": total_of(usage)}))
        whole = whole if words == goal else whole.model_copy(update={"goal": goal.strip()})
        return with_thinking(whole, harder(self.thinking, mode))

    async def start(
        self,
        plan: Plan,
        *,
        budget: Budget | None = None,
        run: str | None = None,
        answer: Literal["merged", "collected"] = "merged",
    ) -> str:
        """Start walking `plan`, and give the id of the run.

        What it cost to make the plan is charged to the run.
        """
        planning = planning_of(plan)
        order = Order(
            plan=plan,
            budget=budget or Budget(),
            answer=answer,
            today=self._day().isoformat(),
            counter=self.counter,
            model=self._thinks_along(),
            thinking=self.thinking,
            spent=planning.usage if planning else None,
        )
        return await self.engine.start(RUN_PLAN, order.to_json(), run=run, label=plan.goal)

    async def run_goal(self, goal: str, *, budget: Budget | None = None, run: str | None = None) -> Result:
        """Answer `goal`: plan it, walk the plan, merge what came (G17).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        plan = self.plan(goal) if self.models is None else await self.plan_goal(goal, budget=budget)
        return await self.engine.result(await self.start(plan, budget=budget, run=run))

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

    def _thinks_along(self) -> str | None:
        """The name of the model that thinks along; None when none is configured, or none of that name."""
        models = self.models
        if models is None or not (self.model or models.configured):
            return None
        try:
            return models.choose(model=self.model).name
        except RetinueError:
            return None

    def _thinker(
        self, by: Literal["auto", "model"], budget: Budget, thinking: Thinking | None
    ) -> "Thinker | str | None":
        """Who plans, within the budget; None when nobody is configured, or why the one who is cannot."""
        from retinue.orchestration.thinker import Thinker  # noqa: PLC0415 - the rules need none

        models = self.models
        if models is None or (by == "auto" and not (self.model or models.configured)):
            if by == "model":
                raise Unavailable("No model is configured to plan with.", hint="Name one, or plan by rules.")
            return None
        try:
            model = models.get(models.choose(model=self.model).name)
        except RetinueError as error:
            if by == "model":
                raise
            return f"{error.message} {error.hint}"
        purse = Purse(tokens=budget.tokens, usd=budget.cost_usd)
        deadline_ns = None if budget.timeout_s is None else REAL.clock() + int(budget.timeout_s * 1_000_000_000)
        return Thinker(model, purse, deadline_ns, thinking)

    def _rules(self) -> "Planner":
        from retinue.orchestration.planner import Planner  # noqa: PLC0415 - a plan made by hand needs none

        return self.planner or Planner(self.registry.definitions())

    def _planner(self) -> "ModelPlanner":
        from retinue.orchestration.model_planner import ModelPlanner  # noqa: PLC0415 - only with a model

        definitions = self.registry.definitions()
        return ModelPlanner(definitions, self._rules(), Check(definitions), self.grants)

    def _finished(self, plan: Plan) -> Plan:
        """`plan` with the model that each node gets."""
        if self.models is None and self.allocate is None:
            return plan
        from retinue.orchestration.allotment import allotted, usual  # noqa: PLC0415 - only with models

        return allotted(plan, _by_name(self.registry.definitions()), self.allocate or usual(self.models))

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
