"""The one entry to orchestration: a goal, a plan or a single task in, one result out (A2, A3, G17).

Here it is decided who plans a goal, and within which budget; how, is the business of `reader`. The plan goes to an
engine as the payload of the one workflow there is. Which engine, and what becomes of its history, is its caller's
choice.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, Grants
from retinue.agents.registry import Registry, light_schema_of
from retinue.contract.definition import Definition, Effect
from retinue.contract.event import Body, Decision, UsageReported
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Dropped, Join, Plan, topological_order
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Budget, Limits, Question, Task, Thinking
from retinue.contract.tokens import DEFAULT
from retinue.engine.base import REAL, Engine, Outside, Workflow, WorkflowScope
from retinue.engine.ids import CHILD
from retinue.engine.offload import Pool
from retinue.engine.run_history import RunHistory
from retinue.errors import InvalidInput, RetinueError, Unavailable, UnknownName
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.budget import (
    Deadline,
    allocate_tokens,
    harder,
    orchestrator_share,
    thinking_in,
    with_thinking,
)
from retinue.orchestration.executor import Executor
from retinue.orchestration.follow import starts_child
from retinue.orchestration.node_context import RunServices
from retinue.orchestration.plan_checker import PlanChecker
from retinue.orchestration.planning import (
    Allocator,
    Planning,
    allocate_models,
    by_name,
    default_allocator,
    planning_of,
    with_planning,
)
from retinue.orchestration.rate_limits import RateLimits
from retinue.orchestration.reader.parameters import ReaderEnvironment, reader_environment
from retinue.orchestration.run_request import RESERVED, RUN_AGENT, RUN_PLAN, OnUnexpected, RunRequest, digests_of
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.orchestration.reader.model_reader import ModelReader
    from retinue.orchestration.reader.planner import Planner
    from retinue.orchestration.reader.router import Embedder
    from retinue.orchestration.structured_model import StructuredModel

PlannerChoice: TypeAlias = Literal["auto", "model", "rules"]
"""Who plans: a model when one is configured, a model in any case, or the rules."""

Answerer: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Puts a question to the person; None when nobody is there."""


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
        on_unexpected: What happens when an agent answers otherwise than it promises, after all attempts (K36): `ask`
            lets a person retry, skip or abort, `skip` goes on without its part, `abort` ends the run.
        rate_limits: How often the model that plans may be asked: the same that `workflows` was given.
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
    on_unexpected: OnUnexpected = "skip"
    rate_limits: RateLimits = field(default_factory=RateLimits)

    def plan(self, goal: str) -> Plan:
        """What would be done for `goal` by the rules, without doing it and without asking a model.

        "Think hard about …" is read as a wish about how it is done (C43).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        mode, words = thinking_in(goal)
        plan = self._with_models(self._rules().plan(words, environment=self._environment()))
        return self._finish(plan, goal, words, harder(self.thinking, mode))

    async def plan_goal(
        self,
        goal: str,
        *,
        budget: Budget | None = None,
        by: PlannerChoice = "auto",
        ask: Answerer | None = None,
        history: Sequence[str] = (),
        on_message: Callable[[Body], None] | None = None,
    ) -> Plan:
        """What would be done for `goal`, planned with a model (B19, P20).

        When the model's plan cannot be run, or there is no budget for one, the rules plan, and the plan says why.

        Args:
            goal: What is asked.
            budget: The budget of the run that the plan is for: planning is paid from it.
            by: `auto` asks a model when one is configured, `model` insists on it, `rules` asks none.
            ask: Puts a question to the person when the goal cannot be understood; without it the plan holds the
                question.
            history: What was said before, the oldest first, as `role: text`: for the model, not for the rules.
            on_message: Hears a `Message` when the model's rate limit has to be waited for: there is no run yet to tell.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
            Unavailable: `by` is `model`, and none is configured.
            RetinueError: `by` is `model`, and it cannot be opened: its name, its key or a package is missing.
        """
        mode, words = thinking_in(goal)
        thinking = harder(self.thinking, mode)
        model = None
        if by != "rules":
            model = self._planning_model(budget or Budget(), thinking, required=by == "model", on_message=on_message)
        if model is None:
            return self.plan(goal)
        if isinstance(model, str):
            name = self.model or (self.models.default if self.models else "")
            reason = f"The rules made the plan, since `{name}` cannot be asked: {model}"
            return with_planning(self.plan(goal), Planning(model=name, reason=reason))
        from retinue.orchestration.reader.model_reader import ModelReader  # noqa: PLC0415 - only with a model

        reader = ModelReader(self.registry.selectable(), self._rules(), self.grants, self._with_models)
        environment = self._environment()
        began_ns = model.clock()
        asked_ns = 0
        answers: list[tuple[str, str]] = []
        usage: list[Usage] = []
        while True:
            plan = await reader.plan(words, model, environment=environment, answers=answers, history=history)
            planning = planning_of(plan) or Planning()
            usage += [planning.usage] if planning.usage else []
            if planning.move != "clarify" or ask is None or answers:
                break
            since_ns = model.clock()
            answer = await ask(Question(id="clarify", text=planning.text, agent=RUN_AGENT))
            asked_ns = model.clock() - since_ns
            if model.deadline_ns is not None:
                model = replace(model, deadline_ns=model.deadline_ns + asked_ns)
            if answer is None or not str(answer.value or "").strip():
                break
            answers.append((planning.text, str(answer.value)))
        usage_and_time = {"usage": Usage.total(usage), "duration_ns": max(0, model.clock() - began_ns - asked_ns)}
        plan = with_planning(plan, planning.model_copy(update=usage_and_time))
        return self._finish(plan, goal, words, thinking)

    async def start(
        self,
        plan: Plan,
        *,
        budget: Budget | None = None,
        run: str | None = None,
        answer: Literal["merged", "collected"] = "merged",
        history: Sequence[str] = (),
        effects: Collection[Effect] | None = None,
        owner: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Start running `plan`, and give the id of the run.

        What it cost to make the plan, in money and in time, is charged to the run.

        Args:
            plan: What is to be done.
            budget: What it may take.
            run: The id of the run; a new one when absent.
            answer: One answer with sources, or the results side by side.
            history: What was said before, the oldest first, as `role: text`: its agents are told.
            effects: What its agents may touch at most, besides what `grants` says.
            owner: For whom it runs.
            labels: Facts to find it by.
        """
        planning = planning_of(plan)
        judge_model = None
        if self.models is not None and (self.model or self.models.configured):
            with suppress(RetinueError):  # a run goes on without its judge where none of that name is configured
                judge_model = self.models.choose(model=self.model, source="user").name
        if self.models is not None and self.models.configured and budget is not None and budget.tokens is not None:
            plan = allocate_tokens(plan, budget.tokens, by_name(self.registry.definitions()))
        request = RunRequest(
            plan=plan,
            budget=budget or Budget(),
            answer=answer,
            history=tuple(history),
            today=self._day().isoformat(),
            counter=self.counter,
            model=judge_model,
            thinking=self.thinking,
            spent=planning.usage if planning else None,
            planned_ns=planning.duration_ns if planning else 0,
            definitions=digests_of((node.agent for node in plan.nodes), self._definition_of),
            effects=None if effects is None else tuple(sorted(effects)),
            on_unexpected=self.on_unexpected,
        )
        return await self.engine.start(
            RUN_PLAN, request.to_json(), run=run, label=plan.goal, owner=owner, labels=labels
        )

    async def start_task(
        self,
        task: Task,
        *,
        budget: Budget | None = None,
        run: str | None = None,
        effects: Collection[Effect] | None = None,
        owner: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Start one task as it came, with its context, wishes and extras, and give the id of the run.

        The result is the agent's own. Nobody else is asked when it fails, and parameters that are missing or wrong are
        refused rather than asked for. Only a task in nothing but words, for an agent with several skills, is routed
        among these (C47). The arguments are as for `start`.

        Raises:
            UnknownName: There is no such agent.
        """
        definition, major = self._find(task.agent, task.major)
        if task.skill is None and definition.default_skill is None and not task.parameters:
            plan = self.task_plan(task.agent, instruction=task.instruction, target=task.target, limits=task.limits)
        else:
            node = Delegation(
                id="n1",
                agent=definition.name,
                major=major,
                skill=task.skill,
                instruction=task.instruction,
                target=task.target,
                parameters=task.parameters,
                limits=task.limits,
                model=task.model,
                thinking=task.thinking,
            )
            plan = Plan(goal=task.instruction, nodes=(node,))
        request = RunRequest(
            plan=plan,
            task=task,
            answer="asked",
            budget=budget or Budget(),
            parent=task.id or None,
            depth=task.depth,
            today=self._day().isoformat(),
            effects=None if effects is None else tuple(sorted(effects)),
            definitions=digests_of([definition.name], self._definition_of),
        )
        default = definition.default_skill
        label = task.instruction or f"{definition.name}.{task.skill or (default.name if default else '')}"
        return await self.engine.start(RUN_PLAN, request.to_json(), run=run, label=label, owner=owner, labels=labels)

    async def task_of(self, run: str) -> Task | None:
        """The task that a run does; None for a run of a plan.

        Raises:
            UnknownName: There is no such run.
        """
        return RunRequest.read(await self.engine.payload(run)).task

    def changed_since(self, payload: JsonMapping) -> list[str]:
        """The agents that are not defined any more as they were when a run was started with `payload`.

        Raises:
            InvalidInput: It is not what a run of a plan is started with.
        """
        before = RunRequest.read(payload).definitions
        now = digests_of(before, self._definition_of)
        return [name for name, digest in before.items() if now.get(name) != digest]

    async def changed(self, run: str) -> list[str]:
        """The agents of a run and of its child runs that are not defined any more as they were when it began.

        Raises:
            UnknownName: There is no such run.
            InvalidInput: It is not one of a plan.
        """
        names, runs = dict[str, None](), [run]
        for each in runs:
            try:
                names |= dict.fromkeys(self.changed_since(await self.engine.payload(each)))
            except UnknownName:
                if each == run:
                    raise
                continue  # a child run that had not been started yet
            events = [event async for event in self.engine.events(each, follow=False)]
            runs += dict.fromkeys(f"{each}{CHILD}{event.node}" for event in events if starts_child(event))
        return list(names)

    async def fork(
        self, run: str, *, without: Sequence[str] = (), parameters: Mapping[str, JsonMapping] = MappingProxyType({})
    ) -> str:
        """Start a copy of a run that keeps what has finished; gives its id.

        Args:
            run: Its id.
            without: Nodes that are run again, with all that need them.
            parameters: Other parameters for single nodes, by node; these are run again too.

        Raises:
            UnknownName: There is no such run, or no such node in its plan.
            InvalidInput: The run is not one of a plan; or a parameter does not fit.
        """
        request = RunRequest.read(await self.engine.payload(run))
        changed = {*without, *parameters}
        nodes = {node.id: node for node in request.plan.nodes}
        if unknown := sorted(changed - nodes.keys()):
            hint = f"Its steps: {', '.join(f'`{name}`' for name in nodes)}."
            raise UnknownName(f"Run `{run}` has no step `{unknown[0]}`.", hint=hint, suggestions=tuple(nodes))
        for name in topological_order(request.plan.nodes):
            if changed.intersection(nodes[name].needs):
                changed.add(name)
        for name, values in parameters.items():
            update = {"parameters": {**nodes[name].parameters, **values}, "questions": ()}
            nodes[name] = nodes[name].model_copy(update=update)
        plan = request.plan.model_copy(update={"nodes": tuple(nodes.values())})
        checker = PlanChecker(self.registry.definitions()) if parameters else None
        for finding in checker.findings(plan) if checker else ():
            if finding.severity == "error":
                raise InvalidInput(finding.message, hint=finding.fix, path=finding.path)
        events = [event async for event in self.engine.events(run, follow=False)]
        steps = RunHistory(run, RUN_PLAN, {}, "", 0, events=events).kept_results()
        again = [step for step in steps if step.partition(RESERVED)[0] in changed]
        payload = RunRequest.read(request.model_copy(update={"plan": plan}).to_json()).to_json()
        copy = await self.engine.fork(run, without=again, payload=payload)
        with suppress(Unavailable):  # another process works on the run, and only that one may write into its history
            await self.engine.add_event(run, Decision("fork", f"It was started again as run `{copy}`.", {"run": copy}))
        return copy

    async def run_goal(self, goal: str, *, budget: Budget | None = None, run: str | None = None) -> Result:
        """Answer `goal`: plan it, run the plan, merge what came (G17).

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        plan = self.plan(goal) if self.models is None else await self.plan_goal(goal, budget=budget)
        return await self.engine.result(await self.start(plan, budget=budget, run=run))

    async def run_plan(self, plan: Plan, *, budget: Budget | None = None, run: str | None = None) -> Result:
        """Run a plan made by hand, and merge what came."""
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
        """The plan that `run_task` runs."""
        definition, major = self._find(agent)
        name = skill if skill is not None or definition.default_skill is None else definition.default_skill.name
        target_skill = None if name is None else definition.skill(name)
        takes_words = target_skill is not None and target_skill.instruction_field and not parameters
        if instruction.strip() and (name is None or takes_words):
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

    def _find(self, agent: str, major: int | None = None) -> tuple[Definition, int | None]:
        """What the agent says of itself, and its major where its plain name alone would reach another one.

        Raises:
            UnknownName: There is no such agent.
        """
        callee = self.registry.get(agent, major=major)
        definition = callee.definition
        return definition, None if self.registry.get(definition.name) is callee else definition.major

    def _definition_of(self, name: str) -> Definition | None:
        with suppress(UnknownName):
            return self.registry.get(name).definition
        return None

    def _planning_model(
        self, budget: Budget, thinking: Thinking | None, *, required: bool, on_message: Callable[[Body], None] | None
    ) -> "StructuredModel | str | None":
        """The model that plans, within the budget; None when none is configured, or why the one that is cannot."""
        models = self.models
        if models is None or not (required or self.model or models.configured):
            if required:
                raise Unavailable("No model is configured to plan with.", hint="Name one, or plan by rules.")
            return None
        try:
            model = models.get(models.choose(model=self.model, source="user").name)
        except RetinueError as error:
            if required:
                raise
            return f"{error.message} {error.hint}"
        from retinue.orchestration.structured_model import StructuredModel  # noqa: PLC0415 - the rules need none

        tokens = None if budget.tokens is None else orchestrator_share(budget.tokens)
        tracker = BudgetTracker(tokens=tokens, usd=budget.cost_usd, name="orchestrator")
        tracker.before_request = partial(self.rate_limits.wait_for_model, on_message or (lambda _: None))
        clock = REAL.stopwatch()
        deadline_ns = None if budget.timeout_s is None else clock() + int(budget.timeout_s * 1_000_000_000)
        return StructuredModel(model, tracker, deadline_ns, thinking, clock)

    def _rules(self) -> "Planner":
        from retinue.orchestration.reader.planner import Planner  # noqa: PLC0415 - a plan made by hand needs none

        return self.planner or Planner(self.registry.selectable(), likeness=self.likeness)

    def _with_models(self, plan: Plan) -> Plan:
        if self.allocate is None and (self.models is None or not self.models.configured):
            return plan
        definitions = by_name(self.registry.definitions())
        return allocate_models(plan, definitions, self.allocate or default_allocator(self.models))

    def _finish(self, plan: Plan, goal: str, words: str, thinking: Thinking | None) -> Plan:
        """`plan` for the goal as it was said, with how hard its agents are to think, and examples beside refusals."""
        update: dict[str, object] = {} if words == goal else {"goal": goal.strip()}
        if plan.dropped:
            definitions, exists = by_name(self.registry.selectable()), self._environment().exists
            dropped: list[Dropped] = []
            for one in plan.dropped:
                # An example of each skill that came near, of those that name no file that is not here.
                requests: list[str] = []
                for near in one.nearest if one.wanted else ():
                    skill = definitions[near.agent].skill(near.skill) if near.agent in definitions else None
                    for example in () if skill is None else skill.examples:
                        names = (word.strip("`'\"?,.:;()") for word in example.split())
                        if exists is None or all(exists(name) for name in names if "/" in name or "." in name):
                            requests.append(example)
                            break
                dropped.append(one if one.examples else one.model_copy(update={"examples": tuple(requests)}))
            update["dropped"] = tuple(dropped)
        return with_thinking(plan.model_copy(update=update), thinking)

    def _environment(self) -> ReaderEnvironment:
        return reader_environment(self.registry, self.workspace, self._day(), grants=self.grants)

    def _day(self) -> date:
        return self.today or datetime.fromtimestamp(REAL.clock() / 1_000_000_000, UTC).astimezone().date()


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
    rate_limits: RateLimits | None = None,
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
        rate_limits: How often models and agents may be called; nothing limits that when absent.
    """
    call = (boundary or Boundary(registry)).call
    definitions = by_name(registry.definitions())
    checker = PlanChecker(registry.definitions())
    environment = reader_environment(registry, workspace, grants=grants)
    child_limits: dict[str, tuple[BudgetTracker, Deadline]] = {}
    readers: dict[int, ModelReader] = {}

    def model_reader() -> "ModelReader":
        from retinue.orchestration.reader.model_reader import ModelReader  # noqa: PLC0415 - most runs ask no model
        from retinue.orchestration.reader.planner import Planner  # noqa: PLC0415 - as above

        if len(registry) not in readers:  # made once, and again when there are more agents
            agents = registry.selectable()
            readers.clear()
            readers[len(registry)] = ModelReader(agents, Planner(agents, likeness=likeness), grants)
        return readers[len(registry)]

    async def run_plan(scope: WorkflowScope, payload: JsonMapping) -> Result:
        request = RunRequest.read(payload)
        budget = request.budget

        def emit(body: Body, node: str, attempt: int) -> None:
            scope.emit(body, node=node, attempt=attempt)

        if request.spent is not None:
            scope.emit(UsageReported(request.spent))
        # By the real clock: a resumed run has its time again, and the recorded start may be days ago.
        own = None, Deadline(request.deadline(outside.clock()), outside)
        parent_tracker, deadline = child_limits.pop(scope.run, own)
        services = RunServices(
            run=scope.run,
            call=call,
            emit=emit,
            commit=scope.commit,
            request=request,
            deadline=deadline,
            tracker=BudgetTracker(tokens=budget.tokens, usd=budget.cost_usd, parent=parent_tracker),
            rate_limits=rate_limits or RateLimits(),
            workspace=workspace,
            offload=offload,
            outside=outside,
            environment=environment,
            checker=checker,
            light_schema=partial(light_schema_of, registry),
            grants=grants if request.effects is None else Grants(effects=frozenset(request.effects)).within(grants),
        )
        judge = None
        if request.model is not None:
            from retinue.orchestration.judge_calls import ModelJudge  # noqa: PLC0415 - most runs ask no model

            judge = ModelJudge(request.model, models, model_reader, request.thinking, outside.clock)
        return await Executor(scope, services, definitions, judge=judge, child_limits=child_limits).run()

    return {RUN_PLAN: run_plan}
