"""The engine that runs everything as tasks of this process. With a journal, its history outlives the process.

Quick and without set-up, but not durable: a run whose process died waits, stalled, until somebody resumes it.
"""

import asyncio
import random as chance
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

from retinue.contract.event import Event
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer
from retinue.engine.base import Capabilities, RunRecord, Workflow
from retinue.engine.ids import CHILD, RunIds, check_run_id, unknown_run
from retinue.engine.run import Answerer, LiveRun
from retinue.engine.run_history import RunHistory, canceled_result
from retinue.engine.runs import Runs
from retinue.errors import InvalidInput, Unavailable, UnknownName

if TYPE_CHECKING:
    from retinue.engine.journal import Journal

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
        self._ids = RunIds(clock, random)
        self._clock = clock
        self._changing = asyncio.Lock()
        self._runs = Runs(
            workflows,
            journal=journal,
            answerer=answerer,
            waits_for_answers=waits_for_answers,
            clock=clock,
            chance=random,
            pause=sleep,
            keep=keep,
        )

    async def __aenter__(self) -> Self:
        self._runs.open()
        self._changing = asyncio.Lock()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runs.close()

    @property
    def journal(self) -> "Journal | None":
        """Where history is kept, if it is."""
        return self._runs.journal

    # The verbs of the port

    async def start(self, workflow: str, payload: JsonMapping, *, run: str | None = None, label: str = "") -> str:
        """See `Engine.start`. The payload must not be changed afterwards.

        Raises:
            UnknownName: No workflow is registered under that name.
            InvalidInput: `run` cannot be an id, or the payload is not JSON data.
            Unavailable: The engine is not open.
        """
        self._runs.workflow(workflow)
        if run is None:
            new_run = LiveRun(self._runs, RunHistory(self._ids.new(), workflow, payload, label, self._clock()))
            if self.journal is not None:
                self.journal.begin(new_run.log.history)
            self._runs.launch(new_run)
            return new_run.run
        check_run_id(run)
        async with self._changing:  # so that a second start of the same run finds the first
            if self._runs.get(run) is None:
                named_run = LiveRun(self._runs, RunHistory(run, workflow, payload, label, self._clock()))
                if await self._runs.begin_once(named_run.log.history):
                    self._runs.launch(named_run)
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
            return await live.wait()
        record = await self.get(run)
        while record.ended_ns is None:
            if record.stalled:
                raise Unavailable(f"The process of run `{run}` has ended.", hint="Resume the run.")
            await asyncio.sleep(_POLL_S)
            record = await self.get(run)
        result = await self._runs.ask_journal(lambda journal: journal.result(run))
        if result is None:
            raise unknown_run(run, self._runs.ids())
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
                raise _other_process_error(run)
            pending: tuple[str, ...] = ()
        elif live.take_answer(answer):
            return
        else:
            pending = live.questions
        names = ", ".join(f"`{question}`" for question in pending) or "none"
        raise UnknownName(
            f"No question {answer.question_id!r} of run `{run}` waits for an answer.",
            hint=f"Pending: {names}.",
            suggestions=pending,
        )

    async def cancel(self, run: str, *, reason: str = "") -> None:
        """See `Engine.cancel`. Does not wait for the end; `result` does. An ended run stays as it is.

        Raises:
            UnknownName: There is no such run.
            Unavailable: Another process works on the run.
        """
        if (live := self._runs.get(run)) is not None:
            self._runs.stop_run(live, reason)
            return
        async with self._changing:
            record = await self.get(run)
            if record.ended_ns is not None:
                return
            if not record.stalled:
                raise _other_process_error(run)
            dead = LiveRun(self._runs, await self._find_history(run))
            await self._runs.take_over(run)
            self._runs.end(dead, canceled_result(run, record.workflow, reason))

    async def list(self, *, limit: int = 50) -> Sequence[RunRecord]:
        """See `Engine.list`. Child runs are not listed; `get` finds them as `{run}:{name}`."""
        records = {run.run: run.describe() for run in self._runs if CHILD not in run.run}
        if self.journal is not None:
            journal_records = await self._runs.ask_journal(lambda journal: journal.list(limit + len(records)))
            records = {record.run: record for record in journal_records} | records
        newest = sorted(records.values(), key=lambda record: (record.started_ns, record.run), reverse=True)
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
            raise unknown_run(run, self._runs.ids())
        return await self._runs.ask_journal(lambda journal: journal.get(run))

    async def resume(self, run: str) -> str:
        """See `Engine.resume`. What `History.kept` names is kept, all other steps run again.

        A run that goes on or that ended with success is left as it is.

        Raises:
            UnknownName: There is no such run, or its workflow is not known here.
            InvalidInput: It is a child run, or another process works on it.
            ParseError: Its record cannot be read.
        """
        if CHILD in run:
            parent = run.partition(CHILD)[0]
            raise InvalidInput(f"`{run}` is a child run.", hint=f"Resume the run it belongs to: `{parent}`.")
        async with self._changing:
            record = await self.get(run)
            live = self._runs.get(run)
            if record.outcome == "success" or (live is not None and live.result is None):
                return run
            history = await self._find_history(run)
            self._runs.workflow(history.workflow)
            await self._runs.take_over(run)
            live_run = LiveRun(self._runs, history)
            live_run.origin = run
            result_count = live_run.adopt(history)
            self._runs.launch(live_run, f"Going on: {_count_phrase(result_count)} kept.")
        return run

    async def fork(self, run: str, *, without: Sequence[str] = ()) -> str:
        """See `Engine.fork`.

        Raises:
            UnknownName: There is no such run, or it has finished no such step; or its workflow is not known here.
            ParseError: Its record cannot be read.
        """
        source = await self._find_history(run)
        self._runs.workflow(source.workflow)
        results = source.kept_results()
        if missing := sorted(set(without) - set(results)):
            raise UnknownName(
                f"Run `{run}` has finished nothing called {', '.join(f'`{name}`' for name in missing)}.",
                hint=f"Finished: {', '.join(f'`{name}`' for name in results) or 'nothing'}.",
                suggestions=tuple(results),
            )
        history = source.copy_for(self._ids.new(), self._clock(), parent=None, without=without)
        if self.journal is not None:
            self.journal.begin(history)
        copy = LiveRun(self._runs, history)
        copy.origin = run
        copy.without = tuple(without)
        result_count = copy.adopt(history)
        self._runs.launch(copy, f"A copy of run `{run}`: {_count_phrase(result_count)} kept.")
        return copy.run

    # Within

    async def _find_history(self, run: str) -> RunHistory:
        live = self._runs.get(run)
        if live is not None:
            return live.log.history
        if self.journal is None:
            raise unknown_run(run, self._runs.ids())
        return await self._runs.ask_journal(lambda journal: journal.history(run))

    async def _page(self, run: str, after: int) -> Sequence[Event]:
        return await self._runs.ask_journal(lambda journal: journal.events(run, after=after))


def _other_process_error(run: str) -> Unavailable:
    return Unavailable(f"Run `{run}` belongs to another process.", hint="Ask that process, or end it.")


def _count_phrase(count: int) -> str:
    return "1 result is" if count == 1 else f"{count} results are"
