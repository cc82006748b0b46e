"""What a durable history costs: its share of a run, its bytes on disk, and every question to it among 100,000 runs."""

import asyncio
import gc
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from bench.engine import flow
from bench.orchestration import join, square, three_way
from bench.peers.environments import DBOS, JOURNALED
from bench.peers.rounds import costs
from bench.table import Row, median_of
from retinue.agents.registry import Registry
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.orchestrator import workflows
from retinue.orchestration.run_request import RUN_PLAN
from retinue.orchestration.statistics import statistics_of

_STORED: Final = 100_000
_PRUNED: Final = 10_000
_WINDOW: Final = 10_000
_RUNS: Final = 300
_LARGE: Final = Result(task_id="bench", agent="bench", skill="work", outcome="success", content="x" * 1_800, duration_ns=1)


async def _large() -> Result:
    return _LARGE


async def _large_flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
    """Three steps at once, each with a result of 1.9 kB: the bodies of such a run take 7.8 kB."""
    scope.reserve("abc")
    for name in "abc":
        scope.step(name, _large)
    count = 3
    while count:
        count -= len(await scope.completed())
    return _LARGE


def _processor_us(journal: Path | None) -> float:
    """Microseconds of the processor for one three-way plan, all threads of the process."""

    async def work() -> float:
        async with InProcessEngine(workflows(Registry([square, join])), journal=journal) as engine:
            payload = three_way()
            await engine.result(await engine.start(RUN_PLAN, payload))
            gc.collect()
            begun = time.process_time()
            for _ in range(_RUNS):
                await engine.result(await engine.start(RUN_PLAN, payload))
            return (time.process_time() - begun) / _RUNS * 1e6

    return asyncio.run(work())
