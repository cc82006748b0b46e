"""What a durable history costs: its share of a run, its bytes on disk, and every question to it among 100,000 runs."""

import asyncio
import gc
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.orchestration import join, square, three_way
from bench.peers.environments import DBOS, JOURNALED
from bench.peers.rounds import costs
from bench.table import Row, median_of
from retinue.agents.registry import Registry
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import EVERY_RUN, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN
from retinue.orchestration.statistics import statistics_of

_STORED: Final = 100_000
_LEFT: Final = 100
_WINDOW: Final = 10_000
_RUNS: Final = 300
_CHANGED: Final = {
    "run": "copy",
    "reversed": "backwards",
    "started_ns": "started_ns + shift_ns",
    "at_ns": "at_ns + shift_ns",
}
"""Columns of a copied row that differ from the model's."""
_LARGE: Final = Result(
    task_id="bench", agent="bench", skill="work", outcome="success", content="x" * 1_650, duration_ns=1
)


async def _large() -> Result:
    return _LARGE


async def _large_flow(scope: WorkflowScope, _: JsonMapping) -> Result:
    """Three steps at once, each with a result of 1.9 kB: the bodies of such a run take 7.8 kB."""
    scope.reserve("abc")
    for name in "abc":
        scope.step(name, _large)
    count = 3
    while count:
        count -= len(await scope.completed())
    return _LARGE


async def _run_all(workflow: str, payload: JsonMapping, journal: Journal | None, times: int) -> float:
    """Microseconds of the processor for a run, all threads of the process."""
    known = {**workflows(Registry([square, join])), "large": _large_flow}
    async with InProcessEngine(known, journal=journal) as engine:
        gc.collect()
        begun = time.process_time()
        for _ in range(times):
            await engine.result(await engine.start(workflow, payload))
    return (time.process_time() - begun) / times * 1e6


def _share(folder: Path) -> Iterator[Row]:
    """Recorded and unrecorded runs in turns."""
    bare: list[float] = []
    kept: list[float] = []
    with Journal(folder / "share.sqlite3") as journal:
        for _ in range(6):
            bare.append(asyncio.run(_run_all(RUN_PLAN, three_way(), None, _RUNS)))
            kept.append(asyncio.run(_run_all(RUN_PLAN, three_way(), journal, _RUNS)))
    bare_us, kept_us = statistics.median(bare[1:]), statistics.median(kept[1:])
    yield Row("durable: three-way plan unrecorded, processor", bare_us, "µs")
    yield Row("durable: … recorded", kept_us, "µs")
    yield Row("durable: recorded : unrecorded", kept_us / bare_us, "times", 4)


def _bytes(folder: Path) -> Iterator[Row]:
    """Kilobytes of the file for each run, everything in it."""
    for name, workflow, payload, goal in (
        ("three-way plan", RUN_PLAN, three_way(), None),
        ("three steps with 7.8 kB of bodies", "large", {}, 11),
    ):
        path = folder / f"{workflow}.sqlite3"
        with Journal(path) as journal:
            asyncio.run(_run_all(workflow, payload, journal, 1_000))
        with closing(sqlite3.connect(path)) as connection:
            bodies = connection.execute("SELECT sum(length(body)) FROM events").fetchone()[0]
        note = f"bodies {bodies / 1e6:.2f} kB"
        yield Row(f"durable: {name} on disk", path.stat().st_size / 1e6, "kB", goal, note=note)


def fill(path: Path, count: int) -> None:
    """Copies of one recorded three-way plan, a second apart; the newest lack their last step and their end."""
    with Journal(path) as journal:
        asyncio.run(_run_all(RUN_PLAN, three_way(), journal, 1))
    with closing(sqlite3.connect(path)) as connection, connection:
        (model,) = connection.execute("SELECT run FROM runs").fetchone()
        copies = [(name := f"01{number:018d}", name[::-1], (number - count) * 10**9) for number in range(count)]
        connection.execute("CREATE TEMP TABLE copies (copy, backwards, shift_ns)")
        connection.executemany("INSERT INTO copies VALUES (?, ?, ?)", copies)
        for table in ("runs", "events", "tags", "facts"):
            columns: list[str] = [column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")]
            values = ", ".join(_CHANGED.get(column, column) for column in columns)
            connection.execute(
                f"INSERT INTO {table} SELECT {values} FROM copies CROSS JOIN {table} WHERE run = ?", [model]
            )
            connection.execute(f"DELETE FROM {table} WHERE run = ?", [model])
        left = copies[-_LEFT][0]
        connection.execute("UPDATE runs SET status = 'working', owner = '' WHERE run >= ?", [left])
        connection.execute("DELETE FROM events WHERE run >= ? AND kind = 'finished' AND node IN ('', 'join')", [left])


async def _going_on(journal: Journal) -> tuple[float, float]:
    """Milliseconds until a run is started, and until one that was left is taken up again."""
    started: list[float] = []
    resumed: list[float] = []
    async with InProcessEngine(workflows(Registry([square, join])), journal=journal) as engine:
        left = [record.run for record in journal.list(_LEFT) if record.stalled]
        for run in left[:50]:
            begun = time.perf_counter()
            await engine.resume(run)
            resumed.append(time.perf_counter() - begun)
            await engine.result(run)
            begun = time.perf_counter()
            new = await engine.start(RUN_PLAN, three_way())
            started.append(time.perf_counter() - begun)
            await engine.result(new)
    return statistics.median(started) * 1e3, statistics.median(resumed) * 1e3


def _timed_ms(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1e3


def _among_many(folder: Path) -> Iterator[Row]:
    """Every question to a history of 100,000 runs."""
    path = folder / "many.sqlite3"
    fill(path, _STORED)
    middle = f"01{_STORED // 2:018d}"
    with Journal(path) as journal:
        for name, work in (
            ("list of 20", lambda: journal.list(20)),
            ("get", lambda: journal.get(middle)),
            ("find by start", lambda: journal.find(middle[:19], limit=100)),
            ("find by what all begin with", lambda: journal.find("01", limit=100)),
            ("find by end", lambda: journal.find(middle[-7:], limit=100)),
        ):
            yield Row(f"durable: {_STORED:,} runs, {name}", median_of(50, lambda work=work: _timed_ms(work)), "ms", 5)
        start_ms, resume_ms = asyncio.run(_going_on(journal))
        yield Row(f"durable: {_STORED:,} runs, start", start_ms, "ms", 5, note="synced to the disk")
        yield Row(f"durable: {_STORED:,} runs, resume", resume_ms, "ms", 5, note="synced to the disk")
        for newest, goal in ((_WINDOW, 3), (_STORED, None)):
            taken_s = _timed_ms(lambda n=newest: statistics_of(journal.facts(newest=n), tiers={})) / 1e3
            yield Row(f"durable: {_STORED:,} runs, statistics of {newest:,}", taken_s, "s", goal)
        before = path.stat().st_size
        for pruned in (1_000, 10_000):
            taken_s = _timed_ms(lambda n=pruned: journal.prune(keep=journal.count(EVERY_RUN) - n)) / 1e3
            yield Row(f"durable: {_STORED:,} runs, prune {pruned:,}", taken_s, "s", 1)
    yield Row("durable: size of the file after that : before", path.stat().st_size / before, "times", 0.9)


def _beside_dbos() -> Iterator[Row]:
    """The same three-way fan-out, in turns with raw DBOS on SQLite."""
    wall, processor = costs([JOURNALED, DBOS], 3, rounds=5, times=100)
    for name, figures in (("wall", wall), ("processor", processor)):
        ours, theirs = (statistics.median(figures[subject.name]) for subject in (JOURNALED, DBOS))
        note = f"{ours:.2f} : {theirs:.2f} ms"
        yield Row(f"durable: three-way plan : raw DBOS, {name}", ours / theirs, "times", 0.6, note=note)


def measure() -> Iterator[Row]:
    """All of it."""
    with tempfile.TemporaryDirectory() as place:
        yield from _share(Path(place))
        yield from _bytes(Path(place))
        yield from _among_many(Path(place))
    yield from _beside_dbos()
