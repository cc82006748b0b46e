"""One probe of one subject, in a process of its own: `python SUBJECT.py PROBE` prints what was seen as one JSON object.

This file and the subjects beside it run in each framework's own environment: standard library and that framework only.
"""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping

HANG_S = 30.0
"""How long a branch that hangs does: longer than anybody is given."""
BLOCK_S = 2.0
"""How long a branch keeps the event loop to itself."""
LIMIT_S = 0.5
"""The time limit that is set, where one can be set."""

Facts = dict[str, object]
Probe = Callable[[], Awaitable[Facts]]


class Down(Exception):
    """What a branch that is down raises."""


def answer(probes: Mapping[str, Probe]) -> None:
    """Run the probe that the command line names."""
    logging.disable(logging.CRITICAL)
    name = sys.argv[1]
    begun = time.perf_counter()
    facts = asyncio.run(_observed(probes[name]))
    facts["seconds"] = round(time.perf_counter() - begun, 1)
    print(json.dumps(facts))
    sys.stdout.flush()
    os._exit(0)  # a thread or task that hangs must not keep the process


async def _observed(probe: Probe) -> Facts:
    try:
        return await probe()
    except Exception as error:  # whatever a framework raises is what we are here to see
        return {"error": shown(error)}


def shown(error: BaseException | str) -> str:
    """An error in few words: the innermost reason, with its type."""
    if isinstance(error, BaseExceptionGroup):
        return shown(error.exceptions[0])
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return cut(text)


def cut(text: str) -> str:
    """`text` on one line, at most 120 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:119]}…"
