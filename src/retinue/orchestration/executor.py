"""The one loop that walks a plan. It decides nothing itself.

`plan_state` says what is ready, `recovery` what to do about a failure, `handoff` what is handed on, `synthesise` what
the answer is; this starts steps, waits for them through the engine's `Scope`, and keeps what came of each. It obeys the
rules for workflows in `engine.base`, so the same walk runs in memory and durably.

The body of a node's step is here as well (`NodeRunner`): one call through the boundary, then a look at the files that
were expected of it (H24). What it came to is noted at once, for a run that is stopped before the walk has taken it.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never
from zlib import crc32

from retinue.contract.definition import Definition
from retinue.contract.event import Decision, NodeStarted
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Expected, Plan, topological_order
from retinue.contract.result import Result, Usage
from retinue.contract.task import Question
from retinue.engine.base import Step, Stopped, WorkflowScope
from retinue.engine.blocking import in_thread
from retinue.errors import Canceled
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.artifact_tracking import LostFile, RunArtifacts
from retinue.orchestration.child_runs import ChildRuns, plan_in, split_plan_in
from retinue.orchestration.decisions import SKIP_CALL, RunDecisions, planning_decisions, skipped_call_error
from retinue.orchestration.expected_files import verify_files
from retinue.orchestration.node_context import (
    MID_STEP_QUESTION,
    Deadline,
    NodeContext,
    RunServices,
    checkpoint_for,
    counts_as_round,
    waiting_result,
)
from retinue.orchestration.plan_checker import PlanChecker
from retinue.orchestration.plan_state import Actions, PlanState
from retinue.orchestration.recovery import Accept, Ask, GiveUp, Move, Reroute
from retinue.orchestration.run_budget import RunBudget
from retinue.orchestration.run_request import RESERVED, RUN_PLAN, RunRequest
from retinue.orchestration.run_result import build_result
from retinue.orchestration.synthesise import FinishedRun, has_reports
from retinue.orchestration.task_builder import NodeProgress, TaskBuilder, qualify_question, read_answer

if TYPE_CHECKING:
    from retinue.orchestration.judge_calls import JudgeCalls, ModelJudge

_Kind: TypeAlias = Literal["step", "child", "ask", "think", "split"]


class Executor:
    """One walk of one plan."""

    def __init__(
        self,
        scope: WorkflowScope,
        request: RunRequest,
        services: RunServices,
        definitions: Mapping[str, Definition],
        *,
        judge: "ModelJudge | None" = None,
        child_limits: dict[str, tuple[BudgetTracker, Deadline]] | None = None,
    ) -> None:
        """Prepare to walk.

        Args:
            scope: The door to the engine.
            request: What is walked, within which bounds.
            services: What all nodes share.
            definitions: Who there is.
            judge: A model that thinks along; the rules decide alone without.
            child_limits: Where child runs in this process find the purse and the deadline they share, by their ids.
        """
        self._scope = scope
        self._request = request
        self._services = services
        self._state = PlanState(request.plan)
        self._run_budget = RunBudget(request.budget, services.budget_tracker)
        self._run_usage = self._run_budget.run_usage
        self._tasks = TaskBuilder(scope.run, request, definitions, environment=services.environment)
        self._decisions = RunDecisions(self._tasks, definitions)
        self._progress = {node.id: NodeProgress(node) for node in request.plan.nodes}
        self._open_steps: dict[str, tuple[str, _Kind]] = {}
        self._artifacts = RunArtifacts(scope.run, request.plan, self._tasks, services.workspace)
        self._checker = services.checker or PlanChecker(definitions.values())
        composing = sum(self._tasks.composes(node) for node in request.plan.nodes)
        self._child_runs = ChildRuns(request, self._run_usage, self._checker, composing)
        self._unneeded: set[str] = set()
        self._deadline = services.deadline or Deadline(None)
        self._runner = NodeRunner(request, services, self._run_budget, self._tasks, judge=judge)
        self._judge_calls: JudgeCalls | None = None
        if judge is not None:
            from retinue.orchestration import judge_calls  # noqa: PLC0415 - most runs ask no model

            self._judge_calls = judge_calls.JudgeCalls(
                judge, request, services, self._run_budget, self._tasks, self._checker
            )
        self._child_limits = {} if child_limits is None else child_limits

    async def run(self) -> Result:
        """Walk until every node has ended, and give the answer."""
        scope = self._scope
        started = await scope.now()
        clock = self._services.outside.clock
        # By the real clock: a run that goes on has its time again, and the recorded start may be days ago.
        self._deadline = self._services.deadline = self._services.deadline or Deadline(
            self._request.deadline(clock()), clock
        )
        self._run_budget.charge_earlier(self._request.spent, scope.events)
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
        except Stopped:
            # What is finished is kept; the engine marks the run as canceled.
            await self._cancel_remaining()
            return self._answer(None)
        return self._answer(await scope.now() - started, record)

    # What came, and what follows from it

    def _dispatch(self, name: str, result: Result) -> None:
        node_id, kind = self._open_steps.pop(name)
        progress = self._progress[node_id]
        progress.open_steps = tuple(other for other in progress.open_steps if other != name)
        match kind:
            case "step":
                self._run_budget.close(name, result.usage)
                plan = plan_in(result)
                if plan is None:
                    self._handle_result(progress, result)
                else:
                    self._start_child_plan(progress, result, plan)
            case "child":
                self._run_budget.close(name, result.usage)
                self._handle_result(progress, self._child_runs.close(progress, result))
            case "ask":
                self._take_answer(progress, name, result)
            case "think":
                self._run_budget.close(name, result.usage, overhead=True)
                # Do what the model chose, or the rules where it chose nothing that can be done.
                last = progress.last or result
                node_result: Result | None = last
                if progress.node.id not in self._unneeded:
                    move, decision = self._decisions.resolve_choice(progress, last, result)
                    self._scope.emit(decision, node=progress.node.id)
                    node_result = self._act(progress, last, move)
                if node_result is not None:
                    self._end(progress.node, node_result)
            case "split":
                self._run_budget.close(name, result.usage, overhead=True)
                self._handle_split(progress, result)
            case _:
                assert_never(kind)

    def _handle_result(self, progress: NodeProgress, result: Result) -> None:
        """Note what a call came to, and do what follows from it."""
        node = progress.node
        for decision in self._decisions.after_call(node, result):
            self._scope.emit(decision, node=node.id)
        if node.id in self._unneeded or result.useful:
            self._end(node, self._decisions.with_left_out_warning(node, result))
        elif (node_result := self._reconsider(progress, result)) is not None:
            self._end(node, node_result)

    def _reconsider(self, progress: NodeProgress, result: Result) -> Result | None:
        """Try another way, at once or after a thought; gives what the node has ended with when there is none."""
        calls = self._judge_calls
        options = self._decisions.options(progress, result, all_of_them=calls is not None)
        if calls is not None and (judge_call := calls.reconsider_step(progress, result, options)) is not None:
            progress.last = result
            self._launch(progress, "think", *judge_call)
            return None
        return self._act(progress, result, options.moves[0])

    def _act(self, progress: NodeProgress, result: Result, move: Move) -> Result | None:
        """Do what was decided; gives what the node has ended with when that is nothing."""
        node = progress.node
        match move:
            case Accept():
                return result
            case Ask(questions, reason):
                self._emit_decision("ask", reason, node, questions=[question.id for question in questions])
                self._ask(progress, questions, result)
                return None
            case Reroute(candidate, reason, request, left_out):
                self._decisions.note_left_out(node, left_out)
                verb = "elsewhere" if request.instruction == node.instruction else "rephrase"
                facts = {"to": f"{candidate.agent}.{candidate.skill}", "left_out": list(left_out)}
                self._emit_decision(verb, reason, node, **facts)
                progress.node = request
                if has_reports(result):
                    progress.earlier = (*progress.earlier, result)
                return self._start(progress)
            case GiveUp(reason):
                self._emit_decision(
                    "give_up", reason, node, tried=[f"{agent}.{skill}" for agent, skill in progress.tried]
                )
                return result
            case _:
                assert_never(move)

    def _end(self, node: Delegation, result: Result) -> None:
        final_result, losses = self._artifacts.note_result(node, result) if result.useful else (result, ())
        for each in losses:
            self._record_loss(each)
        self._tasks.results[node.id] = final_result
        self._apply(self._state.end(node.id, useful=result.useful))

    def _apply(self, actions: Actions) -> None:
        """Do what the state asks for; what cannot even start has ended at once, and may ask for more."""
        pending = deque([actions])
        while pending:
            now = pending.popleft()
            for name in now.stop:
                self._unneeded.add(name)
                self._emit_decision("stop", "It is not needed any more.", self._progress[name].node)
                for started in self._progress[name].open_steps:
                    self._scope.stop(started)
            for skip in now.skip:
                if skip.unneeded:
                    self._unneeded.add(skip.node.id)
                self._emit_decision("skip", skip.reason, skip.node)
                canceled = self._tasks.error_result(skip.node, Canceled(skip.reason), outcome="canceled")
                self._tasks.results[skip.node.id] = canceled
            for node in now.start:
                if (refused := self._begin(self._progress[node.id])) is not None:
                    self._tasks.results[node.id] = refused
                    pending.append(self._state.end(node.id, useful=False))

    # Starting

    def _begin(self, progress: NodeProgress) -> Result | None:
        """Start a node that is ready, or say why not."""
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
        self._emit_decision(
            "ask", "Something is missing to call it.", node, questions=[one.id for one in node.questions]
        )
        self._ask(progress, node.questions, waiting)
        return None

    def _start(self, progress: NodeProgress) -> Result | None:
        """Call the agent, or say why not."""
        node = progress.node
        if (fault := self._run_usage.limit_fault()) is not None:
            return self._tasks.synthetic_result(node, outcome="error", fault=fault)
        progress.tried = (*progress.tried, (node.agent, node.skill))
        if (decision := self._decisions.before_call(node)) is not None:
            self._scope.emit(decision, node=node.id)
            if decision.move == SKIP_CALL:
                return self._reconsider(
                    progress, self._tasks.error_result(node, skipped_call_error(decision), outcome="error")
                )
        self._run_usage.nodes += 1
        name = node.id if len(progress.tried) == 1 else self._fresh_name(progress)
        if name != node.id:
            self._scope.reserve((name,))
        self._track(progress, name, "step")
        self._scope.step(name, self._runner.step(progress, name))
        return None

    # Thoughts of a model

    def _launch(self, progress: NodeProgress, kind: Literal["think", "split"], name: str, body: Step) -> None:
        self._scope.reserve((name,))
        self._track(progress, name, kind)
        self._scope.step(name, body)

    def _handle_split(self, progress: NodeProgress, split: Result) -> None:
        """Walk the parts of a request as a child run, or call its agent with the whole."""
        node = progress.node
        if node.id in self._unneeded:
            self._end(node, self._tasks.error_result(node, Canceled("It is not needed any more."), outcome="canceled"))
            return
        plan, reason = split_plan_in(split)
        if plan is not None:
            whole = self._tasks.synthetic_result(node, outcome="success")
            child_request = self._child_request(progress, whole, plan)
            if isinstance(child_request, RunRequest):
                self._scope.emit(NodeStarted(node.agent, node.skill or "", node.instruction), node=node.id)
                self._emit_decision("split", f"Its request is several. {reason}", node, parts=len(plan.nodes))
                self._start_child_run(progress, child_request)
                return
            reason = child_request.fault.message if child_request.fault else reason
        self._emit_decision("keep_whole", f"Its request stays in one piece. {reason}", node)
        if (refused := self._start(progress)) is not None:
            self._end(node, refused)

    async def _write_summary(self) -> Result | None:
        """What the model wrote as the summary; None when there is nothing to write."""
        if (
            self._judge_calls is None
            or (judge_call := self._judge_calls.summary_step(self._finished_run(None))) is None
        ):
            return None
        name = judge_call[0]
        self._scope.reserve((name,))
        self._scope.step(*judge_call)
        ((_, record),) = await self._scope.completed()
        self._run_budget.close(name, record.usage, overhead=True)
        return record

    # Child runs

    def _start_child_plan(self, progress: NodeProgress, result: Result, plan: Plan) -> None:
        """Walk the plan that an agent answered with, as a child run."""
        child_request = self._child_request(progress, result, plan)
        if isinstance(child_request, Result):
            self._handle_result(progress, child_request)
        else:
            self._start_child_run(progress, child_request)

    def _child_request(self, progress: NodeProgress, result: Result, plan: Plan) -> RunRequest | Result:
        others = len(self._request.plan.nodes) - len(self._tasks.results) - 1
        return self._child_runs.open(progress, result, plan, deadline_ns=self._services.deadline_ns, unfinished=others)

    def _start_child_run(self, progress: NodeProgress, child_request: RunRequest) -> None:
        # The plan is in the name, so that a resumed run goes on with a child run of the same plan and no other.
        name = f"{self._fresh_name(progress)}.{crc32(child_request.plan.to_json_text().encode()):08x}"
        reason = f"It answers with a plan of {len(child_request.plan.nodes)} delegations."
        self._emit_decision("descend", reason, progress.node, depth=child_request.depth)
        self._child_limits[f"{self._scope.run}:{name}"] = self._run_budget.open(name), self._deadline
        self._track(progress, name, "child")
        self._scope.child(name, RUN_PLAN, child_request.to_json())

    # Files

    async def _verify_files(self) -> None:
        """Measure again what was written."""
        if not (name := self._artifacts.step):
            return
        self._scope.reserve((name,))
        self._scope.step(name, self._artifacts.measure)
        for _, result in await self._scope.completed():
            for loss in self._artifacts.lost_files(result):
                self._record_loss(loss)
        if (verdict := self._artifacts.verdict()) is not None:
            self._scope.emit(verdict)

    def _record_loss(self, loss: LostFile) -> None:
        node = self._progress[loss.node].node
        self._emit_decision("lose", loss.message, node, path=loss.path)
        self._artifacts.mark_lost(node, loss)

    # Questions

    def _ask(self, progress: NodeProgress, questions: tuple[Question, ...], result: Result) -> None:
        node = progress.node
        progress.rounds += counts_as_round(result, answered=len(progress.answers))
        progress.last = result
        for question in questions:
            name = self._fresh_name(progress)
            progress.questions = {**progress.questions, name: question}
            self._track(progress, name, "ask")
            self._deadline.pause()
            self._scope.ask(name, qualify_question(question, node))

    def _take_answer(self, progress: NodeProgress, name: str, result: Result) -> None:
        """Take an answer; when it was the last one missing, go on."""
        self._deadline.resume()
        question = progress.questions[name]
        progress.answers = {**progress.answers, question.id: read_answer(question, result)}
        if progress.open_steps:
            return
        questions, progress.questions = tuple(progress.questions.values()), {}
        last = progress.last
        unheard = any(progress.answers[one.id] is None for one in questions)
        if last is not None and (
            progress.node.id in self._unneeded or (unheard and MID_STEP_QUESTION not in last.extras)
        ):
            self._emit_decision("give_up", "Nobody answered.", progress.node)
            self._end(progress.node, last)
            return
        values = {one.parameter: progress.answers[one.id] for one in questions if one.parameter is not None}
        parameters = {name: answer.value for name, answer in values.items() if answer is not None}
        progress.node = progress.node.model_copy(
            update={"parameters": {**progress.node.parameters, **parameters}, "questions": ()}
        )
        if (refused := self._start(progress)) is not None:
            self._end(progress.node, refused)

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
            unneeded=frozenset(self._unneeded),
            duration_ns=duration_ns,
            calls=self._run_usage.nodes,
            earlier={name: progress.earlier for name, progress in self._progress.items() if progress.earlier},
        )

    async def _cancel_remaining(self) -> None:
        """Note the nodes that have not ended, but for what they finished before the run was stopped."""
        for name, (node_id, kind) in self._open_steps.items():
            if kind == "ask":
                self._deadline.resume()  # it is the parent's too
            elif kind != "child":
                last_result = self._runner.last_results.get(node_id)
                self._run_budget.close(name, None if last_result is None else last_result.usage)
        child_progress = {
            name: self._progress[node] for name, (node, kind) in self._open_steps.items() if kind == "child"
        }
        for name in child_progress:
            self._scope.stop(name)
        with suppress(Stopped):  # stopped twice: then what has come by now is all
            while child_progress:
                for name, result in await self._scope.completed():
                    if (progress := child_progress.pop(name, None)) is not None:
                        self._run_budget.close(name, result.usage)
                        self._tasks.results[progress.node.id] = self._child_runs.close(progress, result)
        for node in self._request.plan.nodes:
            if node.id not in self._tasks.results:
                last_result = self._runner.last_results.get(node.id)
                canceled = self._tasks.error_result(node, Canceled("The run was stopped."), outcome="canceled")
                self._tasks.results[node.id] = (
                    last_result if last_result is not None and last_result.useful else canceled
                )

    def _fresh_name(self, progress: NodeProgress) -> str:
        progress.name_count += 1
        return f"{progress.node.id}{RESERVED}{progress.name_count}"

    def _track(self, progress: NodeProgress, name: str, kind: _Kind) -> None:
        self._open_steps[name] = (progress.node.id, kind)
        progress.open_steps = (*progress.open_steps, name)

    def _emit_decision(self, move: str, reason: str, node: Delegation, **facts: object) -> None:
        self._scope.emit(Decision(move, reason, {"agent": node.agent, "skill": node.skill, **facts}), node=node.id)


class NodeRunner:
    """Makes the steps of one walk.

    Attributes:
        came: What each node came to last, by its id.
    """

    def __init__(
        self,
        request: RunRequest,
        services: RunServices,
        run_budget: RunBudget,
        tasks: TaskBuilder,
        *,
        judge: "ModelJudge | None" = None,
    ) -> None:
        self.last_results: dict[str, Result] = {}
        self._judge = judge
        self._request, self._services, self._run_budget, self._tasks = request, services, run_budget, tasks

    def step(self, progress: NodeProgress, name: str) -> Step:
        """The body of the step called `name`, in which the agent of a node is called.

        What its needs hand on is settled now. The rest is made when the step begins: of a thousand that are ready at
        once, few are under way at the same moment.
        """
        return partial(self._call, progress, name, self._tasks.inputs_for(progress.node))

    async def _call(self, progress: NodeProgress, name: str, inputs: JsonMapping) -> Result:
        node = progress.node
        task = self._tasks.task(progress, name, inputs)
        context = NodeContext(
            self._services,
            node.id,
            budget=self._run_budget.run_usage.remaining(),
            depth=self._request.depth,
            answers=progress.answers,
            checkpoint=checkpoint_for(node, progress.last),
            open_tracker=partial(self._run_budget.open, name),
        )
        context.task = task
        result = context.with_delegated_usage(await self._services.call(task, context))
        if expects := node.expects:
            result = await self._with_files(result, expects, context)
        self.last_results[node.id] = result
        question = context.waits_for
        if question is None or result.useful:
            return result
        return waiting_result(task, context, question, result.usage)

    async def _with_files(self, agent_result: Result, expects: Sequence[Expected], context: NodeContext) -> Result:
        """`agent_result` with the facts of the expected files; research reports are judged by their criteria."""
        result = await in_thread(verify_files, agent_result, tuple(expects), self._services.workspace)
        reports = [expected for expected in expects if expected.rules == "research"]
        if not reports or not result.useful:
            return result
        from retinue.orchestration.report_judge import judge_reports, read_reports  # noqa: PLC0415 - few runs write reports

        judge = self._judge
        open_model = None if judge is None else partial(judge.prepare, context.budget_tracker, context.deadline_ns)
        texts = await in_thread(read_reports, reports, context.workspace)
        return await judge_reports(agent_result, result, reports, texts, open_model, phases=context.phases)
