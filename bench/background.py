"""Real processes of `retinue worker` over one PostgreSQL database, for `durable`."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.orchestration import three_way
from retinue.agents.registry import Registry
from retinue.agents.trust import TrustStore
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN, RunRequest

__all__ = ["Site"]

_AGENTS: Final = '''"""Agents of the workers that are measured."""

import asyncio

import retinue


@retinue.agent
async def square(number: int) -> dict[str, int]:
    """Squares a number, at once. Use when a square is wanted. Returns the square."""
    return {"value": number * number}


@retinue.agent
async def join(number: int) -> dict[str, int]:
    """Says that all is there. Use at the end. Returns the number."""
    return {"total": number}


@retinue.agent
async def sleeper(number: int) -> dict[str, int]:
    """Sleeps so many seconds. Use when nothing is to be done. Returns the number."""
    await asyncio.sleep(number)
    return {"slept": number}
'''
_LIMIT_S: Final = 120
_PAUSE_S: Final = 0.02
_AT_WORK: Final = "SELECT owner FROM runs JOIN events USING (run) WHERE status = 'working' AND node = 'n1'"
_RELEASE: Final = (
    "WITH held AS (SELECT run FROM runs WHERE status = 'input_required' ORDER BY run FOR UPDATE)"
    " UPDATE runs SET status = 'queued' FROM held WHERE runs.run = held.run"
)
_ENDS: Final = "SELECT at_ns FROM events WHERE kind = 'finished' AND node = '' AND at_ns > %s ORDER BY at_ns"


def _one_step(agent: str, **parameters: int) -> JsonMapping:
    """What `run_plan` is started with for a single call."""
    plan = Plan(nodes=(Delegation(id="n1", agent=agent, skill=agent, parameters=parameters),))
    return RunRequest(plan=plan, answer="collected").to_json()


class Site:
    """A trusted folder with agents, and the runs that are queued for it.

    Args:
        folder: Made for it.
        database: Whose tables are nobody else's.
        url: Of that database.
        broker: Of the broker that shares the runs out; without one the workers look into the database.
    """

    def __init__(self, folder: Path, database: "psycopg.Connection[Any]", url: str, broker: str = "") -> None:
        self._folder, self._database, self._url = folder / "site", database, url
        self._broker = ["--broker", broker] if broker else []
        file = self._folder / ".retinue" / "agents" / "site.py"
        file.parent.mkdir(parents=True)
        file.write_text(_AGENTS, encoding="utf-8")
        self._state = folder / "state"
        TrustStore(self._state).trust(self._folder)
        self._log = folder / "workers.log"

    def rate(self, workers: int, runs: int) -> float:
        """Three-way runs a second of so many workers, from the end of the first tenth to that of the last but one."""
        self._queue(three_way(), runs)
        with ExitStack() as stack:
            for _ in range(workers):
                stack.enter_context(self._worker())
            ends = self._release(runs)
        first, last = runs // 10, runs * 9 // 10
        return (last - first) / (ends[last] - ends[first]) * 1e9

    def waiting(self, runs: int, seconds: int) -> tuple[float, float]:
        """Seconds until so many runs have waited for their agent in one worker, and kilobytes of it for each."""
        with self._worker(at_once=runs) as process:
            self._queue(_one_step("sleeper", number=0), 1)
            self._release(1)
            before_kb = most_kb = _resident_kb(process.pid)
            self._queue(_one_step("sleeper", number=seconds), runs)
            begun = time.perf_counter()

            def look() -> None:
                nonlocal most_kb
                most_kb = max(most_kb, _resident_kb(process.pid))

            self._release(runs, look)
            return time.perf_counter() - begun, (most_kb - before_kb) / runs

    def recovery_s(self, number: signal.Signals) -> float:
        """Seconds from this signal to a worker, which ends or stops it, until the other one goes on with its run."""
        self._queue(_one_step("sleeper", number=2), 1)
        with self._worker() as first, self._worker() as second:
            self._release(0)
            while not (owners := self._rows(_AT_WORK)):
                time.sleep(_PAUSE_S)
            killed = next(each for each in (first, second) if owners[0][0].startswith(f"{each.pid}-"))
            killed_ns = time.time_ns()
            killed.send_signal(number)
            self._wait(lambda: None)
        return (self._rows("SELECT min(at_ns) FROM events WHERE at_ns > %s", killed_ns)[0][0] - killed_ns) / 1e9

    def _queue(self, payload: JsonMapping, runs: int) -> None:
        """Queue so many runs, and hold them back from the workers."""

        async def start() -> None:
            place = str(self._folder)
            async with InProcessEngine(workflows(Registry()), journal=journal, place=place, queues=True) as engine:
                for _ in range(runs):
                    await engine.start(RUN_PLAN, payload)

        with Journal(f"{self._url}%20-csynchronous_commit%3Doff") as journal:
            asyncio.run(start())
        self._database.execute("UPDATE runs SET status = 'input_required' WHERE status = 'queued'")

    def _release(self, runs: int, look: Callable[[], None] = lambda: None) -> Sequence[int]:
        """Let the workers have the runs; with `runs`, when each of them has ended."""
        released_ns = time.time_ns()
        self._database.execute(_RELEASE)  # locked in the order in which the workers lock
        self._database.execute("NOTIFY retinue")
        if not runs:
            return ()
        self._wait(look)
        ends = [at_ns for (at_ns,) in self._rows(_ENDS, released_ns)]
        if len(ends) != runs:
            raise RuntimeError(f"{len(ends)} of {runs} runs have ended:\n{self._log.read_text()[-2000:]}")
        return ends

    def _wait(self, look: Callable[[], None]) -> None:
        end_s = time.monotonic() + _LIMIT_S
        while self._rows("SELECT run FROM runs WHERE status <> 'ended' LIMIT 1"):
            if time.monotonic() > end_s:
                raise TimeoutError(self._log.read_text(encoding="utf-8")[-2000:])
            look()
            time.sleep(_PAUSE_S)

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._database.execute(query.encode(), values).fetchall()

    @contextmanager
    def _worker(self, *, at_once: int = 4) -> Generator["subprocess.Popen[bytes]"]:
        """A worker that is ready."""
        options = ["--workspace", self._folder, "--store", self._url, "--at-once", str(at_once), *self._broker]
        command = [sys.executable, "-m", "retinue", "worker", *options]
        with self._log.open("wb") as log, self._log.open("rb") as read:
            process = subprocess.Popen(
                command, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, "RETINUE_STATE_DIR": str(self._state)}
            )
            try:
                while not read.read():
                    if process.poll() is not None:
                        raise RuntimeError(self._log.read_text(encoding="utf-8"))
                    time.sleep(_PAUSE_S)
                yield process
            finally:
                process.kill()
                process.wait()


def _resident_kb(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0])
