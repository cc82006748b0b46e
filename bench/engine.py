"""What the in-process engine costs by itself: workflows whose steps do nothing, so that only the engine is measured."""

import asyncio
import gc
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.table import Row, median_of
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal

DONE = Result(task_id="bench", agent="bench", outcome="success")
RUNS = 1_000


async def nothing() -> Result:
    return DONE


async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
    """Start all steps at once and wait for all of them."""
    count: int = payload["steps"]
    names = [f"s{number}" for number in range(count)]
    scope.reserve(names)
    for name in names:
        scope.step(name, nothing)
    while count:
        count -= len(await scope.completed())
    return DONE


def one_run(steps: int, *, times: int, journal: Journal | None = None) -> float:
    """Microseconds for one run after the other."""

    async def work(engine: InProcessEngine) -> None:
        for _ in range(times):
            await engine.result(await engine.start("flow", {"steps": steps}))

    return median_of(5, lambda: asyncio.run(_timed(work, journal))) / times * 1e6


def runs_a_second(journal: Journal | None = None) -> float:
    """Runs of three steps, a thousand at once."""

    async def work(engine: InProcessEngine) -> None:
        runs = [await engine.start("flow", {"steps": 3}) for _ in range(RUNS)]
        await asyncio.gather(*(engine.result(run) for run in runs))

    return RUNS / median_of(5, lambda: asyncio.run(_timed(work, journal)))


async def _timed(work: Callable[[InProcessEngine], Awaitable[None]], journal: Journal | None) -> float:
    async with InProcessEngine({"flow": flow}, journal=journal) as engine:
        gc.collect()
        began = time.perf_counter()
        await work(engine)
        return time.perf_counter() - began


def traced_kb() -> float:
    """Memory of one run at the fullest moment of a thousand at once, events and results included."""

    async def work(engine: InProcessEngine) -> None:
        await engine.result(await engine.start("flow", {"steps": 3}))
        tracemalloc.start()
        runs = [await engine.start("flow", {"steps": 3}) for _ in range(RUNS)]
        await asyncio.gather(*(engine.result(run) for run in runs))

    asyncio.run(_timed(work, None))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / RUNS / 1024


def peak_mb_of(work: str) -> float:
    """Peak memory of a fresh process that does `work` with this module as `b`."""
    code = f"import bench.engine as b, bench.table as t; {work}; print(t.peak_mb())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure() -> list[Row]:
    """All of it."""
    rows = [
        Row("engine: one run of no steps", one_run(0, times=500), "µs", 40),
        Row("engine: one run of 3 steps", one_run(3, times=500), "µs", 200),
        Row("engine: one run of 50 steps", one_run(50, times=50) / 1e3, "ms", 5),
        Row("engine: one run of 1,000 steps", one_run(1_000, times=5) / 1e3, "ms", 100),
        Row("engine: 1,000 runs of 3 steps at once", runs_a_second(), "runs/s", 2_000, at_least=True),
    ]
    with tempfile.TemporaryDirectory() as place, Journal(Path(place) / "runs.sqlite3") as journal:
        rows += [
            Row("engine with journal: one run of 3 steps", one_run(3, times=500, journal=journal), "µs"),
            Row("engine with journal: 1,000 runs at once", runs_a_second(journal), "runs/s", 2_000, at_least=True),
        ]
    rows += [
        Row("engine: peak memory of 1,000 runs at once", peak_mb_of("b.runs_a_second()"), "MB", 80, note="process"),
        Row("engine: one of 1,000 running runs of 3 steps", traced_kb(), "kB"),
    ]
    return rows
