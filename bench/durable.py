"""What a durable history costs, in a file and in a PostgreSQL database, and what workers make of it.

Its share of a run, its bytes on disk, every question to it among 100,000 runs, the same fan-out beside others that keep
a history, and `background`. The server syncs each commit; its own time of the processor is in no figure.
"""

import asyncio
import gc
import signal
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import psycopg

from bench.background import Site
from bench.orchestration import join, square, three_way
from bench.peers.environments import DBOS, JOURNALED, KEEPING_PEERS
from bench.peers.rounds import costs
from bench.table import Row, median_of
from retinue.agents.registry import Registry
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Question
from retinue.engine.base import EVERY_RUN, WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.run import LiveRun
from retinue.engine.store import Connection, insert_rows
from retinue.engine.stores import store_at
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN
from retinue.orchestration.statistics import statistics_of
from tests.postgres import Postgres, running_server
from tests.rabbitmq import PROGRAM, running_broker

_STORED: Final = 100_000
_LEFT: Final = 100
_WINDOW: Final = 10_000
_RUNS: Final = 300
_QUEUED: Final = 300
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


def _share(folder: Path, url: str) -> Iterator[Row]:
    """Unrecorded and recorded runs in turns."""
    taken: dict[str, list[float]] = {"unrecorded": [], "SQLite": [], "PostgreSQL": []}
    with Journal(folder / "share.sqlite3") as file, Journal(url) as database:
        for _ in range(5):
            for journal, figures in zip((None, file, database), taken.values(), strict=True):
                figures.append(asyncio.run(_run_all(RUN_PLAN, three_way(), journal, _RUNS)))
    bare_us, *_ = middles = [statistics.median(figures[1:]) for figures in taken.values()]
    for name, middle_us in zip(taken, middles, strict=True):
        yield Row(f"durable: three-way plan, {name}, processor", middle_us, "µs")
    for name, middle_us, goal in zip(("SQLite", "PostgreSQL"), middles[1:], (4, 5), strict=True):
        yield Row(f"durable: recorded on {name} : unrecorded", middle_us / bare_us, "times", goal)


def _bytes(folder: Path, url: str) -> Iterator[Row]:
    """Kilobytes on the disk for each run, everything of it."""
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
    with Journal(url) as journal, psycopg.connect(url, autocommit=True) as connection:
        written = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
        before = connection.execute(written).fetchone() or (0,)
        asyncio.run(_run_all(RUN_PLAN, three_way(), journal, 1_000))
        after = connection.execute(written).fetchone() or (0,)
        tables = ("runs", "events", "facts", "tags")
        sizes = " + ".join(f"pg_total_relation_size('{each}')" for each in tables)
        size = connection.execute(f"SELECT {sizes}".encode()).fetchone() or (0,)
        rows = [(connection.execute(f"SELECT count(*) FROM {each}".encode()).fetchone() or (0,))[0] for each in tables]
    note = ", ".join(f"{count / 1_000:g} {name}" for name, count in zip(tables, rows, strict=True))
    yield Row("durable: three-way plan on PostgreSQL", float(size[0]) / 1e6, "kB", note=f"rows: {note}")
    yield Row("durable: … and in its log of changes", float(after[0] - before[0]) / 1e6, "kB")


def fill(place: Path | str, count: int) -> None:
    """Copies of one recorded three-way plan, a second apart; the newest lack their last step and their end."""
    with Journal(place) as journal:
        asyncio.run(_run_all(RUN_PLAN, three_way(), journal, 1))
    store = store_at(place)
    names = "SELECT name FROM pragma_table_info(?)"
    if isinstance(place, str):
        names = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 ORDER BY attnum"

    def copy(connection: Connection) -> None:
        (model,) = connection.execute("SELECT run FROM runs").fetchone()
        copies = [(name := f"01{number:018d}", name[::-1], (number - count) * 10**9) for number in range(count)]
        connection.execute("CREATE TEMP TABLE copies (copy TEXT, backwards TEXT, shift_ns BIGINT)")
        insert_rows(connection, "copies", copies)
        for table in ("runs", "events", "tags", "facts"):
            columns: list[str] = [column for (column,) in connection.execute(names, [table])]
            values = ", ".join(_CHANGED.get(column, column) for column in columns)
            connection.execute(
                f"INSERT INTO {table} SELECT {values} FROM copies CROSS JOIN {table} WHERE run = ?", [model]
            )
            connection.execute(f"DELETE FROM {table} WHERE run = ?", [model])
        left = copies[-_LEFT][0]
        connection.execute("UPDATE runs SET status = 'working', owner = '' WHERE run >= ?", [left])
        connection.execute("DELETE FROM events WHERE run >= ? AND kind = 'finished' AND node IN ('', 'join')", [left])
        if isinstance(place, str):  # the server does so by itself, but not at once
            connection.execute("ANALYZE")

    store.transact(copy)
    store.close()


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


def _among_many(place: Path | str) -> Iterator[Row]:
    """Every question to a history of 100,000 runs."""
    fill(place, _STORED)
    what = f"durable: {_STORED:,} runs, {'PostgreSQL' if isinstance(place, str) else 'SQLite'},"
    middle = f"01{_STORED // 2:018d}"
    with Journal(place) as journal:
        for name, work in (
            ("list of 20", lambda: journal.list(20)),
            ("get", lambda: journal.get(middle)),
            ("find by start", lambda: journal.find(middle[:19], limit=100)),
            ("find by what all begin with", lambda: journal.find("01", limit=100)),
            ("find by end", lambda: journal.find(middle[-7:], limit=100)),
        ):
            yield Row(f"{what} {name}", median_of(50, lambda work=work: _timed_ms(work)), "ms", 5)
        start_ms, resume_ms = asyncio.run(_going_on(journal))
        yield Row(f"{what} start", start_ms, "ms", 5, note="synced to the disk")
        yield Row(f"{what} resume", resume_ms, "ms", 5, note="synced to the disk")
        taken_s = _timed_ms(lambda: statistics_of(journal.facts(newest=_WINDOW), tiers={})) / 1e3
        yield Row(f"{what} statistics of {_WINDOW:,}", taken_s, "s", 3)
        before = place.stat().st_size if isinstance(place, Path) else 0
        for pruned in (1_000, 10_000):
            taken_s = _timed_ms(lambda n=pruned: journal.prune(keep=journal.count(EVERY_RUN) - n)) / 1e3
            yield Row(f"{what} prune {pruned:,}", taken_s, "s", 1)
    if isinstance(place, Path):
        yield Row(f"{what} size of the file after that : before", place.stat().st_size / before, "times", 0.9)


async def _ask(scope: WorkflowScope, _: JsonMapping) -> Result:
    scope.ask("who", Question(id="who", text="Who?"))
    await scope.completed()
    return _LARGE


async def _parked(journal: Journal) -> Row:
    """How many of a thousand runs that wait for people a process still holds."""
    async with InProcessEngine({"ask": _ask}, journal=journal, waits_for_answers=True, parks=True) as engine:
        runs = await asyncio.gather(*(engine.start("ask", {}) for _ in range(1_000)))
        await asyncio.gather(*(engine.wait_here(run) for run in runs))
        gc.collect()
        held = sum(isinstance(each, LiveRun) for each in gc.get_objects())
    return Row("durable: 1,000 runs that wait for people, held in memory", held, "runs", 0)


def _beside_peers(url: str) -> Iterator[Row]:
    """The same three-way fan-out, in turns with others that keep a history."""
    ours, theirs = (
        replace(subject, name=f"{subject.name}, PostgreSQL", arguments=(*subject.arguments, url))
        for subject in (JOURNALED, DBOS)
    )
    wall, processor = costs([JOURNALED, DBOS, *KEEPING_PEERS, ours, theirs], 3, rounds=3, times=20)
    for peer, own in [(DBOS, JOURNALED), (theirs, ours), *((peer, JOURNALED) for peer in KEEPING_PEERS)]:
        goal = None if peer in KEEPING_PEERS else 0.6
        for name, figures in (("wall", wall), ("processor", processor)):
            own_ms, peer_ms = (statistics.median(figures[subject.name]) for subject in (own, peer))
            note = f"{own_ms:.2f} : {peer_ms:.2f} ms"
            yield Row(f"durable: three-way plan : {peer.name}, {name}", own_ms / peer_ms, "times", goal, note=note)


def _background(folder: Path, url: str, broker: str = "") -> Iterator[Row]:
    """Workers as processes of their own, which look into the database or are told by a broker."""
    by = "RabbitMQ" if broker else "PostgreSQL"
    with psycopg.connect(url, autocommit=True) as database:
        site = Site(folder / by, database, url, broker)
        rates = {workers: site.rate(workers, _QUEUED) for workers in (1, 2, 4)}
        for workers, rate in rates.items():
            yield Row(f"durable: {_QUEUED} three-way runs queued by {by}, workers: {workers}", rate, "runs/s")
        yield Row("durable: … 2 workers : 1", rates[2] / rates[1], "times", 1.7, at_least=True)
        yield Row("durable: … 4 workers : 2", rates[4] / rates[2], "times", 1, at_least=True)
        taken_s, each_kb = site.waiting(1_000, 20)
        yield Row(f"durable: 1,000 runs of an agent of 20 s in one worker, queued by {by}, all done", taken_s, "s", 22)
        yield Row("durable: … memory of each", each_kb, "kB", 40)
        taken = [site.recovery_s(signal.SIGKILL) for _ in range(5)]
        note = f"up to {max(taken):.2f}"
        yield Row(
            f"durable: kill -9 of a worker until another goes on, by {by}", statistics.median(taken), "s", 2, note=note
        )
        if broker:  # without one nobody tells who sleeps
            yield Row("durable: SIGSTOP of a worker until another goes on", site.recovery_s(signal.SIGSTOP), "s", 15)


def measure() -> Iterator[Row]:
    """All of it."""
    with tempfile.TemporaryDirectory() as place, running_server(settings="") as server:
        folder = Path(place)
        yield from _share(folder, _schema_of(server))
        yield from _bytes(folder, _schema_of(server))
        with Journal(folder / "parked.sqlite3") as journal:
            yield asyncio.run(_parked(journal))
        yield from _among_many(folder / "many.sqlite3")
        yield from _among_many(_schema_of(server))
        yield from _beside_peers(_schema_of(server))
        yield from _background(folder, _schema_of(server))
        if PROGRAM.exists():  # RabbitMQ is installed
            with running_broker() as node:
                yield from _background(folder, _schema_of(server), node.url)


def _schema_of(server: Postgres) -> str:
    """A place of its own in the database, with tables."""
    url = server.fresh()
    store = store_at(url)
    store.transact(lambda _: None)
    store.close()
    return url
