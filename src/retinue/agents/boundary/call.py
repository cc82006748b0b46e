"""One call through the boundary: look up, check, call, judge, correct or retry, and say what it came to.

Whatever an agent, a task or a name does, a `Result` comes back; only cancellation passes. One call, all its attempts
together, is one step of an engine. What is *in* a plan that an agent returns, and who else could do the job, is for
orchestration. What an agent in this process prints is not caught here: standard output belongs to the program.
"""

from asyncio import CancelledError
from collections.abc import Mapping
from typing import Final, cast

from retinue.agents.boundary.attempt import AttemptResult, attempt
from retinue.agents.boundary.content import render_content
from retinue.agents.boundary.faults import fault_of, invalid_input, notes_of, output_invalid
from retinue.agents.boundary.limits import TimeLimit, attempt_time_limit, budget_error, call_time_limit
from retinue.agents.boundary.policy import POLICY, Move, Policy, Stop
from retinue.agents.boundary.prepare_input import PreparedInput, ignored_text, prepare_input
from retinue.agents.boundary.prepare_skill import Agents, PreparedSkill, prepare_skill
from retinue.agents.boundary.validate_reply import Readers, ValidatedReply, plan_findings, validate_reply
from retinue.agents.port import ABSENT, Agent, RunContext
from retinue.contract import CONTRACT_VERSION
from retinue.contract.event import AttemptRetried, Decision, Message, NodeFinished, NodeStarted, UsageReported
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Attempt, Outcome, Result, Usage, Versions, Warned
from retinue.contract.task import Correction, Task
from retinue.errors import AccessDenied, Canceled
from retinue.telemetry import agent_span, attempt_span

_SHOWN: Final = 200
_LATE_S: Final = 0.01

_MOST_PREPARED: Final = 256
"""Skills that are kept ready. A program that makes an agent for each call would otherwise never let go of one."""


class Boundary:
    """Calls agents, and answers for what comes back.

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
        self._prepared: dict[tuple[int, str | None], PreparedSkill] = {}

    async def call(self, task: Task, run: RunContext) -> Result:
        """Look up the task's agent and call it.

        A fault's `detail["correct"]` is `producer` when a model made the parameters that were refused: the result then
        belongs back to that model, as its correction (C6).

        Raises:
            CancelledError: Somebody cancelled the call. What there was by then has been emitted.
        """
        try:
            agent = self._agents.get(task.agent, major=task.major)
        except Exception as error:  # noqa: BLE001 - a registry is foreign code too
            return _rejected_result(task, run, error)
        return await self.call_agent(agent, task, run)

    async def call_agent(
        self, agent: Agent, task: Task, run: RunContext, *, correction: Correction | None = None
    ) -> Result:
        """Call an agent that is at hand; otherwise as `call`.

        Args:
            agent: Who is called.
            task: What is asked.
            run: What the agent gets beside it.
            correction: Why the caller asks again; the agent gets it with its first attempt.
        """
        try:
            key = id(agent), task.skill
            prepared = self._prepared.pop(key, None)
            if prepared is None:
                prepared = prepare_skill(agent, task.skill, self._overrides.get(agent.definition.name, self._policy))
            self._prepared[key] = prepared  # it holds the agent, so that the id stays its own; the latest is the last
            if len(self._prepared) > _MOST_PREPARED:
                del self._prepared[next(iter(self._prepared))]
            prepared_input = prepare_input(task, prepared)
        except Exception as error:  # noqa: BLE001 - `definition` is the agent's code
            return _rejected_result(task, run, error)
        name, version = prepared.definition.name, prepared.definition.version
        with agent_span(name, prepared.skill.name, run=run.run, step=run.node, version=version) as span:
            result = await _AgentCall(prepared, prepared_input, run, self._readers, correction).result()
            span.note_result(result)
        return result


def _rejected_result(task: Task, run: RunContext, error: Exception) -> Result:
    """The result of a task that reached nobody."""
    fault = fault_of(
        error, agent=task.agent, operation=task.skill, target=task.target, now_ns=run.now(), failed_at="resolve"
    )
    result = Result(
        task_id=task.id,
        agent=task.agent,
        skill=task.skill,
        versions=Versions(contract=CONTRACT_VERSION),
        # A task in words that is for none of the agent's skills is no failure of anybody (C47).
        outcome="rejected" if task.skill is None and fault.path == "/skill" else "error",
        fault=_back_to_producer(fault, task),
    )
    run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_SHOWN]))
    run.emit(NodeFinished(result))
    with agent_span(task.agent, task.skill, run=run.run, step=run.node) as span:
        span.note_result(result)
    return result


def _back_to_producer(fault: Fault, task: Task) -> Fault:
    """Mark refused parameters that a model made: it, and nobody else, can correct them."""
    if fault.code != "invalid_input" or task.produced_by != "model":
        return fault
    return fault.model_copy(update={"detail": {**fault.detail, "correct": "producer"}})


class _AgentCall:
    """One call of one agent, with all its attempts."""

    __slots__ = (
        "_attempts",
        "_best_reply",
        "_bound",
        "_correction",
        "_input",
        "_prepared",
        "_readers",
        "_run",
        "_started_ns",
        "_task",
        "_usage",
        "_usage_start",
        "_warnings",
    )  # fmt: skip

    def __init__(
        self,
        prepared: PreparedSkill,
        prepared_input: PreparedInput,
        run: RunContext,
        readers: Readers,
        correction: Correction | None,
    ) -> None:
        self._prepared = prepared
        self._correction = correction
        self._input = prepared_input
        self._task = prepared_input.task
        self._run = run
        self._readers = readers
        self._started_ns = run.now()
        self._bound = call_time_limit(prepared_input.task, run_deadline_ns=run.deadline_ns, started_ns=self._started_ns)
        self._attempts: list[Attempt] = []
        self._warnings: list[Warned] = []
        self._usage: Usage | None = None
        self._usage_start = len(run.budget_tracker.usages)
        self._best_reply: ValidatedReply | None = None

    async def result(self) -> Result:
        """Call until there is an answer or no attempt is left, and say what it came to."""
        run, task = self._run, self._task
        deadline_ns = run.deadline_ns
        run.attempt, run.correction = 0, None
        run.emit(NodeStarted(task.agent, task.skill or "", task.instruction[:_SHOWN]))
        if self._input.decodings:
            decoded = [decoding.to_json() for decoding in self._input.decodings]
            run.emit(Decision("decode", "The parameters came as text.", {"decoded": decoded}))
        if ignored := self._input.notes.get("ignored"):
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
        correction = self._correction
        while True:
            with attempt_span(len(self._attempts) + 1) as span:
                reply = await self._attempt(correction)
                fault = reply.fault
                if reply.is_answer or fault is None:
                    return reply
                span.fail(fault.code)
            move = self._next_move(fault)
            if isinstance(move, Stop):
                return self._stop(reply, fault, move)
            correction = self._make_correction(fault, reply) if move.corrects else None
            self._run.emit(AttemptRetried(fault.code, fault.message, move.wait_s))
            if move.wait_s:
                await self._run.sleep(move.wait_s)

    async def _attempt(self, correction: Correction | None) -> ValidatedReply:
        """Let the agent run once, and judge what it gives."""
        run, task, prepared, policy = self._run, self._task, self._prepared, self._prepared.policy
        began_ns = run.now()
        bound = attempt_time_limit(
            self._bound,
            task,
            now_ns=began_ns,
            skill_timeout_s=prepared.skill.timeout_s,
            default_timeout_s=policy.timeout_s,
        )
        run.attempt, run.correction, run.deadline_ns = len(self._attempts) + 1, correction, bound.at_ns
        result = await attempt(
            lambda: prepared.agent.run(task, run), seconds=bound.remaining_s(began_ns), grace_s=policy.grace_s
        )
        took_ns = max(0, run.now() - began_ns)
        reply = await self._validate_attempt(result, bound, began_ns)
        usage: Usage | None = reply.claims.get("usage")
        if usage is None:  # it was killed, or says nothing of it: the purse knows what it asked models for
            usage = Usage.total(run.budget_tracker.usages[self._usage_start :])
        self._usage_start = len(run.budget_tracker.usages)
        if usage is not None:
            self._usage = Usage.total((self._usage, usage))
            run.emit(UsageReported(usage))
        self._attempts.append(
            Attempt(
                number=run.attempt, duration_ns=took_ns, fault=None if reply.is_answer else reply.fault, usage=usage
            )
        )
        if reply.data is not ABSENT and (reply.is_valid or self._best_reply is None or not self._best_reply.is_valid):
            self._best_reply = reply
        if result.canceled:
            raise CancelledError
        return reply

    async def _validate_attempt(self, result: AttemptResult, bound: TimeLimit, began_ns: int) -> ValidatedReply:
        """What one attempt came to, with what is to be said about how it ended."""
        run, error = self._run, result.error
        for note in notes_of(error):
            self._warn(note)
        if result.timed_out and error is not None and not isinstance(error, CancelledError):
            self._warn(f"`{self._task.agent}` raised `{type(error).__name__}` when it was told to stop.")
        if result.closed:
            self._warn(f"`{self._task.agent}` kept running after it was told to stop, and was ended.")
        if error is None and (not result.timed_out or result.reply is not None):
            reply = await validate_reply(
                result.reply, self._prepared, self._task, run, readers=self._readers, answer=self._input.answer
            )
        else:
            reply = ValidatedReply(outcome="error")
        why = bound.error(self._task.agent, seconds=bound.remaining_s(began_ns)) if result.timed_out else error
        plan_problems = plan_findings(error) if self._prepared.definition.composes else []
        if plan_problems and not result.timed_out:
            task = self._task
            reply.outcome, reply.fault = (
                "error",
                output_invalid(
                    plan_problems, agent=task.agent, operation=task.skill, target=task.target, now_ns=run.now()
                ),
            )
        elif why is not None:
            reply.lifecycle, reply.outcome, reply.fault = "ended", "error", self._fault(why)
        elif result.late_s > _LATE_S:
            self._warn(
                f"`{self._task.agent}` ended {result.late_s:.3g} s after its time (`{bound.name}`): "
                "it, or something beside it, blocked the event loop."
            )
        return reply

    # Decisions.

    def _precheck(self) -> ValidatedReply | None:
        """Why the agent is not even called; None when it is."""
        now_ns, task = self._run.now(), self._task
        if self._input.findings:
            fault = invalid_input(
                self._input.findings, agent=task.agent, operation=task.skill, target=task.target, now_ns=now_ns
            )
            return ValidatedReply(outcome="error", fault=_back_to_producer(fault, task))
        if self._bound is not None and self._bound.at_ns <= now_ns:
            return self._error_reply(self._bound.error(task.agent))
        error = budget_error(task, self._run.budget, None) or self._check_grants()
        return None if error is None else self._error_reply(error)

    def _check_grants(self) -> AccessDenied | None:
        """What the skill would touch and may not: whoever calls, the grants of the call bind."""
        skill = self._prepared.skill
        if self._run.grants.covers(skill.possible_effects):
            return None
        touches = " and ".join(skill.possible_effects)
        clause = f"may {touches}" if skill.effects else f"does not say what it touches, so it may {touches}"
        return AccessDenied(
            f"`{self._task.agent}.{skill.name}` {clause}, and this call may not do all of that.",
            hint="Ask an agent that touches less, or call it with wider grants.",
        )

    def _next_move(self, fault: Fault) -> Move:
        run, task = self._run, self._task
        spent = budget_error(task, run.budget, self._usage)
        if spent is not None:
            return Stop(spent.message, exhausted=True)
        return self._prepared.policy.next_move(
            fault,
            retries=len(self._attempts) - 1,
            limit=task.limits.retries,
            remaining_s=None if self._bound is None else self._bound.remaining_s(run.now()),
            chance=run.random(),
        )

    def _stop(self, reply: ValidatedReply, fault: Fault, move: Stop) -> ValidatedReply:
        """No further attempt: `failed` when one was due, else `error` (C1); an agent that said more keeps its word."""
        self._run.emit(Decision("stop", move.reason, {"code": fault.code, "attempts": len(self._attempts)}))
        if fault.code == "canceled":
            reply.outcome = "canceled"
        elif reply.outcome == "error" and move.exhausted:
            reply.outcome = "failed"
        reply.fault = _back_to_producer(fault, self._task)
        return reply

    def _make_correction(self, fault: Fault, reply: ValidatedReply) -> Correction:
        limit = self._task.limits.retries
        raw_findings: object = fault.detail.get("findings")
        findings = cast("list[JsonMapping]", raw_findings) if isinstance(raw_findings, list) else None
        return Correction(
            code=fault.code,
            message=fault.message,
            hint=fault.hint,
            findings=tuple(findings or [{"message": fault.message, "path": fault.path, **fault.detail}]),
            retry_count=len(self._attempts),
            max_retries=self._prepared.policy.max_retries if limit is None else limit,
            previous=None if reply.data is ABSENT else reply.data,
            said=reply.native,
        )

    # Words.

    def _error_reply(self, error: BaseException) -> ValidatedReply:
        outcome: Outcome = "canceled" if isinstance(error, Canceled) else "error"
        return ValidatedReply(outcome=outcome, fault=self._fault(error))

    def _fault(self, error: BaseException) -> Fault:
        task = self._task
        return fault_of(error, agent=task.agent, operation=task.skill, target=task.target, now_ns=self._run.now())

    def _warn(self, text: str) -> None:
        self._run.emit(Message(text, level="warning"))
        self._warnings.append(Warned(type="degraded_analysis", message=text, synthetic=True))

    def _finish(self, reply: ValidatedReply) -> Result:
        """The result, stamped and recorded."""
        claims, prepared, task = reply.claims, self._prepared, self._task
        values: JsonMapping = {
            **claims,
            "task_id": task.id,
            "agent": prepared.definition.name,
            "skill": prepared.skill.name,
            "versions": prepared.versions,
            "lifecycle": reply.lifecycle,
            "outcome": reply.outcome,
            "duration_ns": max(0, self._run.now() - self._started_ns),
            "attempts": tuple(self._attempts),
            "retries": max(0, len(self._attempts) - 1),
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
        if self._usage is not None:
            values["usage"] = self._usage
        if self._warnings:
            values["warnings"] = (*claims.get("warnings", ()), *self._warnings)
        if notes := self._notes():
            values["extras"] = {**claims.get("extras", {}), "boundary": notes}
        result = Result(**values)
        if reply.lifecycle != "working":
            self._run.emit(NodeFinished(result))
        return result

    def _data(self, reply: ValidatedReply) -> object:
        """The answer; of a failure the best data there was, marked as what it is. What a refusal shows is its own."""
        if reply.is_answer or reply.outcome == "rejected" or self._best_reply is None:
            return reply.data
        if self._best_reply.is_valid:
            message = "The data is from an attempt that did not end well."
        else:
            message = "The data breaks its schema, and is kept only so that nothing is lost."
        self._warnings.append(
            Warned(
                type="degraded_analysis",
                message=message,
                impact="It is not an answer.",
                recovery="See the fault.",
                synthetic=True,
            )
        )
        return self._best_reply.data

    def _notes(self) -> JsonMapping:
        """What was done to the request, and by which rules, where that is not the usual."""
        notes = self._input.notes
        if self._input.decodings:
            notes["decoded"] = [decoding.to_json() for decoding in self._input.decodings]
        if self._prepared.override:
            notes["policy"] = self._prepared.override
        return notes
