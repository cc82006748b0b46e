"""The one loop that runs a plan. It decides nothing itself.

`plan_state` says what is ready, `recovery` what to do about a failure, `handoff` what is handed on, `synthesise` what
the answer is; this starts steps, waits for them through the engine's `WorkflowScope`, and keeps what came of each. It
obeys the rules for workflows in `engine.base`, so the same loop runs in memory and durably.

The body of a node's step is here as well: one call through the boundary, then a look at the files that were expected of
it (H24). What it came to is noted at once, for a run that is stopped before the loop has taken it.
"""

from asyncio import CancelledError
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never, cast
from zlib import crc32

from retinue.contract.definition import Definition
from retinue.contract.event import Decision, NodeStarted
from retinue.contract.fault import Fault
from retinue.contract.json import as_mapping, dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan, topological_order
from retinue.contract.result import Result, Usage, Warned
from retinue.contract.task import Budget, Question
from retinue.engine.base import Step, WorkflowScope
from retinue.engine.blocking import in_thread
from retinue.errors import BudgetExceeded, Canceled, MissingFile, Unavailable
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.budget import GO_ON, Deadline, RunBudget
from retinue.orchestration.expected_files import ArtifactTracker, LostFile, file_hashes, verify_files, without_file
from retinue.orchestration.node_context import (
    MID_STEP_QUESTION,
    NodeContext,
    RunServices,
    checkpoint_for,
    counts_as_round,
    recorded_turns,
    waiting_result,
)
from retinue.orchestration.plan_state import Actions, CircuitBreaker, PlanState, planning_decisions
from retinue.orchestration.planning import without_planning
from retinue.orchestration.recovery import (
    GATE,
    Abort,
    Accept,
    Ask,
    GiveUp,
    Move,
    RecoveryOptions,
    Reroute,
    Situation,
    apply_choice,
    gate_move,
    open_moves,
)
from retinue.orchestration.run_request import RESERVED, RUN_AGENT, RUN_PLAN, RunRequest, digests_of
from retinue.orchestration.run_result import PARTS, build_result, with_quorum_warnings
from retinue.orchestration.synthesise import FinishedRun, has_reports, union
from retinue.orchestration.task_builder import NodeProgress, TaskBuilder, qualify_question, read_answer

if TYPE_CHECKING:
    from retinue.orchestration.judge_calls import JudgeCalls, ModelJudge

_StepKind: TypeAlias = Literal["step", "child", "ask", "think", "split"]

_FILES: Final = f"{RESERVED}files"
"""The step that measures again, when all nodes have ended, what was written."""


class Executor:
    """One run of one plan.

    Args:
        scope: The run's access to the engine.
        services: What all nodes share, and the request that is run.
        definitions: The agents at hand, by name.
        judge: A model that thinks along; without it the rules decide alone.
        child_limits: Where child runs in this process find the budget and the deadline they share, by their ids.
    """

    def __init__(
        self,
        scope: WorkflowScope,
        services: RunServices,
        definitions: Mapping[str, Definition],
        *,
        judge: "ModelJudge | None",
        child_limits: dict[str, tuple[BudgetTracker, Deadline]],
    ) -> None:
        plan = services.request.plan
        self._scope, self._services, self._request = scope, services, services.request
        self._definitions, self._judge, self._child_limits = definitions, judge, child_limits
        self._state = PlanState(plan)
        self._run_budget = RunBudget(services.request.budget, services.tracker)
        self._tasks = TaskBuilder(services, definitions)
        self._breaker = CircuitBreaker()
        self._artifacts = ArtifactTracker(plan)
        self._progress = {node.id: NodeProgress(node) for node in plan.nodes}
        self._open_steps: dict[str, tuple[str, _StepKind]] = {}
        self._earlier_turns = recorded_turns(scope.events)
        # How many of the plan's agents may still answer with a plan, and share what is left.
        self._composing = sum(self._tasks.composes(node) for node in plan.nodes)
        self._judge_calls: JudgeCalls | None = None
        if judge is not None:
            from retinue.orchestration import judge_calls  # noqa: PLC0415 - most runs ask no model

            self._judge_calls = judge_calls.JudgeCalls(judge, services, self._run_budget, self._tasks)

    async def run(self) -> Result:
        """Run until every node has ended, and give the answer."""
        scope = self._scope
        started = await scope.now()
        usage = self._run_budget.charge_earlier(self._request.spent, scope.events)
        if usage is not None:
            reason = "What failed, or was under way when the process died, has been charged to the budget."
            scope.emit(Decision(GO_ON, reason, {"usage": usage.to_json()}))
        scope.reserve(topological_order(self._request.plan.nodes))
        for node, decision in planning_decisions(self._request.plan):
            scope.emit(decision, node=node)
        try:
            self._apply(self._state.begin())
            while self._open_steps:
                for name, result in await scope.completed():
                    self._dispatch(name, result)
            await self._verify_files()
            record = await self._write_summary()
        except CancelledError:
            # What is finished is kept, also of nodes that have not ended; the engine marks the run as canceled.
            children: dict[str, NodeProgress] = {}
            for name, (node_id, kind) in self._open_steps.items():
                progress = self._progress[node_id]
                if kind == "child":
                    children[name] = progress
                    self._scope.stop(name)
                elif kind == "ask":
                    self._services.deadline.resume()  # it is the parent's too
                else:
                    self._run_budget.close(name, None if progress.latest is None else progress.latest.usage)
            with suppress(CancelledError):  # stopped twice: then what has come by now is all
                while children:
                    for name, result in await self._scope.completed():
                        if (progress := children.pop(name, None)) is not None:
                            self._run_budget.close(name, result.usage)
                            self._tasks.results[progress.node.id] = self._child_result(progress, result)
            for node in self._request.plan.nodes:
                if node.id not in self._tasks.results:
                    latest = self._progress[node.id].latest
                    canceled = self._tasks.error_result(node, Canceled("The run was stopped."), outcome="canceled")
                    self._tasks.results[node.id] = latest if latest is not None and latest.useful else canceled
            return self._answer(None)
        return self._answer(max(0, await scope.now() - started), record)  # another machine's clock may have begun it

    # What came, and what follows from it

    def _dispatch(self, name: str, result: Result) -> None:
        node_id, kind = self._open_steps.pop(name)
        progress = self._progress[node_id]
        progress.open_steps = tuple(other for other in progress.open_steps if other != name)
        if kind != "ask":
            self._run_budget.close(name, result.usage, overhead=kind in {"think", "split"})
        match kind:
            case "step":
                if progress.planned is not None and result.lifecycle != "input_required":
                    usage = Usage.total((progress.planned.usage, result.usage))
                    result = result.model_copy(update={"usage": usage})
                    progress.planned = progress.parts = None
                # An agent that composes works on, and says with which plan.
                if result.lifecycle == "working" and "plan" in result.extras:
                    plan = Plan.model_validate_json(dumps(result.extras["plan"]))
                    child_request = self._child_request(progress, result, plan)
                    if isinstance(child_request, RunRequest):
                        self._start_child_run(progress, child_request)
                        return
                    result = child_request
                self._handle_result(progress, result)
            case "child":
                whole = self._child_result(progress, result)
                if PARTS in whole.extras and whole.outcome != "canceled" and not progress.unneeded:
                    self._call_again(progress, whole)
                else:
                    self._handle_result(progress, whole)
            case "ask":
                self._take_answer(progress, name, result)
            case "think":
                # Do what the model chose, or the rules where it chose nothing that can be done.
                last = progress.last or result
                node_result: Result | None = last
                if not progress.unneeded:
                    options = self._options(progress, last, all_of_them=True)
                    situation = self._situation(progress)
                    move, decision = apply_choice(options, result, progress.node, last, situation)
                    self._scope.emit(decision, node=node_id)
                    node_result = self._act(progress, last, move)
                if node_result is not None:
                    self._end(progress, node_result)
            case "split":
                self._handle_split(progress, result)
            case _:
                assert_never(kind)

    def _handle_result(self, progress: NodeProgress, result: Result) -> None:
        node = progress.node
        if not (result.useful and self._breaker.is_clear):
            for decision in self._breaker.record_result(node.id, node.agent, node.skill, result):
                self._scope.emit(decision, node=node.id)
        if not progress.unneeded and not result.useful:
            if (node_result := self._reconsider(progress, result)) is not None:
                self._end(progress, node_result)
            return
        if progress.left_out and result.useful:
            # What answers a more general question is only part of an answer.
            words = ", ".join(map(repr, dict.fromkeys(progress.left_out)))
            warning = Warned(
                type="degraded_analysis",
                message=f"It was asked more generally, without {words}.",
                impact="The answer may be about more than was asked.",
                recovery="Ask for that part in other words.",
            )
            result = result.model_copy(update={"outcome": "partial", "warnings": (*result.warnings, warning)})
        self._end(progress, result)

    def _reconsider(self, progress: NodeProgress, result: Result) -> Result | None:
        """Try another way, at once or after a thought; gives what the node has ended with when there is none."""
        calls = self._judge_calls
        options = self._options(progress, result, all_of_them=calls is not None)
        if calls is not None and (judge_call := calls.reconsider_step(progress, result, options)) is not None:
            progress.last = result
            self._launch(progress, "think", *judge_call)
            return None
        return self._act(progress, result, options.moves[0])

    def _options(self, progress: NodeProgress, result: Result, *, all_of_them: bool) -> RecoveryOptions:
        """What may be done about a result: the rules' own choice, and when a model is to choose, all there is."""
        moves = open_moves(progress.node, result, self._situation(progress))
        if self._request.task is not None and result.lifecycle != "input_required":
            # Whoever asks one agent for one thing wants no other's answer, and no questions but the agent's own.
            moves = (move for move in moves if not isinstance(move, Reroute | Ask))
        return RecoveryOptions(tuple(moves) if all_of_them else (next(moves),))

    def _situation(self, progress: NodeProgress) -> Situation:
        return Situation(
            tried=progress.tried,
            rounds=progress.rounds,
            definition_of=self._definitions.get,
            request_to=self._tasks.rebind,
            is_unreliable=self._breaker.is_unreliable,
            question_ids=progress.answers,
            on_unexpected=self._request.on_unexpected,
        )

    def _act(self, progress: NodeProgress, result: Result, move: Move) -> Result | None:
        """Do what was decided; gives what the node has ended with when that is nothing."""
        node = progress.node
        match move:
            case Accept():
                return result
            case Ask(questions, reason):
                self._ask(progress, questions, result, reason)
                return None
            case Reroute(candidate, reason, request, left_out):
                progress.left_out = (*progress.left_out, *left_out)
                verb = "elsewhere" if request.instruction == node.instruction else "rephrase"
                facts = {"to": f"{candidate.agent}.{candidate.skill}", "left_out": list(left_out)}
                self._emit_decision(verb, reason, node, **facts)
                progress.node = request
                if has_reports(result):
                    progress.earlier = (*progress.earlier, result)
                return self._start(progress)
            case GiveUp(reason):
                tried = [f"{agent}.{skill}" for agent, skill in progress.tried]
                self._emit_decision("give_up", reason, node, tried=tried)
                return result
            case Abort(reason):
                self._emit_decision("abort", reason, node)
                self._end(progress, result, ends_run=True)
                return None
            case _:
                assert_never(move)

    def _end(self, progress: NodeProgress, result: Result, *, ends_run: bool = False) -> None:
        node, results = progress.node, self._tasks.results
        useful = result.useful
        if useful:
            if node.join == "quorum":
                result = with_quorum_warnings(node, result, results)
            for loss in self._artifacts.note(node, result) if result.artifacts or result.files_written else ():
                self._record_loss(loss)
        results[node.id] = result
        self._apply(self._state.end(node.id, useful=useful, ends_run=ends_run))

    def _apply(self, actions: Actions) -> None:
        """Do what the state asks for; what cannot even start has ended at once, and may ask for more."""
        pending = deque([actions])
        while pending:
            now = pending.popleft()
            for name in now.stop:
                progress = self._progress[name]
                progress.unneeded = True
                self._emit_decision("stop", "It is not needed any more.", progress.node)
                for started in progress.open_steps:
                    self._scope.stop(started)
            for skip in now.skip:
                self._progress[skip.node.id].unneeded |= skip.unneeded
                self._emit_decision("skip", skip.reason, skip.node)
                canceled = self._tasks.error_result(skip.node, Canceled(skip.reason), outcome="canceled")
                self._tasks.results[skip.node.id] = canceled
            for node in now.start:
                if (refused := self._begin(self._progress[node.id])) is not None:
                    self._tasks.results[node.id] = refused
                    pending.append(self._state.end(node.id, useful=False))

    # Starting

    def _begin(self, progress: NodeProgress) -> Result | None:
        if progress.node.questions:
            progress.node = self._tasks.fill_from_needs(progress.node)
        progress.node, unclear = self._tasks.bind_words(progress.node)
        if unclear is not None:
            return unclear
        node = progress.node
        if not node.questions:
            judge_call = self._judge_calls.split_step(progress) if self._judge_calls is not None else None
            return self._start(progress) if judge_call is None else self._launch(progress, "split", *judge_call)
        waiting = self._tasks.synthetic_result(node, lifecycle="input_required", questions=node.questions)
        if any(question.parameter is None for question in node.questions):
            return waiting  # no answer can fill in what is wrong
        return self._ask(progress, node.questions, waiting, "Something is missing to call it.")

    def _start(self, progress: NodeProgress) -> Result | None:
        node = progress.node
        if (fault := self._run_budget.limit_fault()) is not None:
            return self._tasks.synthetic_result(node, outcome="error", fault=fault)
        progress.tried = (*progress.tried, (node.agent, node.skill))
        if not self._breaker.is_clear:
            refusal = self._breaker.skip_decision(node.agent, node.skill)
            decision = refusal or self._breaker.allow(node.id, node.agent, node.skill)
            if decision is not None:
                self._scope.emit(decision, node=node.id)
            if refusal is not None:
                hint = "See why it failed, and ask again when that is fixed."
                error = Unavailable(refusal.reason, hint=hint, detail={"decision": refusal.move})
                return self._reconsider(progress, self._tasks.error_result(node, error, outcome="error"))
        self._run_budget.nodes += 1
        name = node.id if len(progress.tried) == 1 else self._fresh_name(progress)
        if name != node.id:
            self._scope.reserve((name,))
        self._track(progress, name, "step")
        # What its needs hand on is settled now. The rest is made when the step begins: of a thousand that are ready at
        # once, few are under way at the same moment.
        self._scope.step(name, partial(self._call, progress, name, self._tasks.inputs_for(node)))
        return None

    async def _call(self, progress: NodeProgress, name: str, inputs: JsonMapping) -> Result:
        node = progress.node
        task = self._tasks.task(progress, name, inputs)
        context = NodeContext(
            self._services,
            node.id,
            budget=self._run_budget.remaining(),
            answers=progress.answers,
            checkpoint=checkpoint_for(node, progress.last),
            parts=progress.parts,
            open_tracker=partial(self._run_budget.open, name),
            step=name,
            earlier_turns=self._earlier_turns.pop(name, ()),
        )
        context.task = task
        result = with_parts(context.with_delegated_usage(await context.call(task)), progress)
        if node.expects:
            agent_result, workspace = result, self._services.workspace
            result = await in_thread(verify_files, agent_result, tuple(node.expects), workspace)
            reports = [expected for expected in node.expects if expected.rules == "research"]
            if reports and result.useful:  # judged by the criteria of a research report
                from retinue.orchestration.report_judge import judge_reports, read_reports  # noqa: PLC0415 - rare

                judge, deadline_ns = self._judge, context.deadline_ns
                open_model = None if judge is None else partial(judge.prepare, context.budget_tracker, deadline_ns)
                texts = await in_thread(read_reports, reports, context.workspace)
                result = await judge_reports(agent_result, result, reports, texts, open_model, phases=context.phases)
        progress.latest = result
        if context.waits_for is None or result.useful:
            return result
        return waiting_result(task, context, context.waits_for, result.usage)

    # Thoughts of a model

    def _launch(self, progress: NodeProgress, kind: Literal["think", "split"], name: str, body: Step) -> None:
        self._scope.reserve((name,))
        self._track(progress, name, kind)
        self._scope.step(name, body)

    def _handle_split(self, progress: NodeProgress, split: Result) -> None:
        """Run the parts of a request as a child run, or call its agent with the whole."""
        node = progress.node
        if progress.unneeded:
            canceled = Canceled("It is not needed any more.")
            self._end(progress, self._tasks.error_result(node, canceled, outcome="canceled"))
            return
        data = cast("JsonMapping", split.data) if split.useful and isinstance(split.data, dict) else {}
        reason = str(data.get("reason", "")) or (split.fault.message if split.fault else "")
        if (parts := cast("object", data.get("plan"))) is not None:
            plan = Plan.model_validate_json(dumps(parts))
            child_request = self._child_request(progress, self._tasks.synthetic_result(node, outcome="success"), plan)
            if isinstance(child_request, RunRequest):
                self._scope.emit(NodeStarted(node.agent, node.skill or "", node.instruction), node=node.id)
                self._emit_decision("split", f"Its request is several. {reason}", node, parts=len(plan.nodes))
                self._start_child_run(progress, child_request)
                return
            reason = child_request.fault.message if child_request.fault else reason
        self._emit_decision("keep_whole", f"Its request stays in one piece. {reason}", node)
        if (refused := self._start(progress)) is not None:
            self._end(progress, refused)

    async def _write_summary(self) -> Result | None:
        calls = self._judge_calls
        if calls is None or (judge_call := calls.summary_step(self._finished_run(None))) is None:
            return None
        name = judge_call[0]
        self._scope.reserve((name,))
        self._scope.step(*judge_call)
        ((_, record),) = await self._scope.completed()
        self._run_budget.close(name, record.usage, overhead=True)
        return record

    # Child runs (A25)

    def _child_request(self, progress: NodeProgress, result: Result, plan: Plan) -> RunRequest | Result:
        """The request for running `plan` below a node; or what the node has come to without."""
        node, request, checker = progress.node, self._request, self._services.checker
        # A call each is left for the nodes of this run that have not ended.
        unfinished = len(request.plan.nodes) - len(self._tasks.results) - 1
        self._composing = max(self._composing - 1, 0)
        granted = self._run_budget.grant(sharers=self._composing + 1, reserved=unfinished + plan.call_again)
        error = _child_limit_error(request, node, plan, granted)
        if granted is None or error is not None:
            if granted is not None:
                self._run_budget.refund(granted, 0)
            if error is None:
                return result
            extras = {name: value for name, value in result.extras.items() if name != "plan"}
            fault = Fault.from_error(error, operation=result.skill, failed_at="plan")
            ending = {"lifecycle": "ended", "outcome": "error", "fault": fault, "extras": extras}
            return result.model_copy(update=ending)
        progress.last, progress.granted = result, granted
        if node.model is not None:
            # Where others think for the node, or it is split, they think with the model chosen for it.
            node_skill = checker.skill(node.agent, node.skill)
            by_others = node_skill is not None and node_skill.thinks == "by_others"
            nodes = list(plan.nodes)
            for place, one in enumerate(nodes):
                skill = checker.skill(one.agent, one.skill)
                uses_model = skill is not None and skill.thinks != "never"
                if uses_model and one.model is None and (by_others or one.agent == node.agent):
                    nodes[place] = one.model_copy(update={"model": node.model})
            plan = plan.model_copy(update={"nodes": tuple(nodes)})
        return RunRequest(
            plan=without_planning(plan),  # an agent does not speak for the orchestrator
            budget=granted,
            answer="collected" if request.answer == "collected" else "reduced",
            history=request.history,
            effects=request.effects,
            deadline_ns=self._services.deadline.at_ns,
            depth=request.depth + 1,
            above=(*request.above, checker.caller(node, request.place_of(node.id))),
            today=request.today,
            counter=request.counter,
            parent=result.task_id,
            model=request.model,
            thinking=request.thinking,
            on_unexpected=request.on_unexpected,
            definitions=digests_of((one.agent for one in plan.nodes), checker.definition),
        )

    def _start_child_run(self, progress: NodeProgress, child_request: RunRequest) -> None:
        # The plan is in the name, so that a resumed run goes on with a child run of the same plan and no other.
        name = f"{self._fresh_name(progress)}.{crc32(child_request.plan.to_json_text().encode()):08x}"
        reason = f"It answers with a plan of {len(child_request.plan.nodes)} delegations."
        self._emit_decision("descend", reason, progress.node, depth=child_request.depth)
        self._child_limits[f"{self._scope.run}:{name}"] = self._run_budget.open(name), self._services.deadline
        self._track(progress, name, "child")
        self._scope.child(name, RUN_PLAN, child_request.to_json())

    def _child_result(self, progress: NodeProgress, result: Result) -> Result:
        calls: object = result.extras.get("calls")
        if progress.granted is not None:
            self._run_budget.refund(progress.granted, calls if isinstance(calls, int) else progress.granted.nodes)
        return as_node_result(progress.node, progress.last, result)

    def _call_again(self, progress: NodeProgress, whole: Result) -> None:
        """Have the agent that planned make its answer of what each node of its plan came to."""
        extras = dict(whole.extras)
        parts = as_mapping(extras.pop(PARTS))
        # If it is stopped before it has answered, its parts side by side are what is kept.
        progress.planned = progress.latest = whole.model_copy(update={"extras": extras})
        progress.parts = {name: Result.model_validate_json(dumps(part)) for name, part in parts.items()}
        self._emit_decision("call_again", "It makes its answer of the parts.", progress.node, parts=len(parts))
        if (refused := self._start(progress)) is not None:
            self._end(progress, with_parts(refused, progress))

    # What was written: H24

    async def _verify_files(self) -> None:
        """Measure again what was written: by now another branch may have written over it."""
        paths = self._artifacts.paths
        if not paths:
            return
        workspace, task_id = self._services.workspace, f"{self._scope.run}:{_FILES}"

        async def measure() -> Result:
            hashes = await in_thread(file_hashes, workspace, paths)
            return Result(task_id=task_id, agent=RUN_AGENT, outcome="success", data=hashes)

        name = f"{_FILES}{len(paths)}"  # a resumed run may have written more by then, and measures anew
        self._scope.reserve((name,))
        self._scope.step(name, measure)
        for _, result in await self._scope.completed():
            for loss in self._artifacts.find_lost(result.data if result.useful else {}):
                self._record_loss(loss)
        if expecting := [node for node in self._request.plan.nodes if node.expects]:
            there = sum(self._tasks.results[node.id].useful for node in expecting)
            reason = f"{there} of {len(expecting)} branches left the files that were expected of them."
            self._scope.emit(Decision("verify", reason, {"workers": len(expecting), "verified": there}))

    def _record_loss(self, loss: LostFile) -> None:
        node, results = self._progress[loss.node].node, self._tasks.results
        self._emit_decision("lose", loss.message, node, path=loss.path)
        results[node.id] = without_file(node, results[node.id], loss)

    # Questions

    def _ask(self, progress: NodeProgress, questions: tuple[Question, ...], result: Result, reason: str) -> None:
        node = progress.node
        self._emit_decision("ask", reason, node, questions=[question.id for question in questions])
        progress.rounds += counts_as_round(result, answered=len(progress.answers))
        progress.last = result
        for question in questions:
            name = self._fresh_name(progress)
            progress.questions = {**progress.questions, name: question}
            self._track(progress, name, "ask")
            self._services.deadline.pause()
            self._scope.ask(name, qualify_question(question, node))

    def _take_answer(self, progress: NodeProgress, name: str, result: Result) -> None:
        self._services.deadline.resume()
        question = progress.questions[name]
        progress.answers = {**progress.answers, question.id: read_answer(question, result)}
        if progress.open_steps:
            return
        questions, progress.questions = tuple(progress.questions.values()), {}
        last = progress.last
        if last is not None and result.fault is not None and result.fault.detail.get("bound") == "question":
            self._emit_decision("give_up", "No answer came in time.", progress.node)
            failure = {"lifecycle": "ended", "outcome": "failed", "fault": result.fault}
            self._end(progress, last.model_copy(update=failure))
            return
        unheard = any(progress.answers[one.id] is None for one in questions)
        if last is not None and (progress.unneeded or (unheard and MID_STEP_QUESTION not in last.extras)):
            self._emit_decision("give_up", "No answer came.", progress.node)
            self._end(progress, last)
            return
        if last is not None and (choice := progress.answers.get(GATE)) is not None:
            progress.answers = {name: answer for name, answer in progress.answers.items() if name != GATE}
            if (move := gate_move(choice.value)) is not None:
                if (node_result := self._act(progress, last, move)) is not None:
                    self._end(progress, node_result)
                return
        values = {one.parameter: progress.answers[one.id] for one in questions if one.parameter is not None}
        parameters = {name: answer.value for name, answer in values.items() if answer is not None}
        merged = {"parameters": {**progress.node.parameters, **parameters}, "questions": ()}
        progress.node = progress.node.model_copy(update=merged)
        if (refused := self._start(progress)) is not None:
            self._end(progress, refused)

    # The end, and small things

    def _answer(self, duration_ns: int | None, record: Result | None = None) -> Result:
        return build_result(
            self._request,
            self._finished_run(duration_ns),
            savings=self._tasks.savings,
            counter=self._tasks.counter,
            record=record,
            usage=Usage.total(self._run_budget.usages),
        )

    def _finished_run(self, duration_ns: int | None) -> FinishedRun:
        return FinishedRun(
            task_id=self._request.parent or self._scope.run,
            plan=self._request.plan,
            results={node.id: self._tasks.results[node.id] for node in self._request.plan.nodes},
            unneeded=frozenset(name for name, progress in self._progress.items() if progress.unneeded),
            duration_ns=duration_ns,
            calls=self._run_budget.nodes,
            earlier={name: progress.earlier for name, progress in self._progress.items() if progress.earlier},
        )

    def _fresh_name(self, progress: NodeProgress) -> str:
        progress.name_count += 1
        return f"{progress.node.id}{RESERVED}{progress.name_count}"

    def _track(self, progress: NodeProgress, name: str, kind: _StepKind) -> None:
        self._open_steps[name] = (progress.node.id, kind)
        progress.open_steps = (*progress.open_steps, name)

    def _emit_decision(self, move: str, reason: str, node: Delegation, **facts: object) -> None:
        self._scope.emit(Decision(move, reason, {"agent": node.agent, "skill": node.skill, **facts}), node=node.id)


def _child_limit_error(
    request: RunRequest, node: Delegation, plan: Plan, granted: Budget | None
) -> BudgetExceeded | None:
    """Why the plan that `node` answered with does not run, if so: which bound it breaks, and where."""
    where, budget = request.place_of(node.id), request.budget
    head = f"The plan of `{node.agent}` at `{where}` does not run:"
    if request.depth + 1 > budget.depth:
        chain = " → ".join(f"`{caller.agent}.{caller.skill}`" for caller in request.above[-5:])
        note = f" {chain} stand above it already." if chain else ""
        return BudgetExceeded(
            f"{head} delegations may stand {budget.depth} above each other, and this would be one more.{note}",
            hint="Raise `depth` of the budget, or let it plan less deep.",
            detail={"bound": "depth", "allowed": budget.depth, "wanted": request.depth + 1, "node": where},
        )
    remaining = granted.nodes if granted else 0
    if len(plan.nodes) > remaining:
        return BudgetExceeded(
            f"{head} it has {len(plan.nodes):,} delegations, and the budget has {remaining:,} left for it.",
            hint="Raise `nodes` of the budget, or let it plan less.",
            detail={"bound": "nodes", "allowed": remaining, "wanted": len(plan.nodes), "node": where},
        )
    return None


def with_parts(result: Result, progress: NodeProgress) -> Result:
    """`result` of an agent that was called again, with what its parts left behind; theirs if it failed.

    What they took is counted already. Of their warnings only those of useful parts are added: what a failure means for
    the answer, the agent says.
    """
    planned, before, parts = progress.planned, progress.last, progress.parts
    if planned is None or parts is None:
        return result
    both = (planned, result)
    own = () if before is None else before.warnings
    theirs = (part.warnings for part in parts.values() if part.useful)
    update: JsonMapping = {
        "duration_ns": sum(one.duration_ns or 0 for one in both),
        "artifacts": union(one.artifacts for one in both),
        "warnings": union((result.warnings, own, *theirs)),
        "files_read": union(one.files_read for one in both),
        "files_written": union(one.files_written for one in both),
        "extras": {**planned.extras, **result.extras},
    }
    if own and result.outcome == "success":
        update["outcome"] = "partial"  # it left something out when it planned
    if result.lifecycle == "ended" and not result.useful and result.data is None:
        update |= {"data": planned.data, "content": planned.content}
    return result.model_copy(update=update)


def as_node_result(node: Delegation, before: Result | None, child: Result) -> Result:
    """What a child run came to, as the result of its node. Nothing is lost on the way up.

    Args:
        node: Whose agent answered with the plan.
        before: That answer: what it said beside the plan holds on.
        child: The result of the run.
    """
    if before is None:
        return child.model_copy(update={"agent": node.agent, "skill": node.skill})
    both = (before, child)
    whole = child.model_copy(
        update={
            "task_id": before.task_id,
            "agent": node.agent,
            "skill": node.skill,
            "versions": before.versions,
            "usage": Usage.total(one.usage for one in both),
            "artifacts": union(one.artifacts for one in both),
            "warnings": union(one.warnings for one in both),
            "files_read": union(one.files_read for one in both),
            "files_written": union(one.files_written for one in both),
            "attempts": before.attempts,
            "retries": before.retries,
        }
    )
    there = {artifact.path for artifact in whole.artifacts} | set(whole.files_written)
    missing = [expected.path for expected in node.expects if expected.path not in there]
    if not whole.useful or not missing:
        return whole
    message = f"The expected file {missing[0]!r} was written by none of its delegations."
    error = MissingFile(message, hint="Let one of them write it.", path=missing[0], detail={"missing": missing})
    return whole.model_copy(update={"outcome": "error", "fault": Fault.from_error(error, operation=node.skill)})
