"""How often models and agents may be called, by all processes that keep one history together.

A limit of `60/min` is sixty at once, and then one a second (GCRA): what was not used comes back, up to the sixty.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, TypeAlias

from retinue.agents.port import RunContext
from retinue.contract.event import Body, Message
from retinue.contract.task import Task
from retinue.engine.base import REAL, Outside
from retinue.engine.blocking import in_thread
from retinue.errors import RetinueError

Use: TypeAlias = Callable[[int, int], tuple[int, int]]
"""Given until when a limit is used, and the time: until when it is then, and how long there is no room, if so."""

_UNITS_NS: Final = {"s": 1_000_000_000, "min": 60_000_000_000, "h": 3_600_000_000_000}
_QUIET_S: Final = 1.0
"""A wait that is shorter is not told."""


class RateLimits:
    """Limits such as `60/min`: so many a second (`s`), minute (`min`) or hour (`h`).

    Args:
        providers: On requests of models, by what stands before the `:` in their names.
        agents: On calls of agents, by their names; an agent's attempts are one call.
        share: `Journal.change_rate`, which counts for all processes; when it is absent, or fails, each counts its own.
        outside: Time.
    """

    def __init__(
        self,
        providers: Mapping[str, str] | None = None,
        agents: Mapping[str, str] | None = None,
        share: Callable[[str, Use], int] | None = None,
        outside: Outside = REAL,
    ) -> None:
        limits = {f"provider {name}": text for name, text in (providers or {}).items()}
        self._limits = limits | {f"agent {name}": text for name, text in (agents or {}).items()}
        self._share, self._outside = share, outside
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._used_until_ns: dict[str, int] = {}

    async def wait_for_model(self, emit: Callable[[Body], None], model: str) -> None:
        """Wait until `model` may be asked; that counts. A wait of more than a second is told."""
        await self._wait(f"provider {model.partition(':')[0]}", emit)

    async def wait_for_agent(self, task: Task, run: RunContext) -> None:
        """Wait until the agent of `task` may be called, or its time is up, which whoever calls it then says."""
        definition, ends_ns = run.definition_of(task.agent), run.deadline_ns
        with suppress(TimeoutError):
            async with asyncio.timeout(None if ends_ns is None else (ends_ns - run.now()) / 1e9):
                await self._wait(f"agent {definition.name if definition else task.agent}", run.emit)

    async def _wait(self, name: str, emit: Callable[[Body], None]) -> None:
        if name not in self._limits:
            return
        count, _, unit = (limit := self._limits[name]).partition("/")
        use = partial(_use, int(count), _UNITS_NS[unit])
        text = f"Waiting: the limit of {name.replace(' ', ' `')}` is {limit}."
        timer = asyncio.get_running_loop().call_later(_QUIET_S, emit, Message(text))
        try:
            async with self._locks[name]:  # one of this process asks at a time, whoever comes first
                while wait_ns := await self._take(name, use):
                    await self._outside.pause(wait_ns / 1e9)
        finally:
            timer.cancel()

    async def _take(self, name: str, use: Use) -> int:
        """Take one use; gives how long there is none, if so, in nanoseconds."""
        if self._share is not None:
            with suppress(RetinueError):  # no history, but a limit all the same
                return await in_thread(self._share, name, use)
        self._used_until_ns[name], wait_ns = use(self._used_until_ns.get(name, 0), self._outside.clock())
        return wait_ns


def _use(count: int, period_ns: int, used_until_ns: int, now_ns: int) -> tuple[int, int]:
    """A `Use` of one of `count` in `period_ns`.

    They stand in a row, each for its part of the period; there is room while the row ends within a period from now.
    """
    each_ns = period_ns // count
    # A clock that was set back, or another limit of before, costs no more than one part.
    begins_ns = min(max(used_until_ns, now_ns), now_ns + period_ns)
    wait_ns = max(begins_ns + each_ns - now_ns - period_ns, 0)
    return (begins_ns if wait_ns else begins_ns + each_ns), wait_ns
