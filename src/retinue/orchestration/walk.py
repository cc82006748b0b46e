"""The one loop that walks a plan. It decides nothing itself.

`state` says what is ready, `escalate` what to do about a failure, `condense` what is handed on, `synthesise` what the
answer is; this starts steps, waits for them through the engine's `Scope`, and keeps what came of each. It obeys the
rules for workflows in `engine.base`, so the same walk runs in memory and durably.
"""

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final, Literal, assert_never

from retinue.contract.definition import Definition
from retinue.contract.event import Decision
from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.plan import Delegation, Plan, order
from retinue.contract.question import Question
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.task import Task
from retinue.engine.base import Scope
from retinue.engine.outside import Stopped
from retinue.errors import Canceled, RetinueError
from retinue.orchestration.check import Check
from retinue.orchestration.child import ascended, child_order, objection, refused
from retinue.orchestration.context import NodeContext, Surface
from retinue.orchestration.decisions import SKIPPED, Decisions, opening, unavailable
from retinue.orchestration.ending import answer_of, counted
from retinue.orchestration.escalate import Accept, Ask, Elsewhere, GiveUp
from retinue.orchestration.expected import verified
from retinue.orchestration.ledger import Ledger
from retinue.orchestration.order import RESERVED, RUN_PLAN, Order
from retinue.orchestration.requests import Progress, Requests, addressed, answer_in
from retinue.orchestration.state import Moves, State
from retinue.orchestration.synthesise import RUN_AGENT, Ended
from retinue.orchestration.written import Lost, Written, measured, without

__all__ = ["Walk"]

_SECOND: Final = 1_000_000_000
_FILES: Final = f"{RESERVED}files"
"""The step that measures again, when all nodes have ended, what was written."""
_ASKED_INSIDE: Final = "asked_inside"
"""Marks a question that an agent asked in the middle: it goes on even when nobody answers, and is told so."""


class Walk:
    """One walk of one plan."""

    def __init__(self, scope: Scope, command: Order, surface: Surface, definitions: Mapping[str, Definition]) -> None:
        self._scope = scope
        self._order = command
        self._surface = surface
        self._state = State(command.plan)
        self._ledger = Ledger(command.budget)
        self._requests = Requests(scope.run, command, definitions, exists=surface.exists)
        self._decisions = Decisions(self._requests, definitions)
        self._progress = {node.id: Progress(node) for node in command.plan.nodes}
        self._open: dict[str, tuple[str, Literal["step", "child", "ask"]]] = {}
        self._written = Written(command.plan)
        self._check = surface.check or Check(definitions.values())
        self._unneeded: set[str] = set()
        self._came: dict[str, Result] = {}
        self._composing = sum(self._requests.composes(node) for node in command.plan.nodes)

    async def run(self) -> Result:
        """Walk until every node has ended, and give the answer."""
        scope = self._scope
        started = await scope.now()
        self._surface.deadline_ns = self._deadline(started)
        scope.reserve(order(self._order.plan.nodes))
        for node, decision in opening(self._order.plan):
            scope.emit(decision, node=node)
        try:
            self._make(self._state.begin())
            while self._open:
                for name, result in await scope.completed():
                    self._take(name, result)
            await self._settle_files()
        except Stopped:
            # What is finished is kept; the engine marks the run as canceled.
            self._give_up_on_the_rest()
            return self._answer(None)
        return self._answer(await scope.now() - started)

    # What came, and what follows from it

    def _take(self, name: str, result: Result) -> None:
        node_id, kind = self._open.pop(name)
        progress = self._progress[node_id]
        progress.open.discard(name)
        match kind:
            case "step":
                self._ledger.charge(result)
                plan = _plan_in(result)
                if plan is None:
                    self._judge(progress, result)
                else:
                    self._descend(progress, result, plan)
            case "child":
                self._ledger.charge(result)
                self._judge(progress, self._ascended(progress, result))
            case "ask":
                self._hear(progress, name, result)
            case _:
                assert_never(kind)

    def _judge(self, progress: Progress, result: Result) -> None:
        """Note what a call came to, and do what follows from it."""
        node = progress.node
        for decision in self._decisions.after(node, result):
            self._scope.emit(decision, node=node.id)
        if node.id in self._unneeded or result.useful:
            self._end(node, self._decisions.finished(node, result))
        elif (ended := self._reconsider(progress, result)) is not None:
            self._end(node, ended)

    def _reconsider(self, progress: Progress, result: Result) -> Result | None:
        """Try another way; gives what the node has ended with when there is none."""
        node = progress.node
        move = self._decisions.move(progress, result)
        match move:
            case Accept():
                return result
            case Ask(questions, reason):
                self._decided("ask", reason, node, questions=[question.id for question in questions])
                self._ask(progress, questions, result)
                return None
            case Elsewhere(candidate, reason, request, left_out):
                verb = "elsewhere" if request.instruction == node.instruction else "rephrase"
                facts = {"to": f"{candidate.agent}.{candidate.skill}", "left_out": list(left_out)}
                self._decided(verb, reason, node, **facts)
                progress.node = request
                return self._start(progress)
            case GiveUp(reason):
                self._decided("give_up", reason, node, tried=[f"{agent}.{skill}" for agent, skill in progress.tried])
                return result
            case _:
                assert_never(move)

    def _end(self, node: Delegation, result: Result) -> None:
        self._requests.results[node.id] = self._noted(node, result) if result.useful else result
        self._make(self._state.end(node.id, useful=result.useful))

    def _make(self, moves: Moves) -> None:
        """Do what the state asks for; what cannot even start has ended at once, and may ask for more."""
        pending = deque([moves])
        while pending:
            now = pending.popleft()
            for name in now.stop:
                self._unneeded.add(name)
                self._decided("stop", "It is not needed any more.", self._progress[name].node)
                for started in tuple(self._progress[name].open):
                    self._scope.stop(started)
            for skip in now.skip:
                if skip.unneeded:
                    self._unneeded.add(skip.node.id)
                self._decided("skip", skip.reason, skip.node)
                self._requests.results[skip.node.id] = self._without(
                    skip.node, Canceled(skip.reason), outcome="canceled"
                )
            for node in now.start:
                if (refused := self._begin(self._progress[node.id])) is not None:
                    self._requests.results[node.id] = refused
                    pending.append(self._state.end(node.id, useful=False))

    # Starting

    def _begin(self, progress: Progress) -> Result | None:
        """Start a node that is ready, or say why not."""
        if progress.node.questions:
            progress.node = self._requests.told_by_needs(progress.node)
        node = progress.node
        if not node.questions:
            return self._start(progress)
        waiting = self._result(node, lifecycle="input_required", questions=node.questions)
        if any(question.parameter is None for question in node.questions):
            return waiting  # no answer can fill in what is wrong
        self._decided("ask", "Something is missing to call it.", node, questions=[one.id for one in node.questions])
        self._ask(progress, node.questions, waiting)
        return None

    def _start(self, progress: Progress) -> Result | None:
        """Call the agent, or say why not."""
        node = progress.node
        if (fault := self._ledger.objection()) is not None:
            return self._result(node, outcome="error", fault=fault)
        progress.tried.append((node.agent, node.skill))
        if (decision := self._decisions.before(node)) is not None:
            self._scope.emit(decision, node=node.id)
            if decision.move == SKIPPED:
                return self._reconsider(progress, self._without(node, unavailable(decision), outcome="error"))
        self._ledger.nodes += 1
        name = node.id if len(progress.tried) == 1 else self._fresh_name(progress)
        if name != node.id:
            self._scope.reserve((name,))
        context = NodeContext(
            self._surface, node.id, budget=self._ledger.left(), depth=self._order.depth, answers=progress.answers
        )
        self._opened(progress, name, "step")
        self._scope.step(name, partial(self._work, self._requests.task(progress, name), context))
        return None

    async def _work(self, task: Task, context: NodeContext) -> Result:
        """The body of a step: one call through the boundary."""
        context.asked = task
        result = await self._surface.call(task, context)
        if expects := self._progress[context.node].node.expects:
            from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

            result = await in_thread(verified, result, expects, self._surface.workspace)
        self._came[context.node] = result
        question = context.waits_for
        if question is None or result.useful:
            return result
        return Result(
            task_id=task.id,
            agent=task.agent,
            skill=task.skill,
            lifecycle="input_required",
            questions=(question,),
            usage=result.usage,
            extras={_ASKED_INSIDE: True},
        )

    # Child runs

    def _descend(self, progress: Progress, result: Result, plan: Plan) -> None:
        """Walk the plan that an agent answered with, as a child run."""
        node, command = progress.node, self._order
        self._composing = max(self._composing - 1, 0)
        granted = self._ledger.grant(sharers=self._composing + 1)
        error = objection(command, node, plan, granted)
        if error is not None or granted is None:
            if granted is not None:
                self._ledger.refund(granted, 0)
            self._judge(progress, result if error is None else refused(result, error))
            return
        progress.last, progress.granted = result, granted
        caller = self._check.caller(node, command.place_of(node.id))
        below = child_order(
            command, plan, caller, granted=granted, deadline_ns=self._surface.deadline_ns, task=result.task_id
        )
        name = self._fresh_name(progress)
        self._decided("descend", f"It answers with a plan of {len(plan.nodes)} delegations.", node, depth=below.depth)
        self._opened(progress, name, "child")
        self._scope.child(name, RUN_PLAN, below.to_json())

    def _ascended(self, progress: Progress, result: Result) -> Result:
        """What a child run came to, as the result of its node."""
        calls: object = result.extras.get("calls")
        if progress.granted is not None:
            self._ledger.refund(progress.granted, calls if isinstance(calls, int) else progress.granted.nodes)
        return ascended(progress.node, progress.last, result)

    # Files

    def _noted(self, node: Delegation, result: Result) -> Result:
        """`result` with what is to be said about its branches; what it wrote over is told of those it belonged to."""
        if result.artifacts or result.files_written:
            for lost in self._written.note(node, result):
                self._lose(lost)
        return counted(node, result, self._requests.results) if node.join == "quorum" else result

    async def _settle_files(self) -> None:
        """Measure again what was written: by now somebody may have written over it (H24)."""
        paths = self._written.paths
        if not paths:
            return
        name = f"{_FILES}{len(paths)}"  # a resumed run may have written more by then, and measures anew
        self._scope.reserve((name,))
        self._scope.step(name, partial(self._measure, paths))
        for _, result in await self._scope.completed():
            for lost in self._written.settle(result.data if result.useful else {}):
                self._lose(lost)
        there = sum(self._requests.results[node.id].useful for node in self._order.plan.nodes if node.expects)
        if wanted := sum(bool(node.expects) for node in self._order.plan.nodes):
            reason = f"{there} of {wanted} branches left the files that were expected of them."
            self._scope.emit(Decision("verify", reason, {"workers": wanted, "verified": there}))

    async def _measure(self, paths: tuple[str, ...]) -> Result:
        """The body of a step: what the files hold now."""
        from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

        found = await in_thread(measured, self._surface.workspace, paths)
        return Result(task_id=f"{self._scope.run}:{_FILES}", agent=RUN_AGENT, outcome="success", data=found)

    def _lose(self, lost: Lost) -> None:
        node = self._progress[lost.node].node
        self._decided("lose", lost.message, node, path=lost.path)
        self._requests.results[node.id] = without(node, self._requests.results[node.id], lost)

    # Questions

    def _ask(self, progress: Progress, questions: tuple[Question, ...], result: Result) -> None:
        node = progress.node
        progress.rounds += 1
        progress.last = result
        for question in questions:
            name = self._fresh_name(progress)
            progress.asked[name] = question
            self._opened(progress, name, "ask")
            self._scope.ask(name, addressed(question, node))

    def _hear(self, progress: Progress, name: str, result: Result) -> None:
        """Take an answer; when it was the last one missing, go on."""
        question = progress.asked[name]
        progress.answers[question.id] = answer_in(question, result)
        if progress.open:
            return
        asked, progress.asked = tuple(progress.asked.values()), {}
        last = progress.last
        unheard = any(progress.answers[one.id] is None for one in asked)
        if last is not None and (progress.node.id in self._unneeded or (unheard and _ASKED_INSIDE not in last.extras)):
            self._decided("give_up", "Nobody answered.", progress.node)
            self._end(progress.node, last)
            return
        values = {one.parameter: progress.answers[one.id] for one in asked if one.parameter is not None}
        said = {name: answer.value for name, answer in values.items() if answer is not None}
        progress.node = progress.node.model_copy(
            update={"parameters": {**progress.node.parameters, **said}, "questions": ()}
        )
        if (refused := self._start(progress)) is not None:
            self._end(progress.node, refused)

    # The end, and small things

    def _answer(self, duration_ns: int | None) -> Result:
        ended = Ended(
            task_id=self._order.parent or self._scope.run,
            plan=self._order.plan,
            results={node.id: self._requests.results[node.id] for node in self._order.plan.nodes},
            unneeded=frozenset(self._unneeded),
            duration_ns=duration_ns,
            calls=self._ledger.nodes,
        )
        return answer_of(self._order, ended, savings=self._requests.savings, counter=self._requests.counter)

    def _give_up_on_the_rest(self) -> None:
        """Note the nodes that have not ended, but for what had come and was not taken yet when the run was stopped."""
        for node in self._order.plan.nodes:
            if node.id not in self._requests.results:
                came = self._came.get(node.id)
                stopped = self._without(node, Canceled("The run was stopped."), outcome="canceled")
                self._requests.results[node.id] = came if came is not None and came.useful else stopped

    def _deadline(self, started_ns: int) -> int | None:
        seconds = self._order.budget.timeout_s
        own = None if seconds is None else started_ns + int(seconds * _SECOND)
        bounds = [bound for bound in (own, self._order.deadline_ns) if bound is not None]
        return min(bounds, default=None)

    def _fresh_name(self, progress: Progress) -> str:
        progress.names += 1
        return f"{progress.node.id}{RESERVED}{progress.names}"

    def _opened(self, progress: Progress, name: str, kind: Literal["step", "child", "ask"]) -> None:
        self._open[name] = (progress.node.id, kind)
        progress.open.add(name)

    def _decided(self, move: str, reason: str, node: Delegation, **facts: object) -> None:
        self._scope.emit(Decision(move, reason, {"agent": node.agent, "skill": node.skill, **facts}), node=node.id)

    def _without(self, node: Delegation, error: RetinueError, *, outcome: Outcome) -> Result:
        return self._result(node, outcome=outcome, fault=Fault.from_error(error))

    def _result(
        self,
        node: Delegation,
        *,
        outcome: Outcome | None = None,
        lifecycle: Lifecycle = "ended",
        fault: Fault | None = None,
        questions: tuple[Question, ...] = (),
    ) -> Result:
        """A result that no agent gave."""
        return Result(
            task_id=f"{self._scope.run}:{node.id}",
            agent=node.agent,
            skill=node.skill,
            lifecycle=lifecycle,
            outcome=outcome,
            fault=fault,
            questions=questions,
        )


def _plan_in(result: Result) -> Plan | None:
    """The plan that a composing agent answered with."""
    if result.lifecycle != "working" or "plan" not in result.extras:
        return None
    return Plan.model_validate_json(dumps(result.extras["plan"]))
