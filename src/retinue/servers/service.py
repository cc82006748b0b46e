"""Runs of callers: what every door does with a task once it is read, and what it may tell.

A task is a run of the engine. There is no second record of it, so what the engine keeps is what a door shows.
"""

import asyncio
import contextlib
import hashlib
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import (
    AttemptRetried,
    Decision,
    DelegationFinished,
    Event,
    Message,
    NodeFinished,
    ToolCallEvent,
    TurnsAdded,
)
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold, to_kebab
from retinue.contract.result import Artifact, Lifecycle, Result, public_result
from retinue.contract.task import Answer, Question, Task
from retinue.engine.base import Engine, RunFilter, RunRecord
from retinue.engine.blocking import in_thread
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.statistics import Rating
from retinue.errors import AccessDenied, InvalidInput, RetinueError, Unavailable, UnknownName
from retinue.orchestration.fault_journal import log_faults
from retinue.orchestration.follow import FollowedEvent, RunCursor, follow_run
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.run_request import RUN_AGENT
from retinue.servers.admission import Admission, Caller
from retinue.tools.web.url import Guard
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

_LOGGER: Final = logging.getLogger("retinue.servers")

LONGEST_S: Final = 30.0
"""Seconds that a caller is kept waiting for a skill that may take longer."""


_BEGINNING: Final = RunCursor()


class Conflict(InvalidInput):
    """The same key was used for another request."""


class UnknownRun(UnknownName):
    """There is no such run, or it is another's: nobody can tell which."""

    def __init__(self, run: str) -> None:
        super().__init__(f"There is no task {run[:80]!r}.", hint="Check its id.", path="/id")


class ServerMetrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["door", "agent"]
        self._requests = Counter(
            "retinue_requests", "Requests answered.", ["door", "method", "status"], registry=self._registry
        )
        self._runs = Counter("retinue_runs", "Runs ended.", [*labels, "outcome"], registry=self._registry)
        self._seconds = Histogram("retinue_run_seconds", "How long runs took.", labels, registry=self._registry)
        self._open = Gauge("retinue_open_runs", "Runs that have not ended.", labels, registry=self._registry)

    def count_request(self, door: str, method: str, status: int) -> None:
        """Count an answer."""
        self._requests.labels(door, method, str(status)).inc()

    def begin_run(self, door: str, agent: str) -> None:
        """Count a run that has begun."""
        self._open.labels(door, agent).inc()

    def end_run(self, door: str, agent: str, outcome: str, seconds: float) -> None:
        """Count a run that has ended, or was left because the server stops."""
        self._open.labels(door, agent).dec()
        self._runs.labels(door, agent, outcome).inc()
        self._seconds.labels(door, agent).observe(seconds)

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


@dataclass(slots=True)
class Service:
    """What all doors share.

    Attributes:
        orchestrator: Starts runs.
        admission: Decides about them.
        root: The workspace: paths in it may be told.
        active: The agent that `run_agent` means; a goal for all when empty.
        push_guard: Where updates of tasks may be sent that callers ask for.
        closing: Set when the server stops: new work is refused, streams end.
        metrics: What it counts.
    """

    orchestrator: Orchestrator
    admission: Admission
    root: str = ""
    active: str = ""
    push_guard: Guard = field(default_factory=lambda: Guard(ports=None))
    closing: anyio.Event = field(default_factory=anyio.Event)
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    _open: dict[str, str] = field(default_factory=dict[str, str])
    _held_at_s: float = -math.inf
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _stopping: asyncio.Task[None] | None = None
    _waiting: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    @property
    def engine(self) -> Engine:
        """Where runs run."""
        return self.orchestrator.engine

    @property
    def registry(self) -> Registry:
        """The agents that are served."""
        return self.orchestrator.registry

    def agents(self, caller: Caller, door: str) -> list[Definition]:
        """The agents that the caller may reach through a door, by name."""
        definitions = (agent.definition for agent in self.registry.agents())
        return [each for each in definitions if caller.key.opens(each.name, door)]

    def agent(self, name: str, *, category: str | None = None) -> Agent:
        """The agent of a route.

        Args:
            name: Its name in any spelling; `x_v2` for a major version.
            category: That of the route, which must be its own.

        Raises:
            UnknownName: There is no such agent there.
        """
        agent = self.registry.get(name)
        if category is not None and (to_kebab(agent.definition.category or "") or "general") != category:
            raise UnknownName(f"There is no agent {name[:80]!r} in {category[:80]!r}.", path="/agent")
        return agent

    async def start(
        self,
        caller: Caller,
        wish: Task,
        *,
        door: str,
        agent: Agent,
        skill: Skill | None = None,
        key: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Start the task that a body asks for, and give the id of its run.

        Args:
            caller: Who asks.
            wish: What the body was read as.
            door: The door.
            agent: The agent of the route.
            skill: The skill of the route, if it names one.
            key: The caller's own id of the task: the same one again is the same task.
            labels: Further facts to find it by.

        Raises:
            Conflict: The same `key` came with another body.
            BudgetExceeded: The caller has too many at work.
            RetinueError: See `Admission.admit`; or the server is stopping.
        """
        if self.closing.is_set():
            raise Unavailable("The server is stopping.", hint="Ask again in a moment.", retry_after_s=5.0)
        definition = agent.definition
        admitted = self.admission.admit(
            caller,
            wish,
            door=door,
            agent=definition.name,
            skill=skill.name if skill else None,
            major=definition.major,
        )
        facts = {**(labels or {}), "door": door, "agent": definition.name}
        run = None
        if key:
            run = self.run_of(caller, definition.name, key)
            facts["digest"] = hashlib.sha256(dumps(admitted.task.to_json()).encode()).hexdigest()[:32]
            with contextlib.suppress(UnknownName):
                _check_same(await self.engine.get(run, owner=caller.owner), facts["digest"], key)
                return run
        release = self.admission.take_slot(caller)
        try:
            started = await self.orchestrator.start_task(
                admitted.task,
                budget=admitted.budget,
                effects=admitted.effects,
                run=run,
                owner=caller.owner,
                labels=facts,
            )
            if key:  # another request with it may have come in the same moment
                _check_same(await self.engine.get(started), facts["digest"], key)
        except BaseException:
            release()
            raise
        self._watch(started, door, definition.name, release)
        return started

    async def start_goal(
        self, caller: Caller, wish: Task, *, door: str, labels: Mapping[str, str] | None = None
    ) -> str:
        """Plan a goal for all agents together, start it, and give the id of its run. The arguments are as for `start`.

        Raises:
            RetinueError: See `start`; or the goal cannot be understood.
        """
        if self.closing.is_set():
            raise Unavailable("The server is stopping.", hint="Ask again in a moment.", retry_after_s=5.0)
        admitted = self.admission.admit(caller, wish, door=door, agent=RUN_AGENT, skill=None, major=1)
        release = self.admission.take_slot(caller)
        try:
            history = admitted.task.context.history
            plan = await self.orchestrator.plan_goal(admitted.task.instruction, budget=admitted.budget, history=history)
            run = await self.orchestrator.start(
                plan,
                budget=admitted.budget,
                history=history,
                effects=admitted.effects,
                owner=caller.owner,
                labels={**(labels or {}), "door": door, "agent": RUN_AGENT},
            )
        except BaseException:
            release()
            raise
        self._watch(run, door, RUN_AGENT, release)
        return run

    def run_of(self, caller: Caller, agent: str, key: str) -> str:
        """The run of a task that the caller gave an id: no two callers and no two agents share one."""
        text = dumps([caller.owner, agent, key])
        return f"k{hashlib.sha256(text.encode()).hexdigest()[:31]}"

    async def find(self, caller: Caller, run: str, *, agent: str | None = None, of_others: bool = False) -> RunRecord:
        """The record of the caller's run, by the run's id or by the id that the caller gave the task.

        Args:
            caller: Who asks.
            run: The id.
            agent: Whose task it must be.
            of_others: It may be anybody's: for an operator.

        Raises:
            UnknownRun: There is none; another's run is none.
        """
        names = [run] if agent is None else [self.run_of(caller, agent, run), run]
        for name in names:
            with contextlib.suppress(UnknownName):
                record = await self.engine.get(name, owner=None if of_others else caller.owner)
                if agent in (None, record.labels.get("agent")):
                    return record
        raise UnknownRun(run)

    async def result(self, run: str) -> Result:
        """Wait for a run; what it came to, as its caller may see it."""
        return public_result(await self.engine.result(run), run=run, root=self.root)

    async def state(self, record: RunRecord) -> Result:
        """What a run is at, or has come to, as its caller may see it."""
        if record.ended_ns is not None:
            return await self.result(record.run)
        questions = await self.questions(record)
        return Result(
            task_id=record.run,
            agent=record.labels.get("agent") or "orchestrator",
            lifecycle="input_required" if questions else "working",
            questions=tuple(questions),
        )

    async def questions(self, record: RunRecord) -> list[Question]:
        """What the caller may be asked, by child runs too: no approvals, which are for an operator."""
        if record.ended_ns is not None:
            return []
        pending = await self.engine.questions(record.run)
        return [each.question for each in pending if each.question.kind != "approval"]

    async def answer(self, caller: Caller, record: RunRecord, question: str, value: object) -> None:
        """Answer a question of the caller's run, or as an operator an approval of any.

        Args:
            caller: Who answers.
            record: The run.
            question: The question's id; "" where only one waits.
            value: What is said.

        Raises:
            AccessDenied: It is an approval, and the caller is no operator.
            UnknownName: No such question waits.
            InvalidInput: The answer does not fit, or several questions wait.
        """
        pending = await self.engine.questions(record.run)
        if record.owner != caller.owner:  # an operator, who answers approvals of others and nothing else
            pending = [each for each in pending if each.question.kind == "approval"]
        chosen = [each for each in pending if each.question.id == question] if question else pending
        if not question and len(chosen) > 1:
            raise InvalidInput(
                f"{len(chosen)} questions wait for an answer.",
                hint="Say which one: `question_id`.",
                suggestions=tuple(each.question.id for each in chosen),
                path="/question_id",
            )
        if not chosen:
            names = tuple(each.question.id for each in pending if each.question.kind != "approval")
            raise UnknownName(
                f"No question {question[:80]!r} waits for an answer." if question else "No question waits.",
                hint=f"Pending: {', '.join(names)}." if names else "Look at the task.",
                suggestions=names,
                path="/question_id",
            )
        if chosen[0].question.kind == "approval" and not caller.key.approve:
            raise AccessDenied("An approval is for an operator of this server.", hint="Ask them, and wait.")
        answer = Answer(question_id=chosen[0].question.id, value=value, by=caller.answers_as)
        await self.engine.answer(chosen[0].run, answer)

    async def cancel(self, record: RunRecord) -> None:
        """Stop the caller's run, and wait until it has ended."""
        await self.engine.cancel(record.run, reason="Canceled by its caller.")
        await self.engine.result(record.run)

    async def rate(self, record: RunRecord, rating: Rating) -> None:
        """Keep what the caller thought of a run's answer (P21).

        Raises:
            Unavailable: There is no history.
        """
        journal = self.journal
        if journal is None:
            raise Unavailable("This server keeps no history, so nothing can be rated.", hint="Ask its operator.")
        await in_thread(journal.rate, record.run, rating)

    @property
    def is_unrecorded(self) -> bool:
        """Whether the history cannot be written any more."""
        return self.journal is not None and self.journal.failure is not None

    def problem(self) -> str:
        """Why no new work should come here; empty when it may."""
        if self.closing.is_set():
            return "The server is stopping."
        if self.is_unrecorded:
            return "The history cannot be written."
        if time.monotonic() - self._held_at_s < _HELD_S:
            return "An agent holds the server."
        return ""

    async def approvals(self, caller: Caller) -> list[JsonMapping]:
        """The approvals that wait, of all runs.

        Raises:
            AccessDenied: The caller is no operator.
        """
        if not caller.key.approve:
            raise AccessDenied(
                "Only an operator sees approvals.", hint="Use a key made with `retinue keys add NAME --approve`."
            )
        # A run whose child run asks is at work itself.
        states: tuple[Lifecycle, ...] = ("input_required", "working")
        records = [
            one for each in states for one in await self.engine.list(limit=1000, where=RunFilter(lifecycle=each))
        ]
        return [
            {"run": each.run, "owner": record.owner, "question": each.question.to_json()}
            for record in records
            for each in await self.engine.questions(record.run)
            if each.question.kind == "approval"
        ]

    async def events(self, run: str, *, after: RunCursor = _BEGINNING) -> AsyncGenerator[FollowedEvent]:
        """What happens in a run and its child runs, as its caller may see it, to its end or until the server stops."""
        if self._stopping is None:
            self._stopping = asyncio.ensure_future(self.closing.wait())
            self._stopping.add_done_callback(lambda _: [scope.cancel() for scope in self._waiting])
        async with contextlib.aclosing(follow_run(self.engine, run, after=after)) as events:
            while not self.closing.is_set():
                item = None
                with anyio.CancelScope() as scope:
                    self._waiting.add(scope)
                    try:
                        item = await anext(events, None)
                    finally:
                        self._waiting.discard(scope)
                if item is None:
                    return
                if (public := public_event(item.event, root=self.root)) is not None:
                    yield FollowedEvent(public, item.cursor)

    def is_open(self, run: str) -> bool:
        """Whether this server works on a run."""
        return run in self._open

    async def resume_stalled(self) -> Sequence[str]:
        """Go on with the runs of callers that the last server left; gives their ids.

        A run whose agents are not here, or are defined otherwise by now, is left for a server that has them.
        """
        resumed: list[str] = []
        after = ""
        while page := await self.engine.list(limit=200, where=RunFilter(lifecycle="working", after=after)):
            after = page[-1].cursor
            for record in page:
                if not record.stalled or "door" not in record.labels:
                    continue
                try:
                    if changed := await self.orchestrator.changed(record.run):
                        _LOGGER.warning("run %s is left: not here as it was: %s", record.run, ", ".join(changed))
                        continue
                    since_ns = time.time_ns()
                    await self.engine.resume(record.run)
                except RetinueError as error:
                    _LOGGER.warning("run %s cannot go on: %s", record.run, error.message)
                else:
                    labels = record.labels
                    self._watch(record.run, labels["door"], labels.get("agent", ""), lambda: None, since_ns=since_ns)
                    resumed.append(record.run)
        return resumed

    async def keep(self) -> None:
        """Wait until all that has begun is in the history: only then may a task be acknowledged.

        Raises:
            Unavailable: The history cannot be written.
        """
        journal = self.journal
        if journal is None:
            return
        await in_thread(journal.flush)
        if journal.failure is not None:
            raise Unavailable("The history cannot be written, so no task can be kept.", retry_after_s=60.0)

    async def watch_loop(self) -> None:
        """Log when an agent holds the event loop, with the runs that were open, and when the history is not written.

        Runs until it is canceled.
        """
        listeners = [] if self.journal is None else self.journal.listeners
        listeners.append(_log_failure)
        try:
            while True:
                began_s = time.monotonic()
                await asyncio.sleep(_TICK_S)
                late_s = time.monotonic() - began_s - _TICK_S
                if late_s > _HELD_S:
                    self._held_at_s = time.monotonic()
                    names = ", ".join(f"{run} ({agent})" for run, agent in list(self._open.items())[:20]) or "none"
                    _LOGGER.warning("the event loop was held for %.1f s; open runs: %s", late_s, names)
        finally:
            listeners.remove(_log_failure)

    async def unsent_texts(self) -> Sequence[tuple[str, str, str]]:
        """What an earlier server kept to be sent: run, name, text. None where the history cannot be read."""
        if self.journal is None:
            return []
        try:
            return await in_thread(self.journal.texts)
        except RetinueError as error:
            _LOGGER.warning("what an earlier server has not sent is not known: %s", error.message)
            return []

    @property
    def journal(self) -> "Journal | None":
        """Where the engine keeps history, if it does."""
        return self.engine.journal if isinstance(self.engine, InProcessEngine) else None

    def _watch(self, run: str, door: str, agent: str, release: Callable[[], None], *, since_ns: int = 0) -> None:
        """Log the faults of a run from `since_ns` on, and give the caller's slot back when it has ended."""
        self._open[run] = agent
        self.metrics.begin_run(door, agent)
        began_s = time.monotonic()

        async def wait() -> None:
            outcome = "left"
            try:
                with contextlib.suppress(RetinueError):
                    await log_faults(self.engine, run, command="serve", since_ns=since_ns)
                with contextlib.suppress(RetinueError):
                    outcome = (await self.engine.result(run)).outcome or "none"
            finally:
                self._open.pop(run, None)
                self.metrics.end_run(door, agent, outcome, time.monotonic() - began_s)
                release()

        task = asyncio.create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _log_failure(failure: RetinueError) -> None:
    _LOGGER.error("the history is not written: %s %s", failure.message, failure.hint)


_TICK_S: Final = 0.25
_HELD_S: Final = 2.0
"""How long an agent may hold the loop before the server says so; for as many seconds afterwards it is not ready."""
_PUBLIC_FACTS: Final = ("agent", "skill", "push", "attempt", "why")
_INTERNAL: Final = "The attempt failed."


def public_event(event: Event, *, root: str = "") -> Event | None:
    """What of an event its caller may be told: none of the words of exceptions, nor what only concerns an operator."""
    body = event.body
    match body:
        case NodeFinished(result):
            body = NodeFinished(public_result(result, run=event.run, root=root))
        case DelegationFinished(result):
            body = DelegationFinished(public_result(result, run=event.run, root=root))
        case AttemptRetried(code, _, wait_s) if code == "internal_error":
            body = AttemptRetried(code, _INTERNAL, wait_s)
        case Decision(move, _, facts):
            body = Decision(move, "", {name: facts[name] for name in _PUBLIC_FACTS if name in facts})
        case ToolCallEvent(tool, duration_ns, failed):
            body = ToolCallEvent(tool, duration_ns, failed)
        case TurnsAdded():
            return None
        case Message() if not event.node:
            return None
        case _:
            pass
    return Event(event.run, event.node, event.attempt, event.sequence, event.at_ns, body)


def _check_same(record: RunRecord, digest: str, key: str) -> None:
    """See that a run was started by the same request.

    Raises:
        Conflict: It was another.
    """
    if record.labels.get("digest") != digest:
        message = f"The id {key[:80]!r} was used for another task."
        raise Conflict(message, hint="Use a new id for a new task.", path="/id")


def read_artifact(artifact: Artifact, workspace: Workspace | None, max_bytes: int) -> bytes | None:
    """What a file holds; None when it is too large, or not there any more as the run left it.

    By now it may hold what another caller's run wrote.
    """
    try:
        data = workspace.read_bytes(artifact.path, max_bytes=max_bytes) if workspace is not None else None
    except RetinueError:
        return None
    return data if data is not None and hashlib.sha256(data).hexdigest() == artifact.sha256 else None


def skill_of_route(definition: Definition, word: str) -> Skill:
    """The skill that a path names, in any spelling.

    Raises:
        UnknownName: The agent has none of that name.
    """
    skill = definition.skill(fold(word))
    if skill is None:
        names = tuple(each.name for each in definition.skills)
        raise UnknownName(
            f"`{definition.name}` has no skill {word[:80]!r}.",
            hint=f"It has: {', '.join(names)}.",
            suggestions=names,
            path="/skill",
        )
    return skill
