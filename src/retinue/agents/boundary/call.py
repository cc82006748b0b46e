"""One call through the boundary: look up, check, call, validate, correct or retry, and report the result.

Whatever an agent, a task or a name does, a `Result` comes back; only cancellation passes. One call, all its attempts
together, is one step of an engine. What is *in* a plan that an agent returns, and who else could do the job, is for
orchestration. What an agent in this process prints is not caught here: standard output belongs to the program.
"""

import asyncio
import weakref
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from types import coroutine
from typing import Any, Final, NamedTuple, TypeVar, cast

from retinue.agents.boundary.faults import fault_of, invalid_input, notes_of, output_invalid
from retinue.agents.boundary.policy import POLICY, Move, Policy, Stop
from retinue.agents.boundary.prepare import (
    Agents,
    PreparedInput,
    PreparedSkill,
    ignored_text,
    prepare_input,
    prepare_skill,
)
from retinue.agents.boundary.validate_reply import (
    Readers,
    ReplyValidator,
    ValidatedReply,
    plan_findings,
    render_content,
)
from retinue.agents.grants import ALL
from retinue.agents.port import ABSENT, Agent, RunContext
from retinue.contract import CONTRACT_VERSION
from retinue.contract.event import AttemptRetried, Decision, Message, NodeFinished, NodeStarted, UsageReported
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Attempt, Outcome, Result, Usage, Versions, Warned
from retinue.contract.task import Budget, Correction, Task
from retinue.errors import AccessDenied, BudgetExceeded, Canceled, DeadlineExceeded
from retinue.telemetry import agent_span, attempt_span

T = TypeVar("T")

_SHOWN: Final = 200
_SECOND: Final = 1_000_000_000
_FOREVER_S: Final = 1_000_000_000.0
"""More than thirty years: more is the same."""

_LATE_S: Final = 0.01
"""An agent that ends later than this after its time, and was never told to stop, had a blocked event loop."""

_MOST_PREPARED: Final = 256
"""Skills that are kept ready."""


class Boundary:
    """Calls agents, and checks what goes in and what comes back.

    Args:
        agents: Where agents are looked up: a `Registry`.
        policy: What applies to every agent.
        overrides: What applies to single agents instead, by name; shown in their results (K33).
        readers: How the text of an agent is read that speaks a dialect, where not by that dialect's own reader.
    """

    def __init__(
        self,
        agents: Agents,
        *,
        policy: Policy = POLICY,
        overrides: Mapping[str, Policy] | None = None,
        readers: Readers | None = None,
    ) -> None:
        self._agents = agents
        self._policy = policy
        self._overrides = dict(overrides or {})
        self._readers: Readers = readers or {}
        self._prepared: dict[tuple[int, str | None], tuple[Callable[[], Agent | None], PreparedSkill]] = {}

    async def call(self, task: Task, run: RunContext) -> Result:
        """Look up the task's agent and call it.

        A fault's `detail["correct"]` is `producer` when a model made the parameters that were refused: the result then
        belongs back to that model, as its correction (C6).

        Raises:
            CancelledError: The call was cancelled. What there was by then has been emitted.
        """
        try:
            agent = self._agents.get(task.agent, major=task.major)
        except Exception as error:  # noqa: BLE001 - a registry is foreign code too
            return _rejected_result(task, run, error)
        return await self.call_agent(agent, task, run)

    async def call_agent(
        self, agent: Agent, task: Task, run: RunContext, *, correction: Correction | None = None
    ) -> Result:
        """Call this agent; otherwise as `call`.

        Args:
            agent: Who is called.
            task: What is asked.
            run: What the agent gets beside it.
            correction: Why the caller asks again; the agent gets it with its first attempt.
        """
        try:
            prepared = self._prepare(agent, task.skill)
            prepared_input = prepare_input(task, prepared)
        except Exception as error:  # noqa: BLE001 - `definition` is the agent's code
            return _rejected_result(task, run, error)
        name, version = prepared.definition.name, prepared.definition.version
        with agent_span(name, prepared.skill.name, run=run.run, step=run.node, version=version) as span:
            result = await _AgentCall(agent, prepared, prepared_input, run, self._readers, correction).result()
            span.note_result(result)
        return result

    def _prepare(self, agent: Agent, skill: str | None) -> PreparedSkill:
        """The skill, kept ready for the next call without keeping its agent alive: a function may be gone by then."""
        key = id(agent), skill
        owner, prepared = self._prepared.pop(key, (None, None))
        if owner is None or prepared is None or owner() is not agent:
            prepared = prepare_skill(agent, skill, self._overrides.get(agent.definition.name, self._policy))
            try:
                owner = weakref.ref(agent)
            except TypeError:  # its class has slots and no place for weak references
                owner = lambda: agent  # noqa: E731
        self._prepared[key] = owner, prepared  # the latest is the last
        if len(self._prepared) > _MOST_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        return prepared


def _rejected_result(task: Task, run: RunContext, error: Exception) -> Result:
    """The result of a task that reached no agent."""
    fault = fault_of(error, task, run, failed_at="resolve")
    result = Result(
        task_id=task.id,
        agent=task.agent,
        skill=task.skill,
        versions=Versions(contract=CONTRACT_VERSION),
        # A task in words that fits none of the agent's skills is not a failure (C47).
        outcome="rejected" if task.skill is None and fault.path == "/skill" else "error",
        fault=_back_to_producer(fault, task),
    )
    run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_SHOWN]))
    run.emit(NodeFinished(result))
    with agent_span(task.agent, task.skill, run=run.run, step=run.node) as span:
        span.note_result(result)
    return result


def _back_to_producer(fault: Fault, task: Task) -> Fault:
    """Mark refused parameters that a model made: only that model can correct them."""
    if fault.code != "invalid_input" or task.produced_by != "model":
        return fault
    return fault.model_copy(update={"detail": {**fault.detail, "correct": "producer"}})


# Limits: when a call must end (C21), and whether anything is left to spend (C6). The tightest counts, by its name.


class TimeLimit(NamedTuple):
    """A moment, in nanoseconds since 1970 UTC, and who set it."""

    name: str
    at_ns: int

    def remaining_s(self, now_ns: int) -> float:
        """Seconds until then; negative once it has passed."""
        return (self.at_ns - now_ns) / _SECOND

    def error(self, agent: str, *, seconds: float | None = None) -> DeadlineExceeded:
        """What to say when it has passed. `seconds` is how long the agent had; None when it was not called."""
        clause = "was not called: its time was up before"
        if seconds is not None:  # not 0.998 s where 1 s was set
            clause = f"did not end within {round(seconds, 2) or seconds:.3g} s"
        return DeadlineExceeded(
            f"`{agent}` {clause} (`{self.name}`).",
            hint=f"Allow more time by `{self.name}`, or ask for less.",
            suggestions=(f"Raise `{self.name}`.", "Ask for a part of it."),
            detail={"bound": self.name, **({} if seconds is None else {"seconds": round(seconds, 3)})},
        )


def call_time_limit(task: Task, *, run_deadline_ns: int | None, started_ns: int) -> TimeLimit | None:
    """What bounds the whole call, all attempts together; None when nothing does."""
    limits = task.limits
    time_limits: list[TimeLimit] = []
    if limits.timeout_s is not None:
        time_limits.append(TimeLimit("task.limits.timeout_s", _after(started_ns, limits.timeout_s)))
    if limits.deadline_ns is not None:
        time_limits.append(TimeLimit("task.limits.deadline_ns", limits.deadline_ns))
    if run_deadline_ns is not None:
        time_limits.append(TimeLimit("run.budget.timeout_s", run_deadline_ns))
    return min(time_limits, key=lambda limit: limit.at_ns, default=None)


def attempt_time_limit(
    call: TimeLimit | None, task: Task, *, now_ns: int, skill_timeout_s: float | None, default_timeout_s: float
) -> TimeLimit:
    """What bounds the attempt that starts now.

    A skill's own time is for one attempt. The default (K32) applies only where neither task nor skill sets one: a
    task that asks for ten minutes has ten minutes.
    """
    time_limits = [] if call is None else [call]
    if skill_timeout_s is not None:
        time_limits.append(TimeLimit("skill.timeout_s", _after(now_ns, skill_timeout_s)))
    elif task.limits.timeout_s is None and task.limits.deadline_ns is None:
        time_limits.append(TimeLimit("policy.timeout_s", _after(now_ns, default_timeout_s)))
    return min(time_limits, key=lambda limit: limit.at_ns)


def _after(now_ns: int, seconds: float) -> int:
    return now_ns + int(min(seconds, _FOREVER_S) * _SECOND)


def budget_error(task: Task, budget: Budget, spent: Usage | None) -> BudgetExceeded | None:
    """Why a task may not be called (again), by its own limits and the run's budget; None when it may.

    Args:
        task: With its limits and its depth.
        budget: What the run may still spend.
        spent: What this call has spent so far; what was not measured counts as nothing.
    """
    if task.depth > budget.depth:
        return _budget_exceeded("run.budget.depth", f"{budget.depth} nested delegations", "Delegate less deeply.")
    tokens = (spent.tokens or 0) if spent else 0
    usd = (spent.known_usd or 0.0) if spent else 0.0
    for name, limit, used, unit in (
        ("task.limits.tokens", task.limits.tokens, tokens, "tokens"),
        ("run.budget.tokens", budget.tokens, tokens, "tokens"),
        ("task.limits.cost_usd", task.limits.cost_usd, usd, "USD"),
        ("run.budget.cost_usd", budget.cost_usd, usd, "USD"),
    ):
        if limit is not None and used >= limit:
            return _budget_exceeded(name, f"{limit:g} {unit}", f"Raise `{name}`, or ask for less.")
    return None


def _budget_exceeded(bound: str, what: str, hint: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"Nothing is left of {what} (`{bound}`).", hint=hint, suggestions=(hint,), detail={"bound": bound}
    )


# One attempt


@dataclass(slots=True)
class AttemptResult:
    """How one attempt ended.

    Attributes:
        reply: What the agent returned; also what it still returned after its time was up.
        error: What it raised instead.
        timed_out: Its time was up before it ended, and it was told to stop.
        closed: It went on after that for longer than the grace period, and was closed.
        canceled: The call was cancelled. The caller must raise `CancelledError` when done.
        late_s: How long after its time it ended without being told to stop, because the event loop was blocked.
    """

    reply: object = None
    error: BaseException | None = None
    timed_out: bool = False
    closed: bool = False
    canceled: bool = False
    late_s: float = 0.0


async def attempt(start: Callable[[], Awaitable[object]], *, seconds: float | None, grace_s: float) -> AttemptResult:
    """Await what `start` gives, for at most `seconds`. An agent that cancels its own task cancels the call.

    A cancellation is not raised but noted, so that what the agent still handed back is not lost.

    Raises:
        KeyboardInterrupt: A person pressed Ctrl-C while the agent blocked.
    """
    result = AttemptResult()
    steps: Any = None

    async def run() -> None:
        # Nothing may leave this task as an exception: asyncio would end the program over a `SystemExit`.
        nonlocal steps
        try:
            steps = start().__await__()
            result.reply = await _delegate(steps)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is this agent's result
            if not result.closed:
                result.error = error

    loop, code = asyncio.get_running_loop(), run()
    deadline = None if seconds is None else loop.time() + seconds
    task = loop.create_task(code)
    try:
        try:
            await asyncio.sleep(0)  # code that never waits has ended then, and needs no timer
            if not task.done():
                await _wait(task, seconds)
            result.timed_out = not task.done()
        except CancelledError:
            result.canceled = True
        if not task.done():
            await _stop(task, result, grace_s)
        elif task.cancelling() and isinstance(result.error, CancelledError):
            result.canceled = True
        elif deadline is not None:
            result.late_s = max(0.0, loop.time() - deadline)
    finally:
        if not task.done():
            # Close what the agent runs, and let the task wake up to find it closed. Code that goes on even then is
            # cut off with the task's own coroutine, or the event loop could never be shut down.
            result.closed = True
            try:
                if steps is not None:
                    steps.close()
            except BaseException as error:  # noqa: BLE001 - it is not run again
                result.error = error
                code.close()
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
            task.cancel()
    return result


@coroutine
def _delegate(steps: Generator[Any, None, T]) -> Generator[Any, None, T]:
    return (yield from steps)


async def _wait(task: "asyncio.Task[None]", seconds: float | None) -> None:
    """As `asyncio.wait` for one task, at a third of its cost: every call that waits comes through here."""
    loop = task.get_loop()
    waiter = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    task.add_done_callback(wake)
    timer = None if seconds is None else loop.call_later(seconds, wake)
    try:
        await waiter
    finally:
        task.remove_done_callback(wake)
        if timer is not None:
            timer.cancel()


async def _stop(task: "asyncio.Task[None]", result: AttemptResult, grace_s: float) -> None:
    """Cancel `task`, and again whenever the call is cancelled meanwhile, and wait for the grace period."""
    loop = asyncio.get_running_loop()
    end = loop.time() + grace_s
    task.cancel()
    while not task.done() and (remaining := end - loop.time()) > 0:
        try:
            await _wait(task, remaining)
        except CancelledError:
            result.canceled = True
            task.cancel()


# All attempts of one call


@dataclass(slots=True, eq=False)
class _AgentCall:
    """One call of one agent, with all its attempts."""

    agent: Agent
    prepared: PreparedSkill
    input: PreparedInput
    run: RunContext
    readers: Readers
    correction: Correction | None
    task: Task = field(init=False)
    started_ns: int = field(init=False)
    bound: TimeLimit | None = field(init=False)
    usage_start: int = field(init=False)
    attempts: list[Attempt] = field(init=False)
    warnings: list[Warned] = field(init=False)
    usage: Usage | None = None
    best_reply: ValidatedReply | None = None

    def __post_init__(self) -> None:
        self.attempts, self.warnings = [], []
        self.task = self.input.task
        self.started_ns = self.run.now()
        self.bound = call_time_limit(self.task, run_deadline_ns=self.run.deadline_ns, started_ns=self.started_ns)
        self.usage_start = len(self.run.budget_tracker.usages)

    async def result(self) -> Result:
        """Call until there is an answer or no attempt is left."""
        run, task = self.run, self.task
        deadline_ns = run.deadline_ns
        run.attempt, run.correction = 0, None
        run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_SHOWN]))
        if decoded := self.input.notes.get("decoded"):
            run.emit(Decision("decode", "The parameters came as text.", {"decoded": decoded}))
        if ignored := self.input.notes.get("ignored"):
            self._warn(ignored_text(ignored))
        try:
            reply = self._precheck() or await self._answer()
        except CancelledError:
            self._finish(self._error_reply(Canceled("The call was cancelled.")))
            raise
        finally:
            run.deadline_ns = deadline_ns
        return self._finish(reply)

    async def _answer(self) -> ValidatedReply:
        """Attempt after attempt, as the policy says."""
        correction = self.correction
        while True:
            with attempt_span(len(self.attempts) + 1) as span:
                reply = await self._attempt(correction)
                fault = reply.fault
                if reply.is_answer or fault is None:
                    return reply
                span.fail(fault.code)
            spent = budget_error(self.task, self.run.budget, self.usage)
            move = Stop(spent.message, exhausted=True) if spent is not None else self._next_move(fault)
            if isinstance(move, Stop):
                # `failed` when an attempt was due, else `error` (C1); what the agent itself reported stays.
                self.run.emit(Decision("stop", move.reason, {"code": fault.code, "attempts": len(self.attempts)}))
                if fault.code == "canceled":
                    reply.outcome = "canceled"
                elif reply.outcome == "error" and move.exhausted:
                    reply.outcome = "failed"
                reply.fault = _back_to_producer(fault, self.task)
                return reply
            correction = self._make_correction(fault, reply) if move.corrects else None
            self.run.emit(AttemptRetried(fault.code, fault.message, move.wait_s))
            if move.wait_s:
                await self.run.sleep(move.wait_s)

    async def _attempt(self, correction: Correction | None) -> ValidatedReply:
        """Let the agent run once, and validate its reply."""
        run, task, prepared, policy = self.run, self.task, self.prepared, self.prepared.policy
        began_ns = run.now()
        bound = attempt_time_limit(
            self.bound,
            task,
            now_ns=began_ns,
            skill_timeout_s=prepared.skill.timeout_s,
            default_timeout_s=policy.timeout_s,
        )
        run.attempt, run.correction, run.deadline_ns = len(self.attempts) + 1, correction, bound.at_ns
        result = await attempt(
            lambda: self.agent.run(task, run), seconds=bound.remaining_s(began_ns), grace_s=policy.grace_s
        )
        took_ns = max(0, run.now() - began_ns)
        reply = await self._validate_attempt(result, bound, began_ns)
        usage: Usage | None = reply.claims.get("usage")
        if usage is None:  # it was killed, or reports none: the budget tracker has what its models took
            usage = Usage.total(run.budget_tracker.usages[self.usage_start :])
        self.usage_start = len(run.budget_tracker.usages)
        if usage is not None:
            self.usage = Usage.total((self.usage, usage))
            run.emit(UsageReported(usage))
        self.attempts.append(
            Attempt(
                number=run.attempt, duration_ns=took_ns, fault=None if reply.is_answer else reply.fault, usage=usage
            )
        )
        if reply.data is not ABSENT and (reply.is_valid or self.best_reply is None or not self.best_reply.is_valid):
            self.best_reply = reply
        if result.canceled:
            raise CancelledError
        return reply

    async def _validate_attempt(self, result: AttemptResult, bound: TimeLimit, began_ns: int) -> ValidatedReply:
        """The validated reply of one attempt, with warnings about how it ended."""
        run, error = self.run, result.error
        for note in notes_of(error) if error is not None else ():
            self._warn(note)
        if result.timed_out and error is not None and not isinstance(error, CancelledError):
            self._warn(f"`{self.task.agent}` raised `{type(error).__name__}` when it was told to stop.")
        if result.closed:
            self._warn(f"`{self.task.agent}` kept running after it was told to stop, and was ended.")
        if error is None and (not result.timed_out or result.reply is not None):
            validator = ReplyValidator(self.prepared, self.task, run, self.input.answer)
            reply = await validator.validate(result.reply, self.readers)
        else:
            reply = ValidatedReply(outcome="error")
        why = bound.error(self.task.agent, seconds=bound.remaining_s(began_ns)) if result.timed_out else error
        plan_problems = plan_findings(error) if self.prepared.definition.composes else []
        if plan_problems and not result.timed_out:
            reply.outcome, reply.fault = "error", output_invalid(plan_problems, self.task, run)
        elif why is not None:
            reply.lifecycle, reply.outcome, reply.fault = "ended", "error", fault_of(why, self.task, run)
        elif result.late_s > _LATE_S:
            self._warn(
                f"`{self.task.agent}` ended {result.late_s:.3g} s after its time (`{bound.name}`): "
                "it, or something beside it, blocked the event loop."
            )
        return reply

    def _precheck(self) -> ValidatedReply | None:
        """Why the agent is not even called; None when it is."""
        now_ns, task = self.run.now(), self.task
        if self.input.findings:
            fault = invalid_input(self.input.findings, task, self.run)
            return ValidatedReply(outcome="error", fault=_back_to_producer(fault, task))
        if self.bound is not None and self.bound.at_ns <= now_ns:
            return self._error_reply(self.bound.error(task.agent))
        error: Exception | None = budget_error(task, self.run.budget, None)
        # Whatever the caller may do, the grants of this call bind what the skill may touch.
        skill, effects = self.prepared.skill, self.prepared.effects
        if error is None and self.run.grants is not ALL and not self.run.grants.covers(effects):
            touches = " and ".join(effects)
            clause = f"may {touches}" if skill.effects else f"does not declare its effects, so it may {touches}"
            error = AccessDenied(
                f"`{task.agent}.{skill.name}` {clause}, and this call may not do all of that.",
                hint="Ask an agent that touches less, or call it with wider grants.",
            )
        return None if error is None else self._error_reply(error)

    def _next_move(self, fault: Fault) -> Move:
        return self.prepared.policy.next_move(
            fault,
            retries=len(self.attempts) - 1,
            limit=self.task.limits.retries,
            remaining_s=None if self.bound is None else self.bound.remaining_s(self.run.now()),
            chance=self.run.random(),
        )

    def _make_correction(self, fault: Fault, reply: ValidatedReply) -> Correction:
        limit = self.task.limits.retries
        raw_findings: object = fault.detail.get("findings")
        findings = cast("list[JsonMapping]", raw_findings) if isinstance(raw_findings, list) else None
        return Correction(
            code=fault.code,
            message=fault.message,
            hint=fault.hint,
            findings=tuple(findings or [{"message": fault.message, "path": fault.path, **fault.detail}]),
            retry_count=len(self.attempts),
            max_retries=self.prepared.policy.max_retries if limit is None else limit,
            previous=None if reply.data is ABSENT else reply.data,
            said=reply.native,
        )

    def _error_reply(self, error: BaseException) -> ValidatedReply:
        outcome: Outcome = "canceled" if isinstance(error, Canceled) else "error"
        return ValidatedReply(outcome=outcome, fault=fault_of(error, self.task, self.run))

    def _warn(self, text: str) -> None:
        self.run.emit(Message(text, level="warning"))
        self.warnings.append(Warned(type="degraded_analysis", message=text, synthetic=True))

    def _finish(self, reply: ValidatedReply) -> Result:
        """The result, stamped and recorded."""
        claims, prepared, task = reply.claims, self.prepared, self.task
        values: JsonMapping = {
            **claims,
            "task_id": task.id,
            "agent": prepared.definition.name,
            "skill": prepared.skill.name,
            "versions": prepared.versions,
            "lifecycle": reply.lifecycle,
            "outcome": reply.outcome,
            "duration_ns": max(0, self.run.now() - self.started_ns),
            "attempts": tuple(self.attempts),
            "retries": max(0, len(self.attempts) - 1),
        }
        data = self._data(reply)
        if data is not ABSENT:
            values["data"] = data
            if reply.is_answer and "content" not in claims:
                values["content"] = render_content(data)
        if reply.fault is not None:
            values["fault"] = reply.fault
        if reply.native is not None:
            values["native"] = reply.native
        if self.usage is not None:
            values["usage"] = self.usage
        if self.warnings:
            values["warnings"] = (*claims.get("warnings", ()), *self.warnings)
        notes = self.input.notes
        if prepared.override:
            notes["policy"] = prepared.override
        if notes:
            values["extras"] = {**claims.get("extras", {}), "boundary": notes}
        result = Result(**values)
        if reply.lifecycle != "working":
            self.run.emit(NodeFinished(result))
        return result

    def _data(self, reply: ValidatedReply) -> object:
        """The answer; of a failure the best data there was, with a warning. The data of a refusal is its own."""
        if reply.is_answer or reply.outcome == "rejected" or self.best_reply is None:
            return reply.data
        message = "The data breaks its schema, and is kept only so that nothing is lost."
        if self.best_reply.is_valid:
            message = "The data is from an attempt that did not end well."
        facts: JsonMapping = {"impact": "It is not an answer.", "recovery": "See the fault.", "synthetic": True}
        self.warnings.append(Warned(type="degraded_analysis", message=message, **facts))
        return self.best_reply.data
