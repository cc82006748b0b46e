"""The runs of one in-process engine: launched, driven to their end, stopped, thrown out, forgotten.

What a caller may ask for is the business of `inprocess`; what a workflow may do, of `run`.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar, cast

from retinue.contract.event import Message, NodeStarted
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import Workflow
from retinue.engine.blocking import in_thread, retire_idle_threads
from retinue.engine.ids import CHILD
from retinue.engine.run import GRACE_S, Answerer, LiveRun, is_not_started, kill
from retinue.engine.run_history import RunHistory, as_canceled, canceled_result, failure_result
from retinue.errors import InternalError, InvalidInput, ParseError, RetinueError, Unavailable, UnknownName
from retinue.telemetry import run_span

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

T = TypeVar("T")


class Runs:
    """The runs that go on here, and the last of those that ended here. The host of each of them.

    Args:
        keep: How many ended runs are held.
    """

    def __init__(
        self,
        workflows: Mapping[str, Workflow],
        *,
        journal: "Journal | None",
        answerer: Answerer | None,
        waits_for_answers: bool,
        clock: Callable[[], int],
        chance: Callable[[], float],
        pause: Callable[[float], Awaitable[None]],
        keep: int,
    ) -> None:
        self.journal = journal
        self.answerer = answerer
        self.waits_for_answers = waits_for_answers
        self.clock = clock
        self.chance = chance
        self.pause = pause
        self.thread = 0
        self._workflows = dict(workflows)
        self._keep = max(keep, 0)
        self._runs: dict[str, LiveRun] = {}
        self._ended: deque[str] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __iter__(self) -> Iterator[LiveRun]:
        return iter(tuple(self._runs.values()))

    def get(self, run: str) -> LiveRun | None:
        """The run of that id, when it is held here."""
        return self._runs.get(run)

    def ids(self) -> list[str]:
        """The ids of all that are held."""
        return list(self._runs)

    # Opening and closing

    def open(self) -> None:
        """Begin to work in the running loop.

        Raises:
            InternalError: It works in one already.
        """
        if self._loop is not None:
            raise InternalError("The engine is in use already.", hint="Make one engine for each context.")
        self._loop = asyncio.get_running_loop()
        self.thread = threading.get_ident()
        if self.journal is not None:
            self.journal.listeners.append(self._on_journal_failure)

    async def close(self) -> None:
        """Stop what runs, wait for it, and leave nothing behind."""
        try:
            while tasks := [run.task for run in self if run.task is not None]:
                for run in self:
                    self.stop_run(run, "The engine was closed.")
                await asyncio.wait(tasks)
                for run in self:
                    self._finalise(run)
            if self.journal is not None:
                await in_thread(self.journal.flush)
        finally:
            if self.journal is not None:
                self.journal.listeners.remove(self._on_journal_failure)
            retire_idle_threads()
            self._loop = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it works in.

        Raises:
            Unavailable: It is not open.
        """
        if self._loop is None:
            raise _closed_error()
        return self._loop

    def workflow(self, name: str) -> Workflow:
        """The workflow of that name.

        Raises:
            UnknownName: There is none; the known ones are listed.
            Unavailable: The engine is not open.
        """
        if self._loop is None:
            raise _closed_error()
        if (workflow := self._workflows.get(name)) is None:
            names = tuple(self._workflows)
            raise UnknownName(
                f"No workflow is called {name[:80]!r}.", hint=f"Available: {', '.join(names)}.", suggestions=names
            )
        return workflow

    # From start to end

    def launch(self, run: LiveRun, message: str = "") -> None:
        """Start driving `run`; `message` says why it is not a plain new one."""
        self._runs[run.run] = run
        if not run.origin:
            run.log.record(NodeStarted(instruction=run.log.history.label))
        if message:
            run.log.record(Message(message))
        if self.journal is not None and self.journal.failure is not None and run.parent is None:
            run.log.record(Message(_unrecorded_message(self.journal.failure), "warning"))
        run.task = self.loop.create_task(self._drive(run))

    def launch_child(self, parent: LiveRun, name: str, workflow: str, payload: JsonMapping) -> LiveRun:
        """Start a child run.

        Raises:
            UnknownName: There is no such workflow.
            InvalidInput: The payload is not JSON data.
        """
        self.workflow(workflow)
        run = f"{parent.run}{CHILD}{name}"
        child = LiveRun(self, RunHistory(run, workflow, payload, name, self.clock(), parent.run))
        child.parent = (parent, name)
        if parent.origin and name not in parent.without:
            child.origin = f"{parent.origin}{CHILD}{name}"
            old = self._runs.get(child.origin)
            child.past = old.log.history if old is not None else None
        elif self.journal is not None:
            self.journal.begin(child.log.history)
        parent.log.record(NodeStarted(), name)  # again when it goes on, so that whoever follows the parent finds it
        self.launch(child)
        return child

    def stop_run(self, run: LiveRun, reason: str) -> None:
        """Ask a run to stop; throw out its workflow when it goes on."""
        task = run.task
        if task is None or run.closing:
            return
        if run.reason is None:
            run.reason = reason
            run.timer = self.loop.call_later(GRACE_S, self._kill, run)
        task.cancel()
        if is_not_started(task):
            self._finalise(run)

    def end(self, run: LiveRun, result: Result) -> None:
        """Record what a run came to, tell its parent, and forget the oldest."""
        self._runs[run.run] = run
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
            if (oldest_run := self._runs.get(oldest)) is not None and oldest_run.result is not None:
                del self._runs[oldest]

    async def _drive(self, run: LiveRun) -> None:
        with run_span(run.run) as span:
            self.end(run, await self._outcome(run))
            if run.result is not None:
                span.note_result(run.result)

    async def _outcome(self, run: LiveRun) -> Result:
        """Have the workflow run to its end, and stop what it has left running."""
        try:
            if run.origin and run.parent:
                await self._restore(run)
            history = run.log.history
            result = cast("Result | None", await self._workflows[history.workflow](run, history.payload))
            if not isinstance(result, Result):
                kind = type(result).__name__
                result = failure_result(run.run, history.workflow, InternalError(f"The workflow gave a `{kind}`."))
        except asyncio.CancelledError:
            result = canceled_result(run.run, run.log.history.workflow, run.reason or "The run was stopped.")
        except BaseException as error:
            if run.closing or (isinstance(error, GeneratorExit) and not self.loop.is_running()):
                raise  # thrown out, or the loop is gone
            if isinstance(error, KeyboardInterrupt):
                raise  # a person's word, wherever it strikes
            result = failure_result(run.run, run.log.history.workflow, error)
        run.closing = True
        await run.shutdown()
        return result

    async def _restore(self, child: LiveRun) -> None:
        """Let a child run go on where it was when its parent was interrupted or copied."""
        past = child.past
        if past is None and self.journal is not None:
            try:
                past = await self.ask_journal(lambda journal: journal.history(child.origin))
            except UnknownName:  # it had not been started yet
                past = None
        if past is not None and child.origin == child.run:
            child.adopt(past)
            await self.take_over(child.run)
            return
        own = child.log.history
        if past is not None:
            own = past.copy_for(child.run, self.clock(), parent=own.parent)
            child.adopt(own)
        if self.journal is not None:
            self.journal.begin(own)
        if past is None:
            child.log.record(NodeStarted(instruction=own.label))

    def _finalise(self, run: LiveRun) -> None:
        """End a run whose task can no longer do it."""
        if run.result is None and (run.task is None or run.task.done() or is_not_started(run.task)):
            run.closing = True
            run.abandon()
            self.end(run, canceled_result(run.run, run.log.history.workflow, run.reason or "The run was stopped."))

    def _kill(self, run: LiveRun) -> None:
        if run.closing or run.task is None:
            return
        if children := run.children:  # it collects what they finished, and each has a grace of its own
            for child in children:
                self.stop_run(child, run.reason or "")
            run.timer = self.loop.call_later(GRACE_S, self._kill, run)
            return
        run.log.record(Message(f"The workflow went on for {GRACE_S:g} s after it was stopped.", "warning"))
        run.closing = True
        kill(run.task)
        run.abandon()
        self.end(run, canceled_result(run.run, run.log.history.workflow, run.reason or ""))

    # The journal

    async def ask_journal(self, question: "Callable[[Journal], T]") -> T:
        """What the journal says to `question`, without blocking the loop.

        Raises:
            Unavailable: There is no journal.
            RetinueError: It cannot say.
        """
        if self.journal is None:
            raise Unavailable("This engine keeps no history.", hint="Give it a journal.")
        return await in_thread(question, self.journal)

    async def begin_once(self, history: RunHistory) -> bool:
        """Whether there is no run of that id in the journal; then it is there now."""
        if self.journal is None or self.journal.failure is not None:
            return True
        try:
            return await self.ask_journal(lambda journal: journal.begin_once(history))
        except InvalidInput:
            raise
        except RetinueError:  # no history, but a run all the same; the journal tells why as soon as it gives up
            self.journal.begin(history)
            return True

    async def take_over(self, run: str) -> None:
        """Note in the journal that this process goes on with a run.

        Raises:
            InvalidInput: Another process works on it.
            ParseError: Its record cannot be read.
        """
        if self.journal is None or self.journal.failure is not None:
            return
        try:
            await self.ask_journal(lambda journal: journal.take_over(run, self.clock()))
        except (InvalidInput, ParseError):
            raise
        except RetinueError:  # as above
            return

    def _on_journal_failure(self, failure: RetinueError) -> None:
        """Tell every run that its history is no longer written. Called from the journal's thread."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # it is closed: there is no run left to tell
                loop.call_soon_threadsafe(self._broadcast, Message(_unrecorded_message(failure), "warning"))

    def _broadcast(self, message: Message) -> None:
        for run in tuple(self._runs.values()):
            if run.parent is None:
                run.log.record(message)


def _closed_error() -> Unavailable:
    return Unavailable("The engine is not open.", hint="Use it inside `async with`.")


def _unrecorded_message(failure: RetinueError) -> str:
    return f"History is not recorded: {failure.message} {failure.hint}".strip()
