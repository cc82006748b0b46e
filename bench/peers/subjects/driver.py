"""One subject of the comparison as a process: a command a line on stdin, its answer a line of JSON on stdout.

This file and the subjects beside it run in each framework's own environment, so they use nothing but the standard
library and that framework. A subject says how to build a fan-out of plain async functions with a join; everything that
is timed is timed here, the same way for all.
"""

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

Once = Callable[[], Awaitable[int]]
"""Runs the whole orchestration once, from nothing started to the joined sum."""

Prepare = Callable[[int], Once]
"""Builds what may be built once for a number of branches, and gives what runs it."""


def expected(branches: int) -> int:
    """The sum of the squares of the branches' numbers: what every run must come to."""
    return sum(number * number for number in range(branches))


def serve(prepare: Prepare) -> None:
    """Answer commands until stdin ends."""
    asyncio.run(_serve(prepare))


async def _serve(prepare: Prepare) -> None:
    for line in sys.stdin:
        command = json.loads(line)
        name = command.pop("do")
        answer = await {"branches": _branches, "crowd": _crowd}[name](prepare, **command)
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


async def _branches(prepare: Prepare, *, branches: int, times: int) -> dict[str, object]:
    """Milliseconds of each run, also of the processor alone; the first, which also builds, is told apart."""
    begun = time.perf_counter_ns()
    once = prepare(branches)
    await _checked(once, branches)
    first = (time.perf_counter_ns() - begun) / 1e6
    taken: list[float] = []
    busy: list[float] = []
    for _ in range(times):
        gc.collect()
        begun, worked = time.perf_counter_ns(), time.process_time_ns()
        await _checked(once, branches)
        taken.append((time.perf_counter_ns() - begun) / 1e6)
        busy.append((time.process_time_ns() - worked) / 1e6)
    return {"first_ms": first, "ms": taken, "processor_ms": busy}


async def _crowd(prepare: Prepare, *, runs: int) -> dict[str, object]:
    """Many three-way orchestrations at once: how many a second, and the peak of memory."""
    once = prepare(3)
    await _checked(once, 3)
    gc.collect()
    begun = time.perf_counter()
    await asyncio.gather(*(_checked(once, 3) for _ in range(runs)))
    return {"per_s": runs / (time.perf_counter() - begun), "peak_mb": peak_mb()}


async def _checked(once: Once, branches: int) -> None:
    found = await once()
    if found != expected(branches):
        raise SystemExit(f"{branches} branches came to {found!r}, not to {expected(branches)}.")


def peak_mb() -> float:
    """The most memory this process has had. `ru_maxrss` alone would count the parent that started it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
