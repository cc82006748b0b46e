"""`retinue worker`: takes runs from the history's queue and runs them, each as the command line saw it that left it."""

import asyncio
import contextlib
import signal
import time
from pathlib import Path
from typing import Final

from retinue.cli.fault_log import fault_log
from retinue.cli.output import echo_err, plural, safe
from retinue.cli.recorded_run import open_journal, plan_in
from retinue.cli.runs import open_again
from retinue.cli.session import Invocation, invocation_in, open_engine
from retinue.cli.settings import find_root, settings_of
from retinue.engine.blocking import in_thread
from retinue.engine.ids import CHILD
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.journal_reader import ToDo
from retinue.engine.store import RunTakenOver, StoreLost
from retinue.errors import InvalidInput, ParseError, RetinueError, Unavailable, UnknownName
from retinue.orchestration.fault_journal import log_faults
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.present.numbers import format_duration

_POLL_S: Final = 1.0
"""How often the queue is looked at when nothing tells of a change."""
_MOST_DEATHS: Final = 5


def work(*, workspaces: tuple[Path, ...], at_once: int, grace: float, burst: bool) -> None:
    """Take detached runs from the queue and run them, until it is stopped."""
    places = tuple(dict.fromkeys(str(find_root(folder)) for folder in workspaces or (None,)))
    with open_journal() as journal, fault_log(settings_of(None)):
        asyncio.run(_QueueWorker(journal, places, at_once).work(grace, burst=burst))


class _QueueWorker:
    def __init__(self, journal: Journal, places: tuple[str, ...], at_once: int) -> None:
        self._journal, self._places, self._at_once = journal, places, at_once
        self._stack = contextlib.AsyncExitStack()
        self._orchestrators: dict[Invocation, Orchestrator] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unreadable: set[str] = set()
        self._failure: RetinueError | None = None
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()

    async def work(self, grace_s: float, *, burst: bool) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        folders = ", ".join(safe(place) for place in self._places)
        echo_err(f"Taking runs of {folders}, {self._at_once} at once. Stop with Ctrl-C.")
        self._journal.watch(wake)
        try:
            async with self._stack:
                while not self._stop.is_set() and self._journal.failure is None:
                    self._wake.clear()
                    if not await self._take() and burst and not self._tasks:
                        break
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), _POLL_S)
                if failure := self._failure or self._journal.failure:
                    raise failure
                if self._tasks:
                    echo_err(f"Waiting up to {grace_s:g} s for {plural(len(self._tasks), 'run')}.")
                    await asyncio.wait(self._tasks.values(), timeout=grace_s)
                if rest := len(self._tasks):
                    echo_err(f"{plural(rest, 'run')} went back to the queue.")
        finally:
            self._journal.unwatch(wake)
            for task in self._tasks.values():
                task.cancel()

    def _on_signal(self) -> None:
        self._stop.set()
        self._wake.set()

    async def _take(self) -> bool:
        """Begin what there is to do and room for; says whether there was anything."""
        if len(self._tasks) == self._at_once:
            return False
        taken_any, limit = False, self._at_once + len(self._unreadable)
        for run in await in_thread(self._journal.to_do, self._places, limit):
            if len(self._tasks) == self._at_once or self._stop.is_set():
                break
            if run.run in self._tasks or run.run in self._unreadable:
                continue
            taken_any = True
            if (orchestrator := await self._ready(run)) is not None:
                task = asyncio.create_task(self._drive(run.run, orchestrator))
                self._tasks[run.run] = task
                task.add_done_callback(lambda _, run=run.run: self._on_done(run))
        return taken_any

    def _on_done(self, run: str) -> None:
        del self._tasks[run]
        self._wake.set()

    async def _ready(self, run: ToDo) -> Orchestrator | None:
        """What `run` is to run with; None when it cannot be run, and has ended."""
        try:
            if run.attempts >= _MOST_DEATHS:
                raise Unavailable(
                    f"{run.attempts} workers have died while they worked on this run.",
                    hint=f"See what it did last: retinue runs show {run.run} --events",
                )
            journal = self._journal
            payload = (await in_thread(journal.history, run.run)).payload
            plan = plan_in(payload, run.run)
            options = (invocation_in(plan) or Invocation()).model_copy(update={"verb": "", "workspace": run.place})
            key = Invocation.model_validate(options.model_dump())
            if (orchestrator := self._orchestrators.get(key)) is None:
                project = open_again(options, Path(run.place), quiet=True, as_json=False)
                opened = open_engine(
                    project,
                    project.workspace,
                    journal=self._journal,
                    model=project.default_tier("medium"),
                    place=run.place,
                    waits_for_answers=True,
                    parks=True,
                    on_close="hand_over",
                )
                orchestrator = self._orchestrators[key] = await self._stack.enter_async_context(opened)
            children = await in_thread(journal.find, f"{run.run}{CHILD}", limit=-1)
            payloads = [payload, *[(await in_thread(journal.history, child)).payload for child in children]]
            if changed := dict.fromkeys(name for each in payloads for name in orchestrator.changed(each)):
                raise Unavailable(
                    f"{', '.join(f'`{name}`' for name in changed)} changed, or went, since this run began.",
                    hint=f"Continue with what is there now: retinue runs resume {run.run} --accept-changes",
                )
        except RetinueError as error:
            await self._give_up(run.run, error)
            return None
        return orchestrator

    async def _give_up(self, run: str, error: RetinueError) -> None:
        """End a run that cannot be run; one that cannot even be read is left alone."""
        try:
            async with InProcessEngine({}, journal=self._journal) as engine:
                await engine.fail(run, error)
        except InvalidInput:  # another worker has it
            return
        except RetinueError as damage:
            error = damage
            self._unreadable.add(run)
        echo_err(f"{safe(run)}  failed: {safe(error.message)}")

    async def _drive(self, run: str, orchestrator: Orchestrator) -> None:
        engine = orchestrator.engine
        if not isinstance(engine, InProcessEngine):  # `open_engine` opens no other
            return
        began_s, since_ns = time.monotonic(), time.time_ns()
        try:
            await engine.resume(run)
            echo_err(f"{safe(run)}  {safe((await engine.get(run)).label)}")
            log_task = asyncio.create_task(log_faults(engine, run, command="run", since_ns=since_ns))
            try:
                result = await engine.wait_here(run)
                if result is not None:
                    await log_task
            finally:
                log_task.cancel()
        except InvalidInput:  # another worker was quicker
            return
        except RetinueError as error:
            echo_err(f"{safe(run)}  {safe(error.message)}")
            if not isinstance(error, RunTakenOver | StoreLost | ParseError | UnknownName):  # nothing can be recorded
                self._failure = error
                self._on_signal()
            return
        state = "waits for an answer" if result is None else str(result.outcome or result.lifecycle)
        echo_err(f"{safe(run)}  {state}, {format_duration(round((time.monotonic() - began_s) * 1e9))}")
