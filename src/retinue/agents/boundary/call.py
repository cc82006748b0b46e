"""One call through the boundary: look up, check, call, judge, correct or retry, and say what it came to.

Whatever an agent, a task or a name does, a `Result` comes back; only cancellation passes. One call, all its attempts
together, is one step of an engine. What is *in* a plan that an agent returns, and who else could do the job, is for
orchestration. What an agent in this process prints is not caught here: standard output belongs to the program.
"""

from asyncio import CancelledError
from collections.abc import Mapping
from typing import Final, cast

from retinue.agents.boundary.attempt import Ended, attempt
from retinue.agents.boundary.bounds import Bound, attempt_bound, call_bound, overspent
from retinue.agents.boundary.checks import Judged, Readers, broken_plan, judge
from retinue.agents.boundary.content import render_content
from retinue.agents.boundary.faults import fault_of, invalid_input, notes_of, output_invalid
from retinue.agents.boundary.parameters import Given, give, ignored_text
from retinue.agents.boundary.policy import POLICY, Move, Policy, Stop
from retinue.agents.boundary.prepared import Agents, Prepared, prepare
from retinue.agents.port import ABSENT, Agent, RunContext
from retinue.contract import CONTRACT_VERSION
from retinue.contract.event import Decision, Finished, Message, Retried, Started, UsageNoted
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Attempt, Outcome, Result, Usage, Versions, Warned
from retinue.contract.task import Correction, Task
from retinue.errors import AccessDenied, Canceled
from retinue.telemetry import agent_span, attempt_span

__all__ = ["Boundary"]

_SHOWN: Final = 200

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
        self._prepared: dict[tuple[int, str | None], Prepared] = {}

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
            return _refused(task, run, error)
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
            prepared = self._ready(agent, task.skill)
            given = give(task, prepared)
        except Exception as error:  # noqa: BLE001 - `definition` is the agent's code
            return _refused(task, run, error)
        name, version = prepared.definition.name, prepared.definition.version
        with agent_span(name, prepared.skill.name, run=run.run, step=run.node, version=version) as span:
            result = await _Call(prepared, given, run, self._readers, correction).result()
            span.note_result(result)
        return result

    def _ready(self, agent: Agent, skill: str | None) -> Prepared:
        key = id(agent), skill
        known = self._prepared.pop(key, None)
        if known is None:
            known = prepare(agent, skill, self._overrides.get(agent.definition.name, self._policy))
        self._prepared[key] = known  # it holds the agent, so that the id stays its own; the latest is the last
        if len(self._prepared) > _MOST_PREPARED:
            del self._prepared[next(iter(self._prepared))]
        return known


def _refused(task: Task, run: RunContext, error: Exception) -> Result:
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
    run.emit(Started(task.agent, task.skill or "", task.instruction[:_SHOWN]))
    run.emit(Finished(result))
    with agent_span(task.agent, task.skill, run=run.run, step=run.node) as span:
        span.note_result(result)
    return result


def _back_to_producer(fault: Fault, task: Task) -> Fault:
    """Mark refused parameters that a model made: it, and nobody else, can correct them."""
    if fault.code != "invalid_input" or task.produced_by != "model":
        return fault
    return fault.model_copy(update={"detail": {**fault.detail, "correct": "producer"}})


class _Call:
    """One call of one agent, with all its attempts."""

    __slots__ = (
        "_attempts", "_bound", "_correction", "_given", "_kept", "_prepared", "_readers", "_run", "_started_ns",
        "_task", "_usage", "_used", "_warnings",
    )  # fmt: skip

    def __init__(
        self, prepared: Prepared, given: Given, run: RunContext, readers: Readers, correction: Correction | None
    ) -> None:
        self._prepared = prepared
        self._correction = correction
        self._given = given
        self._task = given.task
        self._run = run
        self._readers = readers
        self._started_ns = run.now()
        self._bound = call_bound(given.task, run_deadline_ns=run.deadline_ns, started_ns=self._started_ns)
        self._attempts: list[Attempt] = []
        self._warnings: list[Warned] = []
        self._usage: Usage | None = None
        self._used = len(run.purse.used)
        self._kept: Judged | None = None

    async def result(self) -> Result:
        """Call until there is an answer or no attempt is left, and say what it came to."""
        run, task = self._run, self._task
        deadline_ns = run.deadline_ns
        run.attempt, run.correction = 0, None
        run.emit(Started(task.agent, task.skill or "", task.instruction[:_SHOWN]))
        if self._given.decodings:
            decoded = [decoding.to_json() for decoding in self._given.decodings]
            run.emit(Decision("decode", "The parameters came as text.", {"decoded": decoded}))
        if ignored := self._given.notes.get("ignored"):
            self._warn(ignored_text(ignored))
        try:
            judged = self._barred() or await self._answer()
        except CancelledError:
            self._finished(self._failed(Canceled("The call was cancelled.")))
            raise
        finally:
            run.deadline_ns = deadline_ns
        return self._finished(judged)

    async def _answer(self) -> Judged:
        """Attempt after attempt, as the policy says."""
        correction = self._correction
        while True:
            with attempt_span(len(self._attempts) + 1) as span:
                judged = await self._attempt(correction)
                fault = judged.fault
                if judged.answers or fault is None:
                    return judged
                span.fail(fault.code)
            move = self._next_move(fault)
            if isinstance(move, Stop):
                return self._stopped(judged, fault, move)
            correction = self._corrected(fault, judged) if move.corrects else None
            self._run.emit(Retried(fault.code, fault.message, move.wait_s))
            if move.wait_s:
                await self._run.sleep(move.wait_s)

    async def _attempt(self, correction: Correction | None) -> Judged:
        """Let the agent run once, and judge what it gives."""
        run, task, prepared, policy = self._run, self._task, self._prepared, self._prepared.policy
        began_ns = run.now()
        bound = attempt_bound(
            self._bound,
            task,
            now_ns=began_ns,
            skill_timeout_s=prepared.skill.timeout_s,
            default_timeout_s=policy.timeout_s,
        )
        run.attempt, run.correction, run.deadline_ns = len(self._attempts) + 1, correction, bound.at_ns
        ended = await attempt(
            lambda: prepared.agent.run(task, run), seconds=bound.left_s(began_ns), grace_s=policy.grace_s
        )
        took_ns = max(0, run.now() - began_ns)
        judged = await self._judged(ended, bound, began_ns)
        usage: Usage | None = judged.claims.get("usage")
        if usage is None:  # it was killed, or says nothing of it: the purse knows what it asked models for
            usage = Usage.together(run.purse.used[self._used :])
        self._used = len(run.purse.used)
        if usage is not None:
            self._usage = Usage.together((self._usage, usage))
            run.emit(UsageNoted(usage))
        self._attempts.append(
            Attempt(
                number=run.attempt, duration_ns=took_ns, fault=None if judged.answers else judged.fault, usage=usage
            )
        )
        if judged.data is not ABSENT and (judged.fits or self._kept is None or not self._kept.fits):
            self._kept = judged
        if ended.canceled:
            raise CancelledError
        return judged

    async def _judged(self, ended: Ended, bound: Bound, began_ns: int) -> Judged:
        """What one attempt came to, with what is to be said about how it ended."""
        run, error = self._run, ended.error
        for note in notes_of(error):
            self._warn(note)
        if ended.late and error is not None and not isinstance(error, CancelledError):
            self._warn(f"`{self._task.agent}` raised `{type(error).__name__}` when it was told to stop.")
        if ended.closed:
            self._warn(f"`{self._task.agent}` kept running after it was told to stop, and was ended.")
        if error is None and (not ended.late or ended.reply is not None):
            judged = await judge(
                ended.reply, self._prepared, self._task, run, readers=self._readers, answer=self._given.answer
            )
        else:
            judged = Judged(outcome="error")
        why = bound.error(self._task.agent, seconds=bound.left_s(began_ns)) if ended.late else error
        broken = broken_plan(error) if self._prepared.definition.composes else []
        if broken and not ended.late:
            task = self._task
            judged.outcome, judged.fault = (
                "error",
                output_invalid(broken, agent=task.agent, operation=task.skill, target=task.target, now_ns=run.now()),
            )
        elif why is not None:
            judged.lifecycle, judged.outcome, judged.fault = "ended", "error", self._fault(why)
        elif (late_s := -bound.left_s(run.now())) > 0 and ended.blocked_ns > late_s * 1e9:
            self._warn(
                f"`{self._task.agent}` blocked the event loop for {ended.blocked_ns / 1e9:.3g} s "
                f"and ended {late_s:.3g} s after its time (`{bound.name}`)."
            )
        return judged

    # Decisions.

    def _barred(self) -> Judged | None:
        """Why the agent is not even called; None when it is."""
        now_ns, task = self._run.now(), self._task
        if self._given.findings:
            fault = invalid_input(
                self._given.findings, agent=task.agent, operation=task.skill, target=task.target, now_ns=now_ns
            )
            return Judged(outcome="error", fault=_back_to_producer(fault, task))
        if self._bound is not None and self._bound.at_ns <= now_ns:
            return self._failed(self._bound.error(task.agent))
        error = overspent(task, self._run.budget, None) or self._ungranted()
        return None if error is None else self._failed(error)

    def _ungranted(self) -> AccessDenied | None:
        """What the skill would touch and may not: whoever calls, the grants of the call bind."""
        skill = self._prepared.skill
        if self._run.grants.covers(skill.possible_effects):
            return None
        touches = " and ".join(skill.possible_effects)
        said = f"may {touches}" if skill.effects else f"does not say what it touches, so it may {touches}"
        return AccessDenied(
            f"`{self._task.agent}.{skill.name}` {said}, and this call may not do all of that.",
            hint="Ask an agent that touches less, or call it with wider grants.",
        )

    def _next_move(self, fault: Fault) -> Move:
        run, task = self._run, self._task
        spent = overspent(task, run.budget, self._usage)
        if spent is not None:
            return Stop(spent.message, exhausted=True)
        return self._prepared.policy.next_move(
            fault,
            retries=len(self._attempts) - 1,
            limit=task.limits.retries,
            left_s=None if self._bound is None else self._bound.left_s(run.now()),
            chance=run.random(),
        )

    def _stopped(self, judged: Judged, fault: Fault, move: Stop) -> Judged:
        """No further attempt: `failed` when one was due, else `error` (C1); an agent that said more keeps its word."""
        self._run.emit(Decision("stop", move.reason, {"code": fault.code, "attempts": len(self._attempts)}))
        if fault.code == "canceled":
            judged.outcome = "canceled"
        elif judged.outcome == "error" and move.exhausted:
            judged.outcome = "failed"
        judged.fault = _back_to_producer(fault, self._task)
        return judged

    def _corrected(self, fault: Fault, judged: Judged) -> Correction:
        limit = self._task.limits.retries
        known: object = fault.detail.get("findings")
        findings = cast("list[JsonMapping]", known) if isinstance(known, list) else None
        return Correction(
            code=fault.code,
            message=fault.message,
            hint=fault.hint,
            findings=tuple(findings or [{"message": fault.message, "path": fault.path, **fault.detail}]),
            retry_count=len(self._attempts),
            max_retries=self._prepared.policy.max_retries if limit is None else limit,
            previous=None if judged.data is ABSENT else judged.data,
            said=judged.native,
        )

    # Words.

    def _failed(self, error: BaseException) -> Judged:
        outcome: Outcome = "canceled" if isinstance(error, Canceled) else "error"
        return Judged(outcome=outcome, fault=self._fault(error))

    def _fault(self, error: BaseException) -> Fault:
        task = self._task
        return fault_of(error, agent=task.agent, operation=task.skill, target=task.target, now_ns=self._run.now())

    def _warn(self, text: str) -> None:
        self._run.emit(Message(text, level="warning"))
        self._warnings.append(Warned(type="degraded_analysis", message=text, synthetic=True))

    def _finished(self, judged: Judged) -> Result:
        """The result, stamped and recorded."""
        claims, prepared, task = judged.claims, self._prepared, self._task
        facts: JsonMapping = {
            **claims,
            "task_id": task.id,
            "agent": prepared.definition.name,
            "skill": prepared.skill.name,
            "versions": prepared.versions,
            "lifecycle": judged.lifecycle,
            "outcome": judged.outcome,
            "duration_ns": max(0, self._run.now() - self._started_ns),
            "attempts": tuple(self._attempts),
            "retries": max(0, len(self._attempts) - 1),
        }
        data = self._data(judged)
        if data is not ABSENT:
            facts["data"] = data
            if judged.answers and "content" not in claims:
                facts["content"] = render_content(data)
        if judged.fault is not None:
            facts["fault"] = judged.fault
        if judged.native is not None:
            facts["native"] = judged.native
        if self._usage is not None:
            facts["usage"] = self._usage
        if self._warnings:
            facts["warnings"] = (*claims.get("warnings", ()), *self._warnings)
        if notes := self._notes():
            facts["extras"] = {**claims.get("extras", {}), "boundary": notes}
        result = Result(**facts)
        if judged.lifecycle != "working":
            self._run.emit(Finished(result))
        return result

    def _data(self, judged: Judged) -> object:
        """The answer; of a failure the best data there was, marked as what it is. What a refusal shows is its own."""
        if judged.answers or judged.outcome == "rejected" or self._kept is None:
            return judged.data
        if self._kept.fits:
            what = "The data is from an attempt that did not end well."
        else:
            what = "The data breaks its schema, and is kept only so that nothing is lost."
        self._warnings.append(
            Warned(
                type="degraded_analysis",
                message=what,
                impact="It is not an answer.",
                recovery="See the fault.",
                synthetic=True,
            )
        )
        return self._kept.data

    def _notes(self) -> JsonMapping:
        """What was done to the request, and by which rules, where that is not the usual."""
        notes = self._given.notes
        if self._given.decodings:
            notes["decoded"] = [decoding.to_json() for decoding in self._given.decodings]
        if self._prepared.override:
            notes["policy"] = self._prepared.override
        return notes
