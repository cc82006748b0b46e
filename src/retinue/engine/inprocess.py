"""The engine that runs everything as tasks of this process. With a journal, its history outlives the process.

Quick and without set-up, but not durable: a run whose process died waits, stalled, until somebody resumes it.
"""

import asyncio
import random as chance
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

from retinue.contract.event import Event, Message, Started
from retinue.contract.model import JsonMapping
from retinue.contract.question import Answer
from retinue.contract.result import Result
from retinue.engine.base import Capabilities, RunRecord, Workflow
from retinue.engine.blocking import in_thread, retire_idle_threads
from retinue.engine.history import History
from retinue.engine.ids import CHILD, RunIds, check_run_id, unknown_run
from retinue.engine.outcome import as_canceled, canceled, failed
from retinue.engine.run import GRACE_S, Answerer, LiveRun, is_unborn, throw_out
from retinue.errors import InternalError, InvalidInput, ParseError, RetinueError, Unavailable, UnknownName

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

__all__ = ["InProcessEngine"]

T = TypeVar("T")

_POLL_S: Final = 0.1
"""How often a run of another process is looked at."""


class InProcessEngine:
    """An `Engine` of this process and one event loop. Leaving the context cancels what runs and waits for it.

    Args:
        workflows: What can be started, by name.
        journal: Where history is kept; without one it is gone with the process. It stays open: close it yourself.
        answerer: Asked first whenever a run has a question; None from it means that nobody is there.
        waits_for_answers: Without an answerer, questions wait for `answer`. Otherwise nobody is there.
        clock: Nanoseconds since 1970 UTC.
        random: Numbers in [0, 1).
        sleep: Waits for so many seconds.
        keep: How many ended runs are held in memory, results and events included; older ones are only in the journal.
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
    ) -> None:
        self.capabilities = Capabilities(journal=journal is not None)
        self.journal = journal
        self.answerer = answerer
        self.waits_for_answers = waits_for_answers
        self.clock = clock
        self.chance = random
        self.pause = sleep
        self.thread = 0
        self._workflows = dict(workflows)
        self._keep = max(keep, 0)
        self._ids = RunIds(clock, random)
        self._runs: dict[str, LiveRun] = {}
        self._ended: deque[str] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self._opener: asyncio.Task[object] | None = None

    async def __aenter__(self) -> Self:
        if self._loop is not None:
            raise InternalError("The engine is in use already.", hint="Make one engine for each context.")
        self._loop = asyncio.get_running_loop()
        self._starting = asyncio.Lock()
        self._opener = asyncio.current_task()
        self.thread = threading.get_ident()
        if self.journal is not None:
            self.journal.listeners.append(self._not_recorded)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            while tasks := [run.task for run in self._runs.values() if run.task is not None]:
                for run in tuple(self._runs.values()):
                    self.stop_run(run, "The engine was closed.")
                await asyncio.wait(tasks)
                for run in tuple(self._runs.values()):
                    self._bury(run)
            if self.journal is not None:
                await in_thread(self.journal.flush)
        finally:
            if self.journal is not None:
                self.journal.listeners.remove(self._not_recorded)
            retire_idle_threads()
            self._loop = self._opener = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it works in.

        Raises:
            Unavailable: It is not open.
        """
        if self._loop is None:
            raise _closed()
        return self._loop

    # The verbs of the port

    async def start(self, workflow: str, payload: JsonMapping, *, run: str | None = None, label: str = "") -> str:
        """See `Engine.start`. The payload must not be changed afterwards.

        Raises:
            UnknownName: No workflow is registered under that name.
            InvalidInput: `run` cannot be an id, or the payload is not JSON data.
            Unavailable: The engine is not open.
        """
        self._workflow(workflow)
        if run is None:
            fresh = self._new(History(self._ids.new(), workflow, payload, label, self.clock()))
            if self.journal is not None:
                self.journal.begin(fresh.log.history)
            self._launch(fresh)
            return fresh.run
        check_run_id(run)
        async with self._starting:  # so that a second start of the same run finds the first
            if run not in self._runs:
                chosen = self._new(History(run, workflow, payload, label, self.clock()))
                if await self._is_first(chosen.log.history):
                    self._launch(chosen)
        return run

    async def result(self, run: str) -> Result:
        """See `Engine.result`. A run of another process is waited for too.

        Raises:
            UnknownName: There is no such run.
            Unavailable: Its process died before it ended.
            ParseError: Its record cannot be read.
        """
        live = self._runs.get(run)
        if live is not None:
            return await live.ended()
        record = await self.get(run)
        while record.ended_ns is None:
            if record.stalled:
                raise Unavailable(f"The process that worked on run `{run}` is gone.", hint="Resume the run.")
            await asyncio.sleep(_POLL_S)
            record = await self.get(run)
        result = await self._ask_journal(lambda journal: journal.result(run))
        if result is None:
            raise unknown_run(run, list(self._runs))
        return result

    async def events(self, run: str, *, after: int = 0, follow: bool = True) -> AsyncGenerator[Event, None]:
        """See `Engine.events`. A run of another process is followed too, until it ends or its process is gone.

        Raises:
            UnknownName: There is no such run.
            ParseError: Its record cannot be read.
        """
        live = self._runs.get(run)
        if live is not None:
            async for event in live.log.follow(after, live=follow):
                yield event
            return
        while True:
            record = await self.get(run)
            while page := await self._page(run, after):
                for event in page:
                    yield event
                after = page[-1].sequence
            if not follow or record.ended_ns is not None or record.stalled:
                return
            await asyncio.sleep(_POLL_S)

    async def answer(self, run: str, answer: Answer) -> None:
        """See `Engine.answer`.

        Raises:
            UnknownName: There is no such run, or no such pending question; the pending ones are listed.
            InvalidInput: The answer does not fit its question.
            Unavailable: Another process works on the run.
        """
        live = self._runs.get(run)
        if live is None:
            record = await self.get(run)
            if record.ended_ns is None and not record.stalled:
                raise _elsewhere(run)
            pending: tuple[str, ...] = ()
        elif live.take_answer(answer):
            return
        else:
            pending = live.questions
        shown = ", ".join(f"`{question}`" for question in pending) or "none"
        raise UnknownName(
            f"No question {answer.question_id!r} of run `{run}` waits for an answer.",
            hint=f"Pending: {shown}.",
            suggestions=pending,
        )

    async def cancel(self, run: str, *, reason: str = "") -> None:
        """See `Engine.cancel`. Does not wait for the end; `result` does. An ended run stays as it is.

        Raises:
            UnknownName: There is no such run.
            Unavailable: Another process works on the run.
        """
        live = self._runs.get(run)
        if live is not None:
            self.stop_run(live, reason)
            return
        record = await self.get(run)
        if record.ended_ns is not None:
            return
        if not record.stalled:
            raise _elsewhere(run)
        dead = self._new(await self._ask_journal(lambda journal: journal.history(run)))
        await self._take_over(run)
        self._runs[run] = dead
        self._end(dead, canceled(run, record.workflow, reason))

    async def list(self, *, limit: int = 50) -> Sequence[RunRecord]:
        """See `Engine.list`. Child runs are not listed; `get` finds them as `{run}:{name}`."""
        found = {run.run: run.describe() for run in self._runs.values() if CHILD not in run.run}
        if self.journal is not None:
            recorded = await self._ask_journal(lambda journal: journal.list(limit + len(found)))
            found = {record.run: record for record in recorded} | found
        newest = sorted(found.values(), key=lambda record: (record.started_ns, record.run), reverse=True)
        return newest[: max(limit, 0)]

    async def get(self, run: str) -> RunRecord:
        """See `Engine.get`.

        Raises:
            UnknownName: There is no such run; near names are suggested.
            ParseError: Its record cannot be read.
        """
        if (live := self._runs.get(run)) is not None:
            return live.describe()
        if self.journal is None:
            raise unknown_run(run, list(self._runs))
        return await self._ask_journal(lambda journal: journal.get(run))

    async def resume(self, run: str) -> str:
        """See `Engine.resume`. Steps that ended `success` or `partial` are kept, all others run again.

        A run that goes on or that ended with success is left as it is.

        Raises:
            UnknownName: There is no such run, or its workflow is not known here.
            InvalidInput: It is a child run, or another process works on it.
            ParseError: Its record cannot be read.
        """
        if CHILD in run:
            parent = run.partition(CHILD)[0]
            raise InvalidInput(f"`{run}` is a child run.", hint=f"Resume the run it belongs to: `{parent}`.")
        record = await self.get(run)
        old = self._runs.get(run)
        if record.outcome == "success" or (old is not None and old.result is None):
            return run
        history = await self._find_history(run)
        self._workflow(history.workflow)
        going = self._new(history)
        going.origin = run
        kept = going.adopt(history)
        self._runs[run] = going
        try:
            await self._take_over(run)
        except BaseException:
            self._restore(run, old)
            raise
        self._launch(going, f"Going on: {_results(kept)} kept.")
        return run

    async def fork(self, run: str, *, without: Sequence[str] = ()) -> str:
        """See `Engine.fork`.

        Raises:
            UnknownName: There is no such run, or it has finished no such step; or its workflow is not known here.
            ParseError: Its record cannot be read.
        """
        source = await self._find_history(run)
        self._workflow(source.workflow)
        finished = source.kept()
        if missing := sorted(set(without) - set(finished)):
            raise UnknownName(
                f"Run `{run}` has finished nothing called {', '.join(f'`{name}`' for name in missing)}.",
                hint=f"Finished: {', '.join(f'`{name}`' for name in finished) or 'nothing'}.",
                suggestions=tuple(finished),
            )
        history = source.copied(self._ids.new(), self.clock(), parent=None, without=without)
        if self.journal is not None:
            self.journal.begin(history)
        copy = self._new(history)
        copy.origin = run
        copy.without = tuple(without)
        kept = copy.adopt(history)
        self._launch(copy, f"A copy of run `{run}`: {_results(kept)} kept.")
        return copy.run

    # What a run asks of its engine

    def launch_child(self, parent: LiveRun, name: str, workflow: str, payload: JsonMapping) -> LiveRun:
        """Start a child run.

        Raises:
            UnknownName: There is no such workflow.
            InvalidInput: The payload is not JSON data.
        """
        self._workflow(workflow)
        run = f"{parent.run}{CHILD}{name}"
        child = self._new(History(run, workflow, payload, name, self.clock(), parent.run))
        child.parent = (parent, name)
        if parent.origin and name not in parent.without:
            child.origin = f"{parent.origin}{CHILD}{name}"
            old = self._runs.get(child.origin)
            child.past = old.log.history if old is not None else None
        elif self.journal is not None:
            self.journal.begin(child.log.history)
        self._launch(child)
        return child

    def stop_run(self, run: LiveRun, reason: str) -> None:
        """Ask a run to stop; throw out its workflow when it goes on."""
        task = run.task
        if task is None or run.closing:
            return
        if run.reason is None:
            run.reason = reason
            run.timer = self.loop.call_later(GRACE_S, self._throw_out, run)
        task.cancel()
        if is_unborn(task):
            self._bury(run)

    def interrupted(self) -> bool:
        """Whether a `KeyboardInterrupt` seen now is a person at the terminal, and not a step that raised it.

        `asyncio.run` turns the first Ctrl-C into a cancellation of the main task, and raises only at the second.
        """
        if threading.current_thread() is not threading.main_thread():
            return False
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            return True
        return self._opener is not None and (self._opener.done() or self._opener.cancelling() > 0)

    # Within

    def _workflow(self, name: str) -> Workflow:
        if self._loop is None:
            raise _closed()
        if (found := self._workflows.get(name)) is None:
            known = tuple(self._workflows)
            raise UnknownName(
                f"No workflow is called {name[:80]!r}.", hint=f"There are: {', '.join(known)}.", suggestions=known
            )
        return found

    def _new(self, history: History) -> LiveRun:
        return LiveRun(self, history)

    async def _is_first(self, history: History) -> bool:
        """Whether there is no run of that id in the journal; then it is there now."""
        if self.journal is None or self.journal.failure is not None:
            return True
        try:
            return await self._ask_journal(lambda journal: journal.begin_once(history))
        except InvalidInput:
            raise
        except RetinueError:  # no history, but a run all the same; the journal tells why as soon as it gives up
            self.journal.begin(history)
            return True

    async def _take_over(self, run: str) -> None:
        if self.journal is None or self.journal.failure is not None:
            return
        try:
            await self._ask_journal(lambda journal: journal.take_over(run, self.clock()))
        except (InvalidInput, ParseError):
            raise
        except RetinueError:  # as above
            return

    def _launch(self, run: LiveRun, message: str = "") -> None:
        self._runs[run.run] = run
        if not run.origin:
            run.log.record(Started(instruction=run.log.history.label))
        if message:
            run.log.record(Message(message))
        if self.journal is not None and self.journal.failure is not None and run.parent is None:
            run.log.record(Message(_unrecorded(self.journal.failure), "warning"))
        run.task = self.loop.create_task(self._drive(run))

    async def _drive(self, run: LiveRun) -> None:
        try:
            if run.origin and run.parent:
                await self._recall(run)
            history = run.log.history
            result = cast("object", await self._workflows[history.workflow](run, history.payload))
            if not isinstance(result, Result):
                kind = type(result).__name__
                result = failed(run.run, history.workflow, InternalError(f"The workflow gave a `{kind}`."))
        except asyncio.CancelledError:
            result = canceled(run.run, run.log.history.workflow, run.reason or "The run was stopped.")
        except BaseException as error:
            if run.closing or (isinstance(error, GeneratorExit) and not self.loop.is_running()):
                raise  # thrown out, or the loop is gone
            if isinstance(error, KeyboardInterrupt) and self.interrupted():
                raise
            result = failed(run.run, run.log.history.workflow, error)
        run.closing = True
        await run.wind_up()
        self._end(run, result)

    async def _recall(self, child: LiveRun) -> None:
        """Let a child run go on where it was when its parent was interrupted or copied."""
        past = child.past
        if past is None and self.journal is not None:
            try:
                past = await self._ask_journal(lambda journal: journal.history(child.origin))
            except UnknownName:  # it had not been started yet
                past = None
        if past is not None and child.origin == child.run:
            child.adopt(past)
            await self._take_over(child.run)
            return
        own = child.log.history
        if past is not None:
            own = past.copied(child.run, self.clock(), parent=own.parent)
            child.adopt(own)
        if self.journal is not None:
            self.journal.begin(own)
        if past is None:
            child.log.record(Started(instruction=own.label))

    async def _find_history(self, run: str) -> History:
        live = self._runs.get(run)
        if live is not None:
            return live.log.history
        if self.journal is None:
            raise unknown_run(run, list(self._runs))
        return await self._ask_journal(lambda journal: journal.history(run))

    def _end(self, run: LiveRun, result: Result) -> None:
        if run.reason is not None and result.outcome != "canceled":
            result = as_canceled(result, run.reason)
        run.end(result)
        if run.parent is not None:
            parent, name = run.parent
            run.parent = None
            parent.deliver(name, result)
        self._ended.append(run.run)
        while len(self._ended) > self._keep:
            oldest = self._ended.popleft()
            if (kept := self._runs.get(oldest)) is not None and kept.result is not None:
                del self._runs[oldest]

    def _bury(self, run: LiveRun) -> None:
        """End a run whose task can no longer do it."""
        if run.result is None and (run.task is None or run.task.done() or is_unborn(run.task)):
            run.closing = True
            run.abandon()
            self._end(run, canceled(run.run, run.log.history.workflow, run.reason or "The run was stopped."))

    def _throw_out(self, run: LiveRun) -> None:
        if run.closing or run.task is None:
            return
        run.log.record(Message(f"The workflow went on for {GRACE_S:g} s after it was stopped.", "warning"))
        run.closing = True
        throw_out(run.task)
        run.abandon()
        self._end(run, canceled(run.run, run.log.history.workflow, run.reason or ""))

    async def _page(self, run: str, after: int) -> Sequence[Event]:
        return await self._ask_journal(lambda journal: journal.events(run, after=after))

    def _restore(self, run: str, old: LiveRun | None) -> None:
        if old is None:
            del self._runs[run]
        else:
            self._runs[run] = old

    async def _ask_journal(self, question: "Callable[[Journal], T]") -> T:
        if self.journal is None:
            raise Unavailable("This engine keeps no history.", hint="Give it a journal.")
        return await in_thread(question, self.journal)

    def _not_recorded(self, failure: RetinueError) -> None:
        """Tell every run that its history is no longer written. Called from the journal's thread."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        loop.call_soon_threadsafe(self._tell_all, Message(_unrecorded(failure), "warning"))

    def _tell_all(self, message: Message) -> None:
        for run in tuple(self._runs.values()):
            if run.parent is None:
                run.log.record(message)


def _closed() -> Unavailable:
    return Unavailable("The engine is not open.", hint="Use it inside `async with`.")


def _elsewhere(run: str) -> Unavailable:
    return Unavailable(f"Another process works on run `{run}`.", hint="Ask that process, or end it.")


def _results(count: int) -> str:
    return "1 result is" if count == 1 else f"{count} results are"


def _unrecorded(failure: RetinueError) -> str:
    return f"History is not recorded: {failure.message} {failure.hint}".strip()
