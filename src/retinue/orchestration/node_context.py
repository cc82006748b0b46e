"""What an agent is given beside its task when it works as a node of a run: orchestration's `RunContext`.

It holds no state of the run: what an agent does through it is an event, a question or a call through the boundary.
"""

import copy
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar

from retinue.agents.grants import ALL, Grants
from retinue.contract.definition import Definition
from retinue.contract.event import Body, Checkpoint, Decision, DelegationFinished, NodeFinished, Progress
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Budget, Correction, Question, Task
from retinue.engine.base import REAL, Outside
from retinue.engine.offload import Pool
from retinue.errors import AccessDenied, BudgetExceeded, Canceled, InvalidInput
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.plan_checker import ASK_LESS, PlanChecker, call_cycle
from retinue.orchestration.reader.parameters import EMPTY_ENVIRONMENT, ReaderEnvironment
from retinue.orchestration.run_request import Caller
from retinue.orchestration.task_builder import with_idempotency_key
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

_SECOND = 1_000_000_000
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
class Deadline:
    """When a run and its child runs must be over. It stands still while a person is asked.

    Attributes:
        ends_ns: When, unless somebody is asked now; None when nothing bounds it.
        clock: Nanoseconds since 1970 UTC.
    """

    ends_ns: int | None
    clock: Callable[[], int] = REAL.clock
    _questions: int = 0
    _since_ns: int = 0

    @property
    def at_ns(self) -> int | None:
        """When it is over, as far as is known now."""
        waited = self.clock() - self._since_ns if self._questions else 0
        return None if self.ends_ns is None else self.ends_ns + waited

    def pause(self) -> None:
        """A person is asked."""
        if not self._questions:
            self._since_ns = self.clock()
        self._questions += 1

    def resume(self) -> None:
        """One question is over."""
        at_ns = self.at_ns
        self._questions -= 1
        if not self._questions:
            self.ends_ns = at_ns


@dataclass(slots=True)
class RunServices:
    """What all nodes of one run share.

    Attributes:
        emit: Records an event of a node: body, node, attempt.
        environment: What may be known beside the words of a request.
        offload: Where CPU-heavy work goes; without one it is refused.
        calls_left: How many more agents may be called from inside steps.
        checker: Knows the agents at hand; for plans that agents return.
        light_schema: Says in a few lines who these agents are.
        above: The delegations above this run, the outermost first.
        grants: What the agents of this run may use at most.
        budget_tracker: What the models of this run may still spend.
    """

    run: str
    call: AgentCaller
    emit: Callable[[Body, str, int], None]
    budget: Budget
    deadline: Deadline | None = None
    workspace: Workspace | None = None
    offload: Pool | None = None
    outside: Outside = REAL
    environment: ReaderEnvironment = EMPTY_ENVIRONMENT
    calls_left: int = field(default=0)
    checker: PlanChecker | None = None
    light_schema: Callable[[], str] = str
    above: tuple[Caller, ...] = ()
    grants: Grants = ALL
    budget_tracker: BudgetTracker = field(init=False)

    def __post_init__(self) -> None:
        """All the nodes of the budget, unless said otherwise; and all its tokens and money."""
        self.calls_left = self.calls_left or self.budget.nodes
        self.budget_tracker = BudgetTracker(tokens=self.budget.tokens, usd=self.budget.cost_usd)

    @property
    def deadline_ns(self) -> int | None:
        """When the run must be over."""
        return None if self.deadline is None else self.deadline.at_ns


class NodeContext:
    """The `RunContext` of one node.

    Args:
        open_tracker: Opens the purse of this node, when its agent first asks for it: most never do.

    Attributes:
        waits_for: The question because of which the agent was stopped: it runs again when there is an answer.
        asked: The task it works on; a plan it answers with must not ask the same again.
        phases: The phases that its agent has told of, each with the kinds of events that did.
    """

    __slots__ = (
        "_above",
        "_answers",
        "_budget_tracker",
        "_delegated",
        "_delegation_count",
        "_depth",
        "_inner",
        "_open_tracker",
        "_place",
        "_services",
        "attempt",
        "budget",
        "checkpoint",
        "correction",
        "deadline_ns",
        "grants",
        "node",
        "phases",
        "run",
        "task",
        "waits_for",
    )  # fmt: skip

    def __init__(
        self,
        services: RunServices,
        node: str,
        *,
        budget: Budget | None = None,
        depth: int = 0,
        answers: Mapping[str, Answer | None] | None = None,
        grants: Grants | None = None,
        checkpoint: dict[str, Any] | None = None,
        open_tracker: Callable[[], BudgetTracker] | None = None,
    ) -> None:
        self.run = services.run
        self.node = node
        self.attempt = 0
        self.deadline_ns = services.deadline_ns
        self.budget = budget or services.budget
        self.correction: Correction | None = None
        self.waits_for: Question | None = None
        self.task: Task | None = None
        self.phases: dict[str, frozenset[str]] = {}
        self._services = services
        self._depth = depth
        self._inner = False
        self._above: tuple[Caller, ...] | None = None
        self._delegation_count = 0
        self._delegated: Usage | None = None
        self._place = f"{services.run}:{node}"
        self._answers = answers or {}
        self._open_tracker = open_tracker
        self._budget_tracker: BudgetTracker | None = None
        self.grants = grants or services.grants
        self.checkpoint = {} if checkpoint is None else checkpoint

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
            self._budget_tracker = self._services.budget_tracker if self._open_tracker is None else self._open_tracker()
        return self._budget_tracker

    @property
    def light_schema(self) -> str:
        """Who there is and what each does, in a few lines (B19)."""
        return self._services.light_schema()

    def definition_of(self, name: str) -> Definition | None:
        """What the agent called `name` says of itself; None when nobody is called that."""
        checker = self._services.checker
        return None if checker is None else checker.definition(name)

    def review(self, plan: Plan) -> list[Finding]:
        """What keeps `plan` from being walked as the answer to this node's task."""
        checker, task = self._services.checker, self.task
        if checker is None:
            return []
        above = self._services.above if task is None else (*self._services.above, checker.caller(task, self.node))
        return [*checker.findings(plan), *checker.cycles(plan, above)]

    def emit(self, body: Body) -> None:
        """Record an event of this node.

        That a step has finished is recorded by the engine, with the result; how an agent inside it ended is noted here,
        unless it only waits for an answer.
        """
        if not isinstance(body, NodeFinished):
            if isinstance(body, Progress | Checkpoint) and len(self.phases) < _MAX_PHASES:
                kind = "checkpoint" if isinstance(body, Checkpoint) else "progress"
                self.phases[body.phase] = self.phases.get(body.phase, frozenset()) | {kind}
            self._services.emit(body, self.node, self.attempt)
        elif self._inner and self.waits_for is None:
            facts = {name: getattr(body.result, name) for name in _DELEGATED_FIELDS}
            self._services.emit(DelegationFinished(Result(**facts)), self.node, self.attempt)

    def now(self) -> int:
        """Nanoseconds since 1970 UTC."""
        return self._services.outside.clock()

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._services.outside.chance()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking anybody."""
        await self._services.outside.pause(seconds)

    async def ask(self, question: Question) -> Answer | None:
        """Ask a person; None when nobody is there.

        A question cannot wait inside a step, which would have to be repeated when the process dies meanwhile. So the
        agent is stopped here, the walk asks, and the agent runs again from its start: this time the answer is there.

        Raises:
            Canceled: There is no answer yet.
        """
        if question.id in self._answers:
            return self._answers[question.id]
        self.waits_for = question
        raise Canceled(f"Waiting for an answer: {question.text}", hint="The agent runs again with the answer.")

    async def delegate(self, task: Task, *, grants: Grants | None = None, key: str | None = None) -> Result:
        """Call another agent through the boundary, inside this step; at least once, as task `{run}:{node}:{key}`.

        Whatever `grants` says, the other may use no more than this agent. What it noted for itself when it had to ask
        is kept in this agent's memo, so that it goes on from there. What it took is marked as its own, so that whoever
        adds it to a usage of its own does not pass for the one who took it. To ask again exactly what is being
        answered, by however many others, is refused: that would never end.
        """
        self._delegation_count += 1
        name = f"{self._place}:{key or self._delegation_count}"
        request = task.model_copy(update={"id": name, "depth": self._depth + 1, "parent": self._place})
        try:
            request = with_idempotency_key(self._with_parameters(request), name)
        except InvalidInput as error:
            fault = Fault.from_error(error)
            return Result(task_id=name, agent=task.agent, skill=task.skill, outcome="rejected", fault=fault)
        above, checker = self._callers(), self._services.checker
        again = () if checker is None else (checker.caller(request, self.node),)
        if (fault := _cycle_fault(above, *again) or self._limit_fault()) is not None:
            return Result(task_id=name, agent=task.agent, skill=task.skill, outcome="error", fault=fault)
        self._services.calls_left -= 1
        self.emit(Decision("delegate", f"`{self.node}` calls `{task.agent}` itself.", {"task": name}))
        notes: dict[str, Any] = self.checkpoint.setdefault(_CALLS, {})
        inner = self._nested_context(name, grants, notes.setdefault(name, {}))
        inner._above = (*above, *again)  # noqa: SLF001 - one of us
        result = await self._services.call(request, inner)
        result = inner.with_delegated_usage(result)
        if result.usage is not None:
            result = result.model_copy(update={"usage": result.usage.with_agent(result.agent)})
            self._delegated = Usage.total((self._delegated, result.usage))
        if inner.waits_for is not None:
            self.waits_for = inner.waits_for
            raise Canceled(f"Waiting for an answer: {inner.waits_for.text}")
        del notes[name]
        return result

    def _with_parameters(self, task: Task) -> Task:
        """`task` with the parameters that its words say, where it has words only.

        Raises:
            InvalidInput: Some of the words cannot be said to the agent.
        """
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

    def _nested_context(self, place: str, grants: Grants | None, checkpoint: dict[str, Any]) -> "NodeContext":
        """The context of an agent that this one calls."""
        inner = NodeContext(
            self._services,
            self.node,
            budget=self.budget,
            depth=self._depth + 1,
            answers=self._answers,
            checkpoint=checkpoint,
        )
        inner.grants, inner._budget_tracker = (
            grants.within(self.grants) if grants else self.grants,
            BudgetTracker(parent=self.budget_tracker, separate=True),
        )
        inner.deadline_ns, inner._inner, inner._place = self.deadline_ns, True, place
        return inner

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
        left_s = max(self.deadline_ns - self.now(), 0) / _SECOND
        return await pool.run(function, *args, timeout_s=left_s, **kwargs)

    def _callers(self) -> tuple[Caller, ...]:
        """Everybody whose answer waits for this agent's, itself included, the outermost first."""
        if self._above is None:
            checker, task = self._services.checker, self.task
            own = () if checker is None or task is None else (checker.caller(task, self.node),)
            self._above = (*self._services.above, *own)
        return self._above

    def _limit_fault(self) -> Fault | None:
        """Why no further agent may be called from here, if so."""
        if self._depth + 1 > self.budget.depth:
            bound = f"Delegations may stand {self.budget.depth} above each other, and this would be one more."
        elif self._services.calls_left < 1:
            bound = f"All {self.budget.nodes} delegations of this run are used up."
        else:
            return None
        return Fault.from_error(BudgetExceeded(bound, hint="Raise the budget, or delegate less."))


def _cycle_fault(above: tuple[Caller, ...], again: Caller | None = None) -> Fault | None:
    """Why a request is not made that is being answered already; the chain names who asked whom."""
    chain = "" if again is None else call_cycle(above, again)
    if not chain:
        return None
    message = f"This asks again exactly what is being answered: {chain}."
    return Fault.from_error(InvalidInput(message, hint=ASK_LESS, detail={"bound": "ring", "ring": chain}))


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
