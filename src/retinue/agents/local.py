"""A single call of an agent, without orchestration: the in-memory twin of the run context, and `call`.

Nothing is delegated, no question is asked, and nothing is kept beyond the context's own list of events.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final, ParamSpec, Self, TypeAlias, TypeVar, cast, overload

from retinue.agents.boundary import Boundary
from retinue.agents.grants import ALL, Grants
from retinue.agents.port import Agent, Reply
from retinue.agents.python import PythonAgent, agent as make_agent
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition
from retinue.contract.event import Body, Event, QuestionAnswered, QuestionAsked, TurnsAdded, UsageReported
from retinue.contract.finding import Finding
from retinue.contract.old_names import with_old_names
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.contract.task import Answer, Budget, Correction, Question, Task
from retinue.engine.base import REAL, Outside
from retinue.engine.offload import Pool
from retinue.engine.run_log import log_event
from retinue.errors import AccessDenied
from retinue.llm.budget_tracker import BudgetTracker
from retinue.tools.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")


@with_old_names(memo="checkpoint", purse="budget_tracker")
class LocalContext:
    """The `RunContext` of one call. Leave it as an async context when its agent may `offload`.

    Args:
        workspace: The fenced directory; without one the agent has none.
        deadline_ns: When time is up, nanoseconds since 1970 UTC.
        budget: What may be spent.
        grants: What the agent may use.
        answer: Asks a person; without it questions get no answer, and approvals are denied.
        outside: Clock, chance and waiting.
        parts: What the nodes of a plan came to that the agent has answered with before.

    Attributes:
        events: What was recorded, oldest first.
    """

    run = "local"
    node = "call"

    def __init__(
        self,
        *,
        workspace: Workspace | None = None,
        deadline_ns: int | None = None,
        budget: Budget | None = None,
        grants: Grants = ALL,
        answer: Callable[[Question], Awaitable[Answer | None]] | None = None,
        outside: Outside = REAL,
        parts: Mapping[str, Result] | None = None,
    ) -> None:
        self.attempt = 0
        self.deadline_ns = deadline_ns
        self.budget = budget or Budget()
        self.correction: Correction | None = None
        self.events: list[Event] = []
        self.budget_tracker = BudgetTracker(
            tokens=self.budget.tokens,
            usd=self.budget.cost_usd,
            on_usage=lambda usage: self.emit(UsageReported(usage)),
        )
        self.grants = grants
        self.parts = parts
        self.checkpoint: dict[str, Any] = {}
        self.earlier_turns: Sequence[TurnsAdded] = ()
        self._workspace = workspace
        self._answer = answer
        self._outside = outside
        self._pool: Pool | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    @property
    def workspace(self) -> Workspace:
        """The fenced directory, without the files that a rule keeps the agent from reading.

        Raises:
            AccessDenied: There is none.
        """
        if self._workspace is None:
            raise AccessDenied("This call has no workspace.", hint="Give `LocalContext` a `workspace`.")
        return self.grants.restrict_workspace(self._workspace)

    @property
    def light_schema(self) -> str:
        """There are no other agents."""
        return ""

    def definition_of(self, name: str) -> Definition | None:  # noqa: ARG002 - the port gives it
        """There are no other agents."""
        return None

    def review(self, plan: Plan) -> list[Finding]:  # noqa: ARG002 - the port gives it
        """Nothing: a single call runs no plans."""
        return []

    def emit(self, body: Body) -> None:
        """Append an event to `events`."""
        event = Event(self.run, self.node, self.attempt, len(self.events) + 1, self.now(), body)
        self.events.append(event)
        log_event(event)

    async def commit(self) -> None:
        """Nothing: `events` is all there is."""

    def now(self) -> int:
        """Nanoseconds since 1970 UTC."""
        return self._outside.clock()

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._outside.chance()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._outside.pause(seconds)

    async def ask(self, question: Question) -> Answer | None:
        """Ask, if there is a person to ask. An approval without an answer is denied."""
        self.emit(QuestionAsked(question))
        answer = None if self._answer is None else await self._answer(question)
        if answer is None and question.kind == "approval":
            answer = Answer(question_id=question.id, value=False, by="policy")
        if answer is not None:
            self.emit(QuestionAnswered(answer))
        return answer

    async def delegate(self, task: Task, *, grants: Grants | None = None, key: str | None = None) -> Result:  # noqa: ARG002 - the port gives them
        """Refuse: a single call has no other agents.

        Raises:
            AccessDenied: Always.
        """
        raise AccessDenied(
            f"A single call delegates nothing, so `{task.agent}` is not called.",
            hint="Start a run: there an agent may delegate.",
        )

    async def offload(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` in a worker process, which is killed when time is up.

        Raises:
            DeadlineExceeded: Time ran out.
            InvalidInput: The function or its arguments cannot be sent to another process.
        """
        if self._pool is None:
            self._pool = Pool()
        remaining_s = None if self.deadline_ns is None else max(0.0, (self.deadline_ns - self.now()) / 1e9)
        run: Callable[..., Awaitable[T]] = self._pool.run
        return await run(function, *args, timeout_s=remaining_s, **kwargs)


_AGENT: Final = "__retinue_agent__"
_SIGNATURES: Final = "__retinue_signatures__"

_Untyped: TypeAlias = Reply | Plan | Result
"""What a function may return that says nothing of its data."""


@overload
async def call(agent: PythonAgent[..., Any, _Untyped], instruction: str = "", /, **parameters: object) -> Result: ...
@overload
async def call(agent: PythonAgent[..., Any, T], instruction: str = "", /, **parameters: object) -> Result[T]: ...
@overload
async def call(
    agent: Agent | type[object] | Callable[..., _Untyped | Coroutine[Any, Any, _Untyped]],
    instruction: str = "",
    /,
    **parameters: object,
) -> Result: ...
@overload
async def call(
    agent: Callable[..., Coroutine[Any, Any, T]], instruction: str = "", /, **parameters: object
) -> Result[T]: ...
@overload
async def call(agent: Callable[..., T], instruction: str = "", /, **parameters: object) -> Result[T]: ...
async def call(agent: Agent | Callable[..., object], instruction: str = "", /, **parameters: object) -> Result:
    """Call an agent, or a plain function as one, and give its checked result.

        result = await retinue.call(word_counter, text="two words")
        result.output  # the 2 that the function is declared to return, as `result.data` is in JSON

    The parameters are checked against the input schema, the answer against the output schema; whatever goes wrong is in
    `result.fault`. For a workspace, limits or a certain skill use `Boundary.call_agent` with a `Task` and a
    `LocalContext`.

    Args:
        agent: An agent, or a function.
        instruction: Free words for the agent.
        parameters: What its skill takes.
    """
    ready = cast("Agent", agent) if hasattr(type(agent), "run") else _as_agent(cast("Callable[..., Any]", agent))
    async with LocalContext() as run:
        try:
            name = ready.definition.name
        except Exception:  # noqa: BLE001 - the boundary says what is wrong with it
            name = "agent"
        task = Task(id="call", agent=name, instruction=instruction, parameters=dict[str, Any](parameters))
        result = await _BOUNDARY.call_agent(ready, task, run)
    return result.as_type(ready.answer_type()) if isinstance(ready, PythonAgent) and result.useful else result


_BOUNDARY: Final = Boundary(Registry())


def _as_agent(function: Callable[..., Any]) -> Agent:
    """A plain function as an agent, read once: that takes a hundred times as long as calling it.

    The agent is kept with the function and not in a cache of ours, which would keep all that the function refers to
    alive. A method is made anew at each look-up, so only what its function's types say is kept, without the object.
    """
    home: Any = getattr(function, "__func__", function)
    if not isinstance(home, (FunctionType, type, partial)):
        return make_agent(function)
    own = vars(cast("object", home))
    if home is not function:
        agent = make_agent(function)
        agent.signatures = own.get(_SIGNATURES, agent.signatures)
        setattr(cast("object", home), _SIGNATURES, agent.signatures)
        return agent
    if _AGENT not in own:
        setattr(cast("object", home), _AGENT, make_agent(function))
    return own[_AGENT]
