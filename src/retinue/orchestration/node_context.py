"""What an agent is given beside its task when it works as a node of a run: orchestration's `RunContext`.

It holds no state of the run: what an agent does through it is an event, a question or a call through the boundary.
"""

import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from retinue.agents.grants import ALL, Grants
from retinue.contract.definition import Definition
from retinue.contract.event import (
    Body,
    Checkpoint,
    Decision,
    DelegationFinished,
    Event,
    NodeFinished,
    Progress,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.model import JsonMapping
from retinue.contract.old_names import with_old_names
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Budget, Correction, Question, Task
from retinue.engine.base import REAL, Outside
from retinue.engine.offload import Pool
from retinue.errors import AccessDenied, BudgetExceeded, Canceled, InvalidInput, RetinueError
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.budget import Deadline
from retinue.orchestration.plan_checker import ASK_LESS, PlanChecker, call_cycle
from retinue.orchestration.rate_limits import RateLimits
from retinue.orchestration.reader.parameters import EMPTY_ENVIRONMENT, ReaderEnvironment
from retinue.orchestration.run_request import Caller, RunRequest
from retinue.orchestration.task_builder import idempotency_key
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

MID_STEP_QUESTION = "asked_inside"
"""Marks a question that an agent asked in the middle: it goes on even when nobody answers, and is told so."""

_MAX_QUESTIONS = 100
_MAX_PHASES = 1_000
_DELEGATED_FIELDS = (
    "task_id", "agent", "skill", "versions", "lifecycle", "outcome", "fault", "usage", "duration_ns", "attempts",
    "retries",
)  # fmt: skip
"""What is noted of an agent that was asked inside a step; its answer stands in the result of whoever asked."""

_CHECKPOINT = "memo"
_CALLS = "calls"
"""Where a memo keeps those of the agents that were called and wait for an answer."""


class AgentCaller(Protocol):
    """The boundary, as a function."""

    def __call__(self, task: Task, run: "NodeContext", /) -> Awaitable[Result]:
        """Call an agent and give what it came to."""
        ...


@dataclass(slots=True)
class RunServices:
    """What all nodes of one run share.

    Attributes:
        emit: Records an event of a node: body, node, attempt.
        commit: Waits until everything emitted so far is recorded.
        request: What the run was started with; its nodes share its budget.
        deadline: When the run must be over.
        tracker: What the models of this run may still spend.
        offload: Where CPU-heavy work goes; without one it is refused.
        environment: What may be known beside the words of a request.
        checker: Knows the agents at hand; for plans that agents return.
        light_schema: Says in a few lines who these agents are.
        grants: What the agents of this run may use at most.
        rate_limits: How often models and agents may be called.
        calls_left: How many more agents may be called from inside steps.
    """

    run: str
    call: AgentCaller
    emit: Callable[[Body, str, int], None]
    commit: Callable[[], Awaitable[None]]
    request: RunRequest
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    tracker: BudgetTracker = field(default_factory=BudgetTracker)
    workspace: Workspace | None = None
    offload: Pool | None = None
    outside: Outside = REAL
    environment: ReaderEnvironment = EMPTY_ENVIRONMENT
    checker: PlanChecker = field(default_factory=lambda: PlanChecker(()))
    light_schema: Callable[[], str] = str
    grants: Grants = ALL
    rate_limits: RateLimits = field(default_factory=RateLimits)
    calls_left: int = field(init=False)

    def __post_init__(self) -> None:
        """Agents inside steps may be called as often as nodes may be."""
        self.calls_left = self.request.budget.nodes
        self.tracker.before_request = partial(self.rate_limits.wait_for_model, lambda body: self.emit(body, "", 0))


@with_old_names(memo="checkpoint", purse="budget_tracker")
class NodeContext:
    """The `RunContext` of one node.

    Args:
        step: The step that it works in; the node itself when absent.
        earlier_turns: What was recorded of the conversations of this step before its process died.
        open_tracker: Opens the tracker of this node, given who hears what its models take.

    Attributes:
        waits_for: The question because of which the agent was stopped: it runs again when there is an answer.
        asked: The task it works on; a plan it answers with must not ask the same again.
        phases: The phases that its agent has told of, each with the kinds of events that did.
    """

    __slots__ = (
        "_above", "_answers", "_budget_tracker", "_callee", "_clock", "_delegated", "_delegation_count", "_depth",
        "_open_tracker", "_place", "_services", "_step", "attempt", "budget", "checkpoint", "correction",
        "deadline_ns", "earlier_turns", "grants", "node", "parts", "phases", "run", "task", "waits_for",
    )  # fmt: skip

    def __init__(
        self,
        services: RunServices,
        node: str,
        *,
        budget: Budget | None = None,
        answers: Mapping[str, Answer | None] | None = None,
        checkpoint: dict[str, Any] | None = None,
        parts: Mapping[str, Result] | None = None,
        open_tracker: Callable[..., BudgetTracker] | None = None,
        step: str = "",
        earlier_turns: Sequence[TurnsAdded] = (),
    ) -> None:
        self.run = services.run
        self.node = node
        self.attempt = 0
        self._clock = services.outside.stopwatch()
        self.deadline_ns = services.deadline.at_ns
        self.budget = budget or services.request.budget
        self.grants = services.grants
        self.checkpoint = {} if checkpoint is None else checkpoint
        self.parts = parts
        self.correction: Correction | None = None
        self.waits_for: Question | None = None
        self.task: Task | None = None
        self.phases: dict[str, frozenset[str]] = {}
        self._services = services
        self._depth = services.request.depth
        self._callee = ""  # who was asked inside another one's step
        self._above: tuple[Caller, ...] | None = None
        self._delegation_count = 0
        self._delegated: Usage | None = None
        self._place = f"{services.run}:{node}"
        self._answers = answers or {}
        self.earlier_turns = earlier_turns
        self._step = step or node
        self._open_tracker = open_tracker
        self._budget_tracker: BudgetTracker | None = None

    @property
    def workspace(self) -> Workspace:
        """The fenced directory, without the files that a rule keeps this agent from reading.

        Raises:
            AccessDenied: This run has none.
        """
        if self._services.workspace is None:
            raise AccessDenied("This run has no workspace.", hint="Start it with one: a directory that may be read.")
        return self.grants.restrict_workspace(self._services.workspace)

    @property
    def budget_tracker(self) -> BudgetTracker:
        """What the models of its agent may still spend."""
        if self._budget_tracker is None:
            open_tracker = self._open_tracker
            tracker = self._services.tracker if open_tracker is None else open_tracker(on_usage=self._report_usage)
            tracker.before_request = partial(self._services.rate_limits.wait_for_model, self.emit)
            self._budget_tracker = tracker
        return self._budget_tracker

    @property
    def light_schema(self) -> str:
        """Who there is and what each does, in a few lines (B19)."""
        return self._services.light_schema()

    def definition_of(self, name: str) -> Definition | None:
        """The definition of the agent called `name`; None when there is none of that name."""
        return self._services.checker.definition(name)

    def review(self, plan: Plan) -> list[Finding]:
        """What keeps `plan` from being run as the answer to this node's task."""
        checker, task, above = self._services.checker, self.task, self._services.request.above
        if task is not None:
            above = (*above, checker.caller(task, self.node))
        return [*checker.findings(plan), *checker.cycles(plan, above)]

    def emit(self, body: Body) -> None:
        """Record an event of this node.

        That a step has finished is recorded by the engine, with the result; how an agent inside it ended is noted here,
        unless it only waits for an answer.
        """
        if not isinstance(body, NodeFinished):
            if isinstance(body, UsageReported) and self._callee:
                body = UsageReported(body.usage.with_agent(self._callee))
            if isinstance(body, Progress | Checkpoint) and len(self.phases) < _MAX_PHASES:
                kind = "checkpoint" if isinstance(body, Checkpoint) else "progress"
                self.phases[body.phase] = self.phases.get(body.phase, frozenset()) | {kind}
            node = self._step if isinstance(body, TurnsAdded) else self.node
            self._services.emit(body, node, self.attempt)
        elif self._callee and self.waits_for is None:
            facts = {name: getattr(body.result, name) for name in _DELEGATED_FIELDS}
            self._services.emit(DelegationFinished(Result(**facts)), self.node, self.attempt)

    async def commit(self) -> None:
        """Wait until everything emitted so far is recorded."""
        await self._services.commit()

    def _report_usage(self, usage: Usage) -> None:
        self.emit(UsageReported(usage))

    def now(self) -> int:
        """Nanoseconds since 1970 UTC, as the clock was set when this began."""
        return self._clock()

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._services.outside.chance()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking anybody."""
        await self._services.outside.pause(seconds)

    async def ask(self, question: Question) -> Answer | None:
        """Ask a person; None when nobody is there.

        A question cannot wait inside a step, which would have to be repeated when the process dies meanwhile. So the
        agent is stopped here, the executor asks, and the agent runs again from its start, with the answer at hand.

        Raises:
            Canceled: There is no answer yet.
        """
        if question.id in self._answers:
            return self._answers[question.id]
        self.waits_for = question
        raise Canceled(f"Waiting for an answer: {question.text}", hint="The agent runs again with the answer.")

    async def call(self, task: Task) -> Result:
        """Call the agent of this node through the boundary, when its rate limit leaves room."""
        await self._services.rate_limits.wait_for_agent(task, self)
        return await self._services.call(task, self)

    async def delegate(self, task: Task, *, grants: Grants | None = None, key: str | None = None) -> Result:
        """Call another agent through the boundary, inside this step; at least once, as task `{run}:{node}:{key}`.

        Whatever `grants` says, the other may use no more than this agent. What it noted for itself when it had to ask
        is kept in this agent's checkpoint, so that it goes on from there. What it took is marked as its own, so that an
        agent that adds it to a usage of its own does not pass for the one that took it. To ask again exactly what is
        being answered, by however many others, is refused: that would never end.
        """
        services = self._services
        self._delegation_count += 1
        name = f"{self._place}:{key or self._delegation_count}"
        request = task.model_copy(update={"id": name, "depth": self._depth + 1, "parent": self._place})
        try:
            request = self._with_parameters(request)
            repeat_key = idempotency_key(request, request.context.inputs, name)
        except InvalidInput as error:
            fault = Fault.from_error(error)
            return Result(task_id=name, agent=task.agent, skill=task.skill, outcome="rejected", fault=fault)
        request = request.model_copy(update={"idempotency_key": repeat_key})
        if self._above is None:
            own = () if self.task is None else (services.checker.caller(self.task, self.node),)
            self._above = (*services.request.above, *own)
        caller = services.checker.caller(request, self.node)
        if (error := self._delegation_error(self._above, caller)) is not None:
            fault = Fault.from_error(error)
            return Result(task_id=name, agent=task.agent, skill=task.skill, outcome="error", fault=fault)
        services.calls_left -= 1
        self.emit(Decision("delegate", f"`{self.node}` calls `{task.agent}` itself.", {"task": name}))
        notes: dict[str, Any] = self.checkpoint.setdefault(_CALLS, {})
        checkpoint = notes.setdefault(name, {})
        inner = NodeContext(
            services,
            self.node,
            budget=self.budget,
            answers=self._answers,
            checkpoint=checkpoint,
            step=self._step,
            earlier_turns=self.earlier_turns,
        )
        inner.grants = grants.within(self.grants) if grants else self.grants
        inner.deadline_ns, inner._clock = self.deadline_ns, self._clock
        inner._depth, inner._callee = self._depth + 1, caller.agent
        inner._place, inner._above = name, (*self._above, caller)
        inner._budget_tracker = BudgetTracker(parent=self.budget_tracker, separate=True, on_usage=inner._report_usage)
        result = inner.with_delegated_usage(await inner.call(request))
        if result.usage is not None:
            result = result.model_copy(update={"usage": result.usage.with_agent(result.agent)})
            self._delegated = Usage.total((self._delegated, result.usage))
        if inner.waits_for is not None:
            self.waits_for = inner.waits_for
            raise Canceled(f"Waiting for an answer: {inner.waits_for.text}")
        del notes[name]
        return result

    def _delegation_error(self, above: tuple[Caller, ...], caller: Caller) -> RetinueError | None:
        """Why a further agent may not be called from here, if so; the chain names who asked whom."""
        if chain := call_cycle(above, caller):
            message = f"This asks again exactly what is being answered: {chain}."
            return InvalidInput(message, hint=ASK_LESS, detail={"bound": "ring", "ring": chain})
        hint = "Raise the budget, or delegate less."
        if self._depth + 1 > self.budget.depth:
            message = f"Delegations may stand {self.budget.depth} above each other, and this would be one more."
            return BudgetExceeded(message, hint=hint)
        if self._services.calls_left < 1:
            return BudgetExceeded(f"All {self.budget.nodes} delegations of this run are used up.", hint=hint)
        return None

    def _with_parameters(self, task: Task) -> Task:
        """`task` with the parameters that its words say, where it has words only."""
        definition = None if task.parameters or not task.instruction.strip() else self.definition_of(task.agent)
        skill = None if definition is None else definition.skill(task.skill) if task.skill else definition.default_skill
        if definition is None or skill is None or len(skill.input_schema.get("properties", {})) < 2:
            return task
        from retinue.orchestration.reader.planner import read_words  # noqa: PLC0415 - few tasks have words only

        read = read_words(definition, task.instruction, self._services.environment, skill=skill.name)
        if read.unknown_words:
            raise InvalidInput(read.reason, hint="Say it in other words, or give parameters.", path="/instruction")
        return task.model_copy(update={"parameters": read.bound.parameters}) if read.chosen else task

    def with_delegated_usage(self, result: Result) -> Result:
        """What this agent came to, with what those took whom it asked itself, if it says nothing of them."""
        theirs, own_usage = self._delegated, result.usage
        if theirs is None:
            return result
        if own_usage is not None and {part.agent for part in own_usage.split()} & {
            part.agent for part in theirs.split()
        }:
            return result
        return result.model_copy(update={"usage": Usage.total((own_usage, theirs))})

    async def offload(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run CPU-heavy work in another process, which is killed when time is up.

        Raises:
            AccessDenied: This run has no processes to give.
            DeadlineExceeded: Time ran out; the worker was killed.
        """
        pool = self._services.offload
        if pool is None:
            raise AccessDenied("This run has no worker processes.", hint="Start it with a `Pool`.")
        if self.deadline_ns is None:
            return await pool.run(function, *args, **kwargs)
        left_s = max(self.deadline_ns - self.now(), 0) / 1_000_000_000
        return await pool.run(function, *args, timeout_s=left_s, **kwargs)


def waiting_result(task: Task, context: NodeContext, question: Question, usage: Usage | None) -> Result:
    """What a step came to whose agent must know something first. Its notes for itself are recorded with it."""
    return Result(
        task_id=task.id,
        agent=task.agent,
        skill=task.skill,
        lifecycle="input_required",
        questions=(question,),
        usage=usage,
        extras={MID_STEP_QUESTION: True, _CHECKPOINT: context.checkpoint},
    )


def counts_as_round(result: Result, *, answered: int) -> bool:
    """Whether asking for `result` counts against its agent: not in the middle of its work, unless it asks for ever."""
    return MID_STEP_QUESTION not in result.extras or answered >= _MAX_QUESTIONS


def checkpoint_for(node: Delegation, last: Result | None) -> JsonMapping | None:
    """What the agent of `node` noted when it had to ask; nothing when another is asked now."""
    if last is None or _CHECKPOINT not in last.extras or (last.agent, last.skill) != (node.agent, node.skill):
        return None
    return copy.deepcopy(last.extras[_CHECKPOINT])  # what is recorded stays as it was


def recorded_turns(events: Sequence[Event]) -> dict[str, list[TurnsAdded]]:
    """What was recorded of conversations that go on when a run does, by the name of their step.

    A step that was killed or stopped goes on where it was; one that has to ask again gets as far as its question. What
    has failed begins anew.
    """
    turns: dict[str, list[TurnsAdded]] = {}
    for event in events:
        if isinstance(event.body, TurnsAdded):
            turns.setdefault(event.node, []).append(event.body)
        elif isinstance(event.body, NodeFinished):
            result = event.body.result
            if result.lifecycle != "input_required" and result.outcome != "canceled":
                turns.pop(event.node, None)
    return turns
