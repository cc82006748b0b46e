"""The one loop that walks a plan. It decides nothing itself.

`state` says what is ready, `escalate` what to do about a failure, `condense` what is handed on, `synthesise` what the
answer is; this starts steps, waits for them through the engine's `Scope`, and keeps what came of each. It obeys the
rules for workflows in `engine.base`, so the same walk runs in memory and durably.

The body of a node's step is here as well (`Working`): one call through the boundary, then a look at the files that were
expected of it (H24). What it came to is noted at once, for a run that is stopped before the walk has taken it.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never
from zlib import crc32

from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Started
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Expected, Plan, order
from retinue.contract.result import Result, Usage
from retinue.contract.task import Question
from retinue.engine.base import Scope, Step, Stopped
from retinue.errors import Canceled
from retinue.llm.purse import Purse
from retinue.orchestration.account import Account
from retinue.orchestration.check import Check
from retinue.orchestration.child import Children, parts_in, plan_in
from retinue.orchestration.context import (
    ASKED_INSIDE,
    Deadline,
    NodeContext,
    Surface,
    asked_inside,
    costs_a_round,
    memo_for,
)
from retinue.orchestration.decisions import SKIPPED, Decisions, opening, unavailable
from retinue.orchestration.ending import answer_of
from retinue.orchestration.escalate import Accept, Ask, Elsewhere, GiveUp, Move
from retinue.orchestration.expected import verified
from retinue.orchestration.order import RESERVED, RUN_PLAN, Order
from retinue.orchestration.requests import Progress, Requests, addressed, answer_in
from retinue.orchestration.state import Moves, State
from retinue.orchestration.synthesise import Ended, has_reports
from retinue.orchestration.written import Filing, Lost

if TYPE_CHECKING:
    from retinue.orchestration.thoughts import Mind, Thoughts

__all__ = ["Walk", "Working"]

_Kind: TypeAlias = Literal["step", "child", "ask", "think", "split"]


class Walk:
    """One walk of one plan."""

    def __init__(
        self,
        scope: Scope,
        command: Order,
        surface: Surface,
        definitions: Mapping[str, Definition],
        *,
        mind: "Mind | None" = None,
        below: dict[str, tuple[Purse, Deadline]] | None = None,
    ) -> None:
        """Prepare to walk.

        Args:
            scope: The door to the engine.
            command: What is walked, within which bounds.
            surface: What all nodes share.
            definitions: Who there is.
            mind: A model that thinks along; the rules decide alone without.
            below: Where child runs in this process find the purse and the deadline they share, by their ids.
        """
        self._scope = scope
        self._order = command
        self._surface = surface
        self._state = State(command.plan)
        self._account = Account(command.budget, surface.purse)
        self._ledger = self._account.ledger
        self._requests = Requests(scope.run, command, definitions, around=surface.around)
        self._decisions = Decisions(self._requests, definitions)
        self._progress = {node.id: Progress(node) for node in command.plan.nodes}
        self._open: dict[str, tuple[str, _Kind]] = {}
        self._filing = Filing(scope.run, command.plan, self._requests, surface.workspace)
        self._check = surface.check or Check(definitions.values())
        composing = sum(self._requests.composes(node) for node in command.plan.nodes)
        self._children = Children(command, self._ledger, self._check, composing)
        self._unneeded: set[str] = set()
        self._deadline = surface.deadline or Deadline(None)
        self._working = Working(command, surface, self._account, self._requests, mind=mind)
        self._thoughts: Thoughts | None = None
        if mind is not None:
            from retinue.orchestration import thoughts  # noqa: PLC0415 - most runs ask no model

            self._thoughts = thoughts.Thoughts(mind, command, surface, self._account, self._requests, self._check)
        self._below = {} if below is None else below

    async def run(self) -> Result:
        """Walk until every node has ended, and give the answer."""
        scope = self._scope
        started = await scope.now()
        clock = self._surface.outside.clock
        # By the real clock: a run that goes on has its time again, and the recorded start may be days ago.
        self._deadline = self._surface.deadline = self._surface.deadline or Deadline(
            self._order.deadline(clock()), clock
        )
        self._account.spent_before(self._order.spent, scope.events)
        scope.reserve(order(self._order.plan.nodes))
        for node, decision in opening(self._order.plan):
            scope.emit(decision, node=node)
        try:
            self._make(self._state.begin())
            while self._open:
                for name, result in await scope.completed():
                    self._take(name, result)
            await self._settle_files()
            record = await self._written()
        except Stopped:
            # What is finished is kept; the engine marks the run as canceled.
            await self._give_up_on_the_rest()
            return self._answer(None)
        return self._answer(await scope.now() - started, record)

    # What came, and what follows from it

    def _take(self, name: str, result: Result) -> None:
        node_id, kind = self._open.pop(name)
        progress = self._progress[node_id]
        progress.open = tuple(other for other in progress.open if other != name)
        match kind:
            case "step":
                self._account.close(name, result.usage)
                plan = plan_in(result)
                if plan is None:
                    self._judge(progress, result)
                else:
                    self._descend(progress, result, plan)
            case "child":
                self._account.close(name, result.usage)
                self._judge(progress, self._children.close(progress, result))
            case "ask":
                self._hear(progress, name, result)
            case "think":
                self._account.close(name, result.usage, overhead=True)
                self._reconsidered(progress, result)
            case "split":
                self._account.close(name, result.usage, overhead=True)
                self._parted(progress, result)
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
        """Try another way, at once or after a thought; gives what the node has ended with when there is none."""
        thoughts = self._thoughts
        options = self._decisions.options(progress, result, all_of_them=thoughts is not None)
        if thoughts is not None and (thought := thoughts.reconsidering(progress, result, options)) is not None:
            progress.last = result
            self._launch(progress, "think", *thought)
            return None
        return self._act(progress, result, options.moves[0])

    def _act(self, progress: Progress, result: Result, move: Move) -> Result | None:
        """Do what was decided; gives what the node has ended with when that is nothing."""
        node = progress.node
        match move:
            case Accept():
                return result
            case Ask(questions, reason):
                self._decided("ask", reason, node, questions=[question.id for question in questions])
                self._ask(progress, questions, result)
                return None
            case Elsewhere(candidate, reason, request, left_out):
                self._decisions.leave_out(node, left_out)
                verb = "elsewhere" if request.instruction == node.instruction else "rephrase"
                facts = {"to": f"{candidate.agent}.{candidate.skill}", "left_out": list(left_out)}
                self._decided(verb, reason, node, **facts)
                progress.node = request
                if has_reports(result):
                    progress.earlier = (*progress.earlier, result)
                return self._start(progress)
            case GiveUp(reason):
                self._decided("give_up", reason, node, tried=[f"{agent}.{skill}" for agent, skill in progress.tried])
                return result
            case _:
                assert_never(move)

    def _end(self, node: Delegation, result: Result) -> None:
        noted, lost = self._filing.noted(node, result) if result.useful else (result, ())
        for each in lost:
            self._lose(each)
        self._requests.results[node.id] = noted
        self._make(self._state.end(node.id, useful=result.useful))

    def _make(self, moves: Moves) -> None:
        """Do what the state asks for; what cannot even start has ended at once, and may ask for more."""
        pending = deque([moves])
        while pending:
            now = pending.popleft()
            for name in now.stop:
                self._unneeded.add(name)
                self._decided("stop", "It is not needed any more.", self._progress[name].node)
                for started in self._progress[name].open:
                    self._scope.stop(started)
            for skip in now.skip:
                if skip.unneeded:
                    self._unneeded.add(skip.node.id)
                self._decided("skip", skip.reason, skip.node)
                canceled = self._requests.without(skip.node, Canceled(skip.reason), outcome="canceled")
                self._requests.results[skip.node.id] = canceled
            for node in now.start:
                if (refused := self._begin(self._progress[node.id])) is not None:
                    self._requests.results[node.id] = refused
                    pending.append(self._state.end(node.id, useful=False))

    # Starting

    def _begin(self, progress: Progress) -> Result | None:
        """Start a node that is ready, or say why not."""
        if progress.node.questions:
            progress.node = self._requests.told_by_needs(progress.node)
        progress.node, unclear = self._requests.read(progress.node)
        if unclear is not None:
            return unclear
        node = progress.node
        if not node.questions:
            thought = self._thoughts.splitting(progress) if self._thoughts is not None else None
            return self._start(progress) if thought is None else self._launch(progress, "split", *thought)
        waiting = self._requests.unanswered(node, lifecycle="input_required", questions=node.questions)
        if any(question.parameter is None for question in node.questions):
            return waiting  # no answer can fill in what is wrong
        self._decided("ask", "Something is missing to call it.", node, questions=[one.id for one in node.questions])
        self._ask(progress, node.questions, waiting)
        return None

    def _start(self, progress: Progress) -> Result | None:
        """Call the agent, or say why not."""
        node = progress.node
        if (fault := self._ledger.objection()) is not None:
            return self._requests.unanswered(node, outcome="error", fault=fault)
        progress.tried = (*progress.tried, (node.agent, node.skill))
        if (decision := self._decisions.before(node)) is not None:
            self._scope.emit(decision, node=node.id)
            if decision.move == SKIPPED:
                return self._reconsider(progress, self._requests.without(node, unavailable(decision), outcome="error"))
        self._ledger.nodes += 1
        name = node.id if len(progress.tried) == 1 else self._fresh_name(progress)
        if name != node.id:
            self._scope.reserve((name,))
        self._opened(progress, name, "step")
        self._scope.step(name, self._working.step(progress, name))
        return None

    # Thoughts of a model

    def _launch(self, progress: Progress, kind: Literal["think", "split"], name: str, body: Step) -> None:
        self._scope.reserve((name,))
        self._opened(progress, name, kind)
        self._scope.step(name, body)

    def _reconsidered(self, progress: Progress, choice: Result) -> None:
        """Do what the model chose, or the rules where it chose nothing that can be done."""
        last = progress.last or choice
        ended: Result | None = last
        if progress.node.id not in self._unneeded:
            move, decision = self._decisions.chosen(progress, last, choice)
            self._scope.emit(decision, node=progress.node.id)
            ended = self._act(progress, last, move)
        if ended is not None:
            self._end(progress.node, ended)

    def _parted(self, progress: Progress, split: Result) -> None:
        """Walk the parts of a request as a child run, or call its agent with the whole."""
        node = progress.node
        if node.id in self._unneeded:
            self._end(node, self._requests.without(node, Canceled("It is not needed any more."), outcome="canceled"))
            return
        plan, reason = parts_in(split)
        if plan is not None:
            whole = self._requests.unanswered(node, outcome="success")
            below = self._order_below(progress, whole, plan)
            if isinstance(below, Order):
                self._scope.emit(Started(node.agent, node.skill or "", node.instruction), node=node.id)
                self._decided("split", f"Its request is several. {reason}", node, parts=len(plan.nodes))
                self._go_down(progress, below)
                return
            reason = below.fault.message if below.fault else reason
        self._decided("keep_whole", f"Its request stays in one piece. {reason}", node)
        if (refused := self._start(progress)) is not None:
            self._end(node, refused)

    async def _written(self) -> Result | None:
        """What the model wrote as the summary; None when there is nothing to write."""
        if self._thoughts is None or (thought := self._thoughts.writing(self._ended(None))) is None:
            return None
        name = thought[0]
        self._scope.reserve((name,))
        self._scope.step(*thought)
        ((_, record),) = await self._scope.completed()
        self._account.close(name, record.usage, overhead=True)
        return record

    # Child runs

    def _descend(self, progress: Progress, result: Result, plan: Plan) -> None:
        """Walk the plan that an agent answered with, as a child run."""
        below = self._order_below(progress, result, plan)
        if isinstance(below, Result):
            self._judge(progress, below)
        else:
            self._go_down(progress, below)

    def _order_below(self, progress: Progress, result: Result, plan: Plan) -> Order | Result:
        others = len(self._order.plan.nodes) - len(self._requests.results) - 1
        return self._children.open(progress, result, plan, deadline_ns=self._surface.deadline_ns, unfinished=others)

    def _go_down(self, progress: Progress, below: Order) -> None:
        # The plan is in the name, so that a resumed run goes on with a child run of the same plan and no other.
        name = f"{self._fresh_name(progress)}.{crc32(below.plan.to_json_text().encode()):08x}"
        reason = f"It answers with a plan of {len(below.plan.nodes)} delegations."
        self._decided("descend", reason, progress.node, depth=below.depth)
        self._below[f"{self._scope.run}:{name}"] = self._account.open(name), self._deadline
        self._opened(progress, name, "child")
        self._scope.child(name, RUN_PLAN, below.to_json())

    # Files

    async def _settle_files(self) -> None:
        """Measure again what was written."""
        if not (name := self._filing.step):
            return
        self._scope.reserve((name,))
        self._scope.step(name, self._filing.measure)
        for _, result in await self._scope.completed():
            for lost in self._filing.settle(result):
                self._lose(lost)
        if (verdict := self._filing.verdict()) is not None:
            self._scope.emit(verdict)

    def _lose(self, lost: Lost) -> None:
        node = self._progress[lost.node].node
        self._decided("lose", lost.message, node, path=lost.path)
        self._filing.lose(node, lost)

    # Questions

    def _ask(self, progress: Progress, questions: tuple[Question, ...], result: Result) -> None:
        node = progress.node
        progress.rounds += costs_a_round(result, answered=len(progress.answers))
        progress.last = result
        for question in questions:
            name = self._fresh_name(progress)
            progress.asked = {**progress.asked, name: question}
            self._opened(progress, name, "ask")
            self._deadline.pause()
            self._scope.ask(name, addressed(question, node))

    def _hear(self, progress: Progress, name: str, result: Result) -> None:
        """Take an answer; when it was the last one missing, go on."""
        self._deadline.resume()
        question = progress.asked[name]
        progress.answers = {**progress.answers, question.id: answer_in(question, result)}
        if progress.open:
            return
        asked, progress.asked = tuple(progress.asked.values()), {}
        last = progress.last
        unheard = any(progress.answers[one.id] is None for one in asked)
        if last is not None and (progress.node.id in self._unneeded or (unheard and ASKED_INSIDE not in last.extras)):
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

    def _answer(self, duration_ns: int | None, record: Result | None = None) -> Result:
        return answer_of(
            self._order,
            self._ended(duration_ns),
            savings=self._requests.savings,
            counter=self._requests.counter,
            record=record,
            usage=Usage.together(self._account.used),
        )

    def _ended(self, duration_ns: int | None) -> Ended:
        return Ended(
            task_id=self._order.parent or self._scope.run,
            plan=self._order.plan,
            results={node.id: self._requests.results[node.id] for node in self._order.plan.nodes},
            unneeded=frozenset(self._unneeded),
            duration_ns=duration_ns,
            calls=self._ledger.nodes,
            earlier={name: progress.earlier for name, progress in self._progress.items() if progress.earlier},
        )

    async def _give_up_on_the_rest(self) -> None:
        """Note the nodes that have not ended, but for what they finished before the run was stopped."""
        for name, (node_id, kind) in self._open.items():
            if kind == "ask":
                self._deadline.resume()  # it is the parent's too
            elif kind != "child":
                came = self._working.came.get(node_id)
                self._account.close(name, None if came is None else came.usage)
        below = {name: self._progress[node] for name, (node, kind) in self._open.items() if kind == "child"}
        for name in below:
            self._scope.stop(name)
        with suppress(Stopped):  # stopped twice: then what has come by now is all
            while below:
                for name, result in await self._scope.completed():
                    if (progress := below.pop(name, None)) is not None:
                        self._account.close(name, result.usage)
                        self._requests.results[progress.node.id] = self._children.close(progress, result)
        for node in self._order.plan.nodes:
            if node.id not in self._requests.results:
                came = self._working.came.get(node.id)
                stopped = self._requests.without(node, Canceled("The run was stopped."), outcome="canceled")
                self._requests.results[node.id] = came if came is not None and came.useful else stopped

    def _fresh_name(self, progress: Progress) -> str:
        progress.names += 1
        return f"{progress.node.id}{RESERVED}{progress.names}"

    def _opened(self, progress: Progress, name: str, kind: _Kind) -> None:
        self._open[name] = (progress.node.id, kind)
        progress.open = (*progress.open, name)

    def _decided(self, move: str, reason: str, node: Delegation, **facts: object) -> None:
        self._scope.emit(Decision(move, reason, {"agent": node.agent, "skill": node.skill, **facts}), node=node.id)


class Working:
    """Makes the steps of one walk.

    Attributes:
        came: What each node came to last, by its id.
    """

    def __init__(
        self, order: Order, surface: Surface, account: Account, requests: Requests, *, mind: "Mind | None" = None
    ) -> None:
        self.came: dict[str, Result] = {}
        self._mind = mind
        self._order, self._surface, self._account, self._requests = order, surface, account, requests

    def step(self, progress: Progress, name: str) -> Step:
        """The body of the step called `name`, in which the agent of a node is called.

        What its needs hand on is settled now. The rest is made when the step begins: of a thousand that are ready at
        once, few are under way at the same moment.
        """
        return partial(self._call, progress, name, self._requests.handed_on(progress.node))

    async def _call(self, progress: Progress, name: str, inputs: JsonMapping) -> Result:
        node = progress.node
        task = self._requests.task(progress, name, inputs)
        context = NodeContext(
            self._surface,
            node.id,
            budget=self._account.ledger.left(),
            depth=self._order.depth,
            answers=progress.answers,
            memo=memo_for(node, progress.last),
            open_purse=partial(self._account.open, name),
        )
        context.asked = task
        result = context.accounted(await self._surface.call(task, context))
        if expects := node.expects:
            result = await self._with_files(result, expects, context)
        self.came[node.id] = result
        question = context.waits_for
        if question is None or result.useful:
            return result
        return asked_inside(task, context, question, result.usage)

    async def _with_files(self, said: Result, expects: Sequence[Expected], context: NodeContext) -> Result:
        """`said` with what is true of the files that were expected, research reports judged by their criteria."""
        from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

        result = await in_thread(verified, said, tuple(expects), self._surface.workspace)
        reports = [expected for expected in expects if expected.rules == "research"]
        if not reports or not result.useful:
            return result
        from retinue.orchestration.judging_reports import judged, read_reports  # noqa: PLC0415 - few runs write reports

        mind = self._mind
        thinker = None if mind is None else partial(mind.ready, context.purse, context.deadline_ns)
        texts = await in_thread(read_reports, reports, context.workspace)
        return await judged(said, result, reports, texts, thinker, phases=context.phases)
