"""One run while this process works on it: its events as they happen, and the `WorkflowScope` that its workflow gets.

Which runs there are, and how they are found again, is the business of `inprocess`.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from retinue.contract.event import (
    Body,
    Event,
    Message,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
)
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import PendingQuestion, RunRecord, Step
from retinue.engine.run_history import (
    HistoryReplay,
    RunHistory,
    Value,
    answer_result,
    as_canceled,
    canceled_result,
    check_answer,
    failure_result,
    policy_answer,
    unknown_question,
)
from retinue.engine.run_log import Log, wake
from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, RetinueError, Unavailable, UnknownName

if TYPE_CHECKING:
    from retinue.engine.inprocess import InProcessEngine

GRACE_S: Final = 5.0
"""How long something may keep running after it was asked to stop. Then it is killed."""


def is_not_started(task: "asyncio.Task[None]") -> bool:
    """Whether `task` has not taken its first step. Cancelled now it never will, so nothing in it can say so."""
    return inspect.getcoroutinestate(_coroutine(task)) == inspect.CORO_CREATED


def kill(task: "asyncio.Task[None]") -> None:
    """End a task that swallows being cancelled."""
    # A task that ignores cancellation can only be ended through its coroutine: `close` raises `GeneratorExit` in it.
    with suppress(RuntimeError):  # it swallows even this
        _coroutine(task).close()
    task.cancel()


async def wait_for_tasks(tasks: Sequence["asyncio.Task[None]"], timeout_s: float | None) -> None:
    """Wait for `tasks` to end, even when cancelled meanwhile: they are stopping already."""
    clock = asyncio.get_running_loop().time
    end = None if timeout_s is None else clock() + timeout_s
    while pending := [task for task in tasks if not task.done()]:
        remaining_s = None if end is None else end - clock()
        if remaining_s is not None and remaining_s <= 0:
            return
        with suppress(asyncio.CancelledError):
            await asyncio.wait(pending, timeout=remaining_s)


def _coroutine(task: "asyncio.Task[None]") -> Coroutine[Any, Any, None]:
    return cast("Coroutine[Any, Any, None]", task.get_coro())


_NOT_NEEDED: Final = "Its run was stopped, or no longer needs it."

Answerer: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Asks a person; None when no person is there."""


class LiveRun:
    """A run that this process works on, or that ended here. To its workflow it is a `Scope`.

    Attributes:
        run: Its id.
        log: What has happened so far.
        origin: The run whose child runs its own children continue: itself when it was resumed, the run it is a fork
            of, or "" when it is new.
        past: For a child run: the history it continues, when this process has it in memory.
        without: Names of child runs that begin anew although `origin` has them.
        parent: The run it is a child of, and the name it has there.
        task: What runs its workflow.
        result: Present when it has ended, and its end is in the journal.
        loss: Why nothing of it may be told any more: another process works on it, or will, as it cannot be recorded.
        is_parked: It is let go of: a worker goes on with it when it is answered.
        reason: Why it was told to stop, if it was.
        timer: Kills it when it keeps running after that.
        closing: Its workflow has returned.
    """

    __slots__ = (
        "_committing", "_host", "_launch_child", "_loop", "_names", "_open", "_questions", "_ready", "_replay",
        "_stop_run", "_stop_timers", "_waiter", "_waiters", "closing", "is_parked", "log", "loss", "origin",
        "parent", "past", "reason", "result", "run", "task", "timer", "without",
    )  # fmt: skip

    def __init__(
        self,
        host: "InProcessEngine",
        history: RunHistory,
        launch_child: Callable[["LiveRun", str, str, JsonMapping], "LiveRun"],
        stop_run: Callable[["LiveRun", str], None],
    ) -> None:
        self.run = history.run
        self.log = Log(history, host)
        self.loss: RetinueError | None = None
        self.is_parked = False
        self.origin = ""
        self.past: RunHistory | None = None
        self.without: Sequence[str] = ()
        self.parent: tuple[LiveRun, str] | None = None
        self.task: asyncio.Task[None] | None = None
        self.result: Result | None = None
        self.reason: str | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.closing = False
        self._host, self._launch_child, self._stop_run = host, launch_child, stop_run
        self._loop = asyncio.get_running_loop()
        self._names: dict[str, bool] = {}
        self._open: dict[str, asyncio.Task[None] | LiveRun | None] = {}
        self._ready: list[tuple[str, Result]] = []
        self._committing = 0
        self._questions: dict[str, Question] = {}
        self._stop_timers: dict[str, asyncio.TimerHandle] = {}
        self._waiter: asyncio.Future[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._replay: HistoryReplay | None = None

    # What a workflow may do

    @property
    def events(self) -> Sequence[Event]:
        """See `Scope.events`."""
        return self.log.history.events

    def reserve(self, names: Iterable[str]) -> None:
        """See `Scope.reserve`."""
        self._check_called_by_workflow()
        started_by_name = self._names
        for name in names:
            if name in started_by_name:
                raise InvalidInput(f"The name `{name}` was reserved before.", hint="Give each step its own name.")
            started_by_name[name] = False

    def step(self, name: str, body: Step) -> None:
        """See `Scope.step`."""
        if name not in self._names:
            raise InvalidInput(
                f"The step `{name}` was not reserved.", hint="Reserve all names first, in a fixed order."
            )
        self._begin(name)
        if not self._is_replayed(name):
            self._open[name] = self._loop.create_task(self._run_step(name, body))

    def child(self, name: str, workflow: str, payload: JsonMapping) -> None:
        """See `Scope.child`."""
        self._begin(name)
        if not self._is_replayed(name):
            self._open[name] = self._launch_child(self, name, workflow, payload)

    def ask(self, name: str, question: Question) -> None:
        """See `Scope.ask`."""
        self._begin(name)
        if self._is_replayed(name):
            return
        self._questions[name] = question
        self._open[name] = None
        if self._replay is None or not self._replay.asks_again(name, question):
            self.log.record(QuestionAsked(question), name, then=lambda _: None)  # who sees it may answer at once
        elif (answer := self._host.early_answers.pop((self.run, question.id), None)) is not None:
            self._resolve_question(name, answer)
            return
        else:
            self._host.look_for_mail()  # it may have been answered since this process took the run over
        if self._host.answerer is not None:
            self._open[name] = self._loop.create_task(self._ask_person(name, question, self._host.answerer))
        elif not self._host.waits_for_answers:
            self._resolve_question(name, None)
        seconds = self._host.approval_timeout_s if question.kind == "approval" else self._host.answer_timeout_s
        if name in self._questions and seconds is not None:
            self._stop_timers[name] = self._loop.call_later(seconds, self._expire, name, question, seconds)

    async def completed(self) -> Sequence[tuple[str, Result]]:
        """See `Scope.completed`. What a resumed run repeats comes one at a time, in its former order."""
        if self._replay is not None and (repeated := self._replay.next()) is not None:
            return (repeated,)
        while not self._ready:
            if not self._open and not self._committing:
                raise InternalError(
                    f"The run `{self.run}` waits for something to end, but nothing runs.",
                    hint="The workflow must start a step before it waits.",
                )
            self._waiter = self._loop.create_future()
            if self._host.parks:
                self._host.consider_parking(self)
            try:
                await self._waiter
            finally:
                self._waiter = None
        ready, self._ready = self._ready, []
        if self._replay is not None and (counts := self._replay.renew()) is not None:
            self.log.note(("renewed", counts))
        return ready

    def stop(self, name: str) -> None:
        """See `Scope.stop`."""
        if name not in self._names:
            raise UnknownName(f"Nothing was reserved as `{name}`.", suggestions=tuple(self._names)[:10])
        self._stop(name)

    def emit(self, body: Body, *, node: str = "", attempt: int = 0) -> None:
        """See `Scope.emit`. From another thread too; what comes after the run has ended is dropped."""
        if isinstance(body, NodeFinished):
            raise InvalidInput(
                "`Finished` is recorded by the engine itself, when something has ended.", hint="Do not emit it."
            )
        if get_ident() != self._host.thread:
            with suppress(RuntimeError, Unavailable):  # the engine or its loop is closed, so the run has ended
                self._loop.call_soon_threadsafe(self.log.record, body, node, attempt)
            return
        replay = self._replay
        if replay is not None and asyncio.current_task() is self.task and replay.repeats(body, node, attempt):
            return
        self.log.record(body, node, attempt)

    async def commit(self) -> None:
        """See `Scope.commit`."""
        if self._host.journal is not None and not self.log.silent:
            committed = self._loop.create_future()
            settle = partial(wake, (committed,))
            self._host.journal.commit(self.run, self.log.history.epoch, lambda _: self._host.in_loop(settle))
            await committed

    async def now(self) -> int:
        """See `Scope.now`."""
        return int(self._value("now", self._host.clock))

    async def random(self) -> float:
        """See `Scope.random`."""
        return self._value("random", self._host.random)

    async def sleep(self, seconds: float) -> None:
        """See `Scope.sleep`."""
        now = self._host.clock()
        end = self._value("sleep", lambda: now + round(max(seconds, 0) * 1_000_000_000))
        # A value from a record may lie far ahead when the clock was set back meanwhile: never wait longer than asked.
        await self._host.sleep(min(max(end - now, 0) / 1_000_000_000, max(seconds, 0)))

    # What its engine does with it

    def adopt(self, history: RunHistory) -> int:
        """Continue from `history`; gives how many recorded results need not be made again."""
        self.log.history = history
        self._replay = HistoryReplay(history)
        return self._replay.results

    def describe(self) -> RunRecord:
        """Its line of history."""
        history, result = self.log.history, self.result
        waits = bool(self._questions) if result is None else result.lifecycle == "input_required"
        return RunRecord(
            run=self.run,
            workflow=history.workflow,
            lifecycle="input_required" if waits else "working" if result is None else "ended",
            outcome=result.outcome if result else None,
            label=history.label,
            started_ns=history.started_ns,
            ended_ns=history.events[-1].at_ns if result else None,
            parent=history.parent,
            finished_steps=history.finished_steps(),
            owner=history.owner,
            labels=history.labels,
        )

    def called(self, agent: str | None) -> bool:
        """Whether `agent`, if one is named, has been called in it."""
        return agent is None or any(
            isinstance(event.body, NodeStarted) and event.body.agent == agent for event in self.events
        )

    def cancellation(self) -> Result:
        """Its result, when it was stopped before it gave one."""
        return canceled_result(self.run, self.log.history.workflow, self.reason or "The run was stopped.")

    async def wait(self) -> Result | None:
        """Wait until it has ended, and its end is in the journal; None when it was let go of.

        Raises:
            RetinueError: Its `loss`.
        """
        while self.result is None and self.loss is None and not (self.is_parked and self.log.closed):
            waiter = self._loop.create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:  # cancelled, and the run has not ended in the same moment
                    self._waiters.remove(waiter)
        if self.loss is not None:
            raise self.loss
        return None if self.is_parked else self.result

    @property
    def waits_for_people(self) -> bool:
        """Whether everything that it and its child runs wait for is an answer."""
        return (
            self._waiter is not None
            and not (self._ready or self._committing)
            and bool(self._open)
            and all(one is None or (isinstance(one, LiveRun) and one.waits_for_people) for one in self._open.values())
        )

    def park(self) -> None:
        """Record and tell nothing more, as somebody else will go on; neither do its child runs."""
        for child in self.children:
            child.park()
        self.is_parked = self.log.silent = True

    def fence(self, loss: RetinueError) -> None:
        """Record and tell nothing more: another process works on it, or will."""
        self.loss, self.log.silent = loss, True
        wake(self._waiters)

    def check_answer(self, answer: Answer) -> None:
        """Refuse an answer that does not fit its question, or is to none.

        Raises:
            UnknownName: It is to none, now or before; the pending ones are listed.
            InvalidInput: It does not fit its question.
        """
        ids = [question.id for question in self._questions.values()]
        past = (event.body for event in self.events if isinstance(event.body, QuestionAnswered))
        if answer.question_id not in ids and not any(body.answer == answer for body in past):
            raise unknown_question(self.run, answer.question_id, tuple(ids))
        for question in self._questions.values():
            if question.id == answer.question_id:
                check_answer(question, answer)

    def take_answer(self, answer: Answer) -> None:
        """Settle the pending questions that `answer`, which fits them, is to."""
        names = [name for name, question in self._questions.items() if question.id == answer.question_id]
        for name in names:
            consulting = self._open[name]
            self._resolve_question(name, answer)
            if isinstance(consulting, asyncio.Task):
                consulting.cancel()

    @property
    def questions(self) -> list[PendingQuestion]:
        """The questions that wait for an answer, those of its child runs too."""
        own = [PendingQuestion(self.run, question) for question in self._questions.values()]
        return own + [question for child in self.children for question in child.questions]

    @property
    def children(self) -> "list[LiveRun]":
        """Its child runs that have not ended."""
        return [each for each in self._open.values() if isinstance(each, LiveRun)]

    def deliver(self, name: str, result: Result) -> None:
        """Record that what was started as `name` has ended, and hand its result to the workflow. Once."""
        if name not in self._open:
            return
        del self._open[name]
        if self._stop_timers and (timer := self._stop_timers.pop(name, None)):
            timer.cancel()
        self._committing += 1
        self.log.record(NodeFinished(result), name, then=partial(self._queue_end, name))

    async def shutdown(self) -> None:
        """Stop what the workflow has left running, and wait until it is gone."""
        started = tuple(self._open.values())
        for name in tuple(self._open):
            self._stop(name)
        # Steps that keep running are killed after the grace, and child runs end their own.
        await wait_for_tasks(
            [each.task for each in started if isinstance(each, LiveRun) and each.task is not None], None
        )
        tasks = [each for each in started if isinstance(each, asyncio.Task)]
        await wait_for_tasks(tasks, 2 * GRACE_S)
        for task in tasks:
            if not task.done():
                kill(task)
        self.abandon()

    def abandon(self) -> None:
        """Give up whatever has not been delivered, without waiting."""
        for name, started in tuple(self._open.items()):
            if isinstance(started, LiveRun):
                self._stop_run(started, _NOT_NEEDED)
            elif started is not None:
                kill(started)
            self._questions.pop(name, None)
            self.deliver(name, self._cancellation(name))

    def end(self, result: Result) -> None:
        """Record what the run came to. Nothing follows this."""
        self.closing = self.log.closed = True
        self.task = self.past = self._replay = None
        if self.timer is not None:
            self.timer.cancel()
        self._names, self._ready = {}, []
        self.log.record(NodeFinished(result), then=self._finish, is_late=True)

    # Within

    def _check_called_by_workflow(self) -> None:
        if asyncio.current_task() is not self.task:
            raise InvalidInput(
                "Steps, children and questions are started by the workflow itself.",
                hint="Return from the step, and let the workflow start what follows.",
            )

    def _begin(self, name: str) -> None:
        self._check_called_by_workflow()
        if self._names.get(name):
            raise InvalidInput(f"`{name}` was started before.", hint="Give each step its own name.")
        self._names[name] = True

    def _is_replayed(self, name: str) -> bool:
        return self._replay is not None and self._replay.take(name)

    async def _run_step(self, name: str, body: Step) -> None:
        try:
            result = cast("Result | None", await body())
            if not isinstance(result, Result):
                kind = type(result).__name__
                result = self._failure(name, InternalError(f"The step `{name}` gave a `{kind}`, not a `Result`."))
            elif name in self._stop_timers and result.outcome != "canceled":
                result = as_canceled(result, "")
        except asyncio.CancelledError:
            result = self._cancellation(name)
        except BaseException as error:  # an agent that calls `sys.exit` must not end the program
            if isinstance(error, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
            result = self._cancellation(name) if name in self._stop_timers else self._failure(name, error)
        self.deliver(name, result)

    async def _ask_person(self, name: str, question: Question, answerer: Answerer) -> None:
        try:
            answer = await answerer(question)
            if answer is not None:
                check_answer(question, answer)
                if not await self._host.post(self.run, answer):
                    self._host.look_for_mail()  # another process has answered
                    return
        except asyncio.CancelledError:
            result = self._cancellation(name)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
            result = self._failure(name, error)
        else:
            if name in self._questions:
                self._resolve_question(name, answer)
            return
        if self._questions.pop(name, None):
            self.deliver(name, result)

    def _resolve_question(self, name: str, answer: Answer | None) -> None:
        question = self._questions.pop(name)
        del self._open[name]
        if (timer := self._stop_timers.pop(name, None)) is not None:
            timer.cancel()
        self._committing += 1
        result = answer_result(f"{self.run}:{name}", question, answer)
        body = QuestionAnswered(answer or policy_answer(question))
        self.log.record(body, name, then=lambda _: self._queue_result(name, result))

    def _expire(self, name: str, question: Question, seconds: float) -> None:
        """Nobody has answered in time: an approval is denied, any other question has failed; the run goes on."""
        if name not in self._questions:
            return
        if question.kind == "approval":
            person = self._open[name]
            self._resolve_question(name, None)
            if isinstance(person, asyncio.Task):
                person.cancel()
            return
        del self._questions[name]
        error = DeadlineExceeded(
            f"Nobody answered within {seconds:g} s: {question.text}",
            hint="Resume the run, and answer.",
            detail={"bound": "question", "seconds": seconds},
        )
        person, self._open[name] = self._open[name], None
        if isinstance(person, asyncio.Task):
            person.cancel()
        self.deliver(name, self._failure(name, error))

    def _stop(self, name: str) -> None:
        if name not in self._open:
            return
        started = self._open[name]
        if isinstance(started, LiveRun):
            self._stop_run(started, _NOT_NEEDED)
            return
        if self._questions.pop(name, None) or started is None or is_not_started(started):
            self.deliver(name, self._cancellation(name))
        elif name not in self._stop_timers:
            self._stop_timers[name] = self._loop.call_later(GRACE_S, self._kill, name, started)
        if started is not None:
            started.cancel()

    def _kill(self, name: str, task: "asyncio.Task[None]") -> None:
        """Kill a step that keeps running after it was asked to stop."""
        text = f"`{name}` went on for {GRACE_S:g} s after it was stopped, and was thrown out."
        self.log.record(Message(text, "warning"), name)
        kill(task)
        self.deliver(name, self._cancellation(name))

    def _finish(self, body: Body) -> None:
        if self.loss is None:
            self.result = cast("NodeFinished", body).result
        self.log.is_written = True
        wake(self._waiters)

    def _queue_end(self, name: str, body: Body) -> None:
        self._queue_result(name, cast("NodeFinished", body).result)

    def _queue_result(self, name: str, result: Result) -> None:
        self._committing -= 1
        self._ready.append((name, result))
        if self._waiter is not None:
            wake((self._waiter,))

    def _value(self, kind: Value, fresh: Callable[[], float]) -> float:
        if self._replay is not None and (recorded := self._replay.value(kind)) is not None:
            return recorded
        value = fresh()
        self.log.note((kind, value))
        return value

    def _failure(self, name: str, error: BaseException) -> Result:
        return failure_result(f"{self.run}:{name}", name, error)

    def _cancellation(self, name: str) -> Result:
        return canceled_result(f"{self.run}:{name}", name, f"`{name}` was stopped.")
