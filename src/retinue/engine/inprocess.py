"""The engine that runs everything as tasks of this process. With a journal, runs outlive the process.

What is recorded is durable: a result, an answer and a run's end are handed on when they are on the disk, and a run
whose process died waits, stalled, until it is resumed, here or by another process.
"""

import asyncio
import random as chance
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar, cast
from weakref import WeakValueDictionary

from retinue.contract.event import Body, Event, Message, NodeStarted, UsageReported
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer
from retinue.engine.base import EVERY_RUN, Capabilities, PendingQuestion, RunFilter, RunRecord, Workflow
from retinue.engine.blocking import CallQueue, in_thread, retire_idle_threads
from retinue.engine.event_codec import text_of
from retinue.engine.ids import CHILD, RunIds, check_run_id, unknown_run
from retinue.engine.run import GRACE_S, Answerer, LiveRun, is_not_started, kill
from retinue.engine.run_history import RunHistory, as_canceled, canceled_result, failure_result
from retinue.engine.run_log import wake
from retinue.engine.store import RunTakenOver, StoreLost
from retinue.errors import InternalError, InvalidInput, ParseError, RetinueError, Unavailable, UnknownName
from retinue.telemetry import run_span

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

T = TypeVar("T")

_POLL_S: Final = 1.0
"""How often a run of another process is looked at, though nobody says that it has changed."""


class InProcessEngine:
    """An `Engine` of this process and one event loop. Leaving the context stops what runs and waits for it.

    Args:
        workflows: What can be started, by name.
        journal: Where history is kept; without one it is gone with the process. It stays open: close it yourself.
        answerer: Asked first whenever a run has a question; None from it means that no person is there.
        waits_for_answers: Without an answerer, questions wait for `answer`. Otherwise no person is there.
        clock: Nanoseconds since 1970 UTC.
        random: Numbers in [0, 1).
        sleep: Waits for so many seconds.
        keep: How many ended runs are held in memory, results and events included; older ones are only in the journal.
        keep_bytes: How much of them is held, as the JSON text of their events; the newest run is held anyway.
        max_events: Events of one run; beyond that only starts, ends, questions and answers are recorded.
        answer_timeout_s: How long a question waits. Then it has failed with `timeout`, and can be asked again by
            resuming the run.
        approval_timeout_s: How long an approval waits. Then it is denied.
        on_close: What history says of a run that is stopped by leaving the context: that it was canceled, or nothing,
            so that it can be resumed. With `hand_over` it goes back to the queue; it never goes on unrecorded.
        place: Runs of this place are taken from the queue, and what is started here without being run goes there.
        queues: What is started is left to a worker of `place`.
        parks: A run that only waits for answers is let go of; a worker goes on with it when it is answered.

    Attributes:
        journal: Where history is kept, if it is.
        in_loop: Calls a function in the engine's loop, after those that were handed in before; from any thread.
        early_answers: What was answered before this process went on with the run that asks, by run and question.
    """

    def __init__(
        self,
        workflows: Mapping[str, Workflow],
        *,
        journal: "Journal | None" = None,
        answerer: Answerer | None = None,
        waits_for_answers: bool = False,
        clock: Callable[[], int] = time.time_ns,
        random: Callable[[], float] = chance.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        keep: int = 1000,
        keep_bytes: int | None = None,
        max_events: int | None = None,
        answer_timeout_s: float | None = None,
        approval_timeout_s: float | None = None,
        on_close: Literal["cancel", "leave", "hand_over"] = "cancel",
        place: str = "",
        queues: bool = False,
        parks: bool = False,
    ) -> None:
        self.capabilities = Capabilities(durable=journal is not None)
        self.journal, self.answerer, self.waits_for_answers = journal, answerer, waits_for_answers
        self.clock, self.random, self.sleep = clock, random, sleep
        self.thread = 0
        self._ids = RunIds(clock, random)
        self._workflows = dict(workflows)
        self.answer_timeout_s, self.approval_timeout_s = answer_timeout_s, approval_timeout_s
        self.max_events = max_events
        self._keep, self._keep_bytes, self._on_close = max(keep, 0), keep_bytes, on_close
        self.parks = parks and journal is not None and answer_timeout_s is None and approval_timeout_s is None
        self._place, self._queues = place, queues
        self._runs: dict[str, LiveRun] = {}
        self._ended: deque[tuple[str, int]] = deque()
        self._ended_bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.in_loop: Callable[[Callable[[], None]], None] = lambda _: None  # no loop is there yet
        self._mail: asyncio.Task[None] | None = None
        self._change: asyncio.Future[None] | None = None  # the next time that another process may have written
        self.early_answers: dict[tuple[str, str], Answer] = {}

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise InternalError("The engine is in use already.", hint="Make one engine for each context.")
        self._loop = asyncio.get_running_loop()
        self.in_loop = CallQueue(self._loop).append
        self.thread = threading.get_ident()
        if self.journal is not None:
            self.journal.listeners.append(self._on_journal_failure)
        return self

    async def __aexit__(self, *_: object) -> None:
        for run in [run for run in self._runs.values() if self._on_close != "cancel" and not run.log.closed]:
            run.log.silent = True  # what follows is not recorded
            if self._on_close == "hand_over" and self.journal is not None and run.parent is None:
                self.journal.release(run.run, run.log.history.epoch, lambda _: None)
        try:
            while tasks := [run.task for run in self._runs.values() if run.task is not None]:
                for run in tuple(self._runs.values()):
                    self._stop_run(run, "The engine was closed.")
                await asyncio.wait(tasks)
                for run in tuple(self._runs.values()):
                    self._finalise(run)
            if self.journal is not None:
                await in_thread(self.journal.flush)
        finally:
            if self.journal is not None:
                self.journal.unwatch(self.look_for_mail)
                self.journal.listeners.remove(self._on_journal_failure)
            while self._mail is not None and not self._mail.done():  # or it would open the journal again
                await asyncio.wait([self._mail])
            retire_idle_threads()
            self._loop = None

    # The verbs of the port

    async def start(
        self,
        workflow: str,
        payload: JsonMapping,
        *,
        run: str | None = None,
        label: str = "",
        owner: str = "",
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """See `Engine.start`. The payload must not be changed afterwards.

        Raises:
            UnknownName: No workflow is registered under that name.
            InvalidInput: `run` cannot be an id or is that of another goal, or the payload is not JSON data.
            Unavailable: The engine is not open.
        """
        self._workflow(workflow)
        if run is not None:
            check_run_id(run)
        history = RunHistory(
            run or self._ids.new(), workflow, payload, label, self.clock(), owner=owner, labels=dict(labels or {})
        )
        history.place = self._place
        if self._queues:
            await self._ask_journal(lambda journal: journal.begin_once(history, queued=True))
        elif run is None:
            if self.journal is not None:
                committed = self._open_loop.create_future()
                self.journal.begin(history, lambda _: self.in_loop(partial(wake, (committed,))))
                await committed
            self._launch(self._live(history))  # last, so that its caller has the id before an agent may block the loop
        else:
            async with self._changing.setdefault(run, asyncio.Lock()):  # so that a second start finds the first
                if self._runs.get(run) is None and await self._begin_once(history):
                    self._launch(self._live(history))
        if run is None:
            return history.run
        if (first := await self._find_history(run)).label != label:
            raise InvalidInput(
                f"There is a run `{run}` already, for another goal: {first.label[:80]!r}.",
                hint="Give this one an id of its own, or none.",
                path="/run",
            )
        return run

    async def result(self, run: str) -> Result:
        """See `Engine.result`. A run of another process is waited for too."""
        live = self._runs.get(run)
        if live is not None and (result := await live.wait()) is not None:
            return result
        async for _ in self.events(run, after=2**63 - 1):
            pass  # there is none behind that
        if (await self.get(run)).stalled:
            raise Unavailable(f"The process of run `{run}` has ended.", hint="Resume the run.")
        result = await self._ask_journal(lambda journal: journal.result(run))
        if result is None:
            raise unknown_run(run, list(self._runs))
        return result

    async def wait_here(self, run: str) -> Result | None:
        """See `Engine.wait_here`."""
        live = self._runs.get(run)
        if live is None and self.journal is not None and self.journal.failure is not None:
            raise self.journal.failure
        return await live.wait() if live is not None else None

    async def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncGenerator[Event, None]:
        """See `Engine.events`. A run of another process is followed too, until it ends or its process is gone."""
        live = self._runs.get(run)
        if live is not None:
            async for event in live.log.follow(after, live=follow):
                yield event
                after = event.sequence
            if live.loss is None and not live.is_parked:
                return

        def next_events(journal: "Journal") -> Sequence[Event]:
            return journal.events(run, after=after)

        while True:
            if self._change is None or self._change.done():
                self._change = self._open_loop.create_future()
            change, record = self._change, await self.get(run)
            while page := await self._ask_journal(next_events):
                for event in page:
                    yield event
                after = page[-1].sequence
            if not follow or record.ended_ns is not None or record.stalled:
                return
            if self.journal is not None:
                self.journal.watch(self.look_for_mail)
            await asyncio.wait([change], timeout=_POLL_S)

    async def questions(self, run: str) -> Sequence[PendingQuestion]:
        """See `Engine.questions`. Of a run whose process died, those it has left open."""
        if (live := self._runs.get(run)) is not None and live.result is None:
            return live.questions
        await self.get(run)
        return await self._ask_journal(lambda journal: journal.questions(run)) if self.journal is not None else []

    async def answer(self, run: str, answer: Answer) -> None:
        """See `Engine.answer`. A run of another process is answered too, and one whose process died."""
        live = self._runs.get(run)
        if self.journal is not None and self.journal.failure is None:
            await self._ask_journal(lambda journal: journal.answer(run, answer))
        elif live is None:
            raise unknown_run(run, list(self._runs))
        else:
            live.check_answer(answer)
        if live is not None and not live.log.silent:
            live.take_answer(answer)

    async def post(self, run: str, answer: Answer) -> bool:
        """Whether `answer`, which a person gave here, is the first to its question in the journal; then it is there."""
        if self.journal is None or self.journal.failure is not None:
            return True
        try:
            await self._ask_journal(lambda journal: journal.answer(run, answer))
        except InvalidInput:
            return False
        except RetinueError:  # no history, but an answer all the same
            return True
        return True

    async def add_event(self, run: str, body: Body) -> None:
        """See `Engine.add_event`."""
        if (live := self._runs.get(run)) is not None:
            committed = self._open_loop.create_future()
            live.log.record(body, is_late=True, then=lambda _: wake((committed,)))
            await committed
        elif (await self.get(run)).ended_ns is None:
            raise Unavailable(f"Run `{run}` belongs to another process.", hint="Ask that process, or end it.")
        else:
            await self._ask_journal(lambda journal: journal.add_event(run, body, self.clock()))

    async def cancel(self, run: str, *, reason: str = "") -> None:
        """See `Engine.cancel`. Does not wait for the end; `result` does. An ended run stays as it is."""
        if (live := self._runs.get(run)) is not None:
            self._stop_run(live, reason)
            return
        async with self._changing.setdefault(run, asyncio.Lock()):
            record = await self.get(run)
            if record.ended_ns is not None:
                return
            try:
                await self._end_dead(run, canceled_result(run, record.workflow, reason))
            except InvalidInput:  # another process works on it
                await self._ask_journal(lambda journal: journal.cancel(run, reason))

    async def fail(self, run: str, error: RetinueError) -> None:
        """See `Engine.fail`."""
        async with self._changing.setdefault(run, asyncio.Lock()):
            await self._end_dead(run, failure_result(run, (await self.get(run)).workflow, error))

    async def _end_dead(self, run: str, result: Result) -> None:
        history, _ = await self._taken_over(run, unless_ended=True)
        facts = await self._ask_journal(lambda journal: journal.facts(run=run))
        usage = Usage.total(event.body.usage for event in facts.usage_events if isinstance(event.body, UsageReported))
        self._end(self._live(history), result.model_copy(update={"usage": usage}))

    async def list(self, *, limit: int = 50, where: RunFilter = EVERY_RUN) -> Sequence[RunRecord]:
        """See `Engine.list`. Child runs are not listed; `get` finds them as `{run}:{name}`."""
        position = where.position
        records = [
            record
            for run in self._runs.values()
            if CHILD not in run.run and where.matches(record := run.describe()) and run.called(where.agent)
            if position is None or (record.started_ns, record.run) < position
        ]
        if self.journal is not None:
            # What is at work here is known here better than from the file.
            live_count = len(self._runs)
            recorded = await self._ask_journal(lambda journal: journal.list(limit + live_count, where))
            records += [record for record in recorded if record.run not in self._runs]
        records.sort(key=lambda record: (record.started_ns, record.run), reverse=True)
        return records[: max(limit, 0)]

    async def count(self, where: RunFilter) -> int:
        """See `Engine.count`."""
        if self.journal is not None:
            return await self._ask_journal(lambda journal: journal.count(where))
        facts = RunFilter(owner=where.owner, labels=where.labels)
        runs = [run for run in self._runs.values() if CHILD not in run.run and facts.matches(run.describe())]
        return sum(run.called(where.agent) for run in runs)

    async def get(self, run: str, *, owner: str | None = None) -> RunRecord:
        """See `Engine.get`."""
        if (live := self._runs.get(run)) is not None and owner in (None, live.log.history.owner):
            return live.describe()
        if self.journal is None:
            raise unknown_run(run, list(self._runs) if owner is None else [])
        # The journal is asked for another owner's run as for none, so that both take the same time.
        return await self._ask_journal(lambda journal: journal.get(run, owner=owner))

    async def resume(self, run: str, *, unless_ended: bool = False) -> str:
        """See `Engine.resume`."""
        if CHILD in run:
            parent = run.partition(CHILD)[0]
            raise InvalidInput(f"`{run}` is a child run.", hint=f"Resume the run it belongs to: `{parent}`.")
        async with self._changing.setdefault(run, asyncio.Lock()):
            if (live := self._runs.get(run)) is not None and live.result is None:
                return run
            if not unless_ended:
                record = await self.get(run)
                if record.outcome == "success":
                    return run
                unless_ended = record.ended_ns is None
            history, must_stop = await self._taken_over(run, self._workflow, unless_ended=unless_ended)
            live_run = self._live(history)
            if history.events:
                live_run.origin = run
                self._launch(live_run, f"Going on: {_count_phrase(live_run.adopt(history))} kept.")
            else:  # it was in the queue
                self._launch(live_run)
            if must_stop:
                self.look_for_mail()
        return run

    async def fork(self, run: str, *, without: Sequence[str] = (), payload: JsonMapping | None = None) -> str:
        """See `Engine.fork`."""
        source = await self._find_history(run)
        self._workflow(source.workflow)
        results = source.kept_results()
        if missing := sorted(set(without) - set(results)):
            raise UnknownName(
                f"Run `{run}` has finished nothing called {', '.join(f'`{name}`' for name in missing)}.",
                hint=f"Finished: {', '.join(f'`{name}`' for name in results) or 'nothing'}.",
                suggestions=tuple(results),
            )
        history = source.copy_for(self._ids.new(), self.clock(), parent=None, without=without)
        history.payload = source.payload if payload is None else payload
        copy = self._live(history)
        copy.origin = run
        copy.without = tuple(without)
        result_count = copy.adopt(history)
        await self._begin_once(history)
        self._launch(copy, f"A copy of run `{run}`: {_count_phrase(result_count)} kept.")
        return copy.run

    async def payload(self, run: str) -> JsonMapping:
        """See `Engine.payload`."""
        return (await self._find_history(run)).payload

    # Within

    async def _find_history(self, run: str) -> RunHistory:
        if (live := self._runs.get(run)) is not None:
            return live.log.history
        if self.journal is None:
            raise unknown_run(run, list(self._runs))
        return await self._ask_journal(lambda journal: journal.history(run))

    @property
    def _open_loop(self) -> asyncio.AbstractEventLoop:
        """The loop it works in.

        Raises:
            Unavailable: It is not open.
        """
        if self._loop is None:
            raise _closed_error()
        return self._loop

    def _live(self, history: RunHistory) -> LiveRun:
        return LiveRun(self, history, self._launch_child, self._stop_run)

    def _workflow(self, name: str) -> Workflow:
        if self._loop is None:
            raise _closed_error()
        if (workflow := self._workflows.get(name)) is None:
            names = tuple(self._workflows)
            raise UnknownName(
                f"No workflow is called {name[:80]!r}.", hint=f"Available: {', '.join(names)}.", suggestions=names
            )
        return workflow

    # From start to end

    def _launch(self, run: LiveRun, message: str = "") -> None:
        """Start driving `run`; `message` says why it is not a plain new one."""
        if self._on_close == "hand_over" and self.journal is not None and self.journal.failure is not None:
            raise self.journal.failure
        self._runs[run.run] = run
        if self.journal is not None and run.parent is None:
            self.journal.watch(self.look_for_mail)
        if not run.origin:
            run.log.record(NodeStarted(instruction=run.log.history.label))
        if message:
            run.log.record(Message(message))
        if self.journal is not None and self.journal.failure is not None and run.parent is None:
            run.log.record(Message(_unrecorded_message(self.journal.failure), "warning"))
        run.task = self._open_loop.create_task(self._drive(run))

    def _launch_child(self, parent: LiveRun, name: str, workflow: str, payload: JsonMapping) -> LiveRun:
        """Start a child run.

        Raises:
            UnknownName: There is no such workflow.
            InvalidInput: The payload is not JSON data.
        """
        self._workflow(workflow)
        run = f"{parent.run}{CHILD}{name}"
        epoch = parent.log.history.epoch
        child = self._live(RunHistory(run, workflow, payload, name, self.clock(), parent.run, epoch=epoch))
        child.parent = (parent, name)
        if parent.origin and name not in parent.without:
            child.origin = f"{parent.origin}{CHILD}{name}"
            old = self._runs.get(child.origin)
            child.past = old.log.history if old is not None else None
        elif self.journal is not None:
            self.journal.begin(child.log.history)
        parent.log.record(NodeStarted(), name)  # again when it is resumed, so that a follower of the parent finds it
        self._launch(child)
        return child

    def _stop_run(self, run: LiveRun, reason: str) -> None:
        """Ask a run to stop; kill its workflow when it keeps running."""
        task = run.task
        if task is None or run.closing:
            return
        if run.reason is None:
            run.reason = reason
            run.timer = self._open_loop.call_later(GRACE_S, self._kill, run)
        task.cancel()
        if is_not_started(task):
            self._finalise(run)

    def _end(self, run: LiveRun, result: Result) -> Result:
        """Record what a run came to, tell its parent, and forget the oldest; gives what is recorded."""
        self._runs[run.run] = run
        if run.reason is not None and result.outcome != "canceled":
            result = as_canceled(result, run.reason)
        run.end(result)
        if run.parent is not None:
            parent, name = run.parent
            run.parent = None
            parent.deliver(name, result)
        if run.loss is not None or run.is_parked:  # its history is no longer made here
            del self._runs[run.run]
            return result
        size = 0 if self._keep_bytes is None else sum(len(text_of(event.body)) for event in run.events)
        self._ended.append((run.run, size))
        self._ended_bytes += size
        while len(self._ended) > self._keep or (
            self._keep_bytes is not None and self._ended_bytes > self._keep_bytes and len(self._ended) > 1
        ):
            oldest, size = self._ended.popleft()
            self._ended_bytes -= size
            if (oldest_run := self._runs.get(oldest)) is not None and oldest_run.log.closed:
                del self._runs[oldest]
        return result

    async def _drive(self, run: LiveRun) -> None:
        with run_span(run.run) as span:
            span.note_result(self._end(run, await self._outcome(run)))

    async def _outcome(self, run: LiveRun) -> Result:
        try:
            if run.origin and run.parent:
                await self._restore(run)
            history = run.log.history
            result = cast("Result | None", await self._workflows[history.workflow](run, history.payload))
            if not isinstance(result, Result):
                kind = type(result).__name__
                result = failure_result(run.run, history.workflow, InternalError(f"The workflow gave a `{kind}`."))
        except asyncio.CancelledError:
            result = run.cancellation()
        except BaseException as error:
            if run.closing or (isinstance(error, GeneratorExit) and not self._open_loop.is_running()):
                raise  # thrown out, or the loop is gone
            if isinstance(error, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
            result = failure_result(run.run, run.log.history.workflow, error)
        run.closing = True
        await run.shutdown()
        return result

    async def _restore(self, child: LiveRun) -> None:
        """Let a child run continue where it was when its parent was interrupted or copied."""
        past = child.past
        while past is None and self.journal is not None:
            with suppress(StoreLost):  # the run is ours already, and waits while the database is away
                try:
                    past = await self._ask_journal(lambda journal: journal.history(child.origin))
                except UnknownName:  # it had not been started yet
                    break
        if past is not None and child.origin == child.run:
            past.epoch = child.log.history.epoch
            child.adopt(past)
            if self.journal is not None:
                self.journal.go_on(child.run, past.epoch, len(past.events))
            return
        own = child.log.history
        if past is not None:
            own = past.copy_for(child.run, self.clock(), parent=own.parent, epoch=own.epoch)
            child.adopt(own)
        if self.journal is not None:
            self.journal.begin(own)
        if past is None:
            child.log.record(NodeStarted(instruction=own.label))

    def _finalise(self, run: LiveRun) -> None:
        """End a run whose task can no longer do it."""
        if not run.log.closed and (run.task is None or run.task.done() or is_not_started(run.task)):
            run.closing = True
            run.abandon()
            self._end(run, run.cancellation())

    def _kill(self, run: LiveRun) -> None:
        if run.closing or run.task is None:
            return
        if children := run.children:  # it collects what they finished, and each has a grace of its own
            for child in children:
                self._stop_run(child, run.reason or "")
            run.timer = self._open_loop.call_later(GRACE_S, self._kill, run)
            return
        run.log.record(Message(f"The workflow went on for {GRACE_S:g} s after it was stopped.", "warning"))
        run.closing = True
        kill(run.task)
        run.abandon()
        self._end(run, run.cancellation())

    # The journal

    async def _ask_journal(self, question: "Callable[[Journal], T]") -> T:
        """What the journal says to `question`, without blocking the loop."""
        if self.journal is None:
            raise Unavailable("This engine keeps no history.", hint="Give it a journal.")
        return await in_thread(question, self.journal)

    async def _begin_once(self, history: RunHistory) -> bool:
        """Whether there is no run of that id in the journal; then it is there now."""
        if self.journal is None or self.journal.failure is not None:
            return True
        try:
            return await self._ask_journal(lambda journal: journal.begin_once(history))
        except (InvalidInput, StoreLost):
            raise
        except RetinueError:  # no history, but a run all the same; the journal tells why as soon as it gives up
            self.journal.begin(history)
            return True

    async def _taken_over(
        self, run: str, check: Callable[[str], object] = lambda _: None, *, unless_ended: bool
    ) -> tuple[RunHistory, bool]:
        """The history of a run that this process now works on, as it stands then, and whether it was told to stop."""
        history, mails = None, ()
        if self.journal is not None and self.journal.failure is None:
            try:
                history, mails = await self._ask_journal(
                    lambda journal: journal.take_over(run, check, unless_ended=unless_ended)
                )
            except RetinueError as error:  # as above
                if isinstance(error, InvalidInput | ParseError | StoreLost) or self._on_close == "hand_over":
                    raise
        if history is None:
            history = await self._find_history(run)
            check(history.workflow)
        for mail in mails:
            if mail.answer is not None:
                self.early_answers[mail.run, mail.answer.question_id] = mail.answer
        return history, any(mail.answer is None for mail in mails)

    def consider_parking(self, run: LiveRun) -> None:
        """Let go of the run that `run` belongs to, if it only waits for people."""
        while run.parent is not None:
            run = run.parent[0]
        if run.waits_for_people and self.journal is not None:
            run.park()
            release = partial(self._stop_run, run, "")
            self.journal.release(run.run, run.log.history.epoch, lambda _: self.in_loop(release), parked=True)

    def look_for_mail(self) -> None:
        """See what other processes have left for the runs here. Called from any thread."""
        self.in_loop(self._read_mail)

    def _read_mail(self) -> None:
        if self._change is not None:
            wake((self._change,))
        if self._loop is not None and (self._mail is None or self._mail.done()):
            self._mail = self._loop.create_task(self._take_mail())

    async def _take_mail(self) -> None:
        live = [run for run in self._runs.values() if CHILD not in run.run and not run.log.closed]
        if self.journal is None or self.journal.failure is not None or not live:
            if self.journal is not None:
                self.journal.unwatch(self.look_for_mail)
            return
        runs, claims = [run.run for run in live], [(run.run, run.log.history.epoch) for run in live]
        with suppress(RetinueError):
            for loss in await self._ask_journal(lambda journal: journal.losses(claims)):
                self._fence(str(loss.detail["run"]), loss)
            for mail in await self._ask_journal(lambda journal: journal.mail(runs)):
                if (live := self._runs.get(mail.run)) is None or live.log.closed or live.log.silent:
                    continue
                if mail.answer is None:
                    self._stop_run(live, mail.reason)
                else:
                    live.take_answer(mail.answer)

    def _on_journal_failure(self, failure: RetinueError) -> None:
        """Tell or stop the runs that are no longer recorded, or not ours any more. From the journal's thread."""

        def broadcast() -> None:
            if isinstance(failure, RunTakenOver):
                self._fence(str(failure.detail["run"]), failure)
                return
            for run in [run for run in self._runs.values() if run.parent is None]:
                if self._on_close == "hand_over":  # who goes on with it must find all that was done
                    self._fence(run.run, failure)
                else:
                    run.log.record(Message(_unrecorded_message(failure), "warning"))

        self.in_loop(broadcast)  # in one line with what was refused, which must not be told first

    def _fence(self, name: str, loss: RetinueError) -> None:
        """Stop a run, and its child runs, without a further word about it."""
        epoch = cast("int | None", loss.detail.get("epoch"))  # it may have been taken over here, and goes on
        for run in tuple(self._runs.values()):
            is_meant = run.run.partition(CHILD)[0] == name and epoch in {None, run.log.history.epoch}
            if is_meant and not run.log.is_written:
                run.fence(loss)
                self._stop_run(run, loss.message)
                if run.log.closed:  # its end was on the way
                    self._runs.pop(run.run, None)


def _count_phrase(count: int) -> str:
    return "1 result is" if count == 1 else f"{count} results are"


def _closed_error() -> Unavailable:
    return Unavailable("The engine is not open.", hint="Use it inside `async with`.")


def _unrecorded_message(failure: RetinueError) -> str:
    return f"History is not recorded: {failure.message} {failure.hint}".strip()
