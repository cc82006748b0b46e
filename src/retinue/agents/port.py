"""The Agent port: what everything that can be called looks like, and what it is given.

What comes out of `Agent.run` is a `Reply`: whatever the agent handed back, before it is checked. Only the
boundary turns a reply into a `Result`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from retinue.agents.grants import Grants
from retinue.contract.definition import Definition
from retinue.contract.event import Body, TurnsAdded
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Artifact, Outcome, Result, Trace, Usage, Warned
from retinue.contract.task import Answer, Budget, Correction, Question, Task
from retinue.llm.budget_tracker import BudgetTracker
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

ABSENT: Final = object()
"""Stands for "no structured data"; None is a value."""

NAME_GUESSED: Final = "name_guessed"
"""The key of `Definition.extras` that says: the agent's name is a guess, so its answer may give another."""


@dataclass(slots=True)
class Reply:
    """What an agent handed back, unchecked. Everything is optional; the boundary completes and checks it.

    Attributes:
        data: The structured answer, or `ABSENT`.
        text: Raw text in some wire format, still to be read; with it `data` stays absent.
        plan: The agent composes: this plan is run as a child run.
        outcome: What the agent itself reports; `success` when it reports nothing.
        fault: A failure that the agent reports of itself.
    """

    data: object = ABSENT
    text: str | None = None
    plan: Plan | None = None
    outcome: Outcome | None = None
    content: str = ""
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[Warned, ...] = ()
    fault: Fault | None = None
    traces: tuple[Trace, ...] = ()
    usage: Usage | None = None
    confidence: float | None = None
    completeness: int | None = None
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    reasoning: str | None = None
    extras: JsonMapping | None = None


class RunContext(Protocol):
    """What an agent gets beside its task. Orchestration implements it; `agents.local` has a twin for a single call.

    Attributes:
        run: Id of the run.
        node: Id of the delegation within the run.
        deadline_ns: When the agent's time is up, nanoseconds since 1970 UTC; None when nothing bounds it.
        budget: What the run may still spend; agents that spend ask it first.
        correction: Present when an earlier answer was refused.
        grants: What this agent may use at most: the grants of the agent or user it works for.
        parts: What the nodes of its own plan came to, by their ids, when it is called again (`Plan.call_again`);
            None before.
        checkpoint: What the agent notes for itself, as JSON data: still there when it runs again after a question.
        earlier_turns: What was recorded of conversations with models when this step ran before, in a process that died.
    """

    run: str
    node: str
    attempt: int
    deadline_ns: int | None
    budget: Budget
    correction: Correction | None
    grants: Grants
    parts: Mapping[str, Result] | None
    checkpoint: dict[str, Any]
    earlier_turns: Sequence[TurnsAdded]

    @property
    def workspace(self) -> Workspace:
        """The fenced directory, without the files that the rules of `grants` keep the agent from reading.

        Raises:
            AccessDenied: This run has none.
        """
        ...

    @property
    def budget_tracker(self) -> BudgetTracker:
        """What the models of this run may still spend, shared by all that spend.

        What a call through it took is an event of this node as soon as it is settled.
        """
        ...

    @property
    def light_schema(self) -> str:
        """The other agents and what each does, in a few lines (B19): for an agent that composes. May be empty."""
        ...

    def definition_of(self, name: str) -> Definition | None:
        """The definition of the agent called `name`; None when there is none."""
        ...

    def review(self, plan: Plan) -> list[Finding]:
        """What keeps `plan` from being run here: unknown agents, parameters that do not fit, circles of requests.

        The boundary asks this of every plan that an agent returns, and hands the findings back to the agent as its
        correction; an agent may ask first.
        """
        ...

    def emit(self, body: Body) -> None:
        """Record an event of this node."""
        ...

    async def commit(self) -> None:
        """Wait until everything emitted so far is recorded: before something that must not happen twice unknown."""
        ...

    def now(self) -> int:
        """Nanoseconds since 1970 UTC."""
        ...

    def random(self) -> float:
        """A number in [0, 1)."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the event loop."""
        ...

    async def ask(self, question: Question) -> Answer | None:
        """Ask a person; None when there is no one to ask. An approval without an answer is denied."""
        ...

    async def delegate(self, task: Task, *, grants: Grants | None = None, key: str | None = None) -> Result:
        """Call another agent through the boundary, inside this step.

        Args:
            task: What it is asked.
            grants: What it may use at most; this agent's own when absent.
            key: Tells this call from the others of this agent when it is resumed; counted when absent.
        """
        ...

    async def offload(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run CPU-heavy work in another process, which is killed when time is up.

        `function` must be importable by name; arguments and result must pickle.

        Raises:
            DeadlineExceeded: Time ran out; the worker was killed.
        """
        ...


class Agent(Protocol):
    """Anything that can be called with a task."""

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        ...

    def run(self, task: Task, run: RunContext, /) -> Awaitable[Reply]:
        """Do the task. May raise anything: the boundary makes a fault of it."""
        ...
