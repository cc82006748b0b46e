"""`retinue worker`: takes runs from the history's queue and runs them, each as the command line saw it that left it."""

import asyncio
import contextlib
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from retinue.agents import definition_folders
from retinue.agents.trust import TrustStore
from retinue.cli import user_paths
from retinue.cli.fault_log import fault_log
from retinue.cli.output import echo_err, plural, safe
from retinue.cli.recorded_run import open_journal, plan_in
from retinue.cli.runs import open_again
from retinue.cli.session import Invocation, idle_engine, invocation_in, open_engine
from retinue.cli.settings import find_root, settings_of
from retinue.engine.base import Engine
from retinue.engine.blocking import in_thread
from retinue.engine.dispatch import Dispatch
from retinue.engine.journal import ANSWER_S, Journal
from retinue.engine.store import RunTakenOver, StoreLost
from retinue.errors import InvalidInput, NotInstalled, ParseError, RetinueError, Unavailable, UnknownName
from retinue.orchestration.fault_journal import log_faults
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.present.numbers import format_duration

_POLL_S: Final = 1.0
"""How often the queue is looked at when nothing tells of a change."""
_PAUSE_S: Final = 0.05
_SEND_AGAIN_NS: Final = 5_000_000_000
"""When no message waits, one that was sent so long ago and still is not begun was lost."""
_MOST_DEATHS: Final = 5
_HEAD: Final = 8
"""From how many runs in the queue, for each that there is room for, a worker takes its next."""
_MOST_IDLE: Final = 8
"""Of so many folders, with their options, a worker keeps the agents though no run has them."""


def work(
    *,
    workspaces: tuple[Path, ...],
    at_once: int,
    per_workspace: int | None,
    grace: float,
    burst: bool,
    broker: str | None,
    shared_workspace: bool,
) -> None:
    """Take detached runs from the queue and run them, until it is stopped."""
    places = tuple(dict.fromkeys(str(find_root(folder)) for folder in workspaces or (None,)))
    settings = settings_of(None)
    url = settings.get("run.broker", broker)
    with open_journal() as journal, fault_log(settings):
        worker = _QueueWorker(journal, places, at_once, per_workspace or at_once, shared=shared_workspace)
        asyncio.run(worker.work(url, grace, burst=burst))


@dataclass(slots=True)
class _Opened:
    """The agents of a folder, as a command with these options sees them, and the runs that have them."""

    orchestrator: Orchestrator
    stack: contextlib.AsyncExitStack
    runs: set[str] = field(default_factory=set)


class _QueueWorker:
    """Takes runs of `places`: from a broker's messages, or without one from the journal itself."""

    def __init__(
        self, journal: Journal, places: tuple[str, ...], at_once: int, per_place: int, *, shared: bool
    ) -> None:
        self._journal, self._places, self._shared = journal, places, shared
        self._at_once, self._per_place, self._working = at_once, per_place, Counter[str]()
        self._dispatch: Dispatch | None = None
        self._trouble, self._asked_s = "", 0.0
        self._stack = contextlib.AsyncExitStack()
        self._opening = asyncio.Lock()
        self._opened: dict[tuple[str, str, object], _Opened] = {}
        self._fingerprints: dict[str, tuple[float, object]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unreadable: set[str] = set()
        self._failure: RetinueError | None = None
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()

    async def work(self, broker: str, grace_s: float, *, burst: bool) -> None:
        self._dispatch = self._dispatch_at(broker) if broker else None
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        self._journal.watch(wake)
        try:
            if self._dispatch is not None:
                await self._dispatch.open(self._job)
            folders = ", ".join(safe(place) for place in self._places)
            echo_err(f"Taking runs of {folders}, {self._at_once} at once. Stop with Ctrl-C.")
            async with self._stack:
                while not self._stop.is_set() and self._journal.failure is None:
                    self._wake.clear()
                    is_something_there = True
                    try:
                        if self._dispatch is None:
                            is_something_there = await self._take()
                            self._report("")
                        else:
                            await self._send(self._dispatch)
                            is_something_there = burst and await self._is_something_to_do()
                    except StoreLost as error:  # runs wait for it, and so does the queue
                        self._report(error.message)
                    if burst and not is_something_there and not self._tasks:
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
            if self._dispatch is not None:
                await self._dispatch.close()

    def _dispatch_at(self, url: str) -> Dispatch:
        try:
            from retinue.engine.rabbitmq import RabbitDispatch  # optional
        except ImportError as error:
            raise NotInstalled(
                "The package `taskiq-aio-pika` is not installed, and a broker is used through it.",
                hint="install `retinue[workers]`",
            ) from error
        host = "" if self._shared else self._journal.host
        return RabbitDispatch(url, self._places, host=host, at_once=self._at_once, per_place=self._per_place)

    def _on_signal(self) -> None:
        self._stop.set()
        self._wake.set()

    async def _take(self) -> bool:
        """Begin what there is to do and room for; says whether there was anything."""
        taken_any = False
        for place in random.sample(self._places, len(self._places)):
            room = min(self._at_once - len(self._tasks), self._per_place - self._working[place])
            if room < 1 or self._stop.is_set():
                continue
            runs = await self._to_do((place,), _HEAD * room + self._working[place] + len(self._unreadable))
            runs = [run for run in runs if run not in self._tasks and run not in self._unreadable]
            for run in random.sample(runs, min(room, len(runs))):  # so that several workers seldom want the same one
                taken_any = True
                self._begin(run, place)
        return taken_any

    async def _send(self, dispatch: Dispatch) -> None:
        """Tell the broker of what there is to do, at most twenty times a second."""
        journal, trouble = self._journal, ""
        is_due = time.monotonic() - self._asked_s > _POLL_S
        try:
            for place in self._places:
                again_ns = _SEND_AGAIN_NS if is_due and await dispatch.is_idle(place) else None
                send = partial(journal.to_send, place, again_after_ns=again_ns, on_any_host=self._shared)
                while runs := await in_thread(send):
                    await asyncio.gather(*(dispatch.send(run, place) for run in runs))
            await asyncio.sleep(_PAUSE_S)
        except StoreLost:
            raise
        except Unavailable as error:  # what was not sent is sent later
            trouble = f"{error.message} What runs goes on; no run is begun before it is back."
        if is_due or trouble:
            self._asked_s = time.monotonic()
            self._report(trouble)

    def _report(self, trouble: str) -> None:
        """Say what keeps runs from being begun, once, and when nothing does any more."""
        if trouble != self._trouble:
            echo_err(trouble or "It is back.")
        self._trouble = trouble

    async def _is_something_to_do(self) -> bool:
        count = len(self._unreadable)
        return len(await self._to_do(self._places, count + 1)) > count

    async def _to_do(self, places: tuple[str, ...], limit: int) -> Sequence[str]:
        return await in_thread(lambda: self._journal.to_do(places, limit, on_any_host=self._shared))

    async def _job(self, run: str) -> bool:
        """Go on with `run`, since a message says so."""
        if self._stop.is_set():
            return False
        if run not in self._tasks and run not in self._unreadable:
            await self._begin(run, "")
        return True

    def _begin(self, run: str, place: str) -> asyncio.Task[None]:
        task = self._tasks[run] = asyncio.create_task(self._drive(run))
        self._working[place] += 1
        task.add_done_callback(lambda _: self._on_done(run, place))
        return task

    def _on_done(self, run: str, place: str) -> None:
        del self._tasks[run]
        for opened in self._opened.values():
            opened.runs.discard(run)
        self._working[place] -= 1
        self._wake.set()

    async def _ready(self, run: str) -> Orchestrator:
        """What `run` is to run with.

        Raises:
            RetinueError: It cannot be run.
        """
        taken_s = time.monotonic()
        history = await in_thread(self._journal.history, run)
        if history.attempts >= _MOST_DEATHS:
            raise Unavailable(
                f"{history.attempts} workers have died while they worked on this run.",
                hint=f"See what it did last: retinue runs show {run} --events",
            )
        plan = plan_in(history.payload, run)
        orchestrator = await self._open(run, history.place, invocation_in(plan) or Invocation(), taken_s)
        # One that is new has no child runs.
        changed = await orchestrator.changed(run) if history.events else orchestrator.changed_since(history.payload)
        if changed:
            raise Unavailable(
                f"{', '.join(f'`{name}`' for name in changed)} changed, or went, since this run began.",
                hint=f"Continue with what is there now: retinue runs resume {run} --accept-changes",
            )
        return orchestrator

    async def _open(self, run: str, place: str, options: Invocation, taken_s: float) -> Orchestrator:
        """What `run` is to run with: the agents that its folder has, at `taken_s` or later."""
        async with self._opening:
            looked_s, fingerprint = self._fingerprints.get(place, (0.0, None))
            if looked_s < taken_s:  # once for all that are taken together
                looked_s = time.monotonic()
                others = (user_paths.user_config_file(), TrustStore(user_paths.state_dir()).path)
                fingerprint = await in_thread(definition_folders.fingerprint, Path(place), *others)
                self._fingerprints[place] = (looked_s, fingerprint)
            key = (place, options.model_dump_json(exclude={"verb", "workspace"}), fingerprint)
            opened = self._opened.pop(key, None)
            idle = [old for old, each in self._opened.items() if not each.runs]
            for old in {*idle[:-_MOST_IDLE], *(old for old in idle if old[0] == place and old[2] != fingerprint)}:
                await self._opened.pop(old).stack.aclose()
            if opened is None:
                project = open_again(options, Path(place), quiet=True, as_json=False)
                engine = open_engine(
                    project,
                    project.workspace,
                    journal=self._journal,
                    model=project.default_tier("medium"),
                    place=place,
                    waits_for_answers=True,
                    parks=True,
                    on_close="hand_over",
                )
                stack = await self._stack.enter_async_context(contextlib.AsyncExitStack())
                opened = _Opened(await stack.enter_async_context(engine), stack)
            opened.runs.add(run)
            self._opened[key] = opened  # the one used last is the last
        return opened.orchestrator

    async def _give_up(self, run: str, error: RetinueError) -> None:
        """End a run that cannot be run; one that cannot even be read is left alone."""
        try:
            async with idle_engine(self._journal) as engine:
                await engine.fail(run, error)
        except InvalidInput:  # another worker has it
            return
        except RetinueError as damage:
            error = damage
            self._unreadable.add(run)
        echo_err(f"{safe(run)}  failed: {safe(error.message)}")

    async def _drive(self, run: str) -> None:
        try:
            engine = (await self._ready(run)).engine
        except StoreLost:  # it is still in the queue
            return
        except RetinueError as error:
            await self._give_up(run, error)
            return
        began_s, since_ns = time.monotonic(), time.time_ns()
        try:
            await self._resume(engine, run)
            echo_err(f"{safe(run)}  {safe((await engine.get(run)).label)}")
            log_task = asyncio.create_task(log_faults(engine, run, command="run", since_ns=since_ns))
            try:
                result = await engine.wait_here(run)
                if result is not None:
                    await log_task
            finally:
                log_task.cancel()
        except InvalidInput as error:
            if self._dispatch is not None:  # otherwise another worker was quicker, which is nothing to say
                echo_err(f"{safe(run)}  {safe(error.message)}")
            return
        except RetinueError as error:
            echo_err(f"{safe(run)}  {safe(error.message)}")
            if not isinstance(error, RunTakenOver | StoreLost | ParseError | UnknownName):  # nothing can be recorded
                self._failure = error
                self._on_signal()
            return
        state = "waits for an answer" if result is None else str(result.outcome or result.lifecycle)
        echo_err(f"{safe(run)}  {state}, {format_duration(round((time.monotonic() - began_s) * 1e9))}")

    async def _resume(self, engine: Engine, run: str) -> None:
        """Go on with `run`; where a broker gave it away from a process that still has it, once that one is silent.

        Raises:
            InvalidInput: Another process works on it, or it has ended.
        """
        try:
            await engine.resume(run, unless_ended=True)
        except InvalidInput:
            if self._dispatch is None or (await engine.get(run)).ended_ns is not None:
                raise
            await in_thread(self._journal.call_owner, run)
            await asyncio.sleep(ANSWER_S)
            await engine.resume(run, unless_ended=True)
