"""The one entry to orchestration: a goal, a plan or a single task in, one result out (A2, A3, G17).

It has the goal planned (`goal_planner`), hands the plan to an engine as the payload of the one workflow there is
(`workflows`), and waits. Which engine, and what becomes of its history, is its caller's choice.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal

from retinue.agents.grants import ALL, Grants
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Join, Plan
from retinue.contract.result import Result
from retinue.contract.task import Budget, Limits, Thinking
from retinue.contract.tokens import DEFAULT
from retinue.engine.base import REAL, Engine
from retinue.errors import UnknownName
from retinue.orchestration.budget_allocation import allocate_tokens
from retinue.orchestration.goal_planner import Answerer, GoalPlanner, PlannerChoice, by_name, judge_model_name
from retinue.orchestration.planning import planning_of
from retinue.orchestration.reader.parameters import ReaderEnvironment, reader_environment
from retinue.orchestration.run_request import RUN_PLAN, RunRequest, digests_of
from retinue.orchestration.workflows import workflows
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.orchestration.model_allocation import Allocator
    from retinue.orchestration.reader.planner import Planner
    from retinue.orchestration.reader.router import Embedder

__all__ = ["Orchestrator", "workflows"]


@dataclass(frozen=True, slots=True)
class Orchestrator:
    """Answers goals with the agents of a registry, on an engine that was made with `workflows` of the same registry.

    Attributes:
        planner: Plans by rules; made from `registry` and `likeness` when absent.
        likeness: Ranks skills by meaning as well, such as `retinue.SentenceEmbedder`.
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
    likeness: "Embedder | None" = None
    today: date | None = None
    counter: str = DEFAULT
    models: "Models | None" = None
    model: str | None = None
    thinking: Thinking | None = None
    grants: Grants = ALL
    allocate: "Allocator | None" = None

    def plan(self, goal: str) -> Plan:
        """What would be done for `goal` by the rules, without doing it and without asking a model.

        "Think hard about …" is read as a wish about how it is done (C43).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        return self._goal_planner().plan_by_rules(goal)

    async def plan_goal(
        self, goal: str, *, budget: Budget | None = None, by: PlannerChoice = "auto", ask: Answerer | None = None
    ) -> Plan:
        """What would be done for `goal`, planned with a model (B19, P20).

        When the model's plan cannot be walked, or there is no budget for one, the rules plan, and the plan says why.

        Args:
            goal: What is asked.
            budget: The budget of the run that the plan is for: planning is paid from it.
            by: `auto` asks a model when one is configured, `model` insists on it, `rules` asks none.
            ask: Puts a question to the person when the goal cannot be understood; without it the plan holds the
                question.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
            Unavailable: `by` is `model`, and none is configured.
            RetinueError: `by` is `model`, and it cannot be opened: its name, its key or a package is missing.
        """
        return await self._goal_planner().plan(goal, budget=budget or Budget(), by=by, ask=ask)

    async def start(
        self,
        plan: Plan,
        *,
        budget: Budget | None = None,
        run: str | None = None,
        answer: Literal["merged", "collected"] = "merged",
    ) -> str:
        """Start walking `plan`, and give the id of the run.

        What it cost to make the plan, in money and in time, is charged to the run.
        """
        planning = planning_of(plan)
        if self.models is not None and self.models.configured and budget is not None and budget.tokens is not None:
            plan = allocate_tokens(plan, budget.tokens, by_name(self.registry.definitions()))
        request = RunRequest(
            plan=plan,
            budget=budget or Budget(),
            answer=answer,
            today=self._day().isoformat(),
            counter=self.counter,
            model=judge_model_name(self.models, self.model),
            thinking=self.thinking,
            spent=planning.usage if planning else None,
            planned_ns=planning.duration_ns if planning else 0,
            definitions=digests_of((node.agent for node in plan.nodes), self._definition_of),
        )
        return await self.engine.start(RUN_PLAN, request.to_json(), run=run, label=plan.goal)

    def changed(self, payload: JsonMapping) -> list[str]:
        """The agents of a run that are not defined any more as they were when it began, by what it was started with.

        Raises:
            InvalidInput: `payload` is not what a run of a plan is started with.
        """
        before = RunRequest.read(payload).definitions
        now = digests_of(before, self._definition_of)
        return [name for name, digest in before.items() if now.get(name) != digest]

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

        `data["results"]` holds the data of every useful one by its id, or its text when it has no data;
        `data["failures"]` the others. A delegation that `needs` another finds what that one brought in
        `task.context.inputs`, under its id.
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

        What the instruction says fills the parameters that were not given. Without a skill this is the generic task:
        the instruction is routed among the agent's own skills, and rejected with their names when none fits (C47).

        Raises:
            UnknownName: Nobody is called that.
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
        callee = self.registry.get(agent)
        definition = callee.definition
        # The plan names a major only where the plain name would reach another one: the agent is told what is asked.
        major = None if self.registry.get(definition.name) is callee else definition.major
        name = skill if skill is not None or definition.default_skill is None else definition.default_skill.name
        target_skill = None if name is None else definition.skill(name)
        if name is None or (
            target_skill is not None and target_skill.instruction_field and instruction.strip() and not parameters
        ):
            from retinue.orchestration.reader.planner import read_words  # noqa: PLC0415 - a call in full needs none

            read = read_words(definition, instruction, self._environment(), skill=name, likeness=self.likeness)
            if read.unknown_words and target_skill is not None:
                return Plan(goal=instruction, dropped=(read.dropped,))
            target_skill = target_skill or (definition.skill(read.chosen.skill or "") if read.chosen else None)
        if target_skill is None:  # the boundary says best what there is
            node = Delegation(id="n1", agent=definition.name, major=major, limits=limits or Limits(), skill=skill)
            return Plan(goal=instruction, nodes=(node,))
        from retinue.orchestration.reader.bind import bind  # noqa: PLC0415 - nor does it need to read words

        bound = bind(
            target_skill,
            instruction,
            agent=definition.name,
            target=target,
            preset=parameters,
            environment=self._environment(),
        )
        node = Delegation(
            id="n1",
            agent=definition.name,
            major=major,
            skill=target_skill.name,
            instruction=instruction,
            target=target,
            parameters=bound.parameters,
            limits=limits or Limits(),
            bindings=bound.bindings,
            questions=tuple(question for question in bound.questions if question.parameter is not None),
        )
        return Plan(goal=instruction, nodes=(node,))

    def _definition_of(self, name: str) -> Definition | None:
        with suppress(UnknownName):
            return self.registry.get(name).definition
        return None

    def _goal_planner(self) -> GoalPlanner:
        return GoalPlanner(
            registry=self.registry,
            environment=self._environment(),
            planner=self.planner,
            likeness=self.likeness,
            models=self.models,
            model=self.model,
            thinking=self.thinking,
            grants=self.grants,
            allocate=self.allocate,
        )

    def _environment(self) -> ReaderEnvironment:
        return reader_environment(self.registry, self.workspace, self._day(), grants=self.grants)

    def _day(self) -> date:
        return self.today or datetime.fromtimestamp(REAL.clock() / 1_000_000_000, UTC).astimezone().date()
