"""One call through the boundary: look up, check, call, validate, correct or retry, and report the result.

Whatever an agent, a task or a name does, a `Result` comes back; only cancellation passes. One call, all its attempts
together, is one step of an engine. What is *in* a plan that an agent returns, and who else could do the job, is for
orchestration. What an agent in this process prints is not caught here: standard output belongs to the program.
"""

import asyncio
import time
import weakref
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, cast

from retinue.agents.boundary.policy import POLICY, Move, Policy, Stop
from retinue.agents.boundary.prepare import (
    Agents,
    PreparedInput,
    PreparedSkill,
    TimeLimit,
    attempt_time_limit,
    budget_error,
    call_time_limit,
    ignored_text,
    prepare_input,
    prepare_skill,
)
from retinue.agents.boundary.validate_reply import (
    Readers,
    ReplyValidator,
    ValidatedReply,
    fault_of,
    invalid_input,
    notes_of,
    output_invalid,
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
from retinue.contract.task import Correction, Task
from retinue.errors import AccessDenied, Canceled
from retinue.telemetry import agent_span, attempt_span

_MAX_SHOWN: Final = 200
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
        self._overrides = {
            name: replace(one, timeouts={**one.timeouts, **policy.timeouts}) for name, one in (overrides or {}).items()
        }
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
    run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_MAX_SHOWN]))
    run.emit(NodeFinished(result))
    with agent_span(task.agent, task.skill, run=run.run, step=run.node) as span:
        span.note_result(result)
    return result


def _back_to_producer(fault: Fault, task: Task) -> Fault:
    """Mark refused parameters that a model made: only that model can correct them."""
    if fault.code != "invalid_input" or task.produced_by != "model":
        return fault
    return fault.model_copy(update={"detail": {**fault.detail, "correct": "producer"}})


# One attempt: foreign code, run in this task so that what it returns is never between two tasks when a cancellation
# arrives. Its exceptions are values here; code that swallows its cancellation gets a grace period and is then closed.

_GROUP_EXIT: Final = asyncio.TaskGroup.__aexit__.__code__


class TaskGroups:
    """The task groups of one piece of foreign code that have cancelled its task.

    Args:
        awaitable: The code.
        task: The task it runs in.
    """

    __slots__ = ("_awaitable", "_cancellations", "_task")

    def __init__(self, awaitable: object, task: "asyncio.Task[Any]") -> None:
        self._awaitable = awaitable
        self._task = task
        self._cancellations: list[tuple[object, int]] = []

    def record_cancellation(self) -> None:
        """A cancellation has arrived: remember the group that it comes from, if it comes from one."""
        known_groups = [group for group, _ in self._cancellations]
        for group in self._exiting_groups():
            # There is no public way to ask a group; a newer Python without these has no need of it either.
            has_failed = getattr(group, "_parent_cancel_requested", False) and getattr(group, "_errors", None)
            if has_failed and not any(group is each for each in known_groups):
                self._cancellations.append((group, self._task.cancelling()))

    def uncancel_finished(self) -> None:
        """Take back what a group has left standing that is through by now."""
        if not self._cancellations:
            return
        exiting = self._exiting_groups()
        for cancellation in self._cancellations[:]:
            group, count = cancellation
            if not any(group is each for each in exiting):
                self._cancellations.remove(cancellation)
                if self._task.cancelling() >= count:
                    self._task.uncancel()

    def _exiting_groups(self) -> list[object]:
        """The groups that the code is leaving right now, outermost first."""
        groups: list[object] = []
        at: Any = self._awaitable
        while at is not None:
            frame = getattr(at, "cr_frame", None)
            if frame is not None and frame.f_code is _GROUP_EXIT:
                groups.append(frame.f_locals.get("self"))
            at = getattr(at, "cr_await", None) or getattr(at, "gi_yieldfrom", None)
        return groups


_Future: TypeAlias = asyncio.Future[Any]
_Steps: TypeAlias = Generator[_Future | None, None, BaseException | None]


@dataclass(slots=True)
class AttemptResult:
    """How one attempt ended.

    Attributes:
        reply: What the agent returned; also what it still returned after its time was up.
        error: What it raised instead.
        timed_out: Its time was up before it ended, and it was told to stop.
        closed: It went on after that for longer than the grace period, and was closed.
        canceled: Somebody cancelled the call. Whoever reads this must raise `CancelledError` when done.
        blocked_ns: The longest it kept everybody else from running.
    """

    reply: object = None
    error: BaseException | None = None
    timed_out: bool = False
    closed: bool = False
    canceled: bool = False
    blocked_ns: int = 0


async def attempt(start: Callable[[], Awaitable[object]], *, seconds: float | None, grace_s: float) -> AttemptResult:
    """Await what `start` gives, for at most `seconds`.

    The agent runs in the calling task, and no timer is set unless it waits for something: a call that never waits
    costs next to nothing. An agent that cancels its own task cancels the call.

    A cancellation is not raised but told, so that what the agent still handed back is not lost.

    Raises:
        KeyboardInterrupt: A person pressed Ctrl-C while the agent blocked.
    """
    task = asyncio.current_task()
    if task is None:  # pragma: no cover - an event loop that runs coroutines without tasks is none of asyncio's
        raise RuntimeError("an agent is called inside an asyncio task")
    deadline_s = None if seconds is None else task.get_loop().time() + seconds
    driver = _CoroutineDriver(start, task, grace_s)
    if not driver.step():
        try:
            async with asyncio.timeout_at(deadline_s):
                await driver
        except TimeoutError:
            driver.result.timed_out = True
        except CancelledError:
            pass
    driver.result.canceled = driver.canceled
    return driver.result


class _CoroutineDriver:
    """One piece of foreign code, driven step by step.

    Awaiting it hands what the code waits for to the event loop, as `await` does. The difference: it stays in charge
    when the code refuses to end.
    """

    __slots__ = (
        "_done",
        "_given_up",
        "_grace_s",
        "_groups",
        "_inner",
        "_iterator",
        "_prior_cancels",
        "_start",
        "_task",
        "_timer",
        "result",
    )

    def __init__(self, start: Callable[[], Awaitable[object]], task: "asyncio.Task[Any]", grace_s: float) -> None:
        self.result = AttemptResult()
        self._start = start
        self._task = task
        self._prior_cancels = task.cancelling()
        self._grace_s = grace_s
        self._iterator: Any = None
        self._groups: TaskGroups | None = None
        self._inner: _Future | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._done = False
        self._given_up = False

    @property
    def canceled(self) -> bool:
        """Somebody has asked the task to stop since this began, and has not taken it back."""
        return self._task.cancelling() > self._prior_cancels

    def step(self, error: BaseException | None = None) -> bool:
        """Let the code run until it waits for something; say whether it has ended instead."""
        began = time.perf_counter_ns()
        try:
            if self._iterator is None:
                awaitable = self._start()
                self._groups = TaskGroups(awaitable, self._task)
                self._iterator = awaitable.__await__()
            self._inner = self._iterator.send(None) if error is None else self._iterator.throw(error)
        except StopIteration as end:
            self._done, self.result.reply = True, end.value
        except BaseException as raised:  # whatever it is, it is what this agent came to
            self._done, self.result.error = True, raised
            if isinstance(raised, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
        self.result.blocked_ns = max(self.result.blocked_ns, time.perf_counter_ns() - began)
        if self._groups is not None:
            self._groups.uncancel_finished()
        return self._done

    def __await__(self) -> Generator[_Future | None, None, None]:
        try:
            while True:
                error = yield from self._wait()
                if self._given_up or self.step(error):
                    break
                self._update_grace_timer()
        finally:
            self._cleanup()
        if self.canceled:
            raise CancelledError

    def _wait(self) -> _Steps:
        """Wait for what the code waits for; give what must be thrown into it, if anything."""
        inner = self._inner
        if type(inner) is asyncio.Future or not asyncio.isfuture(inner):
            try:
                yield inner
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - the future's own failure, or a cancellation: for the code
                if self._groups is not None and isinstance(error, CancelledError):
                    self._groups.record_cancellation()
                return error
            return None
        # A task or a gathering ends when it likes, even cancelled. So wait beside it, not for it.
        inner._asyncio_future_blocking = False  # noqa: SLF001 - the mark by which `await` and the loop shake hands
        while not inner.done():
            beside = self._task.get_loop().create_future()
            inner.add_done_callback(lambda _, beside=beside: beside.done() or beside.set_result(None))
            try:
                yield from beside
            except CancelledError as error:
                if self._given_up or not inner.cancel():
                    return error
                self._update_grace_timer()
        return None

    def _update_grace_timer(self) -> None:
        """Keep the grace timer running while a cancellation stands that the code has not answered.

        A time-out of the code's own cancels this task too, and takes that back when it is through.
        """
        if not self.canceled:
            if self._timer:
                self._timer.cancel()
                self._timer = None
        elif not self._timer:
            self._timer = self._task.get_loop().call_later(self._grace_s, self._give_up)

    def _give_up(self) -> None:
        self._given_up = True
        self._task.cancel()

    def _cleanup(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._given_up:
            self._task.uncancel()
        if not self._done:
            self.result.closed = True
            try:
                self._iterator.close()
            except BaseException as error:  # noqa: BLE001 - it refuses even this; nobody will run it again
                self.result.error = error


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
        run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_MAX_SHOWN]))
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
            own_timeout_s=policy.timeouts.get(prepared.definition.name),
            skill_timeout_s=prepared.skill.timeout_s,
            default_timeout_s=policy.timeout_s,
        )
        run.attempt, run.correction, run.deadline_ns = len(self.attempts) + 1, correction, bound.at_ns
        result = await attempt(
            lambda: self.agent.run(task, run), seconds=bound.remaining_s(began_ns), grace_s=policy.grace_s
        )
        took_ns = max(0, run.now() - began_ns)
        reply = await self._validate_attempt(result, bound, began_ns)
        # What its models took through the budget tracker was told call by call. Of an agent that was killed, or reports
        # no usage, that is all there is; one of which the tracker knows nothing is told of here.
        tracked = Usage.total(run.budget_tracker.usages[self.usage_start :])
        usage: Usage | None = reply.claims.get("usage") or tracked
        self.usage_start = len(run.budget_tracker.usages)
        if usage is not None:
            self.usage = Usage.total((self.usage, usage))
            own_parts = () if tracked else (Usage(**dict(part)) for part in usage.split() if part.agent is None)
            if (own_usage := Usage.total(own_parts)) is not None:
                run.emit(UsageReported(own_usage))
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
        elif (late_s := -bound.remaining_s(run.now())) > 0 and result.blocked_ns > late_s * 1e9:
            self._warn(
                f"`{self.task.agent}` blocked the event loop for {result.blocked_ns / 1e9:.3g} s "
                f"and ended {late_s:.3g} s after its time (`{bound.name}`)."
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
